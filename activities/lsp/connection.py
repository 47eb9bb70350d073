"""One language server on its standard input and output: requests, answers, and what it asks itself."""

import asyncio
import itertools
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

MOST_BYTES = 64 * 1024 * 1024
"""Of one message."""
CLOSE_S = 2.0
SEND_S = 20.0
"""Seconds in which a server takes what it is told; one that does not is ended."""


_NOT_OFFERED = -32601
"""The protocol's number for a method that there is none of."""

FILTER = "{filter}"
"""Stands for the number of the filter's descriptor."""


@dataclass(frozen=True)
class Held:
    """The sandbox of a server."""

    prefix: tuple[str, ...]
    """Words before the server's own; one of them is FILTER."""
    seccomp: bytes
    """What is read at that descriptor."""


class ServerLeft(Exception):
    """The server ended, does not answer, or says that it cannot."""


class Connection:
    """A running server. Several may ask at once."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.send_s = SEND_S
        self._process = process
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[JsonValue]] = {}
        self._reading = asyncio.ensure_future(self._read())

    @classmethod
    async def start(
        cls, command: Sequence[str], folder: Path, environment: Mapping[str, str], held: Held | None = None
    ) -> "Connection":
        """Start it in a folder; it ends with the process group of whoever started it. Raises ServerLeft."""
        filtered = os.memfd_create("filter") if held else -1
        try:
            if held:
                os.write(filtered, held.seccomp)
                os.lseek(filtered, 0, os.SEEK_SET)
            before = [str(filtered) if word == FILTER else word for word in held.prefix] if held else []
            process = await asyncio.create_subprocess_exec(
                *before,
                *command,
                cwd=folder,
                env=dict(environment),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                pass_fds=(filtered,) if held else (),
            )
        except (OSError, ValueError) as error:
            raise ServerLeft(f"{command[0]} cannot be started: {error}") from error
        finally:
            if held:
                os.close(filtered)
        return cls(process)

    @property
    def is_alive(self) -> bool:
        """Whether it runs and its answers can be read."""
        return self._process.returncode is None and not self._reading.done()

    async def request(self, method: str, params: JsonValue, seconds: float) -> JsonValue:
        """Its answer. Raises ServerLeft when there is none in time, or it is an error."""
        number = next(self._numbers)
        answer: asyncio.Future[JsonValue] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            async with asyncio.timeout(seconds):
                await self._send({"id": number, "method": method, "params": params})
                return await answer
        except TimeoutError as error:
            with suppress(ServerLeft):
                await self.notify("$/cancelRequest", {"id": number})
            raise ServerLeft(f"the language server did not answer {method} within {seconds:g} s") from error
        finally:
            self._waiting.pop(number, None)

    async def notify(self, method: str, params: JsonValue) -> None:
        """Tell it something. Raises ServerLeft when it is gone."""
        await self._send({"method": method, "params": params})

    async def close(self) -> None:
        """Ask it to end, then end it."""
        with suppress(ServerLeft):
            await self.request("shutdown", None, CLOSE_S)
            await self.notify("exit", None)
        with suppress(TimeoutError):
            await asyncio.wait_for(self._process.wait(), CLOSE_S)
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)

    async def _send(self, message: dict[str, JsonValue]) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        writer = self._process.stdin
        if writer is None or not self.is_alive:
            raise ServerLeft("the language server has ended")
        try:
            writer.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
            async with asyncio.timeout(self.send_s):
                await writer.drain()
        except TimeoutError as error:
            # What is left of a message that was begun would be taken for the next one.
            with suppress(ProcessLookupError):
                self._process.kill()
            raise ServerLeft("the language server reads nothing any more and was ended") from error
        except (OSError, RuntimeError) as error:
            raise ServerLeft("the language server has ended") from error

    async def _read(self) -> None:
        why = "the language server has ended"
        try:
            while (message := await self._message()) is not None:
                await self._take(message)
        except (ValueError, OSError, ServerLeft) as error:
            why = f"the language server cannot be understood: {error}"
        finally:
            for answer in self._waiting.values():
                if not answer.done():
                    answer.set_exception(ServerLeft(why))

    async def _message(self) -> dict[str, JsonValue] | None:
        """The next message; None at its end."""
        reader, size = self._process.stdout, -1
        if reader is None:
            return None
        while (line := await reader.readline()).strip():
            name, _, value = line.partition(b":")
            if name.strip().lower() == b"content-length":
                size = int(value)
        if not line:
            return None
        if not 0 <= size <= MOST_BYTES:
            raise ValueError(f"a message of {size} bytes")
        try:
            message = json.loads(await reader.readexactly(size))
        except asyncio.IncompleteReadError:
            return None
        if not isinstance(message, dict):
            raise ValueError("a message that is no object")  # noqa: TRY004 - the server's mistake, not a caller's
        return message

    async def _take(self, message: dict[str, JsonValue]) -> None:
        number, method = message.get("id"), message.get("method")
        if isinstance(method, str):
            if number is not None:
                await self._answer(number, method, message.get("params"))
            return
        answer = self._waiting.get(number) if isinstance(number, int) else None
        if answer is None or answer.done():
            return
        error = message.get("error")
        if isinstance(error, dict):
            is_unknown = error.get("code") == _NOT_OFFERED
            said = "cannot answer this kind of question" if is_unknown else f"says: {error.get('message')}"
            answer.set_exception(ServerLeft(f"the language server {said}"))
        else:
            answer.set_result(message.get("result"))

    async def _answer(self, number: JsonValue, method: str, params: JsonValue) -> None:
        """What it asks of us: our settings are none of its business, and nothing of the workspace is its to change."""
        items = params.get("items") if isinstance(params, dict) else None
        if method == "workspace/configuration" and isinstance(items, list):
            await self._send({"id": number, "result": [None] * len(items)})
        elif method in {"client/registerCapability", "client/unregisterCapability", "window/workDoneProgress/create"}:
            await self._send({"id": number, "result": None})
        else:
            await self._send({"id": number, "error": {"code": _NOT_OFFERED, "message": "not offered"}})
