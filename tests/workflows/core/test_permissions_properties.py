"""A deny rule more never makes a verdict weaker, whatever the call, the mode and the other rules are."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from hypothesis import given, settings
from hypothesis import strategies as some

from tests.workflows.core.calls import bash, on_file, policy, reading
from workflows.contracts.permissions import Decision, Finding, Mode, Unattended, Verdict
from workflows.core.permissions import Asked, Heard, Opinion, decide

STRICTNESS = {Decision.ALLOW: 0, Decision.ASK: 1, Decision.DENY: 2}
RULES = (
    "Bash", "Bash(make:*)", "Bash(rm *)", "Bash(* --force)", "Bash(ls)", "Bash(git push *)", "Edit", "Edit(src/**)",
    "Read(.env)", "Read", "Write(src/**)", "WebFetch(domain:*)", "Bash(", "Bash()", "Cd(//etc/**)", "mcp__git",
)  # fmt: skip
CALLS = (
    bash("make all"), bash("rm -rf x && ls"), bash("git push --force"), bash("cd /etc && cat passwd"), reading("ls"),
    bash("touch src/a"), on_file("Edit", "/home/dev/project/src/a"), on_file("Read", "/home/dev/project/.env"),
    on_file("Write", "/home/dev/project/.git/config"), on_file("Read", "/etc/passwd"), bash("find . | xargs rm"),
)  # fmt: skip
some_rules = some.lists(some.sampled_from(RULES), max_size=4)
decisions = some.sampled_from(list(Decision))


@dataclass(frozen=True)
class Scene:
    """Everything that a decision depends on."""

    asked: Asked
    mode: Mode
    allow: list[str]
    ask: list[str]
    deny: list[str]
    unattended: Unattended
    hook: Decision | None
    seen: tuple[Decision, bool] | None
    opinion: Decision | None

    def decided(self, ask: Sequence[str] = (), deny: Sequence[str] = ()) -> Decision:
        """The decision, with these rules more."""
        heard = Heard(
            hook=Verdict(decision=self.hook, by="hook") if self.hook else None,
            opinion=Opinion(self.opinion) if self.opinion else None,
        )
        findings = [Finding(check="c", action=self.seen[0], text="t", sticky=self.seen[1])] if self.seen else []
        rules = policy(self.allow, [*self.ask, *ask], [*self.deny, *deny])
        return decide(self.asked, self.mode, rules, findings, self.unattended, heard).decision


scenes = some.builds(
    Scene,
    asked=some.sampled_from(CALLS),
    mode=some.sampled_from(list(Mode)),
    allow=some_rules,
    ask=some_rules,
    deny=some_rules,
    unattended=some.sampled_from(list(Unattended)),
    hook=some.none() | decisions,
    seen=some.none() | some.tuples(decisions, some.booleans()),
    opinion=some.none() | decisions,
)


@settings(max_examples=400, deadline=None)
@given(scene=scenes, more=some.sampled_from(RULES))
def test_a_rule_that_takes_rights_never_gives_one(scene: Scene, more: str) -> None:
    before = STRICTNESS[scene.decided()]
    assert STRICTNESS[scene.decided(deny=[more])] >= before
    # What a person wants to be asked about is theirs to decide, also where the small model would say no.
    unjudged = replace(scene, opinion=None) if scene.opinion == Decision.DENY else scene
    assert STRICTNESS[scene.decided(ask=[more])] >= STRICTNESS[unjudged.decided()]
