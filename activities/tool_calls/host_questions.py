"""Host questions: hosts that a command was refused may be opened by a person; the command itself is not run again."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from activities.hooks.run import HooksCancelled
from activities.safety.sandbox.named_hosts import CLOSED, still_closed
from activities.settings.always import DOMAINS
from activities.tool import Call, ToolInput
from activities.tool_calls.classifier import classify, spent_on
from activities.tool_calls.hooked import CallHooks
from activities.tool_calls.host_answers import Kept, asked_again, keep_opened, with_line
from activities.tool_calls.host_standing import opened_by_model, standing_of
from activities.tool_calls.opened import Begun
from activities.tool_calls.outcomes import Ended, Made, Told, made, put, reported, stored
from workflows.contracts.ids import call_id, hosts_question
from workflows.contracts.messages import clean
from workflows.contracts.permissions import Approval, Decision, RefusedHosts, Verdict
from workflows.contracts.tools import CallStatus, Pass, ToolDone, ToolOutcome
from workflows.contracts.transcript import OutcomeBody, canonical
from workflows.core.permissions import Opinion, wants_opinion
from workflows.core.refused_hosts import Standing, host_verdict, host_verdicts, hosts_digest, told_of

_SUMMARY, _NAMES, _COMMAND = 160, 70, 2_000
"""Characters of a question, of the hosts in it, and of the command that it shows whole."""


class OpenHosts(ToolInput):
    """What the small model of auto mode is asked about."""

    after_command: str
    open_to_all_commands_of_the_session: tuple[str, ...]


_Verdicts = Mapping[Verdict, Sequence[str]]
"""Hosts by what decides about them."""


@dataclass(frozen=True)
class _Case:
    """One command that has ended, and the hosts that it was refused."""

    told: Told
    hooks: CallHooks
    given: ToolInput
    hosts: tuple[str, ...]

    @property
    def call(self) -> Call:
        """The call that ran it."""
        return self.hooks.call

    @property
    def command(self) -> str:
        """The beginning of the command, secrets masked."""
        return self.told.masker.text(clean(self.hooks.tool.subject(self.call, self.given)))[:_COMMAND]


async def stored_or_asked(told: Told, hooks: CallHooks, given: ToolInput, ended: Ended, begun: Begun) -> ToolDone:
    """Store the outcome of a call that has ended; or keep it, where a person is to be asked about hosts first.

    Nobody is asked about a command that was interrupted, or whose turn a hook ends.
    """
    hosts = _closed(ended.outcome, hooks.call)
    if not hosts or _is_over(told, ended.outcome):
        return await stored(told, begun.verdict, ended, begun.answer)
    case = _Case(told, hooks, given, hosts)
    verdicts, cost = await _judged(case)
    asked = _decided(verdicts, Decision.ASK)
    if asked:
        with suppress(HooksCancelled):
            await hooks.notify(given, "notified of hosts")
    outcome = ended.outcome.model_copy(update={"cost": ended.outcome.cost + cost})
    result = await made(told, begun.verdict, Ended(outcome, ended.crash), begun.answer)
    result = replace(result, body=_with_hosts(told, result.body, hosts, verdicts))
    return await _kept(case, result) if asked else await reported(told, result)


async def _kept(case: _Case, result: Made) -> ToolDone:
    """Keep what the command gave, then ask: nothing of it is done again for the answer."""
    told, body = case.told, result.body
    if body.hosts is None:
        raise AssertionError("nobody is asked about no hosts")
    approval = await _question(case, body.hosts)
    kept = Kept(approval, body, await put(told.world, body), result.cwd, result.cost)
    told.at.record.write_question(kept.as_record())
    # Its object holds all that is shown of it.
    told.at.record.drop_output()
    return await asked_again(told, kept)


def _is_over(told: Told, outcome: ToolOutcome) -> bool:
    has_ended = outcome.status in {CallStatus.OK, CallStatus.ERROR}
    return not has_ended or told.world.beat().cancelled.is_set() or any(hook.decision == "stop" for hook in told.hooks)


def _decided(verdicts: _Verdicts, decision: Decision) -> tuple[str, ...]:
    return tuple(host for verdict, hosts in verdicts.items() if verdict.decision == decision for host in hosts)


def _with_hosts(told: Told, body: OutcomeBody, hosts: tuple[str, ...], verdicts: _Verdicts) -> OutcomeBody:
    """The outcome with what was decided about the hosts, and a line for each that nobody is asked about."""
    asked = _decided(verdicts, Decision.ASK)
    why = next(verdict for verdict in verdicts if not asked or verdict.decision == Decision.ASK)
    opened = _decided(verdicts, Decision.ALLOW)
    body = body.model_copy(update={"hosts": RefusedHosts(refused=hosts, asked=asked, verdict=why, opened=opened)})
    lines = (told_of(verdict, names) for verdict, names in verdicts.items() if verdict.decision != Decision.ASK)
    for line in filter(None, lines):
        body = with_line(told, body, line)
    return body


def _closed(outcome: ToolOutcome, call: Call) -> tuple[str, ...]:
    told = outcome.data.get(CLOSED)
    if not isinstance(told, list):
        return ()
    named = tuple(map(str, told))
    # A name that held a secret is none any more, now that it is masked.
    return tuple(dict.fromkeys((*opened_by_model(call), *still_closed(named, (), ()))))


async def _judged(case: _Case) -> tuple[_Verdicts, int]:
    """What decides about each host, and what asking the small model cost; what that opens is open."""
    call, hosts = case.call, case.hosts
    standing = await asyncio.to_thread(standing_of, call, hosts, case.hooks.request.mode, call.settings.unattended)
    opinion, cost = await _opinion(case, standing)
    verdicts = host_verdicts(hosts, standing, opinion)
    for verdict, names in verdicts.items():
        if verdict.decision == Decision.ALLOW and names[0] not in standing.known:
            await asyncio.to_thread(keep_opened, call, names, verdict)
    return verdicts, cost


async def _opinion(case: _Case, standing: Standing) -> tuple[Opinion | None, int]:
    """What the small model of auto mode thinks of those hosts that nothing else decides about, and what it cost."""
    wanted = tuple(host for host in case.hosts if wants_opinion(host_verdict(host, standing)))
    if not wanted:
        return None, 0
    spent = spent_on(case.call)
    given = OpenHosts(after_command=case.command, open_to_all_commands_of_the_session=wanted)
    opinion = await classify(case.call, case.hooks.tool, given, case.hooks.request.entry, spent)
    return opinion, spent.cost


async def _question(case: _Case, refused: RefusedHosts) -> Approval:
    """The question, bound to this session, this call and exactly these hosts."""
    told, request, hosts = case.told, case.hooks.request, refused.asked
    store = told.world.store
    digest = hosts_digest(request.session, call_id(request.exchange, request.place), told.at.bound, hosts)
    rules = tuple(f"{DOMAINS} {host}" for host in hosts)
    found = Pass(verdict=refused.verdict, digest=digest, suggestions=rules)
    lines = [
        "hosts to open to this session's commands, on ports 80 and 443 unless one is named:",
        *(f"  {host}" for host in hosts),
        "the command that was refused them; it has ended and is not run again:",
        *(f"  {line}" for line in case.command.splitlines()),
    ]
    return Approval(
        id=hosts_question(request.exchange, request.place),
        tool=case.hooks.tool.name,
        summary=_summary(hosts, told.summary(case.hooks.tool, case.given)),
        digest=digest,
        found=await store.put(canonical(found.model_dump(mode="json"))),
        asked_at=request.at,
        reason=refused.verdict.text[:120],
        content=await store.put("\n".join(lines).encode()),
    )


def _summary(hosts: Sequence[str], command: str) -> str:
    """The question in one line: as many hosts as fit, and the beginning of the command."""
    # Whose a name is says its end.
    names = [host if len(host) <= _NAMES else f"…{host[1 - _NAMES :]}" for host in hosts]
    shown = [name for place, name in enumerate(names) if not place or len(", ".join(names[: place + 1])) <= _NAMES]
    more = f" and {len(hosts) - len(shown)} more" if len(shown) < len(hosts) else ""
    before, after = f"open {', '.join(shown)}{more} to this session's commands; `", "` was refused "
    after += "them" if hosts[1:] else "it"
    room = _SUMMARY - len(before) - len(after)
    return f"{before}{command if len(command) <= room else f'{command[: room - 1]}…'}{after}"
