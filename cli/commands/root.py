"""As root and without questions: only where something holds the commands, or the person says that they know."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cli.commands.attending import say
from worker.engine import Home
from worker.sandbox import is_holding
from workflows.contracts.errors import DeniedError
from workflows.contracts.permissions import Mode
from workflows.contracts.settings import SessionSettings

KNOWS = "PERDURE_ALLOW_ROOT_BYPASS"
"""Set to anything: the person knows what an agent of root may do."""

_OF_CONTAINERS = re.compile(r"docker|kubepods|containerd|libpod|lxc|garden")


@dataclass(frozen=True)
class Marks:
    """What container engines leave in a container."""

    files: tuple[Path, ...] = (Path("/.dockerenv"), Path("/run/.containerenv"))
    groups: Path = Path("/proc/1/cgroup")

    @property
    def are_there(self) -> bool:
        """Whether this machine is a container."""
        if any(path.exists() for path in self.files):
            return True
        try:
            return _OF_CONTAINERS.search(self.groups.read_text(encoding="utf-8", errors="replace")) is not None
        except OSError:
            return False


async def check_root(
    home: Home,
    settings: SessionSettings,
    environment: Mapping[str, str],
    container: Marks = Marks(),
) -> None:
    """Warn of bypassPermissions as root; DeniedError where neither a sandbox nor a container holds the commands."""
    if settings.mode != Mode.BYPASS or os.geteuid() != 0 or environment.get(KNOWS):
        return
    if not container.are_there and not await is_holding(home, settings.sandbox, environment):
        raise DeniedError(
            "bypassPermissions as root, and no sandbox holds the commands: start it as another user, in a container or "
            f"with the sandbox (perdure doctor tells why there is none). {KNOWS}=1 says that you know.",
            reason="root",
        )
    warn_root(settings.mode, environment)


def warn_root(mode: Mode, environment: Mapping[str, str]) -> None:
    """Say what root's agent may do in this mode, unless the person knows."""
    if mode == Mode.BYPASS and os.geteuid() == 0 and not environment.get(KNOWS):
        say(f"Warning: bypassPermissions as root: the agent may change anything here. {KNOWS}=1 says that you know.")
