"""Relay: what a connection from inside asks for, in HTTP's or SOCKS5's words, and the bytes both ways."""

import re
import select
import socket
import time
from dataclasses import dataclass
from urllib.parse import urlsplit

MOST_HEAD = 32_768
CHUNK = 65_536
ASKING = 15.0
"""Seconds in which a client must have said all that it asks for."""
_REQUEST = re.compile(rb"([A-Z]+) (\S+) HTTP/1\.[01]\r\n")
_OF_ONE_HOP = re.compile(rb"(?im)^(?:proxy-connection|proxy-authorization|connection|keep-alive):[^\n]*\n")


class Refused(Exception):
    """The host may not be reached; the text says why, as the rest of a sentence about it."""


@dataclass(frozen=True)
class Wanted:
    """A host that somebody inside wants to talk to."""

    host: str
    port: int
    kind: str
    """connect | plain | socks."""
    first: bytes = b""
    """What the host gets first."""

    def accept(self, inside: socket.socket) -> None:
        """Say that the way is open."""
        if self.kind == "connect":
            inside.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        elif self.kind == "socks":
            inside.sendall(b"\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00")

    def refuse(self, inside: socket.socket, why: str) -> None:
        """Say that it stays closed."""
        self._end(inside, 403, "Forbidden", f"sandbox denial: {self.host} {why}", 2)

    def fail(self, inside: socket.socket, why: str) -> None:
        """Say that the host did not answer."""
        self._end(inside, 502, "Bad Gateway", f"{self.host} cannot be reached: {why}", 4)

    def _end(self, inside: socket.socket, code: int, reason: str, text: str, socks: int) -> None:
        body = text.encode("ascii", "backslashreplace") + b"\n"
        head = f"HTTP/1.1 {code} {reason}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n"
        answer = head.encode() + b"Connection: close\r\n\r\n" + body
        try:
            inside.sendall(bytes((5, socks, 0, 1, 0, 0, 0, 0, 0, 0)) if self.kind == "socks" else answer)
        except OSError:
            return


def http_request(inside: socket.socket) -> Wanted:
    """What a client of an HTTP proxy asks for. ValueError when it is no such request."""
    head, until = b"", time.monotonic() + ASKING
    while b"\r\n\r\n" not in head:
        more = _received(inside, CHUNK, until)
        head += more
        if not more or len(head) > MOST_HEAD:
            raise ValueError("no request")
    match = _REQUEST.match(head)
    if not match:
        raise ValueError("no request")
    method, target = match[1], match[2].decode("latin-1")
    if method == b"CONNECT":
        host, _, port = target.rpartition(":")
        rest = head.split(b"\r\n\r\n", 1)[1]
        return Wanted(host.strip("[]"), int(port), "connect", rest)
    parts = urlsplit(target)
    if parts.scheme != "http" or not parts.hostname:
        raise ValueError("no request")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    lines, rest = head[match.end() :].split(b"\r\n\r\n", 1)
    kept = _OF_ONE_HOP.sub(b"", lines + b"\r\n")
    # One request a connection: the next one on it could mean another host.
    first = method + b" " + path.encode("latin-1") + b" HTTP/1.1\r\n" + kept + b"Connection: close\r\n\r\n" + rest
    return Wanted(parts.hostname, parts.port or 80, "plain", first)


def socks_request(inside: socket.socket) -> Wanted:
    """What a client of a SOCKS5 proxy asks for. ValueError when it asks for anything but a connection."""
    until = time.monotonic() + ASKING
    version, count = _exactly(inside, 2, until)
    _exactly(inside, count, until)
    if version != 5:
        raise ValueError("not SOCKS5")
    inside.sendall(b"\x05\x00")
    _version, command, _reserved, kind = _exactly(inside, 4, until)
    if kind == 3:
        host = _exactly(inside, _exactly(inside, 1, until)[0], until).decode("latin-1")
    elif kind in {1, 4}:
        size = 4 if kind == 1 else 16
        host = socket.inet_ntop(socket.AF_INET if kind == 1 else socket.AF_INET6, _exactly(inside, size, until))
    else:
        raise ValueError("no address")
    port = int.from_bytes(_exactly(inside, 2, until), "big")
    if command != 1:
        inside.sendall(b"\x05\x07\x00\x01\x00\x00\x00\x00\x00\x00")
        raise ValueError("only connections")
    return Wanted(host, port, "socks")


def _received(inside: socket.socket, count: int, until: float) -> bytes:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError("nothing whole was asked for in time")
    inside.settimeout(left)
    return inside.recv(count)


def _exactly(inside: socket.socket, count: int, until: float) -> bytes:
    data = b""
    while len(data) < count:
        more = _received(inside, count - len(data), until)
        if not more:
            raise ValueError("cut off")
        data += more
    return data


def join(inside: socket.socket, outside: socket.socket, wanted: Wanted) -> None:
    """Carry bytes both ways until both sides are done."""
    for each in (inside, outside):
        each.settimeout(None)
    try:
        wanted.accept(inside)
        if wanted.first:
            outside.sendall(wanted.first)
        ways = {inside: outside, outside: inside}
        while ways:
            for source in select.select(list(ways), [], [])[0]:
                data = source.recv(CHUNK)
                if data:
                    ways[source].sendall(data)
                else:
                    ways.pop(source).shutdown(socket.SHUT_WR)
    except OSError:
        return
