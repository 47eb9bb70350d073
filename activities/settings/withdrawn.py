"""without_forbidden: a session's tools without those of the provider that a rule forbids since it started."""

from pathlib import Path

from activities.settings.places import places_of
from activities.settings.policy import current_policy
from activities.world import World
from workflows.contracts.settings import SessionContext
from workflows.core.tool_pool import without_withdrawn


def without_forbidden(world: World, context: SessionContext) -> SessionContext:
    """The context for the next request, by the rules that count now; another host's files are not here to be read."""
    if context.host != world.host.id or not any(spec.server for spec in context.tools):
        return context
    return without_withdrawn(context, current_policy(places_of(world), Path(context.cwd), context.settings))
