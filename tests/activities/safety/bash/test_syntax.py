"""The normal form says what the shell will do with a text."""

import pytest

from activities.safety.bash.syntax import parse
from workflows.contracts.commands import UNKNOWN, Place, Reach, Script, SimpleCommand

KNOWN = {"HOME": "/home/dev", "PWD": "/home/dev/project", "IFS": " \t\n"}


def read(text: str) -> Script:
    return parse(text, KNOWN)


def argvs(text: str) -> list[list[str]]:
    return [list(command.argv) for command in read(text).commands]


def only(text: str) -> SimpleCommand:
    (command,) = read(text).commands
    return command


@pytest.mark.parametrize(
    ("text", "argv"),
    [
        ("r''m -rf /", ["rm", "-rf", "/"]),
        ('\'a b\' "c\\"d" e\\ f', ["a b", 'c"d', "e f"]),
        ("$'\\x72\\x6d' x", ["rm", "x"]),
        ("echo {a,b}{1..2}", ["echo", "a1", "a2", "b1", "b2"]),
        ("cat ~/x $HOME/y", ["cat", "/home/dev/x", "/home/dev/y"]),
        ("rm${IFS}-rf${IFS}/", ["rm", "-rf", "/"]),
        ("echo $((2 + 3 * 4))", ["echo", "14"]),
        ("echo $X", ["echo", UNKNOWN]),
        ('echo "$X/y"', ["echo", UNKNOWN + "/y"]),
        ("echo '' \"\"", ["echo", "", ""]),
        ("r\\\nm x", ["rm", "x"]),
        ("echo 'it'\\''s'", ["echo", "it's"]),
        ("echo a#b # c", ["echo", "a#b"]),
    ],
)
def test_words_are_decoded(text: str, argv: list[str]) -> None:
    assert argvs(text)[0] == argv


def test_constant_variables_are_followed() -> None:
    assert argvs("x=rm; y=-rf; $x $y /")[-1] == ["rm", "-rf", "/"]
    assert argvs('a=(rm -rf /); "${a[@]}"')[-1] == ["rm", "-rf", "/"]
    assert argvs('set -- rm -rf /; "$@"')[-1] == ["rm", "-rf", "/"]


def test_a_constant_substitution_has_its_value_and_a_text_says_that_it_is_one() -> None:
    assert argvs("$(echo r)m -rf /")[0] == ["rm", "-rf", "/"]
    word = read("git commit -m \"$(cat <<'EOF'\nwhy $x\nEOF\n)\"").commands[0].words[3]
    assert (word.value, word.is_free, "text" in word.expansions) == ("why $x", False, True)
    assert read('echo "$(echo a)"').commands[0].words[1].is_free


def test_wrappers_are_stripped_and_the_transparent_ones_marked() -> None:
    command = only("A=1 sudo -u x timeout -s KILL 5 rm -rf a")
    assert command.name == "rm"
    assert [(one.name, one.is_transparent) for one in command.wrappers] == [("sudo", False), ("timeout", True)]
    assert [one.name for one in command.assignments] == ["A"]
    assert only("env LC_ALL=C ls").wrappers[0].assignments[0].name == "LC_ALL"


@pytest.mark.parametrize(
    ("text", "reach"),
    [
        ("bash -c 'rm x'", Reach.INNER),
        ("eval rm x", Reach.INNER),
        ("trap 'rm x' EXIT", Reach.INNER),
        ("find . -exec rm x \\;", Reach.INNER),
        ("ssh h rm x", Reach.INNER),
        ("echo 'rm x' | sh", Reach.INNER),
        ("sh <<'E'\nrm x\nE", Reach.INNER),
        ("sh <<< 'rm x'", Reach.INNER),
        ("su -c 'rm x'", Reach.INNER),
        ("git -c alias.z='!rm x' z", Reach.INNER),
        ("perl -e 'system(\"rm x\")'", Reach.DECODED),
        ("sed '1e rm x' a", Reach.DECODED),
        ("f() { rm $1; }; f x", Reach.DECODED),
        ("echo cm0geA== | base64 -d | sh", Reach.INNER),
    ],
)
def test_what_a_command_runs_inside_is_found(text: str, reach: Reach) -> None:
    assert (["rm", "x"], reach) in [(list(one.argv), one.reach) for one in read(text).commands]


def test_xargs_runs_its_command_with_words_that_nobody_knows() -> None:
    inner = read("find . | xargs -n 1 rm -f").commands[2]
    assert (inner.argv, inner.parent, inner.upstream) == (("rm", "-f", UNKNOWN), 1, ())


def test_places_pipes_and_folders_are_told() -> None:
    commands = read("cd src && (ls | wc -l); cat <(pwd)").commands
    assert [one.folder for one in commands] == ["", "src", "src", "src", "src"]
    assert commands[1].places == (Place.SUBSHELL,)
    assert commands[2].upstream == (1,)
    assert (commands[4].places, commands[4].parent) == ((Place.PROCESS_IN,), 3)


def test_a_loop_over_literals_is_seen_once_for_each() -> None:
    assert argvs("for d in a b; do ls $d; done") == [["ls", "a"], ["ls", "b"]]
    assert argvs("for d in $X; do ls $d; done") == [["ls", UNKNOWN]]


def test_redirections_keep_descriptor_and_target() -> None:
    found = only("cmd 2>&1 >out 3<in <<E\nbody $HOME\nE").redirections
    assert [(one.fd, one.operator, one.target.value) for one in found] == [
        ("2", ">&", "1"),
        ("", ">", "out"),
        ("3", "<", "in"),
        ("", "<<", "body /home/dev\n"),
    ]
    assert [one.is_harmless for one in found] == [True, False, True, True]


@pytest.mark.parametrize("text", ["echo 'x", "ls )", "cat <<E\nx", "ls | | wc", "{rm,-rf,/}", "l[s] x", "echo a\\\nb"])
def test_what_two_readings_do_not_agree_on_is_told_and_still_read(text: str) -> None:
    script = read(text)
    assert script.problem
    assert not script.is_parsed
    assert script.commands


def test_words_behind_a_heredoc_are_arguments() -> None:
    assert argvs("cat <<A b; rm c\nx\nA\nls") == [["cat", "b"], ["rm", "c"], ["ls"]]
