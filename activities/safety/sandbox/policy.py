"""Policy: what a session's commands may see and change, as a list of places, from settings and folders."""

import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from activities.safety.bash.paths import is_under
from activities.safety.sandbox import git_places
from activities.safety.sandbox.places import (
    OWN_FILES,
    OWN_FOLDERS,
    SECRET_AT_HOME,
    SEEN_AT_HOME,
    STARTS_AT_HOME,
    secret_files,
    tool_folders,
)
from workflows.contracts.sandbox import SandboxSettings

MOST_KEPT = 600
"""Control files of git that are closed while a command runs, since bubblewrap takes 9,000 words; all are looked at
when it has ended."""


class Kind(StrEnum):
    """What may be done at a place and below it, but for deeper places of the list."""

    HIDDEN = "hidden"
    READ = "read"
    WRITE = "write"
    STAND_IN = "stand-in"
    """An empty folder for one that is absent, so that none can be made."""


@dataclass(frozen=True)
class Place:
    """One path inside the sandbox."""

    path: str
    kind: Kind
    source: str = ""
    """What is shown there; empty for the path itself."""
    is_file: bool = False


@dataclass(frozen=True)
class Surroundings:
    """The folders that a policy is made for."""

    workspace: Path
    user: Path
    """The person's home folder."""
    home: Path
    """PERDURE_HOME."""
    temporary: Path
    """The session's own /tmp."""
    caches: Path
    """The workspace's own caches of package managers."""
    account: Path | None = None
    """The home folder of the account, where HOME names another one."""


@dataclass(frozen=True)
class Policy:
    """What commands of one session may touch."""

    workspace: str
    user: str
    temporary: str
    places: tuple[Place, ...]
    """Shallow ones first; a later one of the same path wins."""
    has_unix_sockets: bool = False
    absent: tuple[str, ...] = ()
    """What the settings open and is not there: only what exists can be opened."""
    domains: tuple[str, ...] = ()
    denied_domains: tuple[str, ...] = ()

    def as_record(self) -> dict[str, object]:
        """As plain JSON, for whoever tells of a command later."""
        return asdict(self)

    def kind_at(self, path: str) -> Kind:
        """What may be done at a path."""
        place = self.place_at(path)
        return place.kind if place else Kind.READ

    def place_at(self, path: str) -> Place | None:
        """The place that a path is at or below, the deepest of the list."""
        found = None
        for place in self.places:
            if is_under(path, place.path):
                found = place
        return found


def in_order(places: Iterable[Place]) -> tuple[Place, ...]:
    """Shallow ones first, as a policy has them."""
    return tuple(sorted(places, key=lambda place: (place.path.count("/"), place.path)))


def policy_from(record: Mapping[str, Any]) -> Policy:  # Any: what `as_record` became on disk
    """The policy that was kept."""
    places = tuple(Place(**{**place, "kind": Kind(place["kind"])}) for place in record["places"])
    lists = {name: tuple(record[name]) for name in ("absent", "domains", "denied_domains")}
    return Policy(**{**record, **lists, "places": places})


def make_policy(
    settings: SandboxSettings, where: Surroundings, environment: Mapping[str, str], *, opens_configuration: bool = False
) -> Policy:
    """The policy for a workspace; looks at the disk for what is there.

    `opens_configuration`: git may write its own, where that is a file of one name.
    """
    plan = _Plan(settings, where)
    plan.hide_the_rest(environment)
    plan.open_what_is_asked()
    plan.keep_git(opens_configuration=opens_configuration)
    plan.keep_from_the_agent()
    plan.keep_ends()
    network = settings.network
    return Policy(
        workspace=str(where.workspace),
        user=str(where.user),
        temporary=str(where.temporary),
        places=in_order(plan.places.values()),
        absent=tuple(plan.absent),
        has_unix_sockets=bool(network.allow_unix_sockets) or network.allow_all_unix_sockets,
        domains=network.allowed_domains,
        denied_domains=network.denied_domains,
    )


class _Plan:
    """The places of a policy while it is made: what is added later wins at its path."""

    def __init__(self, settings: SandboxSettings, where: Surroundings) -> None:
        self.settings = settings
        self.where = where
        self.places: dict[str, Place] = {}
        self.absent: list[str] = []
        self.ends: list[Path] = []

    def add(self, kind: Kind, *paths: Path | str) -> None:
        for path in paths:
            name = str(path)
            try:
                mode = os.stat(name).st_mode  # noqa: PTH116 - many looks before each command
            except OSError:
                continue
            self.places[name] = Place(name, kind, is_file=not stat.S_ISDIR(mode))

    def put(self, path: Path, kind: Kind, source: Path | None = None) -> None:
        self.places[str(path)] = Place(str(path), kind, source=str(source or ""))

    def hide_the_rest(self, environment: Mapping[str, str]) -> None:
        """The person's home folder, /run and /tmp are not seen, but for tools, caches and the session's own /tmp."""
        user, temporary, running = self.where.user, _real("/tmp"), _real("/run")  # noqa: S108 - the session's own instead
        if running.is_dir():
            self.put(running, Kind.HIDDEN)
        self.put(temporary, Kind.WRITE, self.where.temporary)
        if (other := _real("/var/tmp")) != temporary and other.is_dir():  # noqa: S108 - the same folder, too
            self.put(other, Kind.WRITE, self.where.temporary)
        if (account := self.where.account) and not account.is_relative_to(user):
            self.add(Kind.HIDDEN, *(account / name for name in SECRET_AT_HOME))
        if user == Path("/") or not user.is_dir():
            return
        self.put(user, Kind.HIDDEN)
        self.add(Kind.READ, *(f"{user}/{name}" for name in SEEN_AT_HOME))
        self.add(Kind.READ, *tool_folders(environment, (user, temporary, running)))
        self.put(user / ".cache", Kind.WRITE, self.where.caches)

    def open_what_is_asked(self) -> None:
        """The workspace and what the settings allow."""
        rules = self.settings.filesystem
        read, write = self.named(rules.allow_read), self.named(rules.allow_write)
        self.add(Kind.READ, *read)
        self.add(Kind.WRITE, *write, *self.named(self.settings.network.allow_unix_sockets))
        self.absent = [str(path) for path in (*read, *write) if not path.exists()]
        workspace, user = self.where.workspace, self.where.user
        if workspace == Path("/"):
            return
        self.put(workspace, Kind.WRITE)
        if user.is_relative_to(workspace):
            # Its home folder is the person's work, then; only what is secret or starts programs is kept.
            self.places = {path: place for path, place in self.places.items() if not Path(path).is_relative_to(user)}
            self.put(workspace, Kind.WRITE)
            self.add(Kind.READ, *(user / name for name in STARTS_AT_HOME))
            self.add(Kind.HIDDEN, *(user / name for name in SECRET_AT_HOME))

    def keep_git(self, *, opens_configuration: bool) -> None:
        """Nothing that a later git would run can be changed, nor the folder moved away."""
        repository = git_places.repository_of(self.where.workspace)
        if repository is None:
            return
        self.put(repository.common, Kind.WRITE)
        if repository.entry != repository.common:
            self.add(Kind.READ, repository.entry)
        kept = git_places.control_files(repository)[:MOST_KEPT]
        opened = git_places.configurations(repository) if opens_configuration else []
        self.keep(repository.common, (path for path in kept if path not in opened or not _is_of_one_name(path)))

    def keep_from_the_agent(self) -> None:
        """Settings of agents, what the settings deny, secrets of the system, and all that is perdure's own."""
        workspace, rules = self.where.workspace, self.settings.filesystem
        self.keep(workspace, (workspace / name for name in (*OWN_FOLDERS, *OWN_FILES)))
        for name in OWN_FOLDERS if workspace != Path("/") and _takes_entries(workspace) else ():
            if not os.path.lexists(workspace / name):
                self.put(workspace / name, Kind.STAND_IN)
        self.add(Kind.READ, *self.named(rules.deny_write))
        self.add(Kind.HIDDEN, *self.named(rules.deny_read), *secret_files())
        own = self.where.home
        self.places = {
            path: place
            for path, place in self.places.items()
            if not is_under(path, str(own)) or is_under(path, str(workspace))
        }
        if workspace != own:
            self.add(Kind.HIDDEN, own)

    def keep(self, folder: Path, paths: Iterable[Path]) -> None:
        """What stands in a folder is read-only; what is reached by links only where it ends."""
        real = _real(str(folder))
        for path in paths:
            end = _real(str(path))
            if end == real / path.relative_to(folder):
                self.add(Kind.READ, path)
            else:
                self.ends.append(end)

    def keep_ends(self) -> None:
        """Where links lead is read-only too, but nothing is shown by a link that is hidden."""
        for end in self.ends:
            above = [place for path, place in self.places.items() if is_under(str(end), path)]
            place = max(above, key=lambda one: len(one.path), default=None)
            if place is None or (place.kind in {Kind.READ, Kind.WRITE} and not place.source):
                self.add(Kind.READ, end)

    def named(self, words: Iterable[str]) -> list[Path]:
        """The real paths that settings name."""
        user = str(self.where.user)
        paths = (user + word[1:] if word == "~" or word.startswith("~/") else word for word in words)
        return [Path(os.path.realpath(self.where.workspace / path)) for path in paths]


def _takes_entries(folder: Path) -> bool:
    """Whether anything can be made in a folder, be it after a chmod; where nothing can, no stand-in can either."""
    if os.statvfs(folder).f_flag & os.ST_RDONLY:
        return False
    return os.access(folder, os.W_OK) or folder.stat().st_uid == os.geteuid()


def _is_of_one_name(path: Path) -> bool:
    """Whether nothing but this name leads to a file: what is written here is written nowhere else."""
    try:
        facts = path.lstat()
    except OSError:
        return True
    return stat.S_ISREG(facts.st_mode) and facts.st_nlink == 1


def _real(path: str) -> Path:
    return Path(os.path.realpath(path))
