"""To which commands git's configuration is opened: to git alone, and only where somebody allowed it by name."""

import pytest

from activities.safety.sandbox.git_writers import LONGEST, Right, needs_a_word, right_of
from workflows.contracts.permissions import Decision, Verdict

BY_PERSON = Verdict(decision=Decision.ALLOW, by="person", rule="root@vm")
BY_RULE = Verdict(decision=Decision.ALLOW, by="rule", rule="Bash(git *)")


@pytest.mark.parametrize(
    "command",
    [
        "git remote add up https://a.example/x",
        "git remote set-url origin https://a.example/x",
        "git config user.name A",
        "git config --local --unset user.name",
        "git push -u origin x",
        "git push -fu origin x",
        "git push --set-upstream origin $(git branch --show-current) 2>&1 | tail -5",
        "git checkout -b x origin/y",
        "git checkout --track origin/y",
        "git switch x",
        "git branch -u origin/x",
        "git branch -m old new",
        "git branch -d x",
        "git branch x origin/x",
        "git submodule init",
        "git submodule update --init --recursive",
        "git --no-pager config pull.rebase true",
        "cd sub && git add -A && git commit -m 'x y' && git push -u origin HEAD",
        "timeout 60 git push -u origin x",
        "GIT_TERMINAL_PROMPT=0 git push -u origin x",
        "if ! git config user.name; then git config user.name A; fi",
    ],
)
def test_git_alone_may_write_it(command: str) -> None:
    assert right_of(BY_RULE, command).is_open


@pytest.mark.parametrize(
    "command",
    [
        "git status",
        "git push origin x",
        "git config --get user.name",
        "git config user.name",
        "git config --global user.name A",
        "git config --file x user.name A",
        "git remote -v",
        "git remote show origin",
        "echo git remote add up x",
        "npm test && git push -u origin x",
        "git remote add up x; ./run.sh",
        "git remote add up x; python3 -c 1",
        "git remote add up x; echo x > .git/config",
        "git remote add up x; sh -c 'echo x'",
        "git remote add up x & sleep 1000",
        "git -C sub remote add up x",
        "git -c core.hooksPath=x remote add up y",
        "git --git-dir=x remote add up y",
        "GIT_DIR=x git remote add up y",
        "GIT_SSH_COMMAND=evil git push -u origin x",
        "export GIT_DIR=x; git remote add up y",
        "git push -u --receive-pack=evil origin x",
        "git push -u --receive-p=evil origin x",
        "git push -u --exec evil origin x",
        "git submodule foreach 'git config user.name A'",
        "git config user.name A; git rebase -x evil",
        "git config user.name A; git bisect run evil",
        "git config user.name A; git grep -O x",
        "git clone x y -c core.fsmonitor=evil; git config user.name A",
        "git init --template=evil",
        "git $X add up y",
        "./git remote add up x",
        "sudo git remote add up x",
        "git() { evil; }; git remote add up x",
        "git remote add up 'x",
        "while true; do git remote add up x; done",
        "find . -exec git remote add up x \\;",
        f"git config user.name {'A' * LONGEST}",
    ],
)
def test_anything_else_leaves_it_closed_whoever_allowed_it(command: str) -> None:
    assert right_of(BY_PERSON, command) == Right()


@pytest.mark.parametrize(
    ("by", "rule", "right"),
    [
        ("person", "root@vm", Right(is_open=True, may_lead=True)),
        ("rule", "Bash(git remote set-url o x)", Right(is_open=True, may_lead=True)),
        ("rule", "Bash(git remote set-url *)", Right(is_open=True)),
        ("rule", "Bash(git remote:*)", Right(is_open=True)),
        ("rule", "Bash", Right()),
        ("rule", "Bash(*)", Right()),
        ("mode", "bypassPermissions", Right()),
        ("sandbox", "autoAllowBashIfSandboxed", Right()),
        ("hook", "guard.sh", Right()),
        ("classifier", "auto", Right()),
    ],
)
def test_a_person_or_a_rule_that_names_it_opens_it_and_only_word_by_word_may_it_lead_elsewhere(
    by: str, rule: str, right: Right
) -> None:
    verdict = Verdict(decision=Decision.ALLOW, by=by, rule=rule)
    assert right_of(verdict, "git remote set-url o x") == right
    assert right_of(verdict.model_copy(update={"decision": Decision.DENY}), "git remote set-url o x") == Right()
    assert right_of(None, "git remote set-url o x") == Right()


def test_several_rules_together_are_not_word_for_word() -> None:
    verdict = Verdict(
        decision=Decision.ALLOW, by="rule", rule="Bash(git fetch)", text="rules Bash(git fetch), Bash(git remote:*)"
    )
    assert right_of(verdict, "git fetch; git remote set-url o x") == Right(is_open=True)


@pytest.mark.parametrize(
    ("command", "needs"),
    [
        ("git config user.name A", True),
        ("git remote add up x", True),
        ("git branch -u origin/x", True),
        ("cd x && git remote rm up", True),
        ("git config --get user.name", False),
        ("git config --global user.name A", False),
        ("git push -u origin x", False),
        ("git checkout -b x origin/x", False),
        ("npm test; git remote add up x", False),
        ("ls", False),
    ],
)
def test_only_what_is_there_to_write_it_is_worth_a_question_by_itself(command: str, *, needs: bool) -> None:
    assert needs_a_word(command) == needs
