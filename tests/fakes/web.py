"""A small web server on loopback that remembers what it was asked."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Served:
    """One answer."""

    body: bytes = b""
    kind: str = "text/html"
    status: int = 200
    location: str = ""
    endless: bool = False
    """Goes on for ever after the body."""


@dataclass
class Site:
    """Answers by path, and the requests as they came."""

    pages: dict[str, Served | Callable[[], Served]] = field(default_factory=dict)
    asked: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)
    port: int = 0
    sent: int = 0
    """Bytes of endless answers that went out."""

    def url(self, path: str = "/", host: str = "localhost") -> str:
        return f"http://{host}:{self.port}{path}"

    def paths(self) -> list[str]:
        return [path for path, _ in self.asked]


@contextmanager
def site(**pages: Served) -> Iterator[Site]:
    """The server for as long as the block runs; `a=…` is what `/a` answers."""
    served = Site({f"/{name}": page for name, page in pages.items()})

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.asked.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
            found = served.pages.get(self.path.split("?")[0], Served(b"nothing here", "text/plain", 404))
            page = found() if callable(found) else found
            self.send_response(page.status)
            if page.kind:
                self.send_header("Content-Type", page.kind)
            if page.location:
                self.send_header("Location", page.location)
            if not page.endless:
                self.send_header("Content-Length", str(len(page.body)))
            # Whoever asked may have left.
            with suppress(OSError):
                self.end_headers()
                self.wfile.write(page.body)
                while page.endless:
                    served.sent += self.wfile.write(b"x" * 65_536)

        def log_message(self, *_words: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    served.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
