"""Files that a rule keeps from being read: hidden from commands that nobody allowed by name."""

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from activities.safety.bash.syntax import parse as parse_command
from activities.safety.sandbox.git_kept import kept_by_git
from activities.safety.sandbox.git_places import is_folder
from activities.safety.sandbox.places import MOST_LOOKED_AT, NOT_ENTERED
from activities.safety.sandbox.policy import Kind, Place, Policy, in_order
from activities.safety.sandbox.remembered import remember, remembered
from activities.stores.files import append_line, read_lines
from workflows.contracts.permissions import SourcedRule
from workflows.core.path_rules import Bases, Keeper, plain_place
from workflows.core.permission_rules import parse

Kept = Sequence[tuple[SourcedRule, Keeper]]
"""Rules about reading, each ready for many paths."""

MOST_HIDDEN = 500
_REMEMBERED = "kept_back.json"

_GROUP = re.compile(r"\(\?P<\w+>")
"""Named groups cannot stand twice in one pattern."""


def without_kept_back(
    policy: Policy, rules: Kept, command: str, session: Path | None = None
) -> tuple[Policy, tuple[str, ...]]:
    """The policy that hides them too, and a line for each rule that hides something: how much, never what.

    Git alone sees of them what it keeps itself: that would seem to be deleted, and it shows it all the same. `session`:
    the folder of its sandbox, where is kept what was found before, so that nothing crowds it out.
    """
    if not rules:
        return policy, ()
    found, is_whole = _found(policy, rules, remembered(session, _REMEMBERED))
    remember(session, _REMEMBERED, [place.path for place, _rule in found])
    pinned = _pinned(policy, rules, [place for place, _rule in found])
    if found and all(one.name == "git" for one in parse_command(command).commands):
        is_kept = kept_by_git(policy.workspace)
        found = [(place, rule) for place, rule in found if not is_kept(place.path)]
    counts = Counter(rule for _place, rule in found)
    lines = [_line(rule, counts[rule]) for rule in dict.fromkeys(rule for rule, _ in rules) if counts[rule]]
    if not is_whole:
        lines.append("[sandbox: not the whole workspace was looked through for files that a rule keeps back]")
    hidden = (place for place, _rule in found)
    return replace(policy, places=in_order((*policy.places, *pinned, *hidden))), tuple(lines)


def _pinned(policy: Policy, rules: Kept, found: Sequence[Place]) -> list[Place]:
    """The folders above what is kept back by whose names a rule knows it: what is mounted is not renamed."""
    pins: dict[str, Place] = {}
    for place in found:
        above = list(Path(place.path).parents)
        inside = [folder for folder in above if Path(policy.workspace) in folder.parents and str(folder) not in pins]
        for folder in inside:
            moved = place.path.replace(str(folder), str(folder.with_name("\x01")), 1)
            shown = policy.place_at(str(folder))
            is_plain = shown is not None and shown.kind == Kind.WRITE and not shown.source
            if is_plain and _rule_of(moved, rules, is_folder=not place.is_file) is None:
                pins[str(folder)] = Place(str(folder), Kind.WRITE)
    return list(pins.values())


def not_told(folder: Path, lines: Sequence[str]) -> list[str]:
    """Those of the lines that no command of the session was told yet; they are noted in the session's folder."""
    path = folder / "kept_back.ndjson"
    known = {json.loads(line).get("told") for line in read_lines(path)[0]}
    news = [line for line in lines if line not in known]
    for line in news:
        append_line(path, json.dumps({"told": line}).encode())
    return news


def _line(rule: SourcedRule, count: int) -> str:
    where = f" of {rule.file}" if rule.file else ""
    places = "1 place is" if count == 1 else f"{count} places are"
    return f"[sandbox: {places} hidden from this command: {rule.action} rule {rule.text}{where}]"


def _found(policy: Policy, rules: Kept, before: Iterable[str]) -> tuple[list[tuple[Place, SourcedRule]], bool]:
    """What is to be hidden, and whether all was looked at; what was found before comes first."""
    found = [*_outside(policy, rules), *_still_there(policy, rules, before)]
    known = {place.path for place, _rule in found}
    speaks_of, looked_at = _any_of(rules), 0
    for folder, folders, files in os.walk(policy.workspace):
        looked_at += len(folders) + len(files)
        if looked_at > MOST_LOOKED_AT or len(found) >= MOST_HIDDEN:
            return found, False
        entered = []
        for name in folders:
            path = f"{folder}/{name}"
            if path in known:
                continue
            rule = _rule_of(path, rules, is_folder=True) if speaks_of(path) or speaks_of(f"{path}/-") else None
            if rule and not Path(path).is_symlink():
                found.append((Place(path, Kind.HIDDEN), rule))
            elif name not in NOT_ENTERED:
                entered.append(name)
        folders[:] = entered
        found += [
            (Place(path, Kind.HIDDEN, is_file=True), rule)
            for path in (f"{folder}/{name}" for name in files)
            if path not in known and speaks_of(path) and (rule := _rule_of(path, rules)) and not Path(path).is_symlink()
        ]
    return found, True


def _still_there(policy: Policy, rules: Kept, before: Iterable[str]) -> Iterator[tuple[Place, SourcedRule]]:
    for path in map(Path, before):
        if not path.is_relative_to(policy.workspace) or not os.path.lexists(path) or path.is_symlink():
            continue
        if rule := _rule_of(str(path), rules, is_folder=is_folder(path)):
            yield Place(str(path), Kind.HIDDEN, is_file=not is_folder(path)), rule


def _any_of(rules: Kept) -> Callable[[str], bool]:
    """Whether any rule may speak of a path, for thousands of them at once."""
    starts: dict[str, list[str]] = {}
    for _rule, keeper in rules:
        if keeper.fits:
            starts.setdefault(keeper.start, []).append(_GROUP.sub("(?:", keeper.fits.pattern))
    fits = [(start, re.compile("|".join(patterns), re.DOTALL)) for start, patterns in starts.items()]

    def speaks_of(path: str) -> bool:
        low = path.lower()
        return any(low.startswith(start) and each.match(low[len(start) :]) for start, each in fits)

    return speaks_of


def _outside(policy: Policy, rules: Kept) -> Iterator[tuple[Place, SourcedRule]]:
    """What stands beside the workspace and is named by a rule without stars."""
    bases = Bases(policy.workspace, policy.user)
    for rule, _keeper in rules:
        parsed = parse(rule.text)
        path = Path(plain_place(parsed.content, bases, rule.root) if parsed else "")
        if path.is_absolute() and path.exists() and not _is_around(path, Path(policy.workspace)):
            yield Place(str(path), Kind.HIDDEN, is_file=not path.is_dir()), rule


def _is_around(path: Path, workspace: Path) -> bool:
    return path.is_relative_to(workspace) or workspace.is_relative_to(path)


def _rule_of(path: str, rules: Kept, *, is_folder: bool = False) -> SourcedRule | None:
    """The rule that keeps a path back; a folder is kept as a whole where all in it is."""
    names = (path, f"{path}/-") if is_folder else (path,)
    return next((rule for rule, keeper in rules if any(keeper.forbids(name) for name in names)), None)
