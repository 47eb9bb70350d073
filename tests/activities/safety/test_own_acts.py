"""What only a person may do is denied where a command does it openly, and nothing else is."""

from pathlib import Path

import pytest

from activities.safety.own_acts import own_act_findings
from tests.fakes.world import make_call, make_world


def is_denied(folder: Path, command: str) -> bool:
    return bool(own_act_findings(make_call(make_world(folder), folder / "work", "Bash"), command))


@pytest.mark.parametrize(
    "command",
    [
        "perdure approve 1.0",
        "cd /tmp && perdure approve x",
        ".venv/bin/perdure deny x",
        "perdure --home /x approve y",
        "perdure -q close s",
        "uv run perdure close s",
        "setsid  perdure close s",
        "if true; then perdure close s; fi",
        "'perdure' approve x",
        "bash -c 'perdure approve x'",
        "echo $(perdure approve x)",
        "true\nperdure stop s",
        "perdure down",
        "perdure trust",
        "cd x && perdure trust --revoke",
        "PERDURE_HOME=/x perdure worker",
        "temporal workflow signal -w session-x",
        "/usr/bin/temporal workflow list",
        "sudo temporal operator namespace list",
        "x=1 temporal workflow list",
        "ls; temporal --address localhost:7233 workflow list",
        'cat "$PERDURE_HOME/keys/person"',
        "cat ${PERDURE_HOME}/keys/person",
        "cat ~/.local/share/perdure/keys/person",
    ],
)
def test_a_persons_act_is_denied(tmp_path: Path, command: str) -> None:
    assert is_denied(tmp_path, command)


def test_the_folder_of_the_keys_is_denied_by_its_path(tmp_path: Path) -> None:
    assert is_denied(tmp_path, f"cat {make_world(tmp_path).home.keys}/person")


@pytest.mark.parametrize(
    "command",
    [
        "perdure ls",
        "perdure audit s",
        "pytest perdure/tests -k close",
        "ls perdure/worker",
        "cat perdure/worker/serve.py",
        "pip install perdure --upgrade",
        "cd perdure && make up",
        "grep -rn temporal workflows",
        "git commit -m 'Keep perdure up to date'",
        "git commit -m 'Mend a temporal workflow'",
        "pip install temporalio",
        "vim src/perdure/keys.py",
        "perdure approvals",
    ],
)
def test_work_on_a_thing_of_that_name_is_not(tmp_path: Path, command: str) -> None:
    assert not is_denied(tmp_path, command)
