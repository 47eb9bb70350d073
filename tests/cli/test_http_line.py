"""Whatever answers on the server's port, a line says what is so and never hangs."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from cli.http_line import HttpLine
from cli.line import AlreadyThere, Ended, Late, LineError, NotThere, Refused, Silent, Start

START = Start("session-a", "r", "q", {}, {}, {})


@contextmanager
def server(status: int, body: bytes, hold: threading.Event | None = None) -> Iterator[HttpLine]:
    """A line to a server that gives this answer to everything, after `hold`."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if hold:
                hold.wait(20)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.do_GET()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as served:
        threading.Thread(target=served.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        try:
            yield HttpLine(f"http://127.0.0.1:{served.server_address[1]}/api/v1")
        finally:
            if hold:
                hold.set()
            served.shutdown()


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (404, b'{"message": "workflow not found for ID: a"}', NotThere),
        (404, b'{"message": "workflow execution already completed"}', Ended),
        (409, b'{"message": "already running"}', AlreadyThere),
        (400, b'{"message": "no pollers for this queue"}', Late),
        (400, b'{"message": "invalid argument"}', Refused),
        (504, b'{"message": "deadline"}', Late),
        (503, b'{"message": "unavailable"}', Silent),
        (200, b"<html>another program</html>", Silent),
        (200, b"[1, 2]", Silent),
        (500, b"", Silent),
    ],
)
async def test_each_answer_of_a_server_is_told_apart(status: int, body: bytes, kind: type[LineError]) -> None:
    with server(status, body) as line, pytest.raises(kind):
        await line.start(START)


@pytest.mark.journey
async def test_a_server_that_holds_its_answer_is_late() -> None:
    with server(200, b"{}", threading.Event()) as line, pytest.raises(Late):
        await line.update("session-a", "submit", "r", {}, 0.3)


async def test_an_update_that_is_only_admitted_is_late() -> None:
    with server(200, b'{"updateRef": {}, "stage": "ADMITTED"}') as line, pytest.raises(Late):
        await line.update("session-a", "submit", "r", {}, 5)


async def test_nobody_on_the_port_is_silence() -> None:
    with pytest.raises(Silent):
        await HttpLine("http://127.0.0.1:9/api/v1").describe("session-a")


async def test_a_refusal_is_the_validators_own_sentence() -> None:
    body = b'{"outcome": {"failure": {"message": "no turn runs", "stackTrace": "..."}}}'
    with server(200, body) as line, pytest.raises(Refused, match=r"^no turn runs$"):
        await line.update("session-a", "interrupt", "r", {}, 5)
