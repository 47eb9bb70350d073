"""entries + history facts -> audit steps and totals."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from pydantic import JsonValue

from workflows.contracts.audit import (
    Bill,
    CallStep,
    DamagedStep,
    ExchangeStep,
    Line,
    NoticeStep,
    PromptStep,
    Step,
    Totals,
)
from workflows.contracts.messages import Block, Role, Text, ToolResult, ToolUse
from workflows.contracts.model import Usage
from workflows.contracts.permissions import Answer, answer_bytes
from workflows.contracts.tools import CallStatus
from workflows.contracts.transcript import (
    EditBody,
    Entry,
    MessageBody,
    NoticeBody,
    OutcomeBody,
    canonical,
    digest_of,
)
from workflows.core.audit_histories import RunFacts, Taken
from workflows.core.audit_hosts import facts_of
from workflows.core.server_blocks import searches
from workflows.core.signatures import is_signed

_FIRST = 3
"""Entries among which the notice stands that begins a chain."""
SHORT = 200
"""Characters of a text that a step shows."""


def steps_of(
    session: str, lines: Sequence[Line], set_aside: Mapping[str, Entry | str], runs: Sequence[RunFacts] = ()
) -> list[Step]:
    """Each step in the chain's order. `set_aside` gives each discarded reply by digest, or why it cannot be read."""
    return list(_walk(_Reader(session, lines, set_aside, runs)))


class _Reader:
    """What the steps need to know of each other."""

    def __init__(
        self, session: str, lines: Sequence[Line], set_aside: Mapping[str, Entry | str], runs: Sequence[RunFacts]
    ) -> None:
        self.session = session
        self.lines = lines
        self.set_aside = set_aside
        self.eras = {line.n: era for line, era in zip(lines, eras_of(session, lines), strict=True)}
        self.taken = {head: taken for run in runs for head, taken in run.replies.items()}
        self.unnamed = unnamed_replies(lines, runs)
        self.lost: dict[str, list[Taken]] = {}
        # A run that has ended is at hand twice while the engine remembers it: archived and live.
        for lost in dict.fromkeys(lost for run in runs for lost in run.lost):
            self.lost.setdefault(lost.asked_at, []).append(lost)
        self.uses: Sequence[ToolUse] = ()
        """Calls of the newest reply."""


def _walk(reader: _Reader) -> Iterator[Step]:
    for line in reader.lines:
        yield from _steps_of_line(reader, line)
        for lost in reader.lost.get(line.digest, ()):
            yield _unseen_reply(line, lost, "lost")
        for unnamed in reader.unnamed.get(line.digest, ()):
            yield _unseen_reply(line, unnamed, "set aside")


def _steps_of_line(reader: _Reader, line: Line) -> Iterator[Step]:
    if line.entry is None:
        if not line.why:
            return
        yield DamagedStep(line.n, line.digest, line.why)
        return
    match line.entry.body:
        case MessageBody(role=Role.ASSISTANT) as body:
            reader.uses = tool_uses(body.blocks)
            for digest in body.discards:
                yield _discarded(reader, line, digest)
            yield _exchange(reader, line.n, line.digest, line.entry, body)
            for each in searches(body.blocks):
                yield NoticeStep(
                    line.n, line.digest, line.entry.at, "web_search", each.told, {"sources": list(each.sources)}
                )
        case MessageBody() as body:
            said = [block.text for block in body.blocks if isinstance(block, Text)]
            if said or not any(isinstance(block, ToolResult) for block in body.blocks):
                by = "perdure" if body.hidden else "person"
                yield PromptStep(line.n, line.digest, line.entry.at, body.turn, by, short(" ".join(said)))
        case OutcomeBody() as body:
            yield _call(reader, line, line.entry, body)
        case NoticeBody() as body:
            yield NoticeStep(line.n, line.digest, line.entry.at, body.what, body.text, body.data)
        case EditBody() as body:
            facts: dict[str, JsonValue] = {"objects": list(body.objects), "note": body.note, "lasting": body.lasting}
            yield NoticeStep(line.n, line.digest, line.entry.at, body.what, body.text, facts)


def _discarded(reader: _Reader, line: Line, digest: str) -> Step:
    found = reader.set_aside.get(digest, "it was not read")
    if isinstance(found, Entry) and isinstance(found.body, MessageBody):
        return _exchange(reader, line.n, digest, found, found.body, state="set aside")
    why = found if isinstance(found, str) else f"object {digest} is no reply"
    entry = Entry(n=line.n, parent="", page="", at="", body=MessageBody(role=Role.ASSISTANT, blocks=()))
    unread = MessageBody(role=Role.ASSISTANT, blocks=(Text(text=why),), unknown=0)
    return _exchange(reader, line.n, digest, entry, unread, state="set aside")


def _exchange(
    reader: _Reader, n: int, digest: str, entry: Entry, body: MessageBody, *, state: str = "counted"
) -> ExchangeStep:
    taken = reader.taken.get(digest)
    return ExchangeStep(
        n=n,
        digest=digest,
        at=entry.at,
        turn=body.turn,
        exchange=body.exchange,
        state=state,
        model=body.model,
        stop=body.stop or "",
        usage=None if body.usage is None else as_counts(body.usage),
        cost=body.cost,
        unknown=body.unknown,
        attempt=body.attempt,
        started=body.started,
        ended=body.ended,
        seconds=seconds_between(body.started, body.ended),
        calls=len(tool_uses(body.blocks)),
        text=short(" ".join(block.text for block in body.blocks if isinstance(block, Text))),
        worker=taken.worker if taken else "",
        event=taken.event if taken else 0,
    )


def _unseen_reply(line: Line, taken: Taken, state: str) -> ExchangeStep:
    """A reply that only the engine's history tells of."""
    return ExchangeStep(
        n=line.n,
        digest=taken.head,
        at=taken.at,
        turn=taken.turn,
        exchange=taken.exchange,
        state=state,
        model=taken.model,
        stop=taken.stop,
        usage=None if taken.usage is None else as_counts(taken.usage),
        cost=taken.cost,
        unknown=taken.unknown,
        attempt=taken.attempt,
        started="",
        ended="",
        seconds=None,
        calls=0,
        text="",
        worker=taken.worker,
        event=taken.event,
    )


def _took(body: OutcomeBody) -> float | None:
    """Seconds of a call; of a command that a later attempt found again those that it ran itself."""
    seconds = seconds_between(body.started, body.ended)
    ran = body.data.get("seconds")
    if body.crash != "attached" or not isinstance(ran, float):
        return seconds
    return max(ran, seconds or 0.0)


def _call(reader: _Reader, line: Line, entry: Entry, body: OutcomeBody) -> CallStep:
    use = reader.uses[body.place] if body.place < len(reader.uses) else None
    content: list[JsonValue] = [block.model_dump(mode="json") for block in body.content]
    return CallStep(
        n=line.n,
        digest=line.digest,
        at=entry.at,
        turn=body.turn,
        exchange=body.exchange,
        place=body.place,
        tool=body.tool,
        input=short(canonical(use.input).decode()) if use else "",
        input_digest=body.digest,
        decision=body.verdict.decision,
        by=body.verdict.by,
        rule=body.verdict.rule,
        reason=body.verdict.text,
        source=body.verdict.source,
        file=body.verdict.file,
        policy=body.verdict.policy,
        signer=body.answer.by if body.answer else "",
        signature=signature_of(reader.eras[line.n], body.answer),
        status=body.status,
        attempt=body.attempt,
        crash=body.crash,
        worker=body.worker,
        started=body.started,
        ended=body.ended,
        seconds=_took(body),
        effects=[
            {"kind": effect.kind, "path": effect.path, "before": effect.before, "after": effect.after}
            for effect in body.effects
        ],
        result=body.full or digest_of(canonical(content)),
        size=body.size or sum(len(block.text.encode()) for block in body.content if isinstance(block, Text)),
        hooks=[record.model_dump(mode="json") for record in body.hooks],
        cost=body.cost,
        updated_input="" if body.updated_input is None else short(canonical(body.updated_input).decode()),
        sandbox=str(body.data.get("sandbox", "")),
        sandbox_told=_lines(body.data.get("sandbox_told")),
        hosts=facts_of(body.hosts, signature_of(reader.eras[line.n], body.hosts.answer if body.hosts else None)),
    )


def _lines(told: JsonValue) -> list[str]:
    return [str(line) for line in told] if isinstance(told, list) else []


@dataclass(frozen=True)
class Era:
    """Whose part of the chain an entry lies in."""

    session: str
    public_key: str


def signature_of(era: Era, answer: Answer | None) -> str:
    """How the answer's signature stands: valid, invalid, unsigned or unchecked; empty without an answer."""
    if answer is None:
        return ""
    if not answer.signature:
        return "unsigned"
    if not era.public_key:
        return "unchecked"
    is_valid = is_signed(era.public_key, answer_bytes(era.session, answer), answer.signature)
    return "valid" if is_valid else "invalid"


def public_key_of(lines: Sequence[Line]) -> str:
    """The Ed25519 key that the notice names with which the session began; empty when it names none."""
    return eras_of("", lines)[-1].public_key if lines else ""


def eras_of(session: str, lines: Sequence[Line]) -> list[Era]:
    """One for each line: a session that was taken back goes on in the chain of an older one."""
    eras: list[Era] = []
    opened: tuple[str, int] = ("", 0)
    for place, line in enumerate(lines):
        body = line.entry.body if line.entry else None
        if isinstance(body, NoticeBody) and (place < _FIRST or body.what == "rewound"):
            key, older = body.data.get("public_key", ""), body.data.get("from", "")
            if body.what == "rewound" and isinstance(older, str):
                eras = [era if era.session else Era(older, era.public_key) for era in eras]
            if place >= opened[1] and isinstance(key, str) and key:
                opened = (key, place)
        eras.append(Era("", opened[0]))
    return [era if era.session else Era(session, era.public_key) for era in eras]


def unnamed_replies(lines: Sequence[Line], runs: Sequence[RunFacts]) -> dict[str, list[Taken]]:
    """Replies that history took and no entry names, set aside in a turn that then failed; by the head asked at."""
    known = {line.digest for line in lines}
    for line in lines:
        if line.entry and isinstance(line.entry.body, MessageBody):
            known |= set(line.entry.body.discards)
    found: dict[str, list[Taken]] = {}
    for head, taken in {head: taken for run in runs for head, taken in run.replies.items()}.items():
        if head not in known and taken.was_cut_off:
            found.setdefault(taken.asked_at, []).append(taken)
    return found


def tool_uses(blocks: Iterable[Block]) -> tuple[ToolUse, ...]:
    """The calls among these blocks, in order."""
    return tuple(block for block in blocks if isinstance(block, ToolUse))


def short(text: str) -> str:
    """At most SHORT characters, on one line."""
    line = " ".join(text[: 2 * SHORT].split())
    return line if len(line) <= SHORT else line[: SHORT - 1] + "…"


def as_counts(usage: Usage) -> dict[str, int]:
    """Tokens by kind, zeros too."""
    return {name: getattr(usage, name) for name in Usage.model_fields}


def seconds_between(started: str, ended: str) -> float | None:
    """Seconds from one time stamp to another; None when one is missing."""
    try:
        return round((datetime.fromisoformat(ended) - datetime.fromisoformat(started)).total_seconds(), 3)
    except ValueError:
        return None


def totals_of(steps: Iterable[Step]) -> Totals:
    """The sums of these steps: nothing else is counted, and what is unknown is told as unknown."""
    totals = Totals(usage=as_counts(Usage()))
    for step in steps:
        match step:
            case ExchangeStep():
                bill = totals.models.setdefault(step.model or "unknown", Bill(usage=as_counts(Usage())))
                _add(totals, step)
                _add(bill, step)
                totals.seconds += step.seconds or 0
            case CallStep():
                totals.calls += 1
                totals.cost += step.cost
                totals.denials += step.status == CallStatus.DENIED
                totals.errors += step.status not in {CallStatus.OK, CallStatus.DENIED}
                totals.seconds += step.seconds or 0
            case PromptStep():
                totals.prompts += 1
            case DamagedStep():
                totals.damaged += 1
            case NoticeStep():
                totals.cost += _hook_cost(step)
    totals.seconds = round(totals.seconds, 3)
    return totals


def _hook_cost(step: NoticeStep) -> int:
    """What the hooks that a notice tells of took."""
    hooks = step.data.get("hooks") if step.what == "hooks" else None
    costs = [hook.get("cost") for hook in hooks if isinstance(hook, dict)] if isinstance(hooks, list) else []
    return sum(cost for cost in costs if isinstance(cost, int))


def _add(bill: Bill, step: ExchangeStep) -> None:
    bill.replies += 1
    bill.unknown += step.unknown + (step.usage is None)
    if step.usage is not None:
        bill.usage = {name: bill.usage[name] + count for name, count in step.usage.items()}
        bill.unpriced += step.cost is None
    bill.cost += step.cost or 0
