"""Where every file of ours lives on disk."""

import os
import secrets
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from activities.stores.files import create_once, explain_os_error, make_folder
from workflows.contracts.errors import UserError

FOLDERS = ("engine", "objects", "journal", "events", "keys", "logs", "sessions", "memory", "trust", "plans")
MANAGED_SETTINGS = (
    Path("/etc/perdure/managed-settings.json"),
    Path(
        "/Library/Application Support/ClaudeCode/managed-settings.json"
        if sys.platform == "darwin"
        else "/etc/claude-code/managed-settings.json"
    ),
)
"""Settings of whoever runs the machine, ours first; no environment moves them."""
HOST_ID_DIGITS = 16


@dataclass(frozen=True)
class Host:
    """One user's perdure on one machine."""

    id: str
    """Random, made once in the home folder; queues and feeds are named by it."""

    name: str
    """The machine's name; only ever shown."""


@dataclass(frozen=True)
class Home:
    """The folder of everything we keep; its parts are 0700, the files in them 0600."""

    root: Path

    @classmethod
    def from_environment(cls, env: Mapping[str, str] = os.environ) -> Self:
        """The home that PERDURE_HOME names, else the one in XDG_DATA_HOME, else in ~/.local/share."""
        user = Path(env.get("HOME") or Path.home())
        if named := env.get("PERDURE_HOME"):
            return cls(_absolute(named, user))
        data = Path(env.get("XDG_DATA_HOME") or ".")
        # The XDG specification says that a relative path there is to be ignored.
        return cls((data if data.is_absolute() else user / ".local" / "share") / "perdure")

    @property
    def engine(self) -> Path:
        """The embedded server's database, ports, pids and locks."""
        return self.root / "engine"

    @property
    def objects(self) -> Path:
        """The default object store."""
        return self.root / "objects"

    @property
    def journal(self) -> Path:
        """The effect journal of this host."""
        return self.root / "journal"

    @property
    def events(self) -> Path:
        """The event feeds, one file a session and host."""
        return self.root / "events"

    @property
    def keys(self) -> Path:
        """Keys that sign a person's acts; masked in every sandbox."""
        return self.root / "keys"

    @property
    def person_key(self) -> Path:
        """The private key of the person."""
        return self.keys / "person.key"

    @property
    def trust(self) -> Path:
        """Signed records of the folders that the person trusts."""
        return self.root / "trust"

    @property
    def logs(self) -> Path:
        """What server and worker had to say."""
        return self.root / "logs"

    @property
    def sessions(self) -> Path:
        """One index file a session."""
        return self.root / "sessions"

    @property
    def memory(self) -> Path:
        """What outlives a session."""
        return self.root / "memory"

    @property
    def plans(self) -> Path:
        """The plans of sessions in plan mode; of all that is here only a session's own plan is its tools' to write."""
        return self.root / "plans"

    def plan(self, session: str) -> Path:
        """The plan file of a session."""
        return self.plans / f"{session}.md"

    @property
    def web(self) -> Path:
        """Pages fetched a short while ago."""
        return self.root / "web"

    @property
    def caches(self) -> Path:
        """What package managers fetched for commands, a folder for each workspace."""
        return self.root / "caches"

    def ensure(self) -> None:
        """Create the folders and see that they can be written; a UserError of one line otherwise."""
        make_folder(self.root)
        for name in FOLDERS:
            make_folder(self.root / name)
            _close_to_others(self.root / name)
        try:
            with tempfile.TemporaryFile(dir=self.engine) as probe:
                probe.write(b"x")
        except OSError as error:
            raise explain_os_error(error, self.root) from error

    def host(self) -> Host:
        """Who we are here; the id is made at the first call, and is the same for every process."""
        make_folder(self.root)
        path = self.root / "host"
        kept = create_once(path, secrets.token_hex(HOST_ID_DIGITS // 2).encode() + b"\n")
        text = kept.decode("ascii", "replace").strip()
        if len(text) != HOST_ID_DIGITS or not set(text) <= set("0123456789abcdef"):
            raise UserError(
                f"{path} holds no host id; restore it, or remove it (sessions that wait for this host lose it then).",
                reason="host_id",
            )
        return Host(text, os.uname().nodename)

    def store_url(self, env: Mapping[str, str] = os.environ) -> str:
        """URL of the object store: PERDURE_STORE (a URL or a folder), else the folder of this home."""
        named = env.get("PERDURE_STORE") or str(self.objects)
        return named if "://" in named else _absolute(named, Path(env.get("HOME") or Path.home())).as_uri()


def _absolute(named: str, user: Path) -> Path:
    """A path as a person writes it, with `~` and relative parts, made absolute."""
    path = user / named[2:] if named.startswith("~/") else Path(named)
    return Path(os.path.abspath(path))


def _close_to_others(path: Path) -> None:
    try:
        if path.stat().st_mode & 0o077:
            path.chmod(0o700)
    except OSError as error:
        raise explain_os_error(error, path) from error
