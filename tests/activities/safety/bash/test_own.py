"""What only a person may do is denied where a command does it openly, and nothing else is."""

import pytest

from activities.safety.bash.judge import judge
from activities.safety.bash.setting import Setting
from workflows.contracts.permissions import Decision

HOME = "/home/dev/.local/share/perdure"


def is_denied(command: str) -> bool:
    return judge(command, Setting(own_home=HOME)).verdict == Decision.DENY


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
        "perdure run -p x",
        "perdure cron add x",
        "curl http://localhost:8233/api",
        "pkill -f perdure",
        "kill $PPID",
        "echo '{}' > .perdure/settings.json",
        "cd .perdure && rm settings.json",
        "sed -i s/deny/allow/ ~/.perdure/settings.json",
        "python3 -c \"open('.perdure/settings.json', 'w')\"",
        "export PERDURE_SANDBOX=off",
    ],
)
def test_a_persons_act_is_denied(command: str) -> None:
    assert is_denied(command)


def test_the_folder_of_the_keys_is_denied_by_its_path() -> None:
    assert is_denied(f"cat {HOME}/keys/person")


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
def test_work_on_a_thing_of_that_name_is_not(command: str) -> None:
    assert not is_denied(command)
