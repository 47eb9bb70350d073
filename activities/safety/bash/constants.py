"""What a command prints, where that is plain to see: echo, printf, and what turns their text into another."""

import posixpath
import re
from collections.abc import Sequence
from contextlib import suppress

from activities.safety.bash.escapes import unescape
from activities.safety.bash.turned import turned
from workflows.contracts.commands import UNKNOWN, Redirection, SimpleCommand

_FORMAT = re.compile(r"%([-+ #0]*)(\d{0,3})(?:\.(\d{1,3}))?([sbdiouxXcqeEfgG%])")
_NUMBERS = {"d": "d", "i": "d", "u": "d", "o": "o", "x": "x", "X": "X"}
_STOPS = re.compile(r"((?:[^\\]|\\[^c])*)\\c.*", re.DOTALL)
_LONGEST = 20_000


def output_of(stages: Sequence[SimpleCommand]) -> str | None:
    """The output of a pipeline of constants, or nothing."""
    text: str | None = None
    for place, command in enumerate(stages):
        text = _produced(command) if place == 0 or text is None else turned(command.name, list(command.argv), text)
        if text is None or len(text) > _LONGEST:
            return None
    return text


def given_text(command: SimpleCommand) -> str | None:
    """The text of its heredoc or here-string, where it is constant."""
    for redirection in reversed(command.redirections):
        if redirection.is_heredoc and redirection.fd in {"", "0"}:
            text = redirection.target.value
            return text + ("\n" if redirection.operator == "<<<" else "")
    return None


def _produced(command: SimpleCommand) -> str | None:  # noqa: PLR0911 - one case a program
    if any(">" in one.operator and not one.is_harmless for one in command.redirections):
        return None
    if command.name in _SILENT or any(_hides(one) for one in command.redirections):
        return ""
    values = [word.value for word in command.words]
    match command.name:
        case "echo":
            return _echo(values[1:])
        case "printf":
            return printed(values[1:])
        case "yes":
            return (" ".join(values[1:]) or "y") + "\n"
        case _ if (told := _told(command.name, values)) is not None:
            return told
        case "which" | "command" | "type" if len(values) > 1 and not values[-1].startswith("-"):
            return f"/usr/bin/{values[-1].rsplit('/', 1)[-1]}\n"
        case "dirname" | "basename" if len(values) == 2 and UNKNOWN not in values[1]:
            at = 0 if command.name == "dirname" else 1
            return posixpath.split(values[1].rstrip("/"))[at] + "\n"
        case "cat" if len(values) == 1 or values[1:] == ["-"]:
            return given_text(command)
        case _ if (text := given_text(command)) is not None:
            return turned(command.name, values, text)
    return None


_SILENT = frozenset({"true", "false", ":", "test", "[", "[[", "sleep", "unset", "shopt", "wait"})


def _hides(redirection: Redirection) -> bool:
    """Whether nothing of what is printed comes out."""
    is_output = redirection.operator in {">", ">>", ">|", "&>", "&>>", ">&"} and redirection.fd in {"", "1"}
    return is_output and redirection.target.value == "/dev/null"


def _echo(values: list[str]) -> str:
    is_escaped, newline = False, "\n"
    while values and re.fullmatch(r"-[neE]+", values[0]):
        is_escaped = "e" in values[0] or (is_escaped and "E" not in values[0])
        newline = "" if "n" in values[0] else newline
        values = values[1:]
    text = " ".join(values)
    if not is_escaped:
        return text + newline
    return _spoken(text) + ("" if _STOPS.fullmatch(text) else newline)


def _spoken(text: str) -> str:
    r"""What `echo -e` and the %b of printf make of backslashes: `\0162` is r, and behind `\c` is nothing."""
    if stops := _STOPS.fullmatch(text):
        text = stops[1]
    return unescape(re.sub(r"\\(\\|0(?=[0-7]))", lambda found: "\\" + found[1].removeprefix("0"), text))


def printed(values: list[str]) -> str | None:
    """What `printf` makes of a format and its arguments."""
    if values[:1] == ["--"]:
        values = values[1:]
    if not values or values[0] == "-v":
        return None
    form, left, made = unescape(values[0]), values[1:], ""
    while True:
        before = len(left)

        def put(found: re.Match[str], left: list[str] = left) -> str:
            return "%" if found[4] == "%" else _converted(found, left.pop(0) if left else "")

        made += _FORMAT.sub(put, form)
        if not left or len(left) == before or len(made) > _LONGEST:
            return made


def _converted(conversion: re.Match[str], value: str) -> str:
    """An argument of printf by its conversion: `%.1s`, `%x`."""
    flags, width, precision, kind = conversion.groups()
    if kind in _NUMBERS:
        with suppress(ValueError):
            value = format(int(value, 0), _NUMBERS[kind])
    elif kind in "sbcq":
        value = _spoken(value) if kind == "b" else value[:1] if kind == "c" else value
        value = value if precision is None else value[: int(precision)]
    return value.ljust(int(width or 0)) if "-" in flags else value.rjust(int(width or 0))


_PRINTS = re.compile(
    r"\s{0,9}(?:BEGIN\s{0,9}\{)?\s{0,9}(?:print|puts|say|printf|echo|console\.log|process\.stdout\.write|io\.write)\s{0,9}\(?\s{0,9}"
    r"(['\"])((?:(?!\1)[^\\]|\\.)*)\1\s{0,9}\)?\s{0,9};?\s{0,9}\}?\s{0,9}",
    re.DOTALL,
)
_PRINTERS = frozenset({"python", "python3", "perl", "ruby", "node", "php", "lua", "awk", "gawk", "mawk"})


def _told(name: str, values: list[str]) -> str | None:
    """What a program of one literal prints: `python3 -c 'print("x")'`, `awk 'BEGIN{print "x"}'`."""
    if name not in _PRINTERS or len(values) > 3:
        return None
    found = _PRINTS.fullmatch(values[-1])
    return unescape(found[2]) + "\n" if found else None
