"""What a command does to the variables and the folder of those after it."""

import posixpath
import re
from dataclasses import replace

from activities.safety.bash.constants import given_text, printed
from workflows.contracts.commands import UNKNOWN, SimpleCommand, Word

ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\[[^]]*\])?(\+?)=", re.ASCII)
_DECLARING = {"export", "declare", "typeset", "readonly", "local"}


def remember(known: dict[str, str], command: SimpleCommand) -> None:
    """Takes over what a command sets."""
    declared = command.assignments if not command.words else ()
    for one in declared:
        _set(known, one.name, one.value, appends=one.appends)
        if one.value.source.startswith("("):
            known[f"{one.name}[@]"] = known[f"{one.name}[*]"] = one.value.value
            for place, item in enumerate(one.value.value.split()):
                known[f"{one.name}[{place}]"] = item
            known[one.name] = one.value.value.split(" ", 1)[0]
    name, values = command.name, command.argv
    if name in _DECLARING:
        for word in command.words[1:]:
            if found := ASSIGNMENT.match(word.value):
                _set(known, found[1], replace(word, value=word.value[found.end() :]), appends=bool(found[3]))
    elif name == "set" and (rest := _positional(values)):
        known["@"] = known["*"] = " ".join(rest)
        known.update({str(at): value for at, value in enumerate(rest, 1)})
    elif name == "read" and len(values) > 1 and (text := given_text(command)):
        known[values[-1]] = text.strip()
    elif name == "printf" and values[1:2] == ("-v",) and (made := printed(list(values[3:]))) is not None:
        known[values[2]] = made


def _positional(values: tuple[str, ...]) -> tuple[str, ...]:
    """What `set` makes of the words behind its options: `$1`, `$2` and so on."""
    at = 1
    while at < len(values) and values[at][:1] in {"-", "+"} and values[at] not in {"-", "--"}:
        at += 2 if values[at].endswith("o") else 1
    return values[at + (values[at : at + 1] in (("-",), ("--",))) :]


def _set(known: dict[str, str], name: str, value: Word, *, appends: bool) -> None:
    if UNKNOWN in value.value or value.has_glob:
        known.pop(name, None)
    else:
        known[name] = (known.get(name, "") if appends else "") + value.value


def moved(known: dict[str, str], command: SimpleCommand, here: str) -> str:
    """The folder that a `cd` goes to; the variable PWD follows."""
    operands = [word for word in command.words[1:] if not re.fullmatch(r"-[LPe@]+|--", word.value)]
    target = operands[0].value if operands else known.get("HOME", UNKNOWN)
    if UNKNOWN in target or target == "-" or target.startswith("+") or (UNKNOWN in here and not target.startswith("/")):
        folder = UNKNOWN
    else:
        folder = posixpath.join(here, target) if here else target
    start = known.get("PWD")
    if start is not None and UNKNOWN not in folder:
        known["PWD"] = posixpath.normpath(posixpath.join(start, target))
    else:
        known.pop("PWD", None)
    return folder
