"""Which settings files there are for a folder, the one of most weight first."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from activities.stores.home import MANAGED_SETTINGS, Home
from workflows.contracts.permissions import Source

if TYPE_CHECKING:  # a command that only reads settings needs nothing of a worker
    from activities.world import World

OWN, OTHERS = ".perdure", ".claude"
"""Folders of settings: ours, and the one that people have already; ours has more weight."""

SHARED_NAME, LOCAL_NAME, SERVERS_NAME = "settings.json", "settings.local.json", ".mcp.json"


@dataclass(frozen=True)
class Place:
    """Where one settings file would be."""

    path: Path
    source: Source
    root: str
    """Folder that its relative paths count from."""
    is_servers: bool = False
    """`.mcp.json`: it holds servers alone, and restricts nothing."""


@dataclass(frozen=True)
class Places:
    """Where settings are looked for on this machine."""

    home: Home
    user: Path
    """The person's home folder."""
    config: Path
    """The person's folder of settings of all programs."""
    managed: tuple[Path, ...] = MANAGED_SETTINGS

    @classmethod
    def from_environment(
        cls, home: Home, environment: Mapping[str, str] = os.environ, managed: tuple[Path, ...] = MANAGED_SETTINGS
    ) -> Self:
        """As HOME and XDG_CONFIG_HOME say; where managed settings are is no environment's to say."""
        user = Path(environment.get("HOME") or Path.home())
        config = Path(environment.get("XDG_CONFIG_HOME") or ".")
        return cls(home, user, config if config.is_absolute() else user / ".config", managed)

    def user_files(self) -> tuple[Path, Path]:
        """The person's own files."""
        return self.config / "perdure" / SHARED_NAME, self.user / OTHERS / SHARED_NAME

    def files(self, roots: tuple[str, ...]) -> tuple[Place, ...]:
        """Every place for a session with these roots; a file that is the person's own is no folder's."""
        own = self.user_files()
        managed = [Place(path, Source.MANAGED, str(path.parent)) for path in self.managed]
        folders = [
            Place(Path(root, folder, name), source, root)
            for source, name in ((Source.LOCAL, LOCAL_NAME), (Source.PROJECT, SHARED_NAME))
            for root in roots
            for folder in (OWN, OTHERS)
        ]
        servers = [Place(Path(root, SERVERS_NAME), Source.PROJECT, root, is_servers=True) for root in roots]
        users = [Place(path, Source.USER, str(self.user)) for path in own]
        return (*managed, *(place for place in folders if place.path not in own), *servers, *users)


def places_of(world: "World") -> Places:
    """Where a worker looks."""
    return Places.from_environment(world.home, world.environment or os.environ, world.managed_settings)


def roots_of(folder: Path) -> tuple[str, ...]:
    """The folders whose own files count for a session there: it, and the root of its repository."""
    real = Path(os.path.realpath(folder))
    for above in (real, *real.parents):
        if os.path.lexists(above / ".git"):
            return (str(real),) if above == real else (str(real), str(above))
    return (str(real),)


def local_file(folder: Path) -> Path:
    """Where *always allow* is kept for a session there: at the root of its repository, not shared."""
    return Path(roots_of(folder)[-1], OWN, LOCAL_NAME)
