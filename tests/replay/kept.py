"""Histories as files: each run of a workflow, and those of the tasks that it started."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

from temporalio.client import Client, WorkflowHandle

HISTORIES = Path(__file__).parent / "histories"


async def keep(client: Client, played: WorkflowHandle[Any, Any], name: str) -> None:
    """Write a file for each run of the workflow, and of the workflows that it started."""
    run, number, tasks = played.first_execution_run_id or "", 0, list[tuple[str, str]]()
    while run:
        number += 1
        history = await client.get_workflow_handle(played.id, run_id=run).fetch_history()
        told = _cleaned(json.loads(history.to_json()))
        path = HISTORIES / f"{name}-{number}.json.gz"
        path.write_bytes(gzip.compress(json.dumps(told, separators=(",", ":")).encode(), mtime=0))
        last = told["events"][-1].get("workflowExecutionContinuedAsNewEventAttributes", {})
        print(f"{path.name}: {len(told['events'])} events, {path.stat().st_size} bytes")
        started = [event.get("childWorkflowExecutionStartedEventAttributes", {}) for event in told["events"]]
        tasks += [(each["workflowId"], each["runId"]) for one in started if (each := one.get("workflowExecution"))]
        run = last.get("newExecutionRunId", "")
    for place, (workflow, run_id) in enumerate(tasks, 1):
        await keep(client, client.get_workflow_handle(workflow, first_execution_run_id=run_id), f"{name}_task{place}")


def _cleaned(value: Any) -> Any:  # Any: JSON
    """Without what tells of the machine that it was recorded on; nothing of it is replayed."""
    if isinstance(value, dict):
        return {name: _cleaned(each) for name, each in value.items() if name != "stackTrace"}
    if isinstance(value, list):
        return [_cleaned(each) for each in value]
    return re.sub(r"^[0-9a-f-]+@.*", "worker", value) if isinstance(value, str) else value
