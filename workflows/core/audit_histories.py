"""A run's Temporal history, as JSON -> which heads it names, which replies it took, in which order."""

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from pydantic import JsonValue, ValidationError

from workflows.contracts.activity_specs import ASK_MODEL
from workflows.contracts.model import ModelReply, StopReason, Usage

Object = dict[str, JsonValue]


@dataclass(frozen=True)
class Mention:
    """A head that an event names."""

    event: int
    digest: str
    activity: str
    """Name of the activity, or what else named it."""
    is_reply: bool
    """The result of a model call, which may have been set aside."""


@dataclass(frozen=True)
class Taken:
    """One model call as history tells it."""

    event: int
    at: str
    head: str
    """Digest of the reply's entry; empty when it was ended on the way."""
    asked_at: str
    """Head that the call was made behind."""
    turn: int
    exchange: int
    attempt: int
    worker: str
    stop: str = ""
    model: str = ""
    usage: Usage | None = None
    cost: int | None = None
    unknown: int = 0

    @property
    def was_cut_off(self) -> bool:
        """The output cap ended it, so it may have been set aside."""
        return self.stop == StopReason.MAX_TOKENS


@dataclass
class RunFacts:
    """What one Temporal run's history tells."""

    events: int = 0
    session: str = ""
    public_key: str = ""
    mentions: list[Mention] = field(default_factory=list)
    replies: dict[str, Taken] = field(default_factory=dict)
    """By head."""
    lost: list[Taken] = field(default_factory=list)
    counted: set[str] = field(default_factory=set)
    """Replies whose calls were run."""

    @property
    def head(self) -> str:
        """The newest head that the run has surely taken; empty when none is named.

        A reply that the output cap cut off may have been set aside: until an event behind it says, it is not trusted.
        """
        for mention in reversed(self.mentions):
            is_counted = not mention.is_reply or mention.digest in self.counted
            if is_counted or not self.replies[mention.digest].was_cut_off:
                return mention.digest
        return ""


def facts_of(data: bytes) -> RunFacts:
    """The facts of a run's history in Temporal's JSON form; ValueError when the bytes are no history."""
    history = json.loads(data)
    events = history.get("events") if isinstance(history, dict) else None
    if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
        raise ValueError("it holds no list of events")
    return _Reading(events).facts


class _Reading:
    """One pass over the events of a run."""

    def __init__(self, events: list[Object]) -> None:
        self.facts = RunFacts(events=len(events))
        self._scheduled: dict[str, tuple[str, Object]] = {}
        self._started: dict[str, Object] = {}
        for event in events:
            number = int(str(event.get("eventId", 0)))
            kind = str(event.get("eventType", "")).removeprefix("EVENT_TYPE_").replace("_", "").lower()
            given = next((part for name, part in event.items() if name.endswith("EventAttributes")), {})
            if isinstance(given, dict):
                self._take(kind, number, str(event.get("eventTime", "")), given)

    def _take(self, kind: str, number: int, at: str, given: Object) -> None:
        match kind:
            case "workflowexecutionstarted":
                self._began(number, given)
            case "activitytaskscheduled":
                name = str(_inside(given, "activityType").get("name", ""))
                request = next(_payloads(given.get("input")), {})
                self._scheduled[str(number)] = (name, request)
                self._mention(number, request, name)
                # A tool call names the reply that holds it: it counts, though after a roll it is not the newest head.
                self.facts.counted.add(str(request.get("entry", "")))
            case "activitytaskstarted":
                self._started[str(given.get("scheduledEventId"))] = given
            case "activitytaskcompleted":
                self._completed(number, at, given)
            case "activitytaskcanceled":
                self._canceled(number, at, given)
            case "workflowexecutioncompleted":
                self._mention(number, next(_payloads(given.get("result")), {}), "result")
            case "workflowexecutioncontinuedasnew":
                self._mention(number, _state_of(given), "next run")
            case _:
                pass

    def _began(self, number: int, given: Object) -> None:
        start = next(_payloads(given.get("input")), {})
        self.facts.session = str(start.get("session", ""))
        self.facts.public_key = str(start.get("public_key", ""))
        self._mention(number, _state_of(given), "start")

    def _completed(self, number: int, at: str, given: Object) -> None:
        name, request = self._scheduled.get(str(given.get("scheduledEventId")), ("", {}))
        result = next(_payloads(given.get("result")), {})
        if name != ASK_MODEL.name:
            self._mention(number, result, name)
            return
        try:
            reply = ModelReply.model_validate(result)
        except ValidationError:
            return
        self._mention(number, result, name, is_reply=True)
        taken = self._call(number, at, request, str(given.get("scheduledEventId")))
        self.facts.replies[reply.head] = replace(
            taken,
            head=reply.head,
            stop=reply.stop.value,
            model=reply.model or taken.model,
            usage=reply.usage,
            cost=reply.cost,
            unknown=reply.unknown,
        )

    def _canceled(self, number: int, at: str, given: Object) -> None:
        key = str(given.get("scheduledEventId"))
        name, request = self._scheduled.get(key, ("", {}))
        if name == ASK_MODEL.name:
            self.facts.lost.append(self._call(number, at, request, key))

    def _call(self, number: int, at: str, request: Object, scheduled: str) -> Taken:
        started = self._started.get(scheduled, {})
        return Taken(
            event=number,
            at=at,
            head="",
            asked_at=str(request.get("head", "")),
            turn=_number(request.get("turn")),
            exchange=_number(request.get("exchange")),
            attempt=_number(started.get("attempt")),
            worker=str(started.get("identity", "")),
            model=str(request.get("model", "")),
        )

    def _mention(self, number: int, value: Object, name: str, *, is_reply: bool = False) -> None:
        head = value.get("head")
        if isinstance(head, str) and head:
            self.facts.mentions.append(Mention(number, head, name, is_reply))


def _state_of(given: Object) -> Object:
    return _inside(next(_payloads(given.get("input")), {}), "state")


def _payloads(value: JsonValue) -> Iterator[Object]:
    """Each payload that holds a JSON object, decoded; what a codec of somebody's own has written is passed over."""
    payloads = value.get("payloads") if isinstance(value, dict) else None
    for payload in payloads if isinstance(payloads, list) else ():
        data = payload.get("data") if isinstance(payload, dict) else None
        decoded = _decoded(data) if isinstance(data, str) else None
        if isinstance(decoded, dict):
            yield decoded


def _decoded(data: str) -> JsonValue:
    try:
        value: JsonValue = json.loads(base64.b64decode(data))
    except ValueError:
        return None
    return value


def _inside(value: Object, name: str) -> Object:
    found = value.get(name)
    return found if isinstance(found, dict) else {}


def _number(value: JsonValue) -> int:
    return int(value) if isinstance(value, int | str) and str(value).isdigit() else 0
