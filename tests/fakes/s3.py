"""A bucket on loopback that speaks as much of S3 as the object store asks for."""

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Bucket(ThreadingHTTPServer):
    """Keeps what is PUT; answers 404 and, to `If-None-Match: *`, 412 as S3 does."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Request)
        self.objects: dict[str, bytes] = {}
        self.refuse_with = 0
        self.guard = threading.Lock()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Bucket

    def do_PUT(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"]))
        with self.server.guard:
            taken = self.headers.get("If-None-Match") == "*" and self.path in self.server.objects
            if not taken and not self.server.refuse_with:
                self.server.objects[self.path] = data
        self._answer(self.server.refuse_with or (412 if taken else 200), b"", data)

    def do_GET(self) -> None:
        data = self.server.objects.get(self.path)
        if self.server.refuse_with or data is None:
            self._answer(self.server.refuse_with or 404, b"<Error><Code>Refused</Code></Error>", b"")
        else:
            self._answer(200, data, data)

    def _answer(self, status: int, body: bytes, tagged: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", f'"{hashlib.md5(tagged).hexdigest()}"')
        self.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name is http.server's
        pass


@contextmanager
def serving() -> Iterator[Bucket]:
    """A bucket that answers until the block ends."""
    bucket = Bucket()
    thread = threading.Thread(target=bucket.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield bucket
    finally:
        bucket.shutdown()
        bucket.server_close()
        thread.join(10)
