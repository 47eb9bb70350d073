"""What a request leaves out so that it is taken: decided once, and written into the chain before it is asked."""

from collections.abc import Sequence
from dataclasses import replace

from activities.model.views import View, without_foreign_thoughts
from activities.transcript import Growth
from activities.world import World
from workflows.contracts.errors import FailureKind
from workflows.contracts.model import ModelRequest, Refusal
from workflows.contracts.transcript import EditBody, Entry
from workflows.core.media import newest_left_out, older_left_out, refused_left_out
from workflows.core.view import messages_of

MOST_BYTES = 30 * 1024 * 1024
"""Bytes of a request's body; the provider takes 32 MiB, some clouds a little less."""
LOW_BYTES = 18 * 1024 * 1024
"""To so many it is brought down: each time that it is costs the provider's prefix cache."""
MOST_ITEMS = 90
"""Pictures and documents of a request; the provider takes 100."""
LOW_ITEMS = 60
PATIENCE = 6
"""Refusals of one request that are met one by one; after that all media of the newest message go."""


async def edits_for(
    world: World, request: ModelRequest, waiting: Growth, model: str, view: View
) -> tuple[EditBody, ...] | None:
    """What is left out from now on: the oldest of what has become too large, and what the provider refused.

    None when a refusal speaks of nothing that could be left out.
    """
    is_large = view.size > MOST_BYTES or view.media > MOST_ITEMS
    if not request.refusals and not is_large:
        return ()
    links = [*await world.transcript.read(request.head), *waiting.links()]
    entries = [without_foreign_thoughts(link.entry, model) for link in links]
    edits: list[EditBody] = []
    if is_large:
        excess = view.size - LOW_BYTES if view.size > MOST_BYTES else 0
        edit = older_left_out(messages_of(entries), excess, view.media - LOW_ITEMS if view.media > MOST_ITEMS else 0)
        edits += [edit] if edit else []
    return _mended(entries, edits, request.refusals)


def _mended(entries: list[Entry], edits: list[EditBody], refusals: Sequence[Refusal]) -> tuple[EditBody, ...] | None:
    """These edits, and one for each refusal in what those before it left: the places that it names are the same."""
    for number, refusal in enumerate(refusals):
        shown = messages_of([*entries, *(Entry(n=0, parent="", page="", at="", body=edit) for edit in edits)])
        if number < PATIENCE:
            edit = refused_left_out(shown, FailureKind(refusal.kind), refusal.text)
        else:
            edit = newest_left_out(shown, refusal.text)
        if edit is None:
            return None
        edits.append(edit)
    return tuple(edits)


async def with_edits(world: World, waiting: Growth, at: str, edits: Sequence[EditBody]) -> Growth:
    """What waits, and the edits behind it."""
    grown = await world.transcript.grown(waiting.head, at, edits)
    return replace(grown, entries=(*waiting.entries, *grown.entries), pages=(*waiting.pages, *grown.pages))
