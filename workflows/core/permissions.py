"""mode + rules + findings -> allow, ask or deny: the same for who decides and for who explains."""

from collections.abc import Sequence
from dataclasses import dataclass

from workflows.contracts.commands import Judgement, Reason
from workflows.contracts.permissions import (
    Decision,
    Finding,
    Mode,
    Policy,
    Rules,
    Source,
    SourcedRule,
    Unattended,
    Verdict,
)
from workflows.core.command_permission import Cover, cover
from workflows.core.permission_rules import is_broad
from workflows.core.protected_paths import own, protected
from workflows.core.rule_matching import Asked, allowing, first_forbidding

MOST_REASONS = 8

__all__ = ["Asked", "Heard", "Opinion", "decide", "effective", "may_still", "policy_of_rules", "wants_opinion"]


@dataclass(frozen=True)
class Opinion:
    """What the small model of auto mode thinks of a call."""

    decision: Decision
    """Allow, or deny; ask when it may not decide any more, because it has blocked too often."""
    text: str = ""


@dataclass(frozen=True)
class Heard:
    """What others have said of a call."""

    hook: Verdict | None = None
    """A person's hooks: a deny is one, an ask counts as an ask rule's, an allow as an allow rule's."""
    opinion: Opinion | None = None
    """The small model of auto mode, where it was asked."""


def policy_of_rules(rules: Rules, source: Source = Source.CLI) -> Policy:
    """The policy that these rules alone make."""
    given = ((Decision.DENY, rules.deny), (Decision.ASK, rules.ask), (Decision.ALLOW, rules.allow))
    found = tuple(SourcedRule(text=text, action=action, source=source) for action, texts in given for text in texts)
    return Policy(rules=found)


def effective(mode: Mode, policy: Policy) -> Mode:
    """The mode that counts: one that the policy has switched off is the default one."""
    is_off = (mode == Mode.BYPASS and policy.disable_bypass) or (mode == Mode.AUTO and policy.disable_auto)
    return Mode.DEFAULT if is_off else mode


def decide(
    asked: Asked,
    mode: Mode,
    policy: Policy,
    findings: Sequence[Finding] = (),
    unattended: Unattended = Unattended.NO,
    heard: Heard | None = None,
) -> Verdict:
    """What becomes of a call: the first that speaks decides, and a deny is never overridden.

    Denies of the static layers, deny rules, denies of findings and hooks; plan mode; ask rules, asks of hooks; bypass
    mode; asks that no allow rule silences; protected paths; read-only proof, accepted edits and allow rules, for each
    part of a command; in auto mode the small model's opinion; the person.
    """
    heard = heard or Heard()
    case = _Case(asked, effective(mode, policy), policy, tuple(findings), heard.hook)
    verdict = (
        case.denied()
        or case.only_planned()
        or case.asked_by_person()
        or case.by_standing()
        or _by_opinion(case, heard.opinion)
    )
    if verdict.decision == Decision.ASK and not wants_opinion(verdict):
        verdict = _unasked(verdict, case.mode, unattended)
    return verdict.model_copy(update={"policy": policy.digest, "reasons": case.reasons})


def may_still(asked: Asked, policy: Policy, findings: Sequence[Finding] = ()) -> Verdict | None:
    """After a person allowed: what denies still counts; None when nothing does."""
    verdict = _Case(asked, Mode.DEFAULT, policy, tuple(findings)).denied()
    return verdict.model_copy(update={"policy": policy.digest}) if verdict else None


def wants_opinion(verdict: Verdict) -> bool:
    """Whether the small model is to be asked, and then once more for the verdict."""
    return verdict.decision == Decision.ASK and verdict.by == "classifier" and not verdict.rule


@dataclass(frozen=True)
class _Case:
    """One call before its judges."""

    asked: Asked
    mode: Mode
    policy: Policy
    findings: tuple[Finding, ...]
    hook: Verdict | None = None

    @property
    def static(self) -> tuple[Reason, ...]:
        """What the static layers say of a command."""
        return self.asked.judged.reasons if self.asked.judged else ()

    @property
    def reasons(self) -> tuple[Finding, ...]:
        """What all checks saw, for the record."""
        return (*map(_as_finding, self.static), *self.findings)[:MOST_REASONS]

    @property
    def standing(self) -> Policy:
        """The policy without what auto mode takes out of it: rules that would leave the small model nothing to see."""
        if self.mode != Mode.AUTO:
            return self.policy
        kept = [rule for rule in self.policy.rules if rule.action != Decision.ALLOW or not is_broad(rule.text)]
        return self.policy.model_copy(update={"rules": tuple(kept)})

    def denied(self) -> Verdict | None:
        """What no mode, rule, hook or person overrides."""
        if self.policy.broken:
            return Verdict(decision=Decision.DENY, by="policy", rule="settings", text=self.policy.broken)
        found = next((reason for reason in self.static if reason.action == Decision.DENY), None)
        if found:
            return _by_finding(_as_finding(found))
        folder = next((own(one) for path in self.asked.paths for one in path.both if own(one)), "")
        if folder and self.asked.edits_files and not self.asked.is_plan_file:
            why = f"{folder} holds the agent's own settings: a person may change them, the agent may not"
            return Verdict(decision=Decision.DENY, by="finding", rule="self-protection", text=why)
        return self._by_hook(Decision.DENY) or self._by_rule(Decision.DENY) or self._by_findings(Decision.DENY)

    def only_planned(self) -> Verdict | None:
        """In plan mode no file is changed but the plan: an ask rule does not open that again."""
        if self.mode == Mode.PLAN and self.asked.edits_files and not self.asked.is_plan_file:
            return self._by_mode(Decision.DENY, "in plan mode no file is changed")
        return None

    def asked_by_person(self) -> Verdict | None:
        """What a person wants to be asked about in every mode."""
        if verdict := self._by_rule(Decision.ASK):
            return verdict
        if verdict := self._by_hook(Decision.ASK):
            return verdict
        if self.asked.needs_person:
            return Verdict(decision=Decision.ASK, by="tool", rule=self.asked.tool, text="only a person can answer this")
        return None

    def by_standing(self) -> Verdict | None:
        """Mode, sticky asks, protected paths, proof, accepted edits, allow rules; None when all are silent."""
        if self.mode == Mode.BYPASS:
            return self._by_mode(Decision.ALLOW)
        covered = self._cover()
        sticky = covered.sticky if covered else None
        found = _as_finding(sticky) if sticky else next((f for f in self.findings if f.sticky and _asks(f)), None)
        if found:
            return _by_finding(found)
        if self.asked.edits_files and (verdict := self._by_place()):
            return verdict
        asks = next((one for one in self.findings if _asks(one)), None)
        if covered and covered.is_allowed:
            return self._by_cover(covered, asks)
        if not asks and self._is_standing_right():
            return self._by_mode(Decision.ALLOW)
        if self.asked.is_contained and self.mode != Mode.PLAN and not asks:
            return Verdict(decision=Decision.ALLOW, by="sandbox", rule="autoAllowBashIfSandboxed")
        if self.asked.tool != "Bash" and (rules := allowing(self.standing, self.asked)):
            return _of_rules(rules)
        return self._by_hook(Decision.ALLOW) or (_by_finding(asks) if asks and self.mode != Mode.AUTO else None)

    def last(self) -> Verdict:
        """Nothing allows it and nothing forbids it: why it is asked."""
        covered = self._cover()
        if covered and covered.unsaid and not covered.missing:
            return Verdict(
                decision=Decision.ASK, by="finding", rule=covered.unsaid[0].validator, text=covered.unsaid[0].text
            )
        text = "it names a path outside the session's folder" if not self.asked.is_inside else self._why(covered)
        return Verdict(decision=Decision.ASK, by="mode", rule=self.mode, text=text)

    def _why(self, covered: Cover | None) -> str:
        if covered and covered.unsaid:
            return f"no rule allows it; {covered.unsaid[0].text}"
        return "no rule allows it"

    def _cover(self) -> Cover | None:
        if self.asked.tool != "Bash":
            return None
        accepts = self.mode in {Mode.ACCEPT_EDITS, Mode.AUTO}
        return cover(self.asked, self.asked.judged or _unread(self.asked), self.standing, accepts_edits=accepts)

    def _by_cover(self, covered: Cover, asks: Finding | None) -> Verdict | None:
        if self.asked.judged and self.asked.judged.is_proved and not asks:
            return Verdict(decision=Decision.ALLOW, by="proof", rule="read-only", text="it only reads")
        if covered.rules:
            return _of_rules(covered.rules)
        return None if asks else self._by_mode(Decision.ALLOW)

    def _by_mode(self, decision: Decision, text: str = "") -> Verdict:
        return Verdict(decision=decision, by="mode", rule=self.mode, text=text)

    def _by_place(self) -> Verdict | None:
        """Of an edit: a protected file is asked about, and in plan mode none is changed."""
        if self.asked.is_plan_file:
            return self._by_mode(Decision.ALLOW, "the plan of plan mode")
        name = next((found for path in self.asked.paths for one in path.both if (found := protected(one))), "")
        if not name:
            return None
        text = f"{name} is protected: what it says may run later"
        return Verdict(decision=Decision.ASK, by="protected", rule=name, text=text)

    def _is_standing_right(self) -> bool:
        if self.asked.is_read_only and self.asked.is_inside:
            return True
        return self.mode in {Mode.ACCEPT_EDITS, Mode.AUTO} and self.asked.edits_files and self.asked.is_inside

    def _by_hook(self, decision: Decision) -> Verdict | None:
        return self.hook if self.hook is not None and self.hook.decision == decision else None

    def _by_rule(self, action: Decision) -> Verdict | None:
        rule = first_forbidding(self.policy, self.asked, action)
        return _of_rule(rule) if rule else None

    def _by_findings(self, action: Decision) -> Verdict | None:
        found = next((one for one in self.findings if one.action == action), None)
        return _by_finding(found) if found else None


def _by_opinion(case: _Case, opinion: Opinion | None) -> Verdict:
    """The last word: in auto mode the small model's, else the person's."""
    last = case.last()
    if case.mode != Mode.AUTO:
        return last
    if opinion is None:
        return Verdict(decision=Decision.ASK, by="classifier", text=last.text)
    by = "limit" if opinion.decision == Decision.ASK else "classifier"
    return Verdict(decision=opinion.decision, by=by, rule=case.mode, text=opinion.text or last.text)


def _unasked(verdict: Verdict, mode: Mode, unattended: Unattended) -> Verdict:
    if mode == Mode.DONT_ASK:
        return verdict.model_copy(update={"decision": Decision.DENY, "by": "mode", "rule": mode})
    if unattended == Unattended.DENY:
        return verdict.model_copy(update={"decision": Decision.DENY, "by": "unattended", "rule": "unattended: deny"})
    return verdict


def _asks(finding: Finding) -> bool:
    return finding.action == Decision.ASK


def _of_rule(rule: SourcedRule) -> Verdict:
    return Verdict(
        decision=rule.action, by="rule", rule=rule.text, text=f"rule {rule.text}", source=rule.source, file=rule.file
    )


def _of_rules(rules: Sequence[SourcedRule]) -> Verdict:
    verdict = _of_rule(rules[0])
    if len(rules) == 1:
        return verdict
    return verdict.model_copy(update={"text": "rules " + ", ".join(rule.text for rule in rules)})


def _by_finding(found: Finding) -> Verdict:
    return Verdict(decision=found.action, by="finding", rule=found.check, text=found.text)


def _unread(asked: Asked) -> Judgement:
    """Of a command that no parser has seen: nothing is known of it but that a person must look."""
    why = Reason("parse-integrity", Decision.ASK, "nobody has read this command", sticky=True, kind="unparsable")
    return Judgement(Decision.ASK, (why,), asked.script)


def _as_finding(reason: Reason) -> Finding:
    return Finding(
        check=reason.validator,
        action=reason.action,
        text=reason.text,
        sticky=reason.sticky,
        kind=reason.kind,
        hint=reason.hint,
    )
