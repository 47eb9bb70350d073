"""Audit a session from its objects: steps, totals, verification, export."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from activities.stores.digests import digest_of
from activities.stores.export import Manifest, write_export
from activities.stores.fetching import Fetching
from activities.transcript import parsed_entry
from worker.audit_chain import read_chain
from worker.audit_sources import Source
from workflows.contracts.audit import DamagedStep, Line, Problem, Step, Totals
from workflows.contracts.errors import ChainError, StoreError, UsageError, UserError
from workflows.contracts.transcript import Entry
from workflows.core.audit import public_key_of, steps_of, totals_of
from workflows.core.audit_checks import (
    FILE_VERSION,
    HISTORY,
    SET_ASIDE,
    Reference,
    check_calls,
    check_history,
    check_places,
    check_signatures,
    references,
)
from workflows.core.audit_histories import RunFacts, facts_of

_AHEAD = 256


@dataclass
class Verification:
    """What was checked."""

    entries: int = 0
    """Entries that were read and fit where they are."""
    objects: int = 0
    """Objects whose bytes have the digest that names them, entries and pages too."""
    histories: int = 0


@dataclass
class Report:
    """The audit of one session."""

    session: str
    head: str
    steps: list[Step]
    totals: Totals
    problems: list[Problem]
    notes: list[str]
    verification: Verification | None = None
    """None when only what the steps need was read."""


@dataclass
class _Found:
    """What the referenced objects gave."""

    problems: list[Problem] = field(default_factory=list)
    set_aside: dict[str, Entry | str] = field(default_factory=dict)
    histories: list[tuple[int | None, str, RunFacts]] = field(default_factory=list)
    """Entry that names it, digest, facts."""
    objects: int = 0


@dataclass(frozen=True)
class _Chain:
    """A chain as far as it can be read."""

    head: str
    lines: list[Line]
    problems: list[Problem]
    """Of the heads that could not be read."""


async def audit(source: Source, *, verify: bool) -> Report:
    """Every step of the session. UserError when nothing of it can be read."""
    chain = await _chain(source)
    session, lines = source.session, chain.lines
    found = await _referenced(source, lines, everything=verify)
    runs = [run for _n, _digest, run in found.histories]
    steps = steps_of(session, lines, found.set_aside, runs)
    steps += [DamagedStep(len(lines), "", why) for why in source.damages]
    problems = [*chain.problems, *check_places(session, lines), *found.problems]
    notes = list(source.notes)
    report = Report(session, chain.head, steps, totals_of(steps), problems, notes)
    if verify:
        problems += check_calls(session, lines)
        problems += check_signatures(session, lines, runs)
        for n, digest, run in found.histories:
            problems += check_history(session, n, digest, run, lines)
        whole = sum(line.entry is not None for line in lines)
        report.verification = Verification(whole, whole + found.objects, len(runs))
        notes += _limits(source, lines, found)
    return report


def _limits(source: Source, lines: Sequence[Line], found: _Found) -> list[str]:
    """What a verification could not look at."""
    notes = []
    if source.left_out:
        notes.append(
            f"{len(source.left_out)} earlier versions of files are left out of the export and were not checked"
        )
    if not public_key_of(lines):
        notes.append("the chain names no key, so signatures of answers were not checked")
    if not found.histories:
        notes.append("no Temporal history was at hand: the chain was checked by itself")
    return notes


async def _chain(source: Source) -> _Chain:
    problems: list[Problem] = []
    for place, head in enumerate(source.heads):
        try:
            lines = await read_chain(source.store, head, source.heads[place + 1 :])
        except (StoreError, ChainError) as error:
            problems.append(Problem(source.session, None, head, f"its newest entry cannot be read: {error}"))
        else:
            return _Chain(head, lines, problems)
    if problems:
        raise UserError(f"{problems[0].line}; no earlier entry of it can be read either.", reason="audit")
    raise UsageError(
        f"Nothing of session {source.session} is kept here: it is another's, or ended before its first entry "
        f"(`perdure show {source.session}` says why); `--from FILE` audits an export.",
        reason="unknown_session",
    )


async def _referenced(source: Source, lines: Sequence[Line], *, everything: bool) -> _Found:
    """What the objects that entries name give; only what the steps need unless `everything` is asked for."""
    wanted = _wanted(lines)
    needed = [item for item in wanted if everything or item[1].what in {HISTORY, SET_ASIDE}]
    found = _Found()
    async with Fetching(source.store) as fetching:
        for place, (n, reference) in enumerate(needed):
            if place % _AHEAD == 0:
                fetching.begin(each.digest for _n, each in needed[place : place + 2 * _AHEAD])
            if reference.what == FILE_VERSION and reference.digest in source.left_out:
                continue
            try:
                data = await fetching.take(reference.digest)
            except StoreError as error:
                found.set_aside[reference.digest] = str(error)
                found.problems.append(Problem(source.session, n, reference.digest, f"{reference.what}: {error}"))
            else:
                found.objects += 1
                _keep(source, found, n, reference, data)
    for digest in source.lost:
        found.problems.append(Problem(source.session, None, digest, "a history in the export is missing or damaged"))
    for live in source.live:
        _keep(source, found, None, Reference(digest_of(live), HISTORY), live)
    return found


def _wanted(lines: Sequence[Line]) -> list[tuple[int, Reference]]:
    """Each object that the entries name, with the number of the first that names it."""
    wanted: dict[str, tuple[int, Reference]] = {}
    for line in lines:
        for reference in references(line.entry) if line.entry else ():
            wanted.setdefault(reference.digest, (line.n, reference))
            if wanted[reference.digest][1].what == FILE_VERSION:
                # An object that has another purpose too is not only a file's version.
                wanted[reference.digest] = (wanted[reference.digest][0], reference)
    return list(wanted.values())


def _keep(source: Source, found: _Found, n: int | None, reference: Reference, data: bytes) -> None:
    try:
        if reference.what == SET_ASIDE:
            found.set_aside[reference.digest] = parsed_entry(reference.digest, data)
        elif reference.what == HISTORY:
            found.histories.append((n, reference.digest, facts_of(data)))
    except (ChainError, ValueError) as error:
        found.set_aside[reference.digest] = str(error)
        text = f"{reference.what} {reference.digest} cannot be understood: {error}"
        found.problems.append(Problem(source.session, n, reference.digest, text))


@dataclass(frozen=True)
class Exported:
    """What an export came to."""

    objects: int
    left_out: int
    """File versions that stay at home."""
    problems: list[Problem]


async def export(source: Source, path: Path) -> Exported:
    """Write one file with all objects of the session but its file versions; what could not be read is told."""
    chain = await _chain(source)
    session = source.session
    wanted = _wanted(chain.lines)
    named = {line.digest: line.n for line in chain.lines if line.entry}
    named |= {reference.digest: n for n, reference in wanted if reference.what != FILE_VERSION}
    left_out = {reference.digest for _n, reference in wanted if reference.what == FILE_VERSION} - set(named)
    live = {digest_of(data): data for data in source.live}
    manifest = Manifest(session, chain.head, len(chain.lines), histories=tuple(live), left_out=tuple(sorted(left_out)))
    lost = await write_export(path, source.store, manifest, named, live)
    problems = [*chain.problems, *(Problem(session, line.n, line.digest, line.why) for line in chain.lines if line.why)]
    problems += [Problem(session, named.get(error.digest), error.digest, f"not exported: {error}") for error in lost]
    return Exported(len(named) + len(live) - len(lost), len(left_out), problems)
