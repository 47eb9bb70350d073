"""Which paths a shell command names openly: what it reads, what it writes, and where it changes into."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from posixpath import join, normpath

from workflows.contracts.commands import UNKNOWN, Script, SimpleCommand, Word

_PRINTS = frozenset({"echo", "printf"})
_NO_READERS = frozenset({"cd", "pushd", "popd", "mkdir", "touch", "test", "["})
"""Programs that show nothing of what lies in a folder that they name."""
_WRITERS = frozenset({
    "cp", "mv", "rm", "rmdir", "touch", "mkdir", "ln", "tee", "truncate", "shred", "unlink", "install", "chmod",
    "chown", "dd", "rsync", "patch",
})  # fmt: skip
"""Programs whose operands are files that they change."""
_FILE_FLAG = re.compile(r"--[\w-]*(?:file|from|input)[\w-]*=(.+)|-[A-Za-z]*f(.+)", re.DOTALL)
"""A flag that carries the name of a file."""

Expand = Callable[[str], tuple[str, ...]]
"""The paths that an absolute pattern means on this disk; none where there is no disk behind it."""


def read_by(script: Script, cwd: str, home: str, expand: Expand) -> Iterator[str]:
    """Absolute paths of all arguments and redirections; of a folder that is named, what lies in it too, as `…/-`."""
    look = _Look(script, cwd, home, expand)
    for command in script.commands:
        words = () if command.name in _PRINTS else command.words[1:]
        for word in words:
            yield from (paths := [*look.paths_of(command, word)])
            if command.name not in _NO_READERS and not word.has_glob:
                yield from (f"{path}/-" for path in paths)
        for one in command.redirections:
            if not one.is_heredoc:
                yield from look.paths_of(command, one.target)


def written_by(script: Script, cwd: str, home: str, expand: Expand) -> Iterator[str]:
    """Absolute paths of the files that it changes, as far as that is told by programs and redirections."""
    look = _Look(script, cwd, home, expand)
    for command in script.commands:
        edits = command.name in {"sed", "perl"} and any(value.startswith("-i") for value in command.argv)
        if command.name in _WRITERS or edits:
            for word in command.words[1:]:
                yield from look.paths_of(command, word)
        for one in command.redirections:
            if one.operator not in {"<", "<&", "<<", "<<-", "<<<"} and not one.is_copy:
                yield from look.paths_of(command, one.target)


def absolute(text: str, folder: str, home: str) -> str:
    """A path as a command names it there, made absolute and plain."""
    placed = f"{home}{text[1:]}" if text == "~" or text.startswith("~/") else text
    return normpath(join(folder, placed))


@dataclass(frozen=True)
class _Look:
    """From where the words of one script are looked at."""

    script: Script
    cwd: str
    home: str
    expand: Expand

    def paths_of(self, command: SimpleCommand, word: Word) -> Iterator[str]:
        """The paths that a word names; none where only the shell will know."""
        if UNKNOWN in word.value:
            return
        for text in _names(word.value, is_git=command.name == "git"):
            for folder in self._folders(command):
                path = absolute(text, folder, self.home)
                yield from self.expand(path) if word.has_glob else (path,)

    def _folders(self, command: SimpleCommand) -> tuple[str, ...]:
        """Where the command runs; where a `cd` before it may not have counted, the folder before it too."""
        if not command.folder or UNKNOWN in command.folder:
            return (self.cwd,)
        moved = join(self.cwd, command.folder)
        is_sure = "|" not in self.script.text and all(one.name != "popd" for one in self.script.commands)
        return (moved,) if is_sure else (moved, self.cwd)


def _names(value: str, *, is_git: bool) -> Iterator[str]:
    """The texts of a word that may name a file: itself, what a flag carries, what follows `of=`, `@` or `HEAD:`."""
    if is_git and (rest := value.partition(":")[2]):
        yield rest
    if value.startswith("-"):
        found = _FILE_FLAG.fullmatch(value)
        if found:
            yield found[1] or found[2]
    else:
        yield value.removeprefix("of=").removeprefix("if=")
    if "@" in value and (rest := value.rpartition("@")[2]):
        yield rest
