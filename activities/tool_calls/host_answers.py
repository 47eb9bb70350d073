"""Host answers: a person's answer about hosts is carried out and told; what the command gave is as it was kept."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from activities.safety.sandbox.opened_hosts import Line, said_of
from activities.settings.always import always_open
from activities.settings.places import places_of
from activities.stores.files import append_line, make_folder
from activities.stores.journal import Record
from activities.tool import Call
from activities.tool_calls.host_standing import file_of, standing_of
from activities.tool_calls.outcomes import Made, Told, reported
from workflows.contracts.errors import UserError
from workflows.contracts.events import ApprovalAnswered, ApprovalAsked
from workflows.contracts.messages import Text, clean
from workflows.contracts.permissions import Answer, Approval, Decision, Mode, RefusedHosts, Unattended, Verdict
from workflows.contracts.tools import CallStatus, Pass, ToolDone, ToolRequest
from workflows.contracts.transcript import OutcomeBody
from workflows.core.refused_hosts import host_verdict, opened_line
from workflows.core.suggestions import is_short


@dataclass(frozen=True)
class Kept:
    """A call that has ended and is asked about: the question, and what counts if nobody answers it."""

    approval: Approval
    body: OutcomeBody
    outcome: str
    """Digest of the body, as it is stored."""
    cwd: str
    cost: int

    @property
    def hosts(self) -> RefusedHosts:
        """The hosts that it is about."""
        if self.body.hosts is None:
            raise AssertionError("a question about hosts has hosts")
        return self.body.hosts

    def as_record(self) -> Record:
        """What the journal keeps."""
        approval = self.approval.model_dump(mode="json")
        return {"approval": approval, "outcome": self.outcome, "cwd": self.cwd, "cost": self.cost}


async def kept_of(told: Told) -> Kept | None:
    """The question that is open about this call, as an earlier attempt kept it; None when there is none."""
    record = told.at.record.read_question()
    if record is None:
        return None
    outcome, cost = str(record["outcome"]), record["cost"]
    body = OutcomeBody.model_validate_json(await told.world.store.get(outcome))
    approval = Approval.model_validate(record["approval"])
    return Kept(approval, body, outcome, str(record["cwd"]), cost if isinstance(cost, int) else 0)


async def asked_again(told: Told, kept: Kept) -> ToolDone:
    """Tell watchers of the question; what the workflow keeps until it is answered."""
    approval, store = kept.approval, told.world.store
    rules = Pass.model_validate_json(await store.get(approval.found)).suggestions
    told.say(
        ApprovalAsked(
            **told.place(),
            tool=approval.tool,
            approval=approval.id,
            summary=approval.summary,
            reason=approval.reason,
            content=(await store.get(approval.content)).decode(),
            suggestions=rules if is_short(rules) else (),
        )
    )
    return ToolDone(
        status=CallStatus.NEEDS_APPROVAL, approval=approval, outcome=kept.outcome, cwd=kept.cwd, cost=kept.cost
    )


async def taken_up(told: Told, request: ToolRequest) -> ToolDone | None:
    """The second pass of a call whose hosts were asked about: nothing of it is run again. None where none were."""
    kept = await kept_of(told)
    if kept is None:
        return None
    answer = _answer(kept.approval, request)
    if answer is None:
        return await asked_again(told, kept)
    told.say(ApprovalAnswered(**told.place(), approval=answer.approval, allow=answer.allow, by=answer.by))
    call = told.at.call(told.world, request)
    opened = await asyncio.to_thread(_carried_out, call, kept.hosts, answer)
    saved = await asyncio.to_thread(_saved, call, opened, answer)
    return await reported(told, _answered(told, kept, opened, answer, saved))


async def unanswered(told: Told) -> ToolDone | None:
    """What counts of a call that was ended while its hosts were asked about; None where none were."""
    kept = await kept_of(told)
    if kept is None:
        return None
    line = _line_of(told.at.call(told.world, told.request))
    if line is None:
        return await reported(told, Made(kept.body, kept.cwd, 0))
    return await reported(told, _answered(told, kept, line["opened"], Answer.model_validate(line["answer"]), {}))


def keep_opened(call: Call, hosts: Sequence[str], verdict: Verdict) -> None:
    """Open hosts to the session's commands without a person."""
    _keep(call, {"hosts": [*hosts], "opened": [*hosts], "verdict": verdict.model_dump(mode="json")})


def with_line(told: Told, body: OutcomeBody, line: str) -> OutcomeBody:
    """The outcome with one more line about the sandbox, for the model and for the audit."""
    text = told.masker.text(clean(line))
    said = body.data.get("sandbox_told")
    data: dict[str, JsonValue] = {**body.data, "sandbox_told": [*(said if isinstance(said, list) else []), text]}
    return body.model_copy(update={"content": (*body.content, Text(text=text)), "data": data})


def _answer(asked: Approval, request: ToolRequest) -> Answer | None:
    """The person's answer, if it was given to exactly this question."""
    answer = request.answer
    if answer is None or request.approval is None:
        return None
    given = (answer.approval, answer.digest, answer.content)
    expected = (asked.id, asked.digest, asked.content)
    return answer if given == expected and request.approval.digest == asked.digest else None


def _carried_out(call: Call, hosts: RefusedHosts, answer: Answer) -> tuple[str, ...]:
    """The hosts that are open now by this answer, written down once; what is denied meanwhile stays closed."""
    if (line := _line_of(call)) is not None:
        return tuple(line["opened"])
    standing = standing_of(call, hosts.asked, Mode.DEFAULT, Unattended.NO)
    wanted = hosts.asked if answer.allow else ()
    opened = [host for host in wanted if host_verdict(host, standing).decision != Decision.DENY]
    _keep(call, {"hosts": [*hosts.asked], "opened": opened, "answer": answer.model_dump(mode="json")})
    return tuple(opened)


def _saved(call: Call, hosts: Sequence[str], answer: Answer) -> dict[str, JsonValue]:
    """What *always* saves, and where; or why nothing is."""
    if not (hosts and answer.always):
        return {}
    try:
        file, _added = always_open(places_of(call.world), call.own_folder or call.workspace, hosts, answer.by)
    except UserError as error:
        return {"hosts": [], "why": str(error)}
    return {"hosts": [*hosts], "file": str(file)}


def _answered(told: Told, kept: Kept, opened: Sequence[str], answer: Answer, saved: dict[str, JsonValue]) -> Made:
    """The outcome as it was kept, with what the person said."""
    known = kept.hosts
    hosts = known.model_copy(update={"answer": answer, "opened": (*known.opened, *opened)})
    body = with_line(told, kept.body.model_copy(update={"hosts": hosts}), _told(known.asked, opened, answer, saved))
    if saved:
        body = body.model_copy(update={"data": {**body.data, "always_hosts": saved}})
    # The session has counted what it cost when it heard of the question.
    return Made(body, kept.cwd, 0)


def _told(asked: Sequence[str], opened: Sequence[str], answer: Answer, saved: dict[str, JsonValue]) -> str:
    by = answer.by or "the person"
    if not answer.allow:
        words = f": {answer.text}" if answer.text else ""
        return (
            f"[sandbox: {by} said no to opening {', '.join(asked)}{words}. "
            "In this session that stays refused, and is not asked about again]"
        )
    if not opened:
        return f"[sandbox: {by} would open {', '.join(asked)}, but rules or settings deny it now]"
    closed = [host for host in asked if host not in opened]
    more = f" (rules or settings deny {', '.join(closed)} now)" if closed else ""
    if saved:
        more += f", for later sessions too ({saved['file']})" if "file" in saved else f"; not saved: {saved['why']}"
    return opened_line(by, opened, more)


def _line_of(call: Call) -> Line | None:
    """The person's answer for this call, if it was carried out before."""
    return next((line for line in said_of(file_of(call), call.key) if "answer" in line), None)


def _keep(call: Call, line: Line) -> None:
    file = file_of(call)
    make_folder(file.parent)
    append_line(file, json.dumps({"call": call.key, **line}).encode("ascii"))
