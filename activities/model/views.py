"""The folded view of each conversation, grown by its new entries only; bounded in bytes over all sessions."""

import asyncio
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from activities.model.request import as_api
from activities.stores.objects import ObjectStore
from activities.transcript import Link, Transcript
from workflows.contracts.messages import Message, RedactedThinking, Role, Thinking
from workflows.contracts.transcript import EditBody, Entry, MessageBody
from workflows.core.media import Media, edited, lasting_notes, media_in
from workflows.core.view import fold

Messages = tuple[Message, ...]

MOST_BYTES = 64 * 1024 * 1024
_SETTLED_HELD = 3
"""Settled messages that a further fold looks at: what the user said last, the reply before, and a beginning."""
_FOLDED_IN_A_THREAD = 500
"""Entries from which a fold would be felt by the other activities of the worker."""


@dataclass(frozen=True)
class View:
    """What the model is shown at one head."""

    head: str
    n: int
    """Place of the head in the chain."""
    dropped: int
    """Messages at the beginning that are held as bytes only."""
    settled: Messages
    """The end of the part that no later entry changes, from `dropped` on; it ends with what a user said."""
    tail: tuple[Entry, ...]
    """The entries behind it."""
    recent: Messages
    """The view from `dropped` on: `settled` and what the tail makes of it."""
    written: tuple[bytes, ...]
    """Each message of the whole view as the API's JSON."""
    size: int
    """Bytes of all of them."""
    media: int
    """Pictures and documents in it."""
    lasting: Mapping[str, str]
    """By digest, the notes that stand for what the provider never takes."""


class ViewCache:
    """Views by session and model; a dropped one is read again from the store."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.most_bytes = most_bytes
        self.held_bytes = 0
        self.read_entries = 0
        """Entries that were read and folded so far."""
        self._views: OrderedDict[tuple[str, str], View] = OrderedDict()

    async def at(
        self,
        session: str,
        model: str,
        head: str,
        fresh: Sequence[Link],
        transcript: Transcript,
        store: ObjectStore,
    ) -> View:
        """The view for that model behind the fresh entries, which follow `head` and are perhaps not written yet.

        Another model's thoughts are not shown to it. Raises StoreError or ChainError where the chain cannot be read.
        """
        known = self._views.get((session, model))
        links = None if known is None else await _behind(known, head, fresh, transcript)
        if links is None or any(isinstance(link.entry.body, EditBody) for link in links):
            # Another branch, too far behind, or what was settled is shown otherwise now: read afresh.
            known, links = None, [*await transcript.read(head), *fresh]
        view = await _grown(known, links, model, store)
        self.read_entries += len(links)
        self._remember((session, model), view)
        return view

    def _remember(self, key: tuple[str, str], view: View) -> None:
        if key in self._views:
            self.held_bytes -= self._views.pop(key).size
        self._views[key] = view
        self.held_bytes += view.size
        while self.held_bytes > self.most_bytes and self._views:
            self.held_bytes -= self._views.popitem(last=False)[1].size


async def _behind(known: View, head: str, fresh: Sequence[Link], transcript: Transcript) -> list[Link] | None:
    """The entries that the known view lacks; None when it is no beginning of what is wanted."""
    places = [place for place, link in enumerate(fresh) if link.digest == known.head]
    if places:
        return list(fresh[places[0] + 1 :])
    links = await transcript.since(head, known.n, known.head)
    return None if links is None else [*links, *fresh]


async def _grown(known: View | None, links: Sequence[Link], model: str, store: ObjectStore) -> View:
    if known is not None and not links:
        return known
    lasting = known.lasting if known else lasting_notes(link.entry for link in links)
    new_entries = edited([without_foreign_thoughts(link.entry, model) for link in links], lasting)
    entries = [*(known.tail if known else ()), *new_entries]
    dropped, before = (known.dropped, known.settled) if known else (0, ())
    if len(entries) > _FOLDED_IN_A_THREAD:
        settled, recent, tail = await asyncio.to_thread(_folded, before, entries)
    else:
        settled, recent, tail = _folded(before, entries)
    same = _same(known.recent, recent, len(before)) if known else 0
    old = known.written[: dropped + same] if known else ()
    new = await as_api(recent[same:], store)
    size = known.size - sum(map(len, known.written[dropped + same :])) if known else 0
    settling = max(0, len(settled) - _SETTLED_HELD)
    last = links[-1]
    return View(
        head=last.digest,
        n=last.entry.n,
        dropped=dropped + settling,
        settled=settled[settling:],
        tail=tail,
        recent=recent[settling:],
        written=(*old, *new),
        size=size + sum(map(len, new)),
        media=(known.media if known else 0) + sum(1 for entry in new_entries for _ in _media(entry)),
        lasting=lasting,
    )


def _media(entry: Entry) -> Iterator[Media]:
    return media_in(entry.body.blocks) if isinstance(entry.body, MessageBody) else iter(())


def _folded(before: Messages, entries: Sequence[Entry]) -> tuple[Messages, Messages, tuple[Entry, ...]]:
    """What no later entry changes, the whole view, and the entries behind the former."""
    place = _turning(entries)
    settled = fold(before, entries[:place]) if place else before
    return settled, fold(settled, entries[place:]), tuple(entries[place:])


def _turning(entries: Sequence[Entry]) -> int:
    """Place of the newest reply that follows a user's words: what is before it is settled; 0 when there is none."""
    reply = 0
    for place in range(len(entries) - 1, -1, -1):
        match _speaker(entries[place]):
            case Role.ASSISTANT:
                reply = place
            case Role.USER if reply:
                return reply
    return 0


def _speaker(entry: Entry) -> Role | None:
    said = fold((), (entry,))
    return said[-1].role if said else None


def _same(before: Messages, after: Messages, settled: int) -> int:
    """How many messages at the beginning are the same; all settled ones are but the last, which may have grown."""
    place = max(0, settled - 1)
    while place < min(len(before), len(after)) and before[place] == after[place]:
        place += 1
    return place


def without_foreign_thoughts(entry: Entry, model: str) -> Entry:
    """The entry without what only the model that thought it may be shown: its signature holds for that model."""
    body = entry.body
    if not isinstance(body, MessageBody) or body.role != Role.ASSISTANT or body.model in {"", model}:
        return entry
    blocks = tuple(block for block in body.blocks if not isinstance(block, Thinking | RedactedThinking))
    if len(blocks) == len(body.blocks):
        return entry
    return entry.model_copy(update={"body": body.model_copy(update={"blocks": blocks})})
