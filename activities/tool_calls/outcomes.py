"""Told: one call's outcome on its way into journal, store and event feed."""

import asyncio
import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TypedDict

from pydantic import JsonValue

from activities.safety.secrets import masked_outcome, masked_record, masked_summary, masked_verdict, progress_text
from activities.stores.journal import Record
from activities.stores.masking import Masker
from activities.tool import AnyTool, Call, ToolInput
from activities.tool_calls.opened import OpenedCall
from activities.world import World
from workflows.contracts.events import Happened, ToolEnded, ToolProgress, ToolStarted
from workflows.contracts.extensions import HookRecord
from workflows.contracts.messages import Text, clean
from workflows.contracts.permissions import Answer, Verdict
from workflows.contracts.tools import CallStatus, EndRequest, Repeat, ToolDone, ToolOutcome, ToolRequest
from workflows.contracts.transcript import OutcomeBody, canonical, stamp

_PROGRESS_EVERY = 0.25
_PREVIEW = 2_000
_STOP = 300


def wall_time() -> str:
    """Now, ISO 8601 UTC in milliseconds."""
    return stamp(datetime.now(UTC))


class Place(TypedDict):
    """Where an event of a call belongs."""

    turn: int
    exchange: int
    attempt: int
    place: int


@dataclass(frozen=True)
class Ended:
    """An outcome, and what a crash did to the call."""

    outcome: ToolOutcome
    crash: str


@dataclass
class Told:
    """One attempt at a call, and what is told of it."""

    world: World
    request: ToolRequest | EndRequest
    at: OpenedCall
    began: float = field(default_factory=time.monotonic)
    began_at: str = field(default_factory=wall_time)
    hooks: list[HookRecord] = field(default_factory=list)
    """Hooks that ran so far, in order."""
    hook_cost: int = 0
    """Micro-dollars that this attempt's hooks took."""
    facts: dict[str, JsonValue] = field(default_factory=dict)
    """What deciding gave that the outcome is to tell: a classifier's cost, rules that were saved."""
    denied: str = ""
    """What a call that was denied was to do."""

    @property
    def cost(self) -> int:
        """Micro-dollars that deciding cost."""
        classifier = self.facts.get("classifier")
        cost = classifier.get("cost") if isinstance(classifier, dict) else 0
        return (cost if isinstance(cost, int) else 0) + self.hook_cost

    def place(self) -> Place:
        """Where its events belong."""
        request = self.request
        return Place(
            turn=request.turn,
            exchange=request.exchange,
            attempt=self.world.beat().attempt,
            place=request.place,
        )

    @property
    def masker(self) -> Masker:
        """Masks what is secret for the session."""
        return self.world.masker(self.request.session)

    def summary(self, tool: AnyTool, given: ToolInput) -> str:
        """One line of what the call wants to do, secrets masked."""
        return masked_summary(self.masker, tool, given)

    def say(self, event: Happened) -> None:
        """Tell watchers."""
        self.world.publish(self.request.session, event)

    def started(self, summary: str) -> None:
        """Tell watchers that it runs."""
        self.say(ToolStarted(**self.place(), tool=self.at.use.name, summary=summary))

    def with_progress(self, call: Call) -> Call:
        """The call with a way to tell watchers how it goes, four times a second at most."""
        last = 0.0

        def progress(newest: bytes, size: int) -> None:
            nonlocal last
            now = time.monotonic()
            if now - last < _PROGRESS_EVERY:
                return
            last = now
            text = progress_text(self.masker, newest, is_cut=size > len(newest))[-_PREVIEW:]
            self.say(ToolProgress(**self.place(), text=text, size=size, seconds=round(now - self.began, 1)))

        return replace(call, progress=progress)


@dataclass(frozen=True)
class Made:
    """An outcome as it is stored, and what beside it the workflow hears of."""

    body: OutcomeBody
    cwd: str
    cost: int
    """Micro-dollars that the session has not counted yet."""


async def stored(told: Told, verdict: Verdict, ended: Ended, answer: Answer | None = None) -> ToolDone:
    """Store the outcome, write it into the journal, tell watchers; what the workflow keeps of it."""
    return await reported(told, await made(told, verdict, ended, answer))


async def made(told: Told, verdict: Verdict, ended: Ended, answer: Answer | None = None) -> Made:
    """The outcome of this attempt, masked."""
    at, request = told.at, told.request
    outcome = await asyncio.to_thread(masked_outcome, told.masker, ended.outcome)
    body = OutcomeBody(
        turn=request.turn,
        exchange=request.exchange,
        place=request.place,
        tool=clean(at.use.name),
        call=at.use.id,
        digest=at.digest,
        verdict=masked_verdict(told.masker, verdict),
        answer=answer,
        status=outcome.status,
        content=outcome.content,
        is_error=outcome.is_error,
        full=outcome.full,
        size=outcome.size,
        effects=outcome.effects,
        data=outcome.data | told.facts,
        attempt=told.world.beat().attempt,
        crash=ended.crash,
        worker=told.world.beat().worker,
        started=told.began_at,
        ended=wall_time(),
        directives=outcome.directives,
        hooks=tuple(masked_record(told.masker, record) for record in told.hooks),
        cost=told.cost - told.hook_cost + sum(record.cost for record in told.hooks) + outcome.cost,
        updated_input=at.updated_input,
    )
    return Made(body, outcome.cwd, told.cost + outcome.cost)


async def reported(told: Told, result: Made) -> ToolDone:
    """Store an outcome, write it into the journal, tell watchers; what the workflow keeps of it."""
    at, body = told.at, result.body
    done = _done({"cwd": result.cwd, "cost": result.cost}, body, await put(told.world, body))
    if at.tool is not None and at.tool.repeat != Repeat.SAFE:
        at.record.write_outcome(
            {"outcome": done.outcome, "status": done.status.value, "cwd": done.cwd, "cost": done.cost}
        )
        if "output_bytes" in body.data and body.status != CallStatus.UNKNOWN:
            # All that is kept of it is in the outcome now, or in the object that the outcome names.
            at.record.drop_output()
    _tell_end(told, body)
    return done


async def found(told: Told) -> ToolDone | None:
    """What an earlier attempt did and could not report; None when there is none."""
    record = told.at.record.read_outcome()
    if record is None:
        return None
    body = OutcomeBody.model_validate_json(await told.world.store.get(str(record["outcome"])))
    body = body.model_copy(update={"crash": body.crash or "found", "attempt": told.world.beat().attempt})
    _tell_end(told, body)
    return _done(record, body, await put(told.world, body))


def _done(record: Record, body: OutcomeBody, digest: str) -> ToolDone:
    return ToolDone(
        outcome=digest,
        status=body.status,
        cwd=str(record.get("cwd", "")),
        cost=cost if isinstance(cost := record.get("cost"), int) else 0,
        directives=body.directives,
        stop=next((hook.text or hook.hook for hook in body.hooks if hook.decision == "stop"), "")[:_STOP],
    )


async def put(world: World, body: OutcomeBody) -> str:
    """Store it; its digest."""
    return await world.store.put(canonical(body.model_dump(mode="json")))


def _tell_end(told: Told, body: OutcomeBody) -> None:
    preview = "\n".join(block.text for block in body.content if isinstance(block, Text))[:_PREVIEW]
    told.say(
        ToolEnded(
            **told.place(),
            tool=body.tool,
            status=body.status.value,
            preview=preview,
            seconds=round(time.monotonic() - told.began, 3),
            crash=body.crash,
            summary=told.denied,
        )
    )
