"""End the commands that outlive a worker: what `perdure down` promises to leave behind is nothing."""

import asyncio

from activities.processes.attach import end_command, is_running
from activities.stores.home import Home
from activities.stores.journal import Journal


def end_commands(home: Home) -> None:
    """End every command of this home that still runs; each keeps its output and says that it was ended."""
    asyncio.run(_end(Journal(home.journal)))


async def _end(journal: Journal) -> None:
    folders = [call.folder for session in journal.sessions() for call in journal.calls(session)]
    # Known by the runner's lock alone: quicker than reading each record, and one of a finished call may still run.
    await asyncio.gather(*(end_command(folder) for folder in folders if is_running(folder)))
