"""End the commands and hooks that outlive a worker: what `perdure down` promises to leave behind is nothing."""

import asyncio

from activities.hooks.command import end_hooks
from activities.hooks.place import hook_folder
from activities.processes.attach import end_command, is_running
from activities.stores.home import Home
from activities.stores.journal import Journal


def end_commands(home: Home) -> None:
    """End every command and hook of this home that still runs; each keeps its output and says that it was ended."""
    asyncio.run(_end(Journal(home.journal)))


async def _end(journal: Journal) -> None:
    calls = [call for session in journal.sessions() for call in journal.calls(session)]
    folders = [call.folder for call in calls]
    # Known by the runner's lock alone: quicker than reading each record, and one of a finished call may still run.
    await asyncio.gather(
        *(end_command(folder) for folder in folders if is_running(folder)),
        *(end_hooks(hook_folder(call.path)) for call in calls),
    )
