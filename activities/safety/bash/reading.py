"""Which paths a reader reads, and whether each may be read without asking."""

import re

from activities.safety.bash.options import Parsed
from activities.safety.bash.paths import is_inside, is_readable, is_secret
from activities.safety.bash.reader import Reader
from activities.safety.bash.view import Act, Refusal
from workflows.contracts.commands import UNKNOWN, Word

_GLOB = re.compile(r"[*?\[]")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_INNER = re.compile(r"\$\([^()]*\)")
"""A substitution up to its first bracket: never more than there is of it."""
_WHOLE = re.compile(r"/(?:usr|opt|lib[^/]*|bin|sbin)(?:/|$)")


def is_pattern(word: Word) -> bool:
    """Whether the shell may put names of files in its place."""
    return word.has_glob or (bool(word.variables) and _GLOB.search(word.value) is not None)


def is_quoted(word: Word) -> bool:
    """Whether it stands in quotes as a whole, so that no part of it is a pattern."""
    return _QUOTED.fullmatch(_INNER.sub("", word.source)) is not None


def is_near(act: Act, value: str) -> bool:
    """Whether a folder may be read with all that is below it."""
    return value == "-" or all(is_inside(path, act.view.setting) or _WHOLE.match(path) for path in act.faces(value))


def patterns_in(act: Act, word: Word) -> list[str]:
    """The patterns whose files a word names; in a quoted one, which is none itself, those of its loops."""
    if act.name == "[[":  # It compares with patterns, and looks for no files.
        return []
    if not is_quoted(word):
        return [word.value] if is_pattern(word) else []
    loops = [loop for loop in act.view.script.loops if loop.variable in word.variables]
    return [item.value for loop in loops for item in loop.items if is_pattern(item)]


def path_operands(reader: Reader, parsed: Parsed, operands: list[str]) -> list[str]:
    """The operands of a reader that are files."""
    match reader.operands.removeprefix("!"):
        case "paths":
            return operands
        case "archive":
            return operands[:1]
        case "text-then-paths":
            given = parsed.has("-e", "--regexp", "-f", "--file", "--files", "--type-list")
            return operands if given else operands[1:]
        case "jq":
            return operands[1:]
        case "sed":
            return operands if parsed.has("-e", "--expression") else operands[1:]
        case "awk":
            return [one for one in operands[1:] if not re.match(r"[A-Za-z_]\w*=", one)]
    return []


def readable(act: Act, values: list[str], *, is_listing: bool = False) -> Refusal | None:
    """Why one of these paths may not be read unasked."""
    for value in values:
        if value != "-" and (bad := unreadable(act, value, is_listing=is_listing)):
            return bad
    # A reader without operands reads the folder it is in.
    if not values and UNKNOWN in act.folder:
        return Refusal("path", "it runs in a folder that only the shell will know")
    return None


def unreadable(act: Act, value: str, *, is_listing: bool = False) -> Refusal | None:
    """Why this path may not be read unasked."""
    if value == UNKNOWN and any(
        word.value == UNKNOWN and "process-in" in word.expansions for word in act.command.words
    ):
        return None
    faces = act.possible(value)
    if not faces or UNKNOWN in value:
        return Refusal("path", f"{value!a} is a path that only the shell will know")
    if _GLOB.search(value) and ".." in value.split("/"):
        return Refusal("path", f"{value} may lead out of the workspace")
    for path in faces:
        if is_secret(path, by_pattern=not is_listing):
            return Refusal("secret", f"{value} may hold a secret")
        if not is_readable(path, act.view.setting):
            return Refusal("path", f"{value} is outside the places that are read without asking")
    return None
