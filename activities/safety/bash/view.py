"""What the validators look at: the normal form with paths, programs and ancestry worked out once."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from activities.safety.bash.names import ROOT, family
from activities.safety.bash.paths import absolute, faces, joined
from activities.safety.bash.setting import Setting
from workflows.contracts.commands import UNKNOWN, Place, Reason, Redirection, Script, SimpleCommand, Word
from workflows.contracts.permissions import Decision

_VALUE = re.compile(r"(?:--?[\w-]+|[A-Za-z_][\w.\[\]-]*)=(.+)|-[A-Za-z]([/~].+|\.\.?/.+|[@.]\w.*|@[/~.].+)", re.DOTALL)

_QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"|\\.", re.DOTALL)
_COPIES = re.compile(r"[<>]&|&>")
_BREAKS = re.compile(r"[;\n&!]|\|\||\b(?:if|for)\b")


class Act:
    """One simple command, looked at."""

    def __init__(self, index: int, command: SimpleCommand, view: "View") -> None:
        self.index, self.command, self.view = index, command, view
        self.name = family(command.name.lower().removesuffix(".exe"))
        self.values = [word.value for word in command.words]
        self.written: list[str] | None = None
        self.decodes: bool | None = None
        self.known: dict[str, tuple[str, ...]] = {}

    @property
    def arguments(self) -> list[str]:
        """Decoded words behind the command word."""
        return self.values[1:]

    @cached_property
    def operands(self) -> list[str]:
        """Arguments that are no options, by appearance."""
        if "--" in self.values:
            at = self.values.index("--")
            return [one for one in self.values[1:at] if not one.startswith("-")] + self.values[at + 1 :]
        return [one for one in self.values[1:] if not one.startswith("-") or one == "-"]

    @cached_property
    def folder(self) -> str:
        """Where it runs, `env -C` and its like heeded."""
        for wrapper in self.command.wrappers:
            words = [word.value for word in wrapper.words]
            for at, word in enumerate(words):
                if word in {"-C", "--chdir", "-D", "--working-directory"} and at + 1 < len(words):
                    return words[at + 1]
                if word.startswith(("--chdir=", "--working-directory=")):
                    return word.partition("=")[2]
        return self.command.folder

    def path(self, value: str) -> str | None:
        """The absolute path of a value."""
        return absolute(value, self.folder, self.view.setting)

    def faces(self, value: str) -> tuple[str, ...]:
        """The absolute path of a value, and what links make of it."""
        found = self.known.get(value)
        if found is None:
            path = joined(value, self.folder, self.view.setting)
            found = self.known[value] = () if path is None else faces(path, self.view.setting)
        return found

    def possible(self, value: str) -> tuple[str, ...]:
        """The faces of a value, and those that it has where a `cd` before failed."""
        found = self.faces(value)
        if not self.folder or not self.view.may_stay or value.startswith("/"):
            return found
        start = joined(value, "", self.view.setting)
        return found if start is None else (*found, *faces(start, self.view.setting))

    @cached_property
    def named(self) -> list[tuple[str, tuple[str, ...]]]:
        """Every argument that may be a path, also behind `=`, with its faces."""
        return [(one, self.faces(one)) for value in dict.fromkeys(self.values[1:]) for one in _as_paths(value)]

    @cached_property
    def outputs(self) -> list[tuple[Redirection, tuple[str, ...]]]:
        """Redirections that write, with the faces of their targets."""
        return [
            (one, self.faces(one.target.value))
            for one in self.command.redirections
            if ">" in one.operator and not one.is_copy
        ]

    @cached_property
    def inputs(self) -> list[tuple[Redirection, tuple[str, ...]]]:
        """Redirections that read files."""
        return [(one, self.faces(one.target.value)) for one in self.command.redirections if one.operator in {"<", "<>"}]

    @property
    def is_root(self) -> bool:
        """Whether it, or what runs it, runs as root by a wrapper."""
        return any(wrapper.name in ROOT for act in (self, *self.carriers) for wrapper in act.command.wrappers) or any(
            act.name in ROOT for act in self.carriers
        )

    @property
    def carriers(self) -> Iterator["Act"]:
        """The commands that hold or run it, nearest first."""
        parent = self.command.parent
        while parent >= 0:
            act = self.view.acts[parent]
            yield act
            parent = act.command.parent

    @property
    def upstream(self) -> list["Act"]:
        """What writes into its input, or into that of what runs it."""
        found = [self.view.acts[one] for one in self.command.upstream]
        for act in self.carriers:
            found.extend(self.view.acts[one] for one in act.command.upstream)
        return found

    @cached_property
    def sources(self) -> list["Act"]:
        """Whatever may have written its unknown words or its input: pipes, loops, substitutions, and variables."""
        names = {name for word in self.command.words for name in word.variables}
        looped = any(
            one.variable in names and any("command" in item.expansions for item in one.items)
            for one in self.view.script.loops
        )
        held = [
            one
            for one in self.view.acts
            if looped and one.command.parent < 0 and Place.SUBSTITUTION in one.command.places
        ]
        for act in self.view.acts[: self.index]:
            if names & {one.name for one in act.command.assignments} and not act.values:
                held += act.below
            elif act.name in {"read", "mapfile", "readarray"} and names & set(act.arguments):
                held += [act, *act.upstream]
        return [*self.upstream, *self.below, *held]

    @cached_property
    def below(self) -> list["Act"]:
        """Every command that it holds or runs, at any depth."""
        found: list[Act] = []
        for index in self.view.held.get(self.index, ()):
            found += [self.view.acts[index], *self.view.acts[index].below]
        return found

    def finds(  # noqa: PLR0913 - the fields of a reason
        self,
        validator: str,
        action: Decision,
        text: str,
        *,
        sticky: bool = False,
        kind: str = "",
        hint: str = "",
        flag: str = "",
    ) -> Reason:
        """A reason about this command."""
        return Reason(validator, action, text, sticky, kind, self.command.span, hint, flag)


def _as_paths(value: str) -> Iterator[str]:
    if not value or value == "-":
        return
    found = _VALUE.fullmatch(value)
    if found:
        given = found[1] or found[2]
        yield given
        if given[0] in "@<":
            yield given[1:].partition(";")[0]
        return
    if value.startswith("@") and len(value) > 1:
        yield value[1:]
    if not value.startswith("-"):
        yield value
        head, sign, path = value.partition(":")
        if sign and path and "/" not in head:
            yield path


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a command is not proved."""

    cause: str
    """program | flag | path | secret | words | redirection | environment | wrapper | place | substitution"""
    text: str
    flag: str = ""


@dataclass
class View:
    """A whole script, looked at."""

    script: Script
    setting: Setting
    refusals: list[tuple[Act, Refusal]] = field(default_factory=list)
    """Each command that is not proved to read only, and why."""

    def __post_init__(self) -> None:
        self.acts = [Act(index, command, self) for index, command in enumerate(self.script.commands)]
        self.names = {act.name for act in self.acts}
        self.held: dict[int, list[int]] = {}
        for act in self.acts:
            if act.command.parent >= 0:
                self.held.setdefault(act.command.parent, []).append(act.index)

    @cached_property
    def wrapped(self) -> set[str]:
        """Names of all wrappers."""
        return {one.name for act in self.acts for one in act.command.wrappers}

    @cached_property
    def may_stay(self) -> bool:
        """Whether a command may run although a `cd` before it failed, or was in a shell of its own."""
        rest = _COPIES.sub("", _QUOTED.sub("", self.script.text)).replace("&&", " ")
        moves = [act for act in self.acts if act.name == "cd"]
        piped = {one.command.pipeline for one in self.acts if one.command.stage}
        return _BREAKS.search(rest) is not None or any(one.command.pipeline in piped for one in moves)

    @cached_property
    def words(self) -> list[Word]:
        """All words of all commands."""
        return [word for command in self.script.commands for word in command.whole]

    @cached_property
    def variables(self) -> set[str]:
        """Names of the variables that are read anywhere."""
        found = set[str]()
        for command in self.script.commands:
            for word in (*command.whole, *(one.target for one in command.redirections)):
                found.update(word.variables)
            for one in command.assignments:
                found.update(one.value.variables)
        return found

    @cached_property
    def texts(self) -> list[str]:
        """The text, and every decoded argument that is long enough to be a program."""
        found = [word.value for word in self.words]
        for command in self.script.commands:
            found += (one.target.value for one in command.redirections if one.is_heredoc)
            found += (one.value.value for one in command.assignments)
        return [self.script.text, *(one for one in found if len(one) > 8)]


Validator = Callable[[View], Iterator[Reason]]


@dataclass(frozen=True, slots=True)
class Row:
    """One validator of the table."""

    id: str
    check: Validator
    action: str
    """What it answers at most: deny, ask*, ask."""


def is_unknown(value: str) -> bool:
    """Whether a part of a value is unknown."""
    return UNKNOWN in value
