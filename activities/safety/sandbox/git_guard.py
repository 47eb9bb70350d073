"""Git guard: what a command made that a later git, or an agent, would run or obey is moved away and told."""

import hashlib
import os
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path

from activities.safety.sandbox.git_places import Repository, control_files, repository_of
from activities.safety.sandbox.places import OWN_FILES, OWN_FOLDERS

Standing = str | list[str]
"""What stands at a path: of a folder that counts, its files."""
Inventory = dict[str, Standing]
"""By path; empty for nothing."""

MOST_READ = 65_536
MOST_NESTED = 100
MOST_FILES = 500


@dataclass(frozen=True)
class Moved:
    """One thing that was moved away."""

    path: str
    to: str
    why: str


def take_inventory(workspace: Path) -> Inventory:
    """What stands at each place that matters; about ten looks."""
    found: Inventory = {}
    for repository in repositories(workspace):
        for path in (repository.entry, *control_files(repository)):
            found[str(path)] = _seen(path)
    for name in (*OWN_FOLDERS, *OWN_FILES, "HEAD"):
        found[str(workspace / name)] = _seen(workspace / name)
    found.setdefault(str(workspace / ".git"), _seen(workspace / ".git"))
    return found


def settle(workspace: Path, before: Inventory, quarantine: Path) -> list[Moved]:
    """Move away what is new and would be run or obeyed; also removes our own stand-ins. May be repeated."""
    guard = _Guard(workspace, before, quarantine)
    guard.own_files()
    guard.entry()
    for repository in repositories(workspace):
        guard.repository(repository)
    guard.bare()
    return guard.moved


def repositories(workspace: Path) -> list[Repository]:
    """The workspace's own and those right below it."""
    found = [repository_of(workspace)]
    with os.scandir(workspace) as entries:
        folders = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False) and entry.name != ".git"]
    for name in sorted(folders)[:MOST_NESTED]:
        folder = workspace / name
        if (folder / ".git").is_dir() and not (folder / ".git").is_symlink():
            found.append(Repository(folder / ".git", folder / ".git"))
    return [repository for repository in found if repository]


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
    below = sorted(path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    return ["folder", *(f"{_print(path)} {path.relative_to(folder)}" for path in below[:MOST_FILES])]


def _print(path: Path) -> str:
    """A short name of what a file holds and whether it can be run."""
    facts = path.lstat()
    if not stat.S_ISREG(facts.st_mode) or facts.st_size > MOST_READ:
        return f"{facts.st_mode}-{facts.st_size}-{facts.st_mtime_ns}"
    return f"{facts.st_mode & 0o111}-{hashlib.sha256(path.read_bytes()).hexdigest()[:32]}"


class _Guard:
    """One look after a command."""

    def __init__(self, workspace: Path, before: Inventory, quarantine: Path) -> None:
        self.workspace = workspace
        self.before = before
        self.quarantine = quarantine
        self.moved: list[Moved] = []

    def is_new(self, path: Path) -> bool:
        """Whether something else stands there than before."""
        now = _seen(path)
        return bool(now) and now != self.before.get(str(path), "")

    def away(self, path: Path, why: str) -> None:
        """Move it, without following anything."""
        self.quarantine.mkdir(parents=True, exist_ok=True, mode=0o700)
        name = f"{len(list(self.quarantine.iterdir())) + 1}-{path.name}"
        shutil.move(path, self.quarantine / name)
        self.moved.append(Moved(str(path), str(self.quarantine / name), why))

    def own_files(self) -> None:
        """Settings of agents that are new; an empty folder is our own stand-in."""
        for name in (*OWN_FOLDERS, *OWN_FILES):
            path = self.workspace / name
            if not self.is_new(path):
                continue
            if self.before.get(str(path)) and path.is_dir() and not path.is_symlink():
                self.new_files(path, "an agent's settings that no person wrote")
            elif not _is_removed(path):
                self.away(path, "an agent's settings that no person wrote")

    def new_files(self, folder: Path, why: str, ignored: str = "\0") -> None:
        """Each file of a folder that is new or changed."""
        known = set(self.before.get(str(folder)) or [])
        for told in _files(folder)[1:] if folder.is_dir() else []:
            name = told.split(" ", 1)[1]
            if told not in known and not name.endswith(ignored):
                self.away(folder / name, why)

    def entry(self) -> None:
        """`.git` itself: one that now leads elsewhere."""
        path = self.workspace / ".git"
        if self.is_new(path) and (path.is_symlink() or path.is_file()):
            self.away(path, "it leads git to another repository")

    def repository(self, repository: Repository) -> None:
        """Hooks, filters and redirections of one repository; its configuration is looked at key by key elsewhere."""
        for path in control_files(repository):
            if not self.is_new(path):
                continue
            if path.name == "hooks":
                self.hooks(path)
            elif path.name == "commondir" and path.parent.parent.name != "worktrees":
                self.away(path, "it leads git to another repository")
            elif path.name == "attributes" and b"filter" in path.read_bytes()[:MOST_READ]:
                self.away(path, "git would run the filters it names")

    def hooks(self, folder: Path) -> None:
        """Each hook that is new or changed; git's own samples are never run."""
        if folder.is_symlink():
            self.away(folder, "git would run what is in it")
        else:
            self.new_files(folder, "git would run it", ".sample")

    def bare(self) -> None:
        """A workspace that became a bare repository: git would take its `config` and `hooks`."""
        head = self.workspace / "HEAD"
        if self.is_new(head) and (self.workspace / "objects").is_dir() and (self.workspace / "refs").is_dir():
            self.away(head, "git would take this folder for a repository")


def _is_removed(path: Path) -> bool:
    """Whether it was an empty folder, which is gone now."""
    try:
        path.rmdir()
    except OSError:
        return False
    return True
