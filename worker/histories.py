"""Where the history of a workflow run is read: the server."""

import asyncio

from temporalio.client import Client, WorkflowHistory

from activities.world import RunHistory


class ServerHistories:
    """Histories of one namespace."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def fetch(self, workflow_id: str, run_id: str) -> RunHistory:
        """The run's history up to now. Raises RPCError."""
        handle = self._client.get_workflow_handle(workflow_id, run_id=run_id)
        history = await handle.fetch_history()
        # Thousands of events take as long as a beat may be late.
        return RunHistory(await asyncio.to_thread(_as_json, history), len(history.events))


def _as_json(history: WorkflowHistory) -> bytes:
    return history.to_json().encode()
