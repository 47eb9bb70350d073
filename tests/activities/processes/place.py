"""A place for commands: a folder, a key of its own, and a count of processes that carry it."""

import asyncio
import os
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import psutil

from activities.processes.attach import run_command
from activities.processes.command import CommandEnd, CommandSpec, shell
from activities.processes.output import read_tail


@dataclass
class Place:
    """A folder where commands are run."""

    path: Path
    key: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def folder(self) -> Path:
        return self.path / "command"

    @property
    def effects(self) -> Path:
        return self.path / "effects.log"

    def spec(self, text: str, **changes: object) -> CommandSpec:
        environment = {"PATH": os.environ["PATH"], "EFFECTS": str(self.effects)}
        spec = CommandSpec(key=self.key, argv=shell(text), cwd=str(self.path), environment=environment)
        return replace(spec, **changes)  # type: ignore[arg-type]  # a test names real fields

    async def run(self, text: str, **changes: object) -> CommandEnd:
        return await asyncio.wait_for(run_command(self.folder, self.spec(text, **changes)), 60)

    def text(self, end: CommandEnd | None = None) -> str:
        return read_tail(self.folder, 1_000_000, end).decode()

    def count(self) -> int:
        return len(self.effects.read_text().splitlines()) if self.effects.exists() else 0

    def alive(self) -> list[str]:
        return [" ".join(process.info["cmdline"] or []) for process in tagged(self.key)]


def tagged(key: str) -> list[psutil.Process]:
    return [
        process
        for process in psutil.process_iter(["environ", "cmdline", "status"])
        if (process.info["environ"] or {}).get("PERDURE_CALL") == key and process.info["status"] != psutil.STATUS_ZOMBIE
    ]


async def until(is_so: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait, bounded, for something to be so."""
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it never came to be"
        await asyncio.sleep(0.005)
