"""what may be removed, archives."""

import asyncio

from activities.safety.sandbox.network import all_of, end_idle
from activities.stores.index import note_head
from activities.world import World
from workflows.contracts.session_steps import Archived, ArchiveRequest
from workflows.contracts.transcript import NoticeBody


async def archive_history(world: World, request: ArchiveRequest) -> Archived:
    """Store the run's history up to now and name it in the chain: the audit outlives the engine.

    The run is over or rolls: the session's network on this host ends too, if no command uses it.
    """
    for folder in all_of(world.home.journal / request.session / "sandbox"):
        await asyncio.to_thread(end_idle, folder)
    history = await world.histories.fetch(request.workflow_id, request.run_id)
    digest = await world.store.put(history.data)
    notice = NoticeBody(
        what="archived_history",
        text=f"history of run {request.run_id}",
        data={
            "history": digest,
            "workflow_id": request.workflow_id,
            "run_id": request.run_id,
            "events": history.events,
        },
    )
    head = await world.transcript.append(request.head, request.at, (notice,))
    note_head(world.home, request.session, head, request.at, "archived_history")
    return Archived(head=head, history=digest)
