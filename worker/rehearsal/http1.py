"""One HTTP/1.1 connection of the rehearsal model: requests in, answers and streams out."""

import asyncio
import json
import socket
import struct
from asyncio import StreamReader, StreamWriter
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

MOST_BYTES = 256 * 1024 * 1024
"""A longer body is not even read."""

HEAD_LIMIT = 1 << 20
REASONS = {status.value: status.phrase for status in HTTPStatus} | {529: "Overloaded"}


class ClientLeft(ConnectionError):
    """Whoever asked is gone, or the connection was broken on purpose: nothing more can be sent."""


@dataclass(frozen=True)
class HttpRequest:
    """One request; header names in lower case, the path without its query."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


class Connection:
    """One client's connection, used for one request after the other."""

    def __init__(self, reader: StreamReader, writer: StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def read(self) -> HttpRequest | None:
        """The next request; None when the client has no more, or speaks something else."""
        try:
            head = await self._reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
            return None
        first, *lines = head.decode("latin-1").rstrip().split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        method, _, target = first.partition(" ")
        path = target.partition(" ")[0].partition("?")[0]
        if (body := await self._body(headers)) is None:
            return None
        return HttpRequest(method, path, headers, body)

    async def answer(self, status: int, body: object, headers: Mapping[str, str] | None = None) -> None:
        """Send one whole JSON answer."""
        data = json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")
        fields = {"content-type": "application/json", "content-length": str(len(data)), **(headers or {})}
        await self.send(_head(status, fields) + data)

    async def start_answer(self, length: int, headers: Mapping[str, str]) -> None:
        """Send the head of a JSON answer of so many bytes, which may then be left unfinished."""
        fields = {"content-type": "application/json", "content-length": str(length), **headers}
        await self.send(_head(200, fields))

    async def start_stream(self, headers: Mapping[str, str]) -> None:
        """Send the head of an event stream."""
        fields = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache", **headers}
        await self.send(_head(200, {**fields, "transfer-encoding": "chunked"}))

    async def send_piece(self, data: bytes) -> None:
        """Send one piece of a stream."""
        if data:
            await self.send(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    async def end_stream(self) -> None:
        """End a stream as HTTP wants it."""
        await self.send(b"0\r\n\r\n")

    async def send(self, data: bytes) -> None:
        """Send bytes; ClientLeft if nobody is there to take them."""
        if self._writer.transport.is_closing():
            raise ClientLeft
        try:
            self._writer.write(data)
            await self._writer.drain()
        except ConnectionError as error:
            raise ClientLeft from error

    async def pause(self, seconds: float) -> None:
        """Be silent; ClientLeft as soon as the client has gone."""
        clock = asyncio.get_running_loop()
        end = clock.time() + seconds
        while (left := end - clock.time()) > 0:
            await asyncio.sleep(min(left, 0.1))
            if self._reader.at_eof() or self._writer.transport.is_closing():
                raise ClientLeft

    async def reset(self) -> ClientLeft:
        """Break the connection once all is sent, so that the client sees a reset and no orderly end."""
        self._writer.transport.set_write_buffer_limits(0)
        await self._writer.drain()
        peer = self._writer.get_extra_info("socket")
        if peer is not None:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()
        return ClientLeft()

    def close(self) -> None:
        """End the connection in order."""
        self._writer.close()

    async def _body(self, headers: Mapping[str, str]) -> bytes | None:
        """The body; None if it does not come, or is stated in a way that is not understood."""
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > MOST_BYTES or "transfer-encoding" in headers:
            return None
        if headers.get("expect", "").lower() == "100-continue":
            await self.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        try:
            return await self._reader.readexactly(int(length))
        except (asyncio.IncompleteReadError, ConnectionError):
            return None


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status} {REASONS.get(status, 'Error')}\r\n{lines}\r\n".encode("latin-1")
