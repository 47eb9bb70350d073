"""the table spec -> function; what the worker registers."""

from activities.binding import AnyBinding, Binding
from activities.hooks.moment import run_moment
from activities.housekeeping import archive_history
from activities.model.call import ModelCalls
from activities.prompt.open import open_session
from activities.settle import settle
from activities.tasks.watch import end_task, watch_task
from activities.tool_calls.end import end_call
from activities.tool_calls.registry import TOOLS
from activities.tool_calls.run import run_tool
from activities.world import World
from workflows.contracts import activity_specs as specs
from workflows.contracts.session_steps import Opened, OpenRequest


def bindings(models: ModelCalls) -> tuple[AnyBinding, ...]:
    """Every activity, bound to the function that does it; `models` holds the calls under way in this worker."""
    return (
        Binding(specs.OPEN, _open),
        Binding(specs.ASK_MODEL, models.ask_model),
        Binding(specs.RUN_TOOL, run_tool),
        Binding(specs.END_CALL, end_call),
        Binding(specs.SETTLE, settle),
        Binding(specs.ARCHIVE, archive_history),
        Binding(specs.WATCH_TASK, watch_task),
        Binding(specs.END_TASK, end_task),
        Binding(specs.RUN_HOOKS, run_moment),
    )


async def _open(world: World, request: OpenRequest) -> Opened:
    return await open_session(world, request, tuple(tool.spec() for tool in TOOLS))
