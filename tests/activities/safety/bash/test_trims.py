"""What operators of parameter expansions make of values that are known, as bash does."""

import pytest

from activities.safety.bash.judge import judge
from activities.safety.bash.syntax import parse
from workflows.contracts.commands import UNKNOWN
from workflows.contracts.permissions import Decision


def value_of(expansion: str, value: str) -> str:
    """What stands in double quotes with y=a."""
    text = f"x='{value}'; y=a; echo \"{expansion}\""
    return parse(text, {"IFS": " \t\n"}).commands[2].argv[1]


@pytest.mark.parametrize(
    ("expansion", "value", "made"),
    [
        ("${x:1}", "abc", "bc"),
        ("${x: -2}", "abc", "bc"),
        ("${x: -2:2}", "abc", "bc"),
        ("${x: -3:1}", "abc", "a"),
        ("${x:1:-1}", "abc", "b"),
        ("${x:(-2)}", "abc", "bc"),
        ("${x:1+1}", "abc", "c"),
        ("${x:0:0}", "abc", ""),
        ("${x/a/Z}", "aab", "Zab"),
        ("${x//a/Z}", "aab", "ZZb"),
        ("${x//a}", "aab", "b"),
        ("${x/#a/Z}", "aab", "Zab"),
        ("${x/#b/Z}", "aab", "aab"),
        ("${x/%b/Z}", "aab", "aaZ"),
        ("${x/#/Z}", "aab", "Zaab"),
        ("${x/%/Z}", "aab", "aabZ"),
        ("${x/'a'/Z}", "aab", "Zab"),
        ("${x/\\a/Z}", "aab", "Zab"),
        ("${x//\\//-}", "a/b/c", "a-b-c"),
        ("${x/$y/Z}", "aab", "Zab"),
        ("${x/b/$y}", "aab", "aaa"),
        ("${x/a*/Z}", "baab", "bZ"),
        ("${x//[ab]/Z}", "abc", "ZZc"),
        ("${x/%?/Z}", "abc", "abZ"),
        ("${x/*/Z}", "", "Z"),
        ("${x#$y}", "aab", "ab"),
        ("${x##*/}", "a/b/c", "c"),
        ("${x%.*}", "a.b.c", "a.b"),
        ("${x%%.*}", "a.b.c", "a"),
        ("${x#'*'}", "abc", "abc"),
        ("${x^}", "abc", "Abc"),
        ("${x,}", "ABC", "aBC"),
        ("${x^^[ab]}", "abc", "ABc"),
        ("${x@U}", "abc", "ABC"),
    ],
)
def test_a_known_value_is_changed_as_bash_changes_it(expansion: str, value: str, made: str) -> None:
    assert value_of(expansion, value) == made


@pytest.mark.parametrize("expansion", ["${x:n}", "${x/a/&}", "${x/$z/b}", "${x#$(cat f)}", "${x: -9}"])
def test_what_is_not_plain_to_see_is_unknown(expansion: str) -> None:
    assert value_of(expansion, "abc") == UNKNOWN


@pytest.mark.parametrize(
    "text",
    [
        "x=xxrm; ${x: -2:2} -rf /",
        "x=zrm; ${x/#z/} -rf /",
        "x=rmz; ${x/%z} -rf /",
        "x=zrm; ${x/'z'/} -rf /",
        "y=r; x=zm; ${x/z/$y} -rf /",
        "y=z; x=zrm; ${x#$y} -rf /",
        "x=zzrm; ${x//[z]/} -rf /",
        "x=Rm; ${x,} -rf /",
        "set -- cd rm -rf /; ${@:2}",
        "set -- xrm -rf /; ${@#x}",
    ],
)
def test_a_command_is_refused_whatever_operator_its_word_is_made_with(text: str) -> None:
    assert judge(text).verdict == Decision.DENY
