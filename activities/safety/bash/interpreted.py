"""Commands inside the programs of interpreters: what their one-liners, and what is written into them, runs."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from activities.safety.bash.caseless import Caseless
from activities.safety.bash.escapes import unescape
from workflows.contracts.commands import UNKNOWN, Reach, Word

_RUNS_SYSTEM = Caseless(
    r"system|popen|exec|spawn|subprocess|shell|passthru|\bqx\b|%x|`|open3|\bsh\(|\bProcess\b|Runtime|\brun\("
    r"|Command|\bsh\b|getline|\|\s*[\"']"
)
_OPENS = re.compile(r"['\"`]|%x[({\[]|qx[({/]")
_BODIES = {
    "'": re.compile(r"((?:[^'\\]|\\[\s\S])*+)'"),
    '"': re.compile(r'((?:[^"\\]|\\[\s\S])*+)"'),
    "`": re.compile(r"([^`]*+)`"),
    "%": re.compile(r"([^)}\]]*+)"),
    "q": re.compile(r"([^)}/]*+)"),
}
"""Of each quote what stands behind it up to the one that closes it."""
_UNQUOTED = re.compile(
    r"(?m)(?:\b(?:exec|spawn|system|shell)\s+|^[ \t]*\\?!\s*"
    r"|^[\w.% -]{1,40}:[^\n;=]{0,40};\s*)([/\w][^\n;'\"`)\]]*)"
)
"""Commands that stand in a program without quotes: Tcl, expect, ed, make."""
_RECIPE = re.compile(r"(?m)^\t[@+-]{0,3}([^\n]+)")

USUAL_FLAGS = "ce"
"""Short options behind which a program stands, for interpreters that the table does not name."""
PROGRAM_FLAGS = {
    "python": "c",
    "perl": "eE",
    "ruby": "e",
    "node": "ep",
    "nodejs": "ep",
    "php": "rBE",
    "lua": "e",
    "luajit": "e",
    "deno": "",
    "bun": "ep",
    "osascript": "e",
    "rscript": "e",
    "r": "e",
    "julia": "eE",
    "guile": "c",
    "groovy": "e",
    "elixir": "e",
    "pypy": "c",
    "raku": "e",
    "irb": "e",
    "jrunscript": "e",
    "ocaml": "e",
    "sbcl": "",
    "erl": "",
    "scala": "e",
}
_LONG_PROGRAM_FLAGS = {"--eval", "--print", "eval", "-eval", "--batch", "-r", "--run", "-e", "-c"}


@dataclass(frozen=True, slots=True)
class Inner:
    """Something that a command runs."""

    text: str = ""
    words: tuple[Word, ...] = ()
    reach: Reach = Reach.INNER
    arguments: tuple[str, ...] = ()
    """`$0`, `$1` … of a text."""


def literal(value: str) -> Word:
    """A word that stands for a value alone."""
    return Word(value, value, is_plain=bool(re.fullmatch(r"[\w./:=@%+,-]+", value)), may_split=UNKNOWN in value)


def program(values: list[str], flags: str) -> Iterator[Inner]:
    """Commands in the programs that stand behind these flags."""
    for at, value in enumerate(values[1:], 1):
        is_flag = (
            value in _LONG_PROGRAM_FLAGS or re.fullmatch(rf"-\w*[{flags}]", value)
            if flags
            else value in _LONG_PROGRAM_FLAGS
        )
        if is_flag and at + 1 < len(values):
            yield from strings_of(values[at + 1])
        elif flags and re.match(rf"-[{flags}].", value):
            yield from strings_of(value[2:])


def strings_of(program: str, *, is_quoted: bool = False) -> Iterator[Inner]:
    """Commands in the literals of a program that runs commands, and those without quotes where it can hold such."""
    for pattern in () if is_quoted else (_UNQUOTED, _RECIPE):
        yield from (Inner(found[1], reach=Reach.DECODED) for found in pattern.finditer(program))
    if not _RUNS_SYSTEM.is_in(program):
        return
    literals = [*_literals(program)]
    for one in literals:
        yield Inner(unescape(one), reach=Reach.DECODED)
    if len(literals) > 1:
        yield Inner(" ".join(one for one in literals if one), reach=Reach.DECODED)


def _literals(program: str) -> Iterator[str]:
    at, unclosed = 0, set[str]()
    while opened := _OPENS.search(program, at):
        at, quote = opened.end(), opened[0][0]
        if quote in unclosed:
            continue
        if body := _BODIES[quote].match(program, at):
            at = body.end()
            yield body[1]
        else:
            # Those behind it are escaped in it, so nothing closes them either.
            unclosed.add(quote)


_REPLACES = re.compile(r"s([^\w\s\\])")
_RUNS_IT = re.compile(r"[gpiIm0-9]*e")


def replacements_run(program: str) -> Iterator[str]:
    """What `s/…/command/e` of a sed program runs."""
    at = 0
    while found := _REPLACES.search(program, at):
        at = found.start() + 1
        first = _unescaped(program, found[1], found.end())
        second = _unescaped(program, found[1], first + 1) if first >= 0 else -1
        if second >= 0 and (flags := _RUNS_IT.match(program, second + 1)):
            yield re.sub(r"\\(.)", r"\1", program[first + 1 : second])
            at = flags.end()


def _unescaped(program: str, sign: str, at: int) -> int:
    """Where a sign stands next that no backslash escapes."""
    while (end := program.find(sign, at)) >= 0:
        begin = end
        while begin and program[begin - 1] == "\\":
            begin -= 1
        if (end - begin) % 2 == 0:
            break
        at = end + 1
    return end
