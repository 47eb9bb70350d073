"""What a stranger has: a home with or without an engine, the installed command, and another Messages API."""

import json
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.fakes.leftovers import end_processes_of
from worker import engine
from worker.engine import Home
from worker.rehearsals import end_rehearsals

HOMES = "PERDURE_TEST_HOMES"


@contextmanager
def home_for(*, is_up: bool, at: Path | None = None) -> Iterator[Home]:
    """A home of its own on a short path; whatever was started in it is ended."""
    folder = at or Path(tempfile.mkdtemp(prefix="pd-", dir=os.environ.get(HOMES, "/tmp")))
    home = Home(folder)
    try:
        if is_up:
            engine.ensure_up(home)
            assert engine.wait_for_worker(home, 60)
        yield home
    finally:
        engine.down(home)
        end_rehearsals(home)
        end_processes_of(folder)
        shutil.rmtree(folder, ignore_errors=True)


@dataclass
class OtherServer:
    """A Messages API written for these tests alone, with one valid key; it knows nothing of the rehearsal's."""

    key: str
    says: str = "I am another server."
    calls: list[dict[str, Any]] = field(default_factory=list)
    """Blocks of tool use that are asked for, one an exchange, before it speaks."""
    seen: list[dict[str, Any]] = field(default_factory=list)
    """Bodies of the requests that had the right key."""
    refused: int = 0
    port: int = 0
    """0 for any."""
    url: str = ""

    @contextmanager
    def serve(self) -> Iterator["OtherServer"]:
        """Listen on loopback."""
        server = ThreadingHTTPServer(("127.0.0.1", self.port), _handler(self))
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        self.url = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()
            thread.join(10)


def _handler(other: OtherServer) -> type[BaseHTTPRequestHandler]:
    class Answers(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path.partition("?")[0] != "/v1/messages":
                return self._refuse(404, "not_found_error", "no such page")
            if other.key not in {self.headers.get("X-Api-Key"), self.headers.get("Authorization", "")[7:]}:
                other.refused += 1
                return self._refuse(401, "authentication_error", "invalid x-api-key")
            asked = len(other.seen)
            other.seen.append(body)
            return self._stream(other.calls[asked] if asked < len(other.calls) else None)

        def _stream(self, call: dict[str, Any] | None) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            for event in _events(other, call):
                self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
                self.wfile.flush()
            self.close_connection = True

        def _refuse(self, status: int, kind: str, message: str) -> None:
            answer = json.dumps({"type": "error", "error": {"type": kind, "message": message}}).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: Any) -> None:
            pass

    return Answers


def _events(other: OtherServer, call: dict[str, Any] | None) -> Iterator[dict[str, Any]]:
    number = len(other.seen)
    usage = {"input_tokens": 10, "output_tokens": 1}
    message: dict[str, Any] = {
        "id": f"msg_{number}",
        "type": "message",
        "role": "assistant",
        "content": (),
        "model": "other-1",
    }
    message |= {"stop_reason": None, "stop_sequence": None, "usage": usage}
    yield {"type": "message_start", "message": message}
    if call is None:
        yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
        for word in other.says.split(" "):
            yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": f"{word} "}}
    else:
        block = {"type": "tool_use", "id": "call_1", "name": call["name"], "input": {}}
        yield {"type": "content_block_start", "index": 0, "content_block": block}
        text = json.dumps(call["input"])
        for part in (text[:7], text[7:]):
            yield {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "input_json_delta", "partial_json": part},
            }
    yield {"type": "content_block_stop", "index": 0}
    stop = "tool_use" if call else "end_turn"
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": stop, "stop_sequence": None},
        "usage": {"output_tokens": 9},
    }
    yield {"type": "message_stop"}
