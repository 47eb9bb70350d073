"""Where the history of a workflow run is read: the server."""

from temporalio.client import Client


class ServerHistories:
    """Histories of one namespace."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def fetch(self, workflow_id: str, run_id: str) -> bytes:
        """The run's history up to now, as JSON bytes."""
        handle = self._client.get_workflow_handle(workflow_id, run_id=run_id)
        return (await handle.fetch_history()).to_json().encode()
