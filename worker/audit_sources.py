"""Where the chain of a session begins: index file, export, or what the engine says."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from activities.events import read_events
from activities.stores.digests import DIGEST
from activities.stores.export import ExportStore
from activities.stores.files import read_lines
from activities.stores.home import Home
from activities.stores.index import index_path
from activities.stores.objects import ObjectStore, open_store
from worker.rewind import Rewinder
from workflows.contracts.errors import StoreError, UsageError
from workflows.contracts.ids import is_session_id, session_of

_ENDS = {"turn_ended", "session_closed"}
"""Events that name a head which counts."""


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
    damages: tuple[str, ...] = ()
    """What is damaged of the list that names the heads, each in half a sentence."""

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
    rows, damages = _indexed(index_path(home, name), name)
    if damages or not rows:
        # Whatever named the newest head may be what is lost: the feed names the heads of ended turns too.
        # At one and the same time the index counts, in its own order.
        rows = sorted([*_fed(home, name), *rows], key=lambda row: row[0])
    heads = tuple(dict.fromkeys(head for _at, head in reversed(rows)))
    store = open_store(home.store_url(env))
    notes = tuple(
        f"{len(done.files)} {'file was' if len(done.files) == 1 else 'files were'} taken back to entry {done.to} "
        f"at {done.at} by {done.by} (perdure rewind)"
        for done in Rewinder(home, store, name).rewinds()
    )
    return Source(name, store, heads, notes=notes, damages=damages)


def _whole_id(home: Home, begun: str) -> str:
    """The only session of this home whose id begins so; what was given when there is none."""
    if index_path(home, begun).exists() or not home.sessions.is_dir():
        return begun
    found = sorted(path.stem for path in home.sessions.glob(f"{begun}*.ndjson"))
    if len(found) > 1:
        raise UsageError(f"{begun} begins the ids of several sessions: {', '.join(found[:5])}.")
    return found[0] if found else begun


def _fed(home: Home, session: str) -> list[tuple[str, str]]:
    """Times and heads of the turns that the feed saw end."""
    events = [event for event in read_events(home.events, session) if event.get("kind") in _ENDS]
    found = [(str(event.get("at", "")), str(event.get("head", ""))) for event in events]
    return [(at, head) for at, head in found if DIGEST.fullmatch(head)]


def _indexed(path: Path, session: str) -> tuple[list[tuple[str, str]], tuple[str, ...]]:
    """Times and heads of an index file, in its order, and what is wrong with it."""
    lines, damage = read_lines(path)
    damages = [f"{path.name}, line {each.line}, is damaged: {each.why}" for each in damage]
    heads: list[tuple[str, str]] = []
    odd = 0
    for line in lines:
        row = json.loads(line)
        head = row.get("head")
        if row.get("session", session) == session and isinstance(head, str) and DIGEST.fullmatch(head):
            heads.append((str(row.get("at", "")), head))
        else:
            odd += 1
    if odd:
        damages.append(f"{path.name}: lines whose record names no head of this session: {odd}")
    return heads, tuple(damages)


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
