"""What a request leaves out so that it is taken: decided once, and written into the chain before it is asked."""

from dataclasses import replace

from activities.model.views import View, without_foreign_thoughts
from activities.transcript import Growth
from activities.world import World
from workflows.contracts.errors import FailureKind
from workflows.contracts.model import ModelRequest
from workflows.contracts.transcript import EditBody
from workflows.core.media import older_left_out, refused_left_out
from workflows.core.view import messages_of

MOST_BYTES = 30 * 1024 * 1024
"""Bytes of a request's body; the provider takes 32 MiB, some clouds a little less."""
LOW_BYTES = 18 * 1024 * 1024
"""To so many it is brought down: each time that it is costs the provider's prefix cache."""
MOST_ITEMS = 90
"""Pictures and documents of a request; the provider takes 100."""
LOW_ITEMS = 60


async def edit_for(world: World, request: ModelRequest, waiting: Growth, model: str, view: View) -> EditBody | None:
    """What is left out from now on: what the provider refused, or the oldest of what has become too large."""
    is_large = view.size > MOST_BYTES or view.media > MOST_ITEMS
    if not request.refused and not is_large:
        return None
    links = [*await world.transcript.read(request.head), *waiting.links()]
    messages = messages_of(without_foreign_thoughts(link.entry, model) for link in links)
    if request.refused:
        return refused_left_out(messages, FailureKind(request.refused_as), request.refused)
    excess = view.size - LOW_BYTES if view.size > MOST_BYTES else 0
    return older_left_out(messages, excess, view.media - LOW_ITEMS if view.media > MOST_ITEMS else 0)


async def with_edit(world: World, waiting: Growth, at: str, edit: EditBody) -> Growth:
    """What waits, and the edit behind it."""
    grown = await world.transcript.grown(waiting.head, at, (edit,))
    return replace(grown, entries=(*waiting.entries, *grown.entries), pages=(*waiting.pages, *grown.pages))
