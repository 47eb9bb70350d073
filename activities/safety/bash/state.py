"""What a command does to the variables and the folder of those after it."""

import posixpath
import re
from dataclasses import replace
from itertools import pairwise

from activities.safety.bash.braces import fields
from activities.safety.bash.constants import given_text, printed
from activities.safety.bash.options import parse_front
from workflows.contracts.commands import UNKNOWN, SimpleCommand, Word

ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\[[^]]*\])?(\+?)=", re.ASCII)
DECLARING = {"export", "declare", "typeset", "readonly", "local"}


def remember(known: dict[str, str], command: SimpleCommand) -> None:
    """Takes over what a command sets."""
    declared = command.assignments if not command.words else ()
    for one in declared:
        _set(known, one.name, one.value, appends=one.appends)
    name, values = command.name, command.argv
    if name in DECLARING:
        is_name = any(re.fullmatch(r"-[A-Za-z]*n[A-Za-z]*", one) for one in values[1:]) and name != "export"
        for word in command.words[1:]:
            if found := ASSIGNMENT.match(word.value):
                put = f"&{found[1]}" if is_name else found[1]
                _set(known, put, replace(word, value=word.value[found.end() :]), appends=bool(found[3]))
    elif name == "set" and (rest := _positional(values)):
        known["@"] = known["*"] = (known.get("IFS") or " ")[0].join(rest)
        known.update({str(at): value for at, value in enumerate(rest, 1)})
    elif name in READS and (text := given_text(command)):
        known.update(taken(command, text, known))
    elif name == "printf" and values[1:2] == ("-v",) and (made := printed(list(values[3:]))) is not None:
        known[values[2]] = made


READS = frozenset({"read", "mapfile", "readarray"})


def taken(command: SimpleCommand, text: str, known: dict[str, str]) -> dict[str, str]:
    """The variables that `read` or `mapfile` makes of a text: of its first line, cut as IFS says."""
    values = list(command.argv)
    at = parse_front(values, "adinNptu" if command.name == "read" else "dnOsuCc", frozenset())
    names = values[at:]
    if command.name != "read":
        return array((names or ["MAPFILE"])[0], text.removesuffix("\n").split("\n"))
    arrays = [after for one, after in pairwise(values) if re.fullmatch(r"-[a-z]*a", one)]
    separators = next((one.value.value for one in command.assignments if one.name == "IFS"), known.get("IFS", " \t\n"))
    line = text.split("\n", 1)[0].strip(" \t")
    parts = [one for one in fields(line, separators) if one] if separators else [line]
    if arrays:
        return array(arrays[0], parts)
    names = names or ["REPLY"]
    found = dict(zip(names, parts, strict=False))
    if len(parts) > len(names):
        found[names[-1]] = " ".join(parts[len(names) - 1 :]) if len(names) > 1 else line
    return found


def array(name: str, items: list[str]) -> dict[str, str]:
    """The variables that an array of these items makes."""
    whole = " ".join(items)
    places = {f"{name}[{place}]": item for place, item in enumerate(items)}
    return {**places, f"{name}[@]": whole, f"{name}[*]": whole, name: items[0] if items else ""}


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
    # Where the variable is unset, `cd "$X/"` goes to the root.
    target = "/" if target.startswith(UNKNOWN) and target.strip(UNKNOWN) == "/" else target
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
