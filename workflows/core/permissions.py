"""mode + rules + findings -> allow, ask or deny."""

from collections.abc import Sequence
from dataclasses import dataclass

from workflows.contracts.permissions import Decision, Finding, Mode, Rules, Unattended, Verdict
from workflows.core.permission_rules import matching


@dataclass(frozen=True)
class Asked:
    """One call, as far as permission depends on it."""

    tool: str
    content: str
    """What rules speak of: the command, the path."""
    is_read_only: bool = False
    edits_files: bool = False
    is_inside: bool = True
    """All paths it names lie in the workspace."""
    needs_person: bool = False
    """Is a question to the person: no mode or rule answers it for them."""
    is_plan_file: bool = False
    """Touches nothing but the session's own plan: read in any mode, written in plan mode."""


def decide(
    asked: Asked,
    mode: Mode,
    rules: Rules,
    findings: Sequence[Finding] = (),
    unattended: Unattended = Unattended.NO,
    hook: Verdict | None = None,
) -> Verdict:
    """Deny rules and findings, ask rules and findings, mode, allow rules, person: the first that speaks decides.

    A deny is never overridden; a person's ask rule asks in bypass mode too.
    """
    verdict = (
        _by_hook(hook, Decision.DENY)
        or _by_rule(asked, rules.deny, Decision.DENY)
        or _by_finding(findings, Decision.DENY)
        or _by_rule(asked, rules.ask, Decision.ASK)
        or _by_finding(findings, Decision.ASK)
        or _by_hook(hook, Decision.ASK)
        or _as_question(asked)
        or _by_mode(asked, mode)
        or _by_rule(asked, rules.allow, Decision.ALLOW)
        or _by_hook(hook, Decision.ALLOW)
        or Verdict(decision=Decision.ASK, by="mode", rule=mode, text=_why_asked(asked))
    )
    if verdict.decision == Decision.ASK:
        return _unasked(verdict, mode, unattended)
    return verdict


def may_still(asked: Asked, rules: Rules) -> Verdict | None:
    """After a person allowed: a deny rule still counts; None when there is none."""
    return _by_rule(asked, rules.deny, Decision.DENY)


def _by_rule(asked: Asked, rules: Sequence[str], decision: Decision) -> Verdict | None:
    rule = matching(rules, asked.tool, asked.content, gives_rights=decision == Decision.ALLOW)
    return Verdict(decision=decision, by="rule", rule=rule, text=f"rule {rule}") if rule else None


def _by_hook(hook: Verdict | None, decision: Decision) -> Verdict | None:
    return hook if hook is not None and hook.decision == decision else None


def _by_finding(findings: Sequence[Finding], action: Decision) -> Verdict | None:
    found = next((finding for finding in findings if finding.action == action), None)
    return Verdict(decision=action, by="finding", rule=found.check, text=found.text) if found else None


def _as_question(asked: Asked) -> Verdict | None:
    if not asked.needs_person:
        return None
    return Verdict(decision=Decision.ASK, by="tool", rule=asked.tool, text="only a person can answer it")


def _by_mode(asked: Asked, mode: Mode) -> Verdict | None:
    allow = Verdict(decision=Decision.ALLOW, by="mode", rule=mode)
    if asked.is_plan_file and (asked.is_read_only or mode == Mode.PLAN):
        return allow
    if mode == Mode.BYPASS or (asked.is_read_only and asked.is_inside):
        return allow
    if mode == Mode.PLAN and asked.edits_files:
        return Verdict(decision=Decision.DENY, by="mode", rule=mode, text="in plan mode no file is changed")
    if mode == Mode.ACCEPT_EDITS and asked.edits_files and asked.is_inside:
        return allow
    return None


def _unasked(verdict: Verdict, mode: Mode, unattended: Unattended) -> Verdict:
    if mode == Mode.DONT_ASK:
        return verdict.model_copy(update={"decision": Decision.DENY, "by": "mode", "rule": mode})
    if unattended == Unattended.DENY:
        return verdict.model_copy(update={"decision": Decision.DENY, "by": "unattended", "rule": "unattended: deny"})
    return verdict


def _why_asked(asked: Asked) -> str:
    if not asked.is_inside:
        return "it names a path outside the session's folder"
    return "no rule allows it"
