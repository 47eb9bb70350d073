"""first_byte: from the model's first byte of text to the screen of `perdure watch`, in a terminal of its own."""

import asyncio
import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from asyncio import StreamReader, StreamWriter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.bench.measure import Measure, median, quantile
from tests.bench.stage import PERDURE, ended, engine, project, surroundings
from tests.bench.timed_model import TimedRehearsal, timed
from tests.fakes.rig import Rig

REPLIES = 60
LIMIT_MS = 20
GIVE_UP = 120.0
_IN_A_TERMINAL = "import os, sys; os.login_tty(0); os.execv(sys.argv[1], sys.argv[1:])"


async def measures() -> list[Measure]:
    """Each reply begins with a word of its own; the moment it is sent and the moment it is drawn are compared."""
    async with engine() as running:
        path = project(running) / "small.txt"
        path.write_text("text\n")
        text = {"text": "word{n}z and some more of the same kind, slowly"}
        call = {"tool": "Read", "input": {"file_path": str(path)}}
        pacing = {"first_byte_ms": 60, "token_ms": 8, "chunk": 8}
        gate: dict[str, Any] = {"tool": "Bash", "input": {"command": "sleep 3"}}
        replies = [gate, {"content": [text, call], "repeat": REPLIES}, "done"]
        async with timed({"pacing": pacing, "replies": [{"content": gate}, *replies[1:]]}) as model:
            sent = _noted(model)
            talk = await running.start(model, cwd=path.parent)
            drawn = await _drawn(running, talk.session)
            await ended(talk, 60)
    waits = [(drawn[word] - at) * 1000 for word, at in sent.items() if word in drawn]
    name, target = "model's first byte -> screen, p95", f"<= {LIMIT_MS} ms"
    late = quantile(waits, 0.95)
    note = f"median {median(waits):.1f} ms, n={len(waits)} of {REPLIES}, most {max(waits, default=0):.1f} ms"
    return [Measure(name, f"{late:.1f} ms", target, bool(waits) and late <= LIMIT_MS, note)]


def _words() -> list[bytes]:
    return [f"word{number}z".encode() for number in range(1, REPLIES + 1)]


class _Noting:
    """A writer that notes when a word goes out."""

    def __init__(self, writer: StreamWriter, sent: dict[bytes, float]) -> None:
        self._writer = writer
        self._sent = sent

    def __getattr__(self, name: str) -> Any:
        return getattr(self._writer, name)

    def write(self, data: bytes) -> None:
        for word in _words() if b"text_delta" in data else ():
            if word in data:
                self._sent.setdefault(word, time.monotonic())
        self._writer.write(data)


def _noted(model: TimedRehearsal) -> dict[bytes, float]:
    """When each word was sent; filled while the model answers."""
    sent: dict[bytes, float] = {}
    serve = model.serve

    async def noting(reader: StreamReader, writer: StreamWriter) -> None:
        await serve(reader, _Noting(writer, sent))  # type: ignore[arg-type] # it passes all else on

    model.accept = noting
    return sent


async def _drawn(running: Rig, session: str) -> dict[bytes, float]:
    """When each word stood in what `perdure watch` wrote to its terminal."""
    with _terminal() as (screen, keyboard):
        process = subprocess.Popen(
            [sys.executable, "-c", _IN_A_TERMINAL, PERDURE, "watch", session],
            env=surroundings(running.home.root),
            stdin=keyboard,
            stdout=keyboard,
            stderr=keyboard,
        )
        try:
            return await asyncio.to_thread(_read, screen, process)
        finally:
            process.terminate()
            process.wait(10)


@contextmanager
def _terminal() -> Iterator[tuple[int, int]]:
    screen, keyboard = pty.openpty()
    try:
        fcntl.ioctl(keyboard, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        os.set_blocking(screen, False)
        yield screen, keyboard
    finally:
        os.close(screen)
        os.close(keyboard)


def _read(screen: int, process: "subprocess.Popen[bytes]") -> dict[bytes, float]:
    drawn: dict[bytes, float] = {}
    tail, left, give_up = b"", _words(), time.monotonic() + GIVE_UP
    while left and time.monotonic() < give_up:
        if not select.select([screen], [], [], 0.2)[0]:
            if process.poll() is not None:
                break
            continue
        tail = (tail + os.read(screen, 65_536))[-8_192:]
        now = time.monotonic()
        for word in [word for word in left if word in tail]:
            drawn[word] = now
            left.remove(word)
    return drawn
