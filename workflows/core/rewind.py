"""To which point of a chain, and what the agent's own file changes since then come to -> plan."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from workflows.contracts.audit import Line
from workflows.contracts.errors import UsageError
from workflows.contracts.messages import Role
from workflows.contracts.transcript import Entry, MessageBody, NoticeBody, OutcomeBody

OPENED = ("session_opened", "rewound")
"""Notices that begin a session's own part of a chain."""
_CHANGES = ("write", "create")
_HEX = re.compile(r"[0-9a-f]{6,64}")
_NUMBERED = re.compile(r"(?:(turn|t|exchange|e)[:=]?)?(\d{1,6})")
_FORMS = "a number of an exchange, turn:N, start, or the beginning of an entry's digest (`perdure audit` shows all)"


@dataclass(frozen=True)
class Point:
    """The newest entry that stays."""

    n: int
    digest: str
    text: str
    """What it is, for the person."""


def point_of(lines: Sequence[Line], word: str) -> Point:
    """The point that a person names: after an exchange, after a turn, after an entry, or at the start."""
    word = word.strip().lower()
    if word == "start":
        return _point(lines, _opened(lines), "the start of the session")
    if numbered := _NUMBERED.fullmatch(word):
        is_turn, number = (numbered[1] or "e").startswith("t"), int(numbered[2])
        name = f"turn {number}" if is_turn else f"exchange {number}"
        if number == 0:
            return _point(lines, _opened(lines), "the start of the session")
        found = _last_of_turn(lines, number) if is_turn else _last_of_exchange(lines, number)
        if found is None:
            raise UsageError(f"There is no {name} in this session. Give {_FORMS}.", reason="no_point")
        return _point(lines, found, f"the end of {name}")
    if _HEX.fullmatch(word):
        found_all = [place for place, line in enumerate(lines) if line.digest.startswith(word)]
        if len(found_all) == 1:
            return _point(lines, found_all[0], f"entry {lines[found_all[0]].n}")
        why = "Several entries begin" if found_all else "No entry of this session begins"
        raise UsageError(f"{why} with {word}. Give {_FORMS}.", reason="no_point")
    raise UsageError(f"{word[:80]!r} names no point of a session. Give {_FORMS}.", reason="no_point")


def _point(lines: Sequence[Line], place: int, text: str) -> Point:
    return Point(lines[place].n, lines[place].digest, text)


def _opened(lines: Sequence[Line]) -> int:
    places = [place for place, line in enumerate(lines) if _notice(line) in OPENED]
    return places[-1] if places else 0


def _notice(line: Line) -> str:
    return line.entry.body.what if line.entry and isinstance(line.entry.body, NoticeBody) else ""


def _last_of_turn(lines: Sequence[Line], number: int) -> int | None:
    """The entry that tells its end, else the last one that belongs to it."""
    own = [place for place, line in enumerate(lines) if _turn(line.entry) == number]
    return own[-1] if own else None


def _turn(entry: Entry | None) -> int:
    match entry.body if entry else None:
        case MessageBody(turn=turn) | OutcomeBody(turn=turn):
            return turn
        case NoticeBody(data=data):
            number = data.get("turn")
            return number if isinstance(number, int) else 0
    return 0


def _last_of_exchange(lines: Sequence[Line], number: int) -> int | None:
    """The reply's last outcome, or the reply; and the notices right behind it, such as the end of its turn."""
    own = [place for place, line in enumerate(lines) if _exchange(line.entry) == number]
    if not own:
        return None
    last = own[-1]
    while last + 1 < len(lines) and _notice(lines[last + 1]):
        last += 1
    return last


def _exchange(entry: Entry | None) -> int:
    match entry.body if entry else None:
        case MessageBody(role=Role.ASSISTANT, exchange=exchange) | OutcomeBody(exchange=exchange):
            return exchange
    return 0


@dataclass(frozen=True)
class FileChange:
    """One change that the agent, or an earlier rewind, made to a file."""

    n: int
    """Entry that tells it; of a rewind the newest entry when it was made."""
    path: str
    before: str
    """SHA-256, empty when there was no file."""
    after: str
    """SHA-256, empty when there is no file any more."""
    before_object: str = ""
    folders: int = 0
    """How many of the folders right above it were made for it."""


@dataclass(frozen=True)
class FileStep:
    """What shall become of one file."""

    path: str
    now: str
    """SHA-256 that it must have, empty when it must not be there."""
    then: str
    """SHA-256 that it gets, empty when it is removed."""
    then_object: str
    changes: int
    """How many changes are taken back."""
    folders: int = 0
    """How many of the folders right above it were made for it: with a file that is removed the empty ones go."""


@dataclass(frozen=True)
class FilePlan:
    """What is restored, what stands in the way, and what cannot be."""

    steps: tuple[FileStep, ...] = ()
    obstacles: tuple[str, ...] = ()
    """Each in one sentence; with one of them nothing is restored."""
    commands: int = 0
    """Commands since then: what they did is not known, and stays."""


def changes_of(lines: Sequence[Line]) -> Iterator[FileChange]:
    """The agent's own changes, oldest first."""
    for line in lines:
        if line.entry and isinstance(line.entry.body, OutcomeBody):
            for effect in line.entry.body.effects:
                if effect.kind in _CHANGES and effect.before != effect.after:
                    yield FileChange(
                        line.n, effect.path, effect.before, effect.after, effect.before_object, effect.folders
                    )


def plan_files(lines: Sequence[Line], point: Point, rewinds: Sequence[FileChange] = ()) -> FilePlan:
    """Take back, newest first, what was changed after the point: each file's first version since then comes back."""
    # A rewind was made after the entry that was the newest then.
    since = sorted(
        [*(each for each in changes_of(lines) if each.n > point.n), *(each for each in rewinds if each.n > point.n)],
        key=lambda each: each.n,
    )
    steps: list[FileStep] = []
    obstacles: list[str] = []
    for path in dict.fromkeys(change.path for change in since):
        own = [change for change in since if change.path == path]
        if any(one.after != later.before for one, later in pairwise(own)):
            obstacles.append(f"{path} was changed by somebody else between two changes of the agent")
        elif own[0].before != own[-1].after:
            folders = max(change.folders for change in own)
            steps.append(FileStep(path, own[-1].after, own[0].before, own[0].before_object, len(own), folders))
    return FilePlan(tuple(steps), tuple(obstacles), sum(_has_run(line) for line in lines if line.n > point.n))


def _has_run(line: Line) -> bool:
    body = line.entry.body if line.entry else None
    return isinstance(body, OutcomeBody) and any(effect.kind == "command" for effect in body.effects)
