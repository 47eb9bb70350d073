"""What is written into a shell, an interpreter or xargs, where that is plain to see."""

import posixpath
import re
from collections.abc import Iterable
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Protocol

from activities.safety.bash.build import Builder, Where
from activities.safety.bash.constants import given_text, output_of
from activities.safety.bash.inner import inner_of
from activities.safety.bash.interpreted import Inner, literal, strings_of
from activities.safety.bash.names import STARTS_SHELL, is_shell, runs_text
from activities.safety.bash.state import READS, taken
from activities.safety.bash.work import WORD
from workflows.contracts.commands import UNKNOWN, Place, Reach, SimpleCommand, Word

_TAKES_TEXT = {"at", "batch", "crontab", "source", ".", "eval", "ssh"} | STARTS_SHELL
_MATCHED = (
    "rm", "dd", "chmod", "chown", "find", "mv", "shred", "sh", "bash", "reboot", "shutdown", "kill", "sudo", "perdure",
    "tee", "cp", "mkfs", "truncate", "curl", "wget", "nc", "ncat", "scp", "rsync", "docker", "nsenter", "mount", "ssh",
    "setenforce", "ufw", "iptables", "insmod", "modprobe", "useradd", "usermod", "temporal", "poweroff", "halt", "perl",
)  # fmt: skip
"""Programs that a command word which is a pattern may mean, the worst first."""
_TIMES = re.compile(r"(?m)^[ \t]*(?:@\w+|(?:[\d*/,-]+\s+){4}[\d*/,\w-]+)\s+")
"""When a line of a crontab is run."""
_INSIDE = re.compile(rf"[\w.-]{UNKNOWN}+[\w=]")
"""A variable in the midst of a name: unset it hides the name, and set it would make another."""
_POSITIONS = frozenset({*"@*123456789", "IFS"})
_FLAGS = re.compile(r"-[A-Za-z]+")
_LONGEST, _LINES = 100, 8
"""Characters of a pattern for a program's name; lines that are put for the mark of xargs."""


class Level(Protocol):
    """The commands of one text, as far as feeding them goes."""

    builder: Builder
    where: Where
    own: list[int]

    def inner(self, index: int, inner: Inner) -> bool:
        """Follows what a command runs; whether more may be followed."""

    def again(self, index: int, names: Iterable[str]) -> None:
        """Follows once more what uses these variables behind a command."""

    def run_words(self, index: int, words: tuple[Word, ...], where: Where) -> None:
        """Follows a command that another runs by its words."""


def feed(level: Level, index: int) -> None:
    """What is written into a shell, an interpreter or xargs, where that is plain to see."""
    builder = level.builder
    command = builder.commands[index]
    before = [builder.commands[one] for one in command.upstream]
    _fill(builder, command, before)
    if not command.words:
        return
    text = given_text(command)
    if text is None and before:
        text = output_of(before) or _parts(before)
        # Each stage of a pipe turns the text of those before once more.
        builder.work.spend(len(before) * (1 + len(text or before[0].argv) // 500))
    text = _sourced(builder, index) if text is None else text
    text = _ran(builder, command) if text is None else text
    name = command.name
    if text is None or text == UNKNOWN:
        return
    if name in {"xargs", "parallel", "gxargs"} or any(one.name == "parallel" for one in command.wrappers):
        _fed(level, index, text)
    elif is_shell(name) or name in _TAKES_TEXT or ("/" in command.argv[0] and not before and not runs_text(name)):
        level.inner(index, Inner(_TIMES.sub("", text) if name == "crontab" else text))
    elif runs_text(name):
        for inner in strings_of(text):
            if not level.inner(index, inner):
                break
    elif name in READS:
        _reread(level, index, text)


def _reread(level: Level, index: int, text: str) -> None:
    """What follows a `read` is followed for each line that it reads."""
    builder = level.builder
    command = builder.commands[index]
    lines = text.strip("\n").split("\n")[:_LINES] if command.name == "read" else [text]
    known = dict(builder.known)
    for line in lines:
        made = taken(command, line, builder.known)
        builder.known.update(made)
        level.again(index, made)
    builder.known = known


def _parts(before: list[SimpleCommand]) -> str | None:
    """What those of several commands print whose text is plain to see: `(crontab -l; echo x)`."""
    if len({(one.pipeline, one.stage) for one in before}) == 1 == len(before):
        return None
    texts = [output_of([one]) for one in before if one.name in {"echo", "printf", "cat"}]
    return "".join(one for one in texts if one) or None


def _fill(builder: Builder, command: SimpleCommand, before: list[SimpleCommand]) -> None:
    """Notes the files that a command fills with a text that is plain to see."""
    inputs = tuple(one for one in command.redirections if ">" not in one.operator)
    outputs = [(one.target.value, one.operator) for one in command.redirections if ">" in one.operator and not one.fd]
    if command.name in {"tee", "sponge"}:
        outputs += [(one, ">>" if "-a" in command.argv else ">") for one in command.argv[1:] if one[:1] != "-"]
    if not outputs:
        return
    text = output_of([*before, replace(command, redirections=inputs)])
    for value, operator in outputs:
        path = _place(command, value)
        if text is None:
            builder.files.pop(path, None)
        else:
            builder.files[path] = (builder.files.get(path, "") if ">>" in operator else "") + text


def _ran(builder: Builder, command: SimpleCommand) -> str | None:
    """The text of a file that the command runs, where this text filled it before."""
    if not builder.files:
        return None
    if "/" in command.argv[0] and (text := builder.files.get(_place(command, command.argv[0]))) is not None:
        return text
    if not runs_text(command.name):
        return None
    given = [one for one in command.argv[1:] if one[:1] not in {"-", "+"}]
    given += [one.target.value for one in command.redirections if one.operator == "<"]
    return next((text for one in given if (text := builder.files.get(_place(command, one))) is not None), None)


def _place(command: SimpleCommand, value: str) -> str:
    return posixpath.normpath(posixpath.join(command.folder, value))


def as_if_unset(command: SimpleCommand) -> tuple[Word, ...]:
    """The words as they are if the variables in its name and flags are unset; nothing if there are none.

    `r$x` is rm's `r` then, and `$SUDO rm` is rm.
    """
    if not any(word.variables for word in command.whole):
        return ()
    words = list(command.whole)
    while words and words[0].value == UNKNOWN and words[0].may_split and words[0].variables:
        words.pop(0)
    bare: list[Word] = []
    for at, word in enumerate(words):
        stripped = word.value.replace(UNKNOWN, "")
        is_mixed = stripped not in {word.value, ""} and bool(word.variables)
        is_empty = _INSIDE.search(word.value) is not None or all(name in _POSITIONS for name in word.variables)
        takes = is_mixed and (at == 0 or is_empty or _FLAGS.fullmatch(stripped) is not None)
        bare.append(literal(stripped) if takes else word)
    return () if tuple(bare) == command.whole else tuple(bare)


def as_matched(command: SimpleCommand) -> list[tuple[Word, ...]]:
    """The words with each program that a pattern in front may match: `/bin/r?` may be rm."""
    if not command.words or not command.words[0].has_glob:
        return []
    pattern = command.words[0].value.rsplit("/", 1)[-1]
    # A pattern of that length is made to hide something, or to take long.
    hits = [name for name in _MATCHED if len(pattern) > _LONGEST or fnmatchcase(name, pattern)]
    return [(literal(name), *command.words[1:]) for name in hits[:6]]


def _sourced(builder: Builder, index: int) -> str | None:
    """The text behind `<(…)` given to a shell or `source`."""
    command = builder.commands[index]
    if not any("process-in" in word.expansions for word in (*command.words, *_targets(command))):
        return None
    inside = [
        one for one in builder.commands[index + 1 :] if one.parent == index and one.places[-1:] == (Place.PROCESS_IN,)
    ]
    return output_of(inside)


def _items(argv: tuple[str, ...], text: str) -> list[str]:
    """What xargs makes of its input: lines or items where it is told so, else words."""
    if any(re.fullmatch(r"-[a-z]*0|--null|-d.*|--delimiter.*", one) for one in argv):
        return [one for one in re.split("[\0\n]", text) if one]
    return text.replace("\0", " ").split()


def _mark(argv: tuple[str, ...]) -> str:
    """What stands for a name in the words that xargs runs."""
    for at, value in enumerate(argv):
        if value in {"-I", "--replace"} and at + 1 < len(argv):
            return argv[at + 1]
        if value.startswith(("-I", "--replace=")):
            return value.removeprefix("-I").removeprefix("--replace=")
    return "{}"


def _fed(level: Level, index: int, text: str) -> None:
    command = level.builder.commands[index]
    given = [inner.words for inner in inner_of(command)]
    if any(one.name == "parallel" for one in command.wrappers):
        given = [command.words]
    builder = level.builder
    for one in given:
        if not builder.work.spend(WORD * len(text) // 2):
            return
        added = tuple(literal(part) for part in _items(command.argv, text))
        where = level.where.below(Place.RUN_BY, index, command.span, command.folder, Reach.DECODED)
        words = [word for word in one if word.value != UNKNOWN]
        mark = _mark(command.argv)
        if any(mark in word.value for word in words) and added:
            lines = text.replace("\0", "\n").strip().split("\n")[:_LINES]
            if not builder.work.spend(sum(map(len, lines)) * sum(word.value.count(mark) for word in words) >> 4):
                return
            for line in lines:
                level.run_words(index, tuple(literal(word.value.replace(mark, line)) for word in words), where)
        else:
            level.run_words(index, (*words, *added), where)


def _targets(command: SimpleCommand) -> list[Word]:
    return [one.target for one in command.redirections]


def is_line(builder: Builder, indexes: list[int]) -> bool:
    """Whether commands are one pipeline and no more."""
    commands = [builder.commands[one] for one in indexes]
    return (
        bool(commands)
        and len({one.pipeline for one in commands}) == 1
        and not any(
            place in one.places[len(commands[0].places) :] for one in commands for place in (Place.LOOP, Place.IF)
        )
    )
