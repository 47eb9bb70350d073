"""acceptEdits takes seven commands for edits, and only where an edit would be accepted."""

import pytest

from tests.workflows.core.calls import HOME, WORK, bash
from workflows.contracts.permissions import Decision, Mode, Policy
from workflows.core.permissions import decide


@pytest.mark.parametrize(
    "command",
    [
        "mkdir -p a/b",
        "touch a b",
        "rm -rf build",
        "rm build/*.o",
        "rmdir a",
        "mv a b",
        "cp -r a b",
        f"cp a {WORK}/b",
        "sed -i s/a/b/g f",
        "sed -i -E 's|a|b|; 3d' f",
        "mkdir a && touch a/f",
        "timeout 5 touch a",
        "LC_ALL=C touch a",
        "touch a 2>/dev/null",
        "rm -- -x",
    ],
)
def test_an_edit_inside_is_accepted(command: str) -> None:
    verdict = decide(bash(command), Mode.ACCEPT_EDITS, Policy())
    assert (verdict.decision, verdict.by) == (Decision.ALLOW, "mode")
    assert decide(bash(command), Mode.DEFAULT, Policy()).decision == Decision.ASK


@pytest.mark.parametrize(
    "command",
    [
        "touch ../a",
        "touch /etc/a",
        "touch ~/a",
        f"rm -rf {WORK}",
        "rm -rf .",
        "cp /etc/hosts a",
        "cp -t /etc a",
        "cp -t.. a",
        "cp --target-directory=/etc a",
        "touch $X",
        "touch $(ls)",
        "rm *",
        "rm .g*",
        "rm */x",
        "cd .. && rm a",
        "cd sub && rm a",
        "sudo touch a",
        "PATH=. touch a",
        "env X=1 touch a",
        "touch a > b",
        "touch a; make",
        "touch .git/hooks/x",
        "touch .GIT/config",
        "mv .envrc x",
        "cp a .perdure/settings.json",
        "sed -i 's/a/b/e' f",
        "sed -i 's/a/b/w x' f",
        "sed -i 'w x' f",
        "sed -f s f",
        "sed -n '1e id' f",
        "sed -i.bak s/a/b/ f",
        "ln -s a b",
        "chmod +x a",
        "t'ouch' a",
        "./touch a",
        "touch() { id; }; touch a",
        "xargs rm",
        "find . -exec rm {} +",
        "rm",
    ],
)
def test_what_is_more_than_an_edit_inside_is_asked(command: str) -> None:
    assert decide(bash(command), Mode.ACCEPT_EDITS, Policy()).decision == Decision.ASK


def test_where_a_link_leads_counts() -> None:
    links = {f"{WORK}/link": "/etc", f"{WORK}/link/a": "/etc/a"}
    asked = bash("touch link/a", real=lambda path: links.get(path, path))
    assert decide(asked, Mode.ACCEPT_EDITS, Policy()).decision == Decision.ASK


def test_an_added_folder_is_inside_and_a_start_outside_is_not() -> None:
    assert (
        decide(bash("touch ~/more/a", folders=(WORK, f"{HOME}/more")), Mode.ACCEPT_EDITS, Policy()).decision == "allow"
    )
    assert decide(bash("touch a", cwd="/tmp"), Mode.ACCEPT_EDITS, Policy()).decision == Decision.ASK
    assert decide(bash("touch a", cwd=f"{WORK}/sub"), Mode.ACCEPT_EDITS, Policy()).decision == Decision.ALLOW
