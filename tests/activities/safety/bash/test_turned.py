"""What a pipeline of constants prints is what it prints when it runs."""

import pytest

from activities.safety.bash.judge import judge
from activities.safety.bash.syntax import parse
from workflows.contracts.permissions import Decision

PRINTED = (
    (r"printf 'x\nrm\n' | tail -n1", "rm"),
    (r"printf 'rm\nx\n' | head -1", "rm"),
    (r"printf 'rmxx' | head -c2", "rm"),
    (r"printf 'xxrm' | tail -c 2", "rm"),
    (r"printf 'x\nr\nm\n' | tail -n +2 | paste -sd ''", "rm"),
    (r"printf 'm\nr\n' | sort | tr -d '\n'", "mr"),
    (r"printf 'm\nr\n' | tac | tr -d '\n'", "rm"),
    ("echo xrm | cut -c2-", "rm"),
    ("echo x:rm | cut -d: -f2", "rm"),
    ("echo a rm | awk '{print $2}'", "rm"),
    ("echo rrm | tr -s r", "rm"),
    ("echo r-m | tr -d -", "rm"),
    ("echo 'rm!!' | tr -cd '[:alpha:]'", "rm"),
    ("echo en | tr A-Za-z N-ZA-Mn-za-m", "ra"),
    ("echo xxrm | sed s/x//", "xrm"),
    ("echo xxrm | sed 's/x//g'", "rm"),
    ("echo xrm | sed 's/^x//'", "rm"),
    ("echo rmx | sed 's,x$,,'", "rm"),
    ("printf '%.1s%.1s' rx mx", "rm"),
    ("printf '%4s|%-4s|' rm rm", "  rm|rm  |"),
    ("printf '%d %x' 0x10 171", "16 ab"),
    (r"echo -e '\0162m\cxx'", "rm"),
    (r"printf %b '\0162m'", "rm"),
)


@pytest.mark.parametrize(("command", "text"), PRINTED)
def test_what_it_prints_is_known(command: str, text: str) -> None:
    assert parse(f'echo "$({command})"').commands[0].argv[1] == text


@pytest.mark.parametrize("command", [command for command, text in PRINTED if text == "rm"])
def test_a_name_that_it_prints_is_refused_like_the_name(command: str) -> None:
    assert judge(f"$({command}) -rf /").verdict == Decision.DENY


def test_a_long_script_of_sed_is_read_at_once() -> None:
    text = f"echo x | sed s{'/' * 9_000}x"
    assert judge(text).verdict == Decision.ASK
