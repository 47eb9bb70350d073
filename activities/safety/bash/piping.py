"""What is written into a shell, an interpreter or xargs, where that is plain to see."""

from typing import Protocol

from activities.safety.bash.build import Builder, Where
from activities.safety.bash.constants import given_text, output_of
from activities.safety.bash.inner import Inner, inner_of, literal, strings_of
from activities.safety.bash.names import is_shell, runs_text
from workflows.contracts.commands import UNKNOWN, Place, Reach, SimpleCommand, Word


class Level(Protocol):
    """The commands of one text, as far as feeding them goes."""

    builder: Builder
    where: Where
    own: list[int]

    def inner(self, index: int, inner: Inner) -> None:
        """Follows what a command runs."""

    def run_words(self, index: int, words: tuple[Word, ...], where: Where) -> None:
        """Follows a command that another runs by its words."""


def feed(level: Level, index: int) -> None:
    """What is written into a shell, an interpreter or xargs, where that is plain to see."""
    builder = level.builder
    command = builder.commands[index]
    if not command.words:
        return
    text = given_text(command)
    before = [builder.commands[one] for one in command.upstream]
    if text is None and before:
        text = output_of(before)
    text = _sourced(builder, index) if text is None else text
    name = command.name
    if text is None or text == UNKNOWN:
        return
    if name in {"xargs", "parallel", "gxargs"}:
        _fed(level, index, text)
    elif is_shell(name) or name in {"at", "batch", "crontab", "source", ".", "eval", "ssh"}:
        level.inner(index, Inner(text))
    elif runs_text(name):
        for inner in strings_of(text):
            level.inner(index, inner)
    elif name in {"read", "mapfile", "readarray"}:
        builder.known[command.words[-1].value] = text.strip()
        for other in level.own:
            if other > index and builder.commands[other].name == "eval":
                level.inner(other, Inner(text, reach=Reach.DECODED))


def _sourced(builder: Builder, index: int) -> str | None:
    """The text behind `<(…)` given to a shell or `source`."""
    command = builder.commands[index]
    if not any("process-in" in word.expansions for word in (*command.words, *_targets(command))):
        return None
    inside = [
        one for one in builder.commands[index + 1 :] if one.parent == index and one.places[-1:] == (Place.PROCESS_IN,)
    ]
    return output_of(inside)


def _fed(level: Level, index: int, text: str) -> None:
    command = level.builder.commands[index]
    inners = list(inner_of(command))
    for inner in inners:
        added = tuple(literal(one) for one in text.replace("\0", " ").split())
        where = level.where.below(Place.RUN_BY, index, command.span, command.folder, Reach.DECODED)
        words = [word for word in inner.words if word.value != UNKNOWN]
        if any("{}" in word.value for word in words) and added:
            words = [literal(word.value.replace("{}", added[0].value)) for word in words]
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
