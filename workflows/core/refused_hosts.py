"""Hosts that the sandbox refused to a command -> who decides about each, and what a question about them is bound to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from workflows.contracts.permissions import Decision, Mode, Policy, Unattended, Verdict
from workflows.contracts.transcript import canonical, digest_of
from workflows.core.permission_rules import parse
from workflows.core.permissions import Heard, Opinion, decide
from workflows.core.rule_matching import Asked


@dataclass(frozen=True)
class Standing:
    """What counts for the hosts of a session now."""

    policy: Policy
    mode: Mode
    unattended: Unattended = Unattended.NO
    known: Mapping[str, Verdict] = field(default_factory=dict)
    """Hosts about which a setting or an earlier answer has decided."""
    strict: Verdict | None = None
    """The setting by which nobody is ever asked; None where there is none."""


def host_verdict(host: str, standing: Standing, opinion: Opinion | None = None) -> Verdict:
    """Whether to ask about one host: as about a web request to it, but no allow rule and no mode opens it.

    What a rule allows WebFetch is not allowed every command, and in bypass mode the sandbox's list still counts.
    """
    if verdict := standing.known.get(host) or standing.strict:
        return verdict
    name = host.partition(":")[0]
    asked = Asked(tool="WebFetch", content=f"domain:{name}", host=name)
    named = tuple(rule for rule in standing.policy.rules if rule.action != Decision.ALLOW and _names_host(rule.text))
    policy = standing.policy.model_copy(update={"rules": named})
    verdict = decide(asked, standing.mode, policy, (), standing.unattended, Heard(opinion=opinion))
    if verdict.by in {"mode", "unattended"}:
        kept = Decision.DENY if verdict.decision == Decision.ALLOW else verdict.decision
        return verdict.model_copy(update={"decision": kept, "text": "not on the list of allowed hosts"})
    return verdict


def host_verdicts(
    hosts: Sequence[str], standing: Standing, opinion: Opinion | None = None
) -> dict[Verdict, tuple[str, ...]]:
    """The hosts by what decides about them, in the order in which they were refused."""
    found: dict[Verdict, tuple[str, ...]] = {}
    for host in hosts:
        verdict = host_verdict(host, standing, opinion)
        found[verdict] = (*found.get(verdict, ()), host)
    return found


def told_of(verdict: Verdict, hosts: Sequence[str]) -> str:
    """The line that the model reads of hosts which nobody is asked about; empty where what was refused says it all."""
    names = ", ".join(hosts)
    if verdict.decision == Decision.ALLOW:
        return opened_line("the small model of auto mode", hosts)
    match verdict.by:
        case "mode" if verdict.rule == Mode.BYPASS:
            return ""
        case "person":
            return f"[sandbox: {verdict.rule} did not open {names} in this session, and is not asked about it again]"
        case "classifier":
            return f"[sandbox: the small model of auto mode did not open {names}: {verdict.text}]"
        case "unattended":
            why = f"nobody attends this session (rule {verdict.rule!r})"
        case "mode":
            why = f"mode {verdict.rule}"
        case "rule":
            why = f"rule {verdict.rule}" + (f" of {verdict.file}" if verdict.file else "")
        case _:
            why = verdict.text
    return f"[sandbox: nobody is asked to open {names}: {why}]"


def opened_line(by: str, hosts: Sequence[str], more: str = "") -> str:
    """The line that tells of hosts that were opened."""
    return (
        f"[sandbox: {by} opened {', '.join(hosts)} to this session's commands{more}. The command was not run again: "
        "run it again if it is still wanted]"
    )


def hosts_digest(session: str, call: str, bound: str, hosts: Sequence[str]) -> str:
    """What an answer about hosts is bound to: this session, this call and its input, and exactly these hosts."""
    return digest_of(canonical({"session": session, "call": call, "input": bound, "hosts": [*hosts]}))


def _names_host(text: str) -> bool:
    """Whether a rule speaks of a host; one of WebFetch as a whole is about that tool."""
    rule = parse(text)
    return rule is not None and rule.tool == "WebFetch" and bool(rule.content)
