"""Tests of workflows/core/audit_histories.py, on the JSON that Temporal's own library writes."""

import json

import pytest
from temporalio.api.common.v1 import ActivityType, Payload, Payloads
from temporalio.api.enums.v1 import EventType
from temporalio.api.history.v1 import (
    ActivityTaskCanceledEventAttributes,
    ActivityTaskCompletedEventAttributes,
    ActivityTaskScheduledEventAttributes,
    ActivityTaskStartedEventAttributes,
    HistoryEvent,
    WorkflowExecutionCompletedEventAttributes,
    WorkflowExecutionStartedEventAttributes,
)
from temporalio.client import WorkflowHistory

from workflows.contracts.model import Usage
from workflows.core.audit_histories import facts_of


def payloads(value: object) -> Payloads:
    return Payloads(payloads=[Payload(metadata={"encoding": b"json/plain"}, data=json.dumps(value).encode())])


def written(*events: HistoryEvent) -> bytes:
    for number, event in enumerate(events, 1):
        event.event_id = number
    return WorkflowHistory("session-s", list(events)).to_json().encode()


def started(state: object = None) -> HistoryEvent:
    given = {"session": "s", "public_key": "k", "state": state}
    return HistoryEvent(
        event_type=EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED,
        workflow_execution_started_event_attributes=WorkflowExecutionStartedEventAttributes(input=payloads(given)),
    )


def scheduled(name: str, **request: object) -> HistoryEvent:
    return HistoryEvent(
        event_type=EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
        activity_task_scheduled_event_attributes=ActivityTaskScheduledEventAttributes(
            activity_type=ActivityType(name=name), input=payloads(request)
        ),
    )


def begun(event: int) -> HistoryEvent:
    return HistoryEvent(
        event_type=EventType.EVENT_TYPE_ACTIVITY_TASK_STARTED,
        activity_task_started_event_attributes=ActivityTaskStartedEventAttributes(
            scheduled_event_id=event, identity="w1", attempt=3
        ),
    )


def completed(event: int, **result: object) -> HistoryEvent:
    return HistoryEvent(
        event_type=EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED,
        activity_task_completed_event_attributes=ActivityTaskCompletedEventAttributes(
            scheduled_event_id=event, result=payloads(result)
        ),
    )


def canceled(event: int) -> HistoryEvent:
    return HistoryEvent(
        event_type=EventType.EVENT_TYPE_ACTIVITY_TASK_CANCELED,
        activity_task_canceled_event_attributes=ActivityTaskCanceledEventAttributes(scheduled_event_id=event),
    )


def ended(**result: object) -> HistoryEvent:
    return HistoryEvent(
        event_type=EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED,
        workflow_execution_completed_event_attributes=WorkflowExecutionCompletedEventAttributes(
            result=payloads(result)
        ),
    )


def test_every_head_is_found_in_the_order_of_the_events() -> None:
    facts = facts_of(
        written(
            started({"head": "a"}),
            scheduled("ask_model", head="a", exchange=2, turn=1),
            begun(2),
            completed(2, head="b", stop="tool_use", usage={"input": 5}, cost=7, unknown=1),
            scheduled("settle", head="b"),
            begun(5),
            completed(5, head="c"),
            ended(head="d"),
        )
    )
    assert (facts.session, facts.public_key, facts.events) == ("s", "k", 8)
    assert [(mention.event, mention.digest) for mention in facts.mentions] == [
        (1, "a"),
        (2, "a"),
        (4, "b"),
        (5, "b"),
        (7, "c"),
        (8, "d"),
    ]
    assert facts.head == "d"


def test_a_reply_is_told_with_worker_attempt_and_bill() -> None:
    done = completed(2, head="b", stop="end_turn", usage={"input": 5}, cost=7, unknown=1, model="other")
    facts = facts_of(written(started(), scheduled("ask_model", head="a", exchange=2, turn=1), begun(2), done))
    taken = facts.replies["b"]
    assert (taken.event, taken.asked_at, taken.turn, taken.exchange) == (4, "a", 1, 2)
    assert (taken.worker, taken.attempt, taken.usage, taken.cost, taken.unknown) == ("w1", 3, Usage(input=5), 7, 1)
    assert (taken.model, taken.was_cut_off) == ("other", False)


def test_a_model_call_that_was_cancelled_is_lost() -> None:
    facts = facts_of(written(started(), scheduled("ask_model", head="a", exchange=2), begun(2), canceled(2)))
    assert [(lost.event, lost.asked_at, lost.exchange) for lost in facts.lost] == [(4, "a", 2)]


def test_a_reply_that_may_be_set_aside_is_not_the_head_until_the_run_goes_on_from_it() -> None:
    asked = [started(), scheduled("ask_model", head="a"), begun(2), completed(2, head="b", stop="max_tokens")]
    assert facts_of(written(*asked)).head == "a"
    assert facts_of(written(*asked, scheduled("run_tool", entry="b"))).head == "b"


def test_a_call_of_a_reply_from_before_a_roll_does_not_lead_back_to_that_reply() -> None:
    facts = facts_of(written(started({"head": "behind"}), scheduled("run_tool", entry="reply"), begun(2)))
    assert facts.head == "behind"
    assert [mention.digest for mention in facts.mentions] == ["behind"]


def test_payloads_that_a_codec_wrote_are_passed_over() -> None:
    strange = Payloads(payloads=[Payload(metadata={"encoding": b"binary/encrypted"}, data=b"\xff\x00")])
    event = HistoryEvent(
        event_type=EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED,
        workflow_execution_started_event_attributes=WorkflowExecutionStartedEventAttributes(input=strange),
    )
    assert facts_of(written(event)).mentions == []


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"events":{}}', b'{"events":[1]}', b"\xff"])
def test_bytes_that_are_no_history_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError):
        facts_of(data)
