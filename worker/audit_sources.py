"""Where the chain of a session begins: index file, export, or what the engine says."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from activities.stores.digests import DIGEST
from activities.stores.export import ExportStore
from activities.stores.files import read_lines
from activities.stores.home import Home
from activities.stores.index import index_path
from activities.stores.objects import ObjectStore, open_store
from workflows.contracts.errors import StoreError, UsageError
from workflows.contracts.ids import is_session_id, session_of


@dataclass(frozen=True)
class Source:
    """Everything an audit starts from."""

    session: str
    store: ObjectStore
    heads: tuple[str, ...]
    """Heads that are known, the one that counts first."""
    left_out: frozenset[str] = frozenset()
    """File versions that an export leaves out."""
    live: tuple[bytes, ...] = ()
    """Histories that no entry names yet, as JSON."""
    lost: tuple[str, ...] = ()
    """Digests of live histories that the export has lost."""
    notes: tuple[str, ...] = field(default=())
    """What a person should know of where this came from."""

    def with_engine(self, head: str, histories: list[bytes]) -> "Source":
        """The same, with what the engine says of the session: its head counts."""
        return replace(
            self, heads=tuple(dict.fromkeys((head, *self.heads) if head else self.heads)), live=(*histories,)
        )

    def with_note(self, note: str) -> "Source":
        """The same, with one more note."""
        return replace(self, notes=(*self.notes, note))


def home_source(home: Home, session: str, env: Mapping[str, str]) -> Source:
    """The session as this home knows it; without heads when it has never heard of it."""
    name = session_of(session)
    if not is_session_id(name):
        raise UsageError(f"{session[:80]!r} is no session's id: lower-case letters, digits and dashes are.")
    name = _whole_id(home, name)
    path = index_path(home, name)
    heads, notes = _indexed(path, name)
    return Source(name, open_store(home.store_url(env)), heads, notes=notes)


def _whole_id(home: Home, begun: str) -> str:
    """The only session of this home whose id begins so; what was given when there is none."""
    if index_path(home, begun).exists() or not home.sessions.is_dir():
        return begun
    found = sorted(path.stem for path in home.sessions.glob(f"{begun}*.ndjson"))
    if len(found) > 1:
        raise UsageError(f"{begun} begins the ids of several sessions: {', '.join(found[:5])}.")
    return found[0] if found else begun


def _indexed(path: Path, session: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Heads of an index file, newest first, and what is wrong with it."""
    lines, damage = read_lines(path)
    notes = [f"{path.name}, line {each.line}, is damaged: {each.why}" for each in damage]
    heads: list[str] = []
    odd = 0
    for line in lines:
        row = json.loads(line)
        head = row.get("head")
        if row.get("session", session) == session and isinstance(head, str) and DIGEST.fullmatch(head):
            heads.append(head)
        else:
            odd += 1
    if odd:
        notes.append(f"{path.name}: lines whose record names no head of this session: {odd}")
    return tuple(dict.fromkeys(reversed(heads))), tuple(notes)


async def export_source(path: Path) -> Source:
    """The session in an export file; no home and no engine are needed."""
    store = ExportStore(path)
    manifest = store.manifest
    live: list[bytes] = []
    lost: list[str] = []
    for digest in manifest.histories:
        try:
            live.append(await store.get(digest))
        except StoreError:
            lost.append(digest)
    return Source(
        manifest.session,
        store,
        (manifest.head,),
        left_out=frozenset(manifest.left_out),
        live=tuple(live),
        lost=tuple(lost),
    )
