"""A cell: a session whose commands run in one tier, with things outside that they must not reach."""

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from activities.processes.warm import WarmStart
from activities.safety.sandbox import network
from activities.tools.bash import Bash
from activities.world import World
from tests.fakes.world import SESSION, make_call, make_world, text_of, use
from workflows.contracts.sandbox import FilesystemRules, SandboxSettings
from workflows.contracts.settings import SessionSettings
from workflows.contracts.tools import ToolOutcome

SECRET, OF_PERSON = "a-secret-of-the-person", "of the person alone"


@dataclass
class Cell:
    """One session."""

    tier: int
    world: World
    workspace: Path
    outside: Path
    """A folder that commands see, outside all that they may change."""
    variables: dict[str, str]
    settings: SandboxSettings
    calls: int = 0

    async def run(self, command: str, **changed: object) -> ToolOutcome:
        """One command of the session."""
        self.calls += 1
        settings = SessionSettings(sandbox=self.settings.model_copy(update=changed))
        world = replace(self.world, environment={**self.world.environment, **self.variables})
        return await use(
            make_call(world, self.workspace, "Bash", self.calls, settings=settings), Bash(), command=command
        )

    async def text(self, command: str) -> str:
        """What the model reads of it."""
        return text_of(await self.run(command))


@contextmanager
def cell(tier: int) -> Iterator[Cell]:
    """A session of that tier, its folders and processes gone afterwards."""
    with ExitStack() as stack:
        folder = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="pd-", ignore_cleanup_errors=True))
        ).resolve()
        workspace, user, outside = (folder / name for name in ("work", "user", "outside"))
        outside.mkdir()
        (user / ".ssh").mkdir(parents=True)
        (user / ".ssh" / "id").write_text(OF_PERSON)
        (outside / "kept").write_text("kept\n")
        subprocess.run(["git", "init", "-q", str(workspace)], check=True, timeout=30)
        world = make_world(folder)
        (world.home.keys / "person").write_text(SECRET)
        start = stack.enter_context(WarmStart())
        variables = {"OUT": str(outside), "PERDURE_HOME": str(world.home.root)}
        world = replace(world, environment={"PATH": os.environ["PATH"], "HOME": str(user)}, start_runner=start)
        stack.callback(network.end, world.home.journal / SESSION / "sandbox" / "network")
        # The interpreter too: where the project lies, nobody knows.
        seen = FilesystemRules(allow_read=(str(outside), sys.prefix, sys.base_prefix))
        yield Cell(tier, world, workspace, outside, variables, SandboxSettings(tier=tier, filesystem=seen))


@contextmanager
def listening(family: int, kind: int, address: object) -> Iterator[socket.socket]:
    """A server outside; `heard` tells whether somebody came."""
    with socket.socket(family, kind) as server:
        server.bind(address)  # type: ignore[arg-type]  # an address of its family
        if kind == socket.SOCK_STREAM:
            server.listen()
        server.settimeout(0.3)
        yield server


def heard(server: socket.socket) -> bool:
    """Whether anybody came, or sent anything."""
    try:
        if server.type == socket.SOCK_STREAM:
            server.accept()[0].close()
        else:
            server.recv(100)
    except TimeoutError:
        return False
    return True
