"""Git guard: what a command made that a later git, or an agent, would run or obey is moved away and told."""

import hashlib
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from activities.safety.sandbox.git_found import repositories, strays
from activities.safety.sandbox.git_places import Repository, control_files, is_folder, named_in
from activities.safety.sandbox.places import OWN_FILES, OWN_FOLDERS
from activities.safety.sandbox.quarantine import moved_away, opened_up
from activities.stores.files import read_start

Standing = str | list[str]
"""What stands at a path: of a folder that counts, its files."""
Inventory = dict[str, Standing]
"""By path; empty for nothing."""
IsPersons = Callable[[Path, str], bool]
"""Whether a person's word made of a file what it is now, since its content had this short digest; empty for no file."""

MOST_READ = 65_536
MOST_FILES = 500
"""Of a folder: so many are looked into, and so many hooks are moved one by one."""

_FOR_AGENTS = "an agent's settings that no person wrote"
_FOR_GIT = "it leads git to another repository"


@dataclass(frozen=True)
class Moved:
    """One thing that was moved away."""

    path: str
    to: str
    """Empty where it could not be moved."""
    why: str
    why_not: str = ""
    """Why it stays where it is."""


def take_inventory(workspace: Path) -> Inventory:
    """What stands at each place that matters; about ten looks."""
    found: Inventory = {}
    for repository in repositories(workspace):
        for path in (repository.entry, *control_files(repository)):
            found[str(path)] = _seen(path)
    for name in (*OWN_FOLDERS, *OWN_FILES, "HEAD"):
        found[str(workspace / name)] = _seen(workspace / name)
    found.update((str(path), _seen(path)) for path in strays(workspace))
    found.setdefault(str(workspace / ".git"), _seen(workspace / ".git"))
    return found


def settle(
    workspace: Path, before: Inventory, quarantine: Path, is_persons: IsPersons = lambda _path, _before: False
) -> list[Moved]:
    """Move away what is new and would be run or obeyed; also removes our own stand-ins. May be repeated.

    What a person's word wrote meanwhile stays.
    """
    guard = _Guard(workspace, before, quarantine, is_persons)
    guard.own_files()
    guard.entry()
    for repository in repositories(workspace):
        guard.repository(repository)
    guard.bare()
    return guard.moved


def _seen(path: Path) -> Standing:
    """What stands at a path: its kind, and of files what they hold."""
    try:
        mode = path.lstat().st_mode
        if stat.S_ISLNK(mode):
            return f"link {path.readlink()}"
        if stat.S_ISDIR(mode):
            return _files(path) if path.name in {"hooks", *OWN_FOLDERS} else "folder"
        return f"file {_print(path)}"
    except OSError:
        return ""


def _files(folder: Path) -> list[str]:
    """The files of a folder, each with its print; one word more, so that an empty folder is not nothing."""
    if not os.access(folder, os.R_OK | os.X_OK):
        opened_up(folder)
    below = sorted(path for path in folder.rglob("*") if path.is_symlink() or not is_folder(path))
    prints = (_print(path, is_read=number < MOST_FILES) for number, path in enumerate(below))
    return ["folder", *(f"{print_} {path.relative_to(folder)}" for print_, path in zip(prints, below, strict=True))]


def _print(path: Path, *, is_read: bool = True) -> str:
    """A short name of what a file holds and whether it can be run."""
    facts = path.lstat()
    if not stat.S_ISREG(facts.st_mode) or facts.st_size > MOST_READ or not is_read:
        return f"{facts.st_mode}-{facts.st_size}-{facts.st_mtime_ns}"
    return f"{facts.st_mode & 0o111}-{hashlib.sha256(read_start(path, MOST_READ)).hexdigest()[:32]}"


class _Guard:
    """One look after a command."""

    def __init__(self, workspace: Path, before: Inventory, quarantine: Path, is_persons: IsPersons) -> None:
        self.workspace = workspace
        self.before = before
        self.quarantine = quarantine
        self.is_persons = is_persons
        self.moved: list[Moved] = []

    def is_new(self, path: Path) -> bool:
        """Whether something else stands there than before."""
        now = _seen(path)
        return bool(now) and now != self.before.get(str(path), "")

    def away(self, path: Path, why: str) -> None:
        """Move it, without following anything; what cannot be moved is told, and keeps nothing else in its place."""
        try:
            to, why_not = str(moved_away(path, self.quarantine)), ""
        except OSError as error:
            to, why_not = "", error.strerror or str(error)
        self.moved.append(Moved(str(path), to, why, why_not))

    def own_files(self) -> None:
        """Settings of agents that are new; an empty folder is our own stand-in."""
        for name in (*OWN_FOLDERS, *OWN_FILES):
            path = self.workspace / name
            if not self.is_new(path):
                continue
            new = [path / each for each in self.new_in(path)] if is_folder(path) else []
            planted = [each for each in new if not self.is_persons(each, self.short_digest(path, each))]
            was_there = bool(self.before.get(str(path))) and is_folder(path)
            if was_there or len(planted) < len(new):
                for each in planted:
                    self.away(each, _FOR_AGENTS)
            elif not _is_removed(path):
                self.away(path, _FOR_AGENTS)

    def short_digest(self, folder: Path, file: Path) -> str:
        """Of what the file of a folder held before; empty for no file."""
        ending = f" {file.relative_to(folder)}"
        told = (each.removesuffix(ending) for each in self.before.get(str(folder)) or [] if each.endswith(ending))
        return next((each.partition("-")[2] for each in told if " " not in each), "")

    def new_in(self, folder: Path) -> list[str]:
        """The names of these."""
        known = set(self.before.get(str(folder)) or [])
        return [told.split(" ", 1)[1] for told in (_files(folder)[1:] if folder.is_dir() else []) if told not in known]

    def entry(self) -> None:
        """`.git` itself, and those below: one that now leads elsewhere."""
        path = self.workspace / ".git"
        if self.is_new(path) and not is_folder(path):
            self.away(path, _FOR_GIT)
        for stray in strays(self.workspace):
            if self.is_new(stray):
                self.away(stray, _FOR_GIT)

    def repository(self, repository: Repository) -> None:
        """Hooks, filters and redirections of one repository; its configuration is looked at key by key elsewhere."""
        for path in control_files(repository):
            if not self.is_new(path):
                continue
            if path.name == "hooks":
                self.hooks(path)
            elif path.name == "commondir" and not _leads_home(path, repository):
                self.away(path, _FOR_GIT)
            elif path.name == "attributes" and _may_filter(path):
                self.away(path, "git would run the filters it names")

    def hooks(self, folder: Path) -> None:
        """Each hook that is new or changed; git's own samples are never run."""
        new = [] if folder.is_symlink() else [name for name in self.new_in(folder) if not name.endswith(".sample")]
        if folder.is_symlink() or len(new) > MOST_FILES:
            self.away(folder, "git would run what is in it")
            return
        for name in new:
            self.away(folder / name, "git would run it")

    def bare(self) -> None:
        """A workspace that became a bare repository: git would take its `config` and `hooks`."""
        head = self.workspace / "HEAD"
        if self.is_new(head) and (self.workspace / "objects").is_dir() and (self.workspace / "refs").is_dir():
            self.away(head, "git would take this folder for a repository")


def _leads_home(path: Path, repository: Repository) -> bool:
    """Whether it is a worktree's and names the repository that keeps it."""
    home = repository.common
    return path.parent.parent == home / "worktrees" and named_in(path) == Path(os.path.realpath(home))


def _may_filter(path: Path) -> bool:
    """Whether attributes name a filter, or cannot be looked through."""
    try:
        held = read_start(path, MOST_READ + 1)
    except OSError:
        return True
    return len(held) > MOST_READ or b"filter" in held


def _is_removed(path: Path) -> bool:
    """Whether it was an empty folder, which is gone now."""
    try:
        path.rmdir()
    except OSError:
        return False
    return True
