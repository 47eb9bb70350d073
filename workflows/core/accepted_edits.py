"""Commands that change files as an edit does: mkdir touch rm rmdir mv cp sed, inside the folders of the session."""

import posixpath
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from workflows.contracts.commands import Reach, SimpleCommand, Word
from workflows.core.bash_rules import is_safe_name
from workflows.core.protected_paths import own, protected

_EDITS = frozenset({"mkdir", "touch", "rm", "rmdir", "mv", "cp", "sed"})
_FLAG = re.compile(r"-[A-Za-z]+|--[a-z][a-z-]*")
_ADDRESS = r"(?:\d+|\$|/[^/\\\n]*/)?(?:,(?:\d+|\$|/[^/\\\n]*/))?"
_SED = re.compile(
    rf"\s*{_ADDRESS}\s*(?:[pd=]|s([/|#,:@])(?:(?!\1)[^\\\n]|\\[^\n])*\1(?:(?!\1)[^\\\n]|\\[^\n])*\1[gpiIm1-9]*)\s*"
)
_SED_FLAGS = frozenset({"-n", "-i", "-E", "-r", "-s", "--in-place", "--quiet", "--silent", "--regexp-extended"})


@dataclass(frozen=True)
class Ground:
    """Where edits are accepted."""

    cwd: str
    folders: tuple[str, ...]
    """Real paths of the session's folder and of those added to it."""
    real: Callable[[str], str] = posixpath.normpath
    """A path with every link followed; where there is no disk behind it, the path made plain."""


def is_accepted_edit(command: SimpleCommand, ground: Ground, *, moves: bool = False) -> bool:
    """Whether a command does no more than an edit of files in these folders; protected ones are not among them.

    `moves`: a command before it changes the folder, so that names which are not absolute mean nothing certain.
    """
    if not command.is_plain or command.name not in _EDITS or command.reach != Reach.DIRECT:
        return False
    if not all(wrapper.is_transparent and not wrapper.assignments for wrapper in command.wrappers):
        return False
    if not all(is_safe_name(one.name) for one in command.assignments):
        return False
    if not all(redirection.is_harmless for redirection in command.redirections):
        return False
    operands = _sed_operands(command.words[1:]) if command.name == "sed" else _operands(command.words[1:])
    return bool(operands) and all(_is_on(word, ground, moves=moves) for word in operands)


def _operands(words: Sequence[Word]) -> list[Word]:
    """What is no flag; nothing where a flag carries a value that cannot be looked at."""
    operands: list[Word] = []
    flags_end = False
    for word in words:
        if flags_end or not word.value.startswith("-"):
            operands.append(word)
        elif word.value == "--":
            flags_end = True
        elif not word.is_constant or not _FLAG.fullmatch(word.value):
            return []
    return operands


def _sed_operands(words: Sequence[Word]) -> list[Word]:
    """The files of a `sed` that only prints or substitutes; nothing for any other."""
    flags = [word for word in words if word.value.startswith("-")]
    operands = [word for word in words if not word.value.startswith("-")]
    if not all(word.is_constant and word.value in _SED_FLAGS for word in flags) or len(operands) < 2:
        return []
    script = operands[0]
    is_harmless = script.is_constant and script.value.isascii() and _is_sed_script(script.value)
    return operands[1:] if is_harmless else []


def _is_sed_script(text: str) -> bool:
    return _SED.fullmatch(text) is not None or all(_SED.fullmatch(part) for part in text.split(";"))


def _is_on(word: Word, ground: Ground, *, moves: bool) -> bool:
    """Whether a word names files in the folders, its glob none that is hidden or outside."""
    value = word.value
    if not value or (word.has_glob and not _is_quiet_glob(value)) or not (word.is_constant or word.has_glob):
        return False
    if word.may_split and not word.has_glob:
        return False
    if moves and not value.startswith("/"):
        return False
    fixed = value.rsplit("/", 1)[0] if word.has_glob and "/" in value else "." if word.has_glob else value
    path = posixpath.normpath(posixpath.join(ground.cwd, fixed))
    return all(
        is_below(one, ground.folders, itself=word.has_glob) and not _is_guarded(one) for one in _both(path, ground)
    )


def _is_quiet_glob(value: str) -> bool:
    """Whether the stars stand in the last part only, which cannot be hidden or become a flag."""
    folder, _, last = value.rpartition("/")
    return not set("*?[") & set(folder) and (bool(folder) or last[:1] not in {"*", "?", "["}) and last[:1] != "."


def _both(path: str, ground: Ground) -> Iterable[str]:
    return {path, ground.real(path)}


def _is_guarded(path: str) -> bool:
    return bool(protected(path) or own(path))


def is_below(path: str, folders: Sequence[str], *, itself: bool = True) -> bool:
    """Whether a plain absolute path lies in one of these folders."""
    return any((itself and path == folder) or path.startswith(f"{folder.rstrip('/')}/") for folder in folders)
