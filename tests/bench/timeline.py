"""When each activity of a workflow was scheduled, taken and done, and how many bytes its history has, by exchange."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import HistoryEvent
from temporalio.client import Client


@dataclass
class Deed:
    """One activity; times in milliseconds of the server's clock."""

    name: str
    scheduled: float
    started: float = 0.0
    ended: float = 0.0

    @property
    def waited(self) -> float:
        """From its schedule until a worker had it."""
        return self.started - self.scheduled

    @property
    def took(self) -> float:
        """From there until the server had its result."""
        return self.ended - self.started


@dataclass
class Exchange:
    """What a workflow's history holds of one exchange."""

    number: int
    began: float
    deeds: list[Deed] = field(default_factory=list)
    events: int = 0
    size: int = 0
    """Bytes."""


async def history(client: Client, workflow_id: str, run_id: str | None = None) -> AsyncIterator[HistoryEvent]:
    """The events of one run; of the newest one when none is named."""
    handle = client.get_workflow_handle(workflow_id, run_id=run_id)
    async for event in handle.fetch_history_events():
        yield event


async def run_ids(client: Client, workflow_id: str) -> list[str]:
    """All runs of a workflow that followed each other, oldest first."""
    ids: list[str] = []
    next_id: str | None = (await client.get_workflow_handle(workflow_id).describe()).run_id
    while next_id:
        ids.append(next_id)
        first = await anext(history(client, workflow_id, next_id))
        next_id = first.workflow_execution_started_event_attributes.continued_execution_run_id
    return ids[::-1]


async def exchanges(client: Client, workflow_id: str, first: str, run_id: str | None = None) -> list[Exchange]:
    """The exchanges of a run; each begins with the schedule of an activity of that name."""
    found: list[Exchange] = []
    deeds: dict[int, Deed] = {}
    async for event in history(client, workflow_id, run_id):
        at = event.event_time.ToNanoseconds() / 1e6
        if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
            name = event.activity_task_scheduled_event_attributes.activity_type.name
            if name == first:
                found.append(Exchange(len(found) + 1, at))
            deeds[event.event_id] = Deed(name, at)
            if found:
                found[-1].deeds.append(deeds[event.event_id])
        _note(event, at, deeds)
        if found:
            found[-1].events += 1
            found[-1].size += event.ByteSize()
    return found


def _note(event: HistoryEvent, at: float, deeds: dict[int, Deed]) -> None:
    if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_STARTED:
        deeds[event.activity_task_started_event_attributes.scheduled_event_id].started = at
    elif event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
        deeds[event.activity_task_completed_event_attributes.scheduled_event_id].ended = at
