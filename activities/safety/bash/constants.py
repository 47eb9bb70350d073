"""What a command prints, where that is plain to see: echo, printf, and what turns their text into another."""

import base64
import binascii
import posixpath
import re
from collections.abc import Callable, Sequence

from activities.safety.bash.escapes import unescape
from workflows.contracts.commands import UNKNOWN, Redirection, SimpleCommand

_FORMAT = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?([sbdiouxXcqeEfgG%])")
_LONGEST = 20_000


def output_of(stages: Sequence[SimpleCommand]) -> str | None:
    """The output of a pipeline of constants, or nothing."""
    text: str | None = None
    for place, command in enumerate(stages):
        text = _produced(command) if place == 0 else _turned(command, text)
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
            return _turned(command, text)
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
    return (unescape(text) if is_escaped else text) + newline


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
            if found[1] == "%":
                return "%"
            value = left.pop(0) if left else ""
            if found[1] == "c":
                return value[:1]
            return unescape(value) if found[1] == "b" else value

        made += _FORMAT.sub(put, form)
        if not left or len(left) == before or len(made) > _LONGEST:
            return made


def _turned(command: SimpleCommand, text: str | None) -> str | None:  # noqa: PLR0911 - one case a program
    if text is None:
        return None
    values = [word.value for word in command.words]
    options = set(values[1:])
    match command.name:
        case "cat" | "tee" | "sort" | "head" | "tail" | "more":
            return text
        case "paste" if any(re.fullmatch(r"-[a-z]*s.*", value) for value in values[1:]):
            return " ".join(text.split("\n"))
        case "rev":
            return "\n".join(line[::-1] for line in text.split("\n"))
        case "tac":
            return "\n".join(reversed(text.split("\n")))
        case "tr":
            return _translated(values, text)
        case "base64" | "gbase64" if options & {"-d", "-D", "--decode", "-di", "-id"}:
            return _decoded(text)
        case "openssl" if "base64" in options or "-base64" in options or "-a" in options:
            return _decoded(text)
        case "base32" if options & {"-d", "--decode"}:
            return _bytes(lambda: base64.b32decode(text.strip()))
        case "xxd" if any("r" in value for value in values[1:] if value.startswith("-")):
            return _bytes(lambda: bytes.fromhex(re.sub(r"\s", "", text)))
        case "sed":
            return _substituted(values, text)
    return None


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


def _decoded(text: str) -> str | None:
    cleaned = re.sub(r"\s", "", text)
    return _bytes(lambda: base64.b64decode(cleaned + "=" * (-len(cleaned) % 4)))


def _bytes(decode: Callable[[], bytes]) -> str | None:
    try:
        return decode().decode("utf-8", errors="replace")
    except (ValueError, binascii.Error):
        return None


def _translated(values: list[str], text: str) -> str | None:
    operands = [value for value in values[1:] if not value.startswith("-")]
    flags = "".join(value[1:] for value in values[1:] if value.startswith("-"))
    first = _set(operands[0]) if operands else ""
    if "d" in flags:
        return text.translate({ord(char): None for char in first})
    if len(operands) != 2 or not first:
        return text if "s" in flags else None
    second = _set(operands[1])
    second += second[-1:] * max(0, len(first) - len(second))
    return text.translate({ord(one): other for one, other in zip(first, second, strict=False)})


def _set(text: str) -> str:
    text = unescape(text)
    text = text.replace("[:upper:]", "A-Z").replace("[:lower:]", "a-z").replace("[:digit:]", "0-9")
    return re.sub(
        r"(.)-(.)",
        lambda found: "".join(map(chr, range(ord(found[1]), min(ord(found[2]), ord(found[1]) + 300) + 1))),
        text,
    )


def _substituted(values: list[str], text: str) -> str | None:
    operands = [value for value in values[1:] if not value.startswith("-")]
    found = re.fullmatch(r"s(.)(.*?)\1(.*?)\1g?", operands[0]) if len(operands) == 1 else None
    if found and found[2] in {"^", "$", ".*", "^.*$"} and not re.search(r"[\\&]", found[3]):
        before, after = (found[3] if found[2] != "$" else ""), (found[3] if found[2] == "$" else "")
        kept = [line if len(found[2]) == 1 else "" for line in text.removesuffix("\n").split("\n")]
        return "".join(f"{before}{line}{after}\n" for line in kept)
    if not found or re.search(r"[\\.*\[\]^$&]", found[2] + found[3]):
        return None
    return text.replace(found[2], found[3])
