"""A session's network: only allowed hosts are reached, what is refused is noted, and it outlives whoever made it."""

import asyncio
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from activities.processes import tree
from activities.safety.sandbox import network
from activities.safety.sandbox.proxy import HTTP_PORT, SOCKS_PORT
from tests.fakes.held import missing

pytestmark = [
    pytest.mark.journey,
    pytest.mark.skipif(bool(missing(1)), reason=f"no namespaces: {missing(1)}"),
]

INSIDE = """
import ctypes, os, sys
for name, kind in json.loads(sys.argv[1]):
    assert ctypes.CDLL(None).setns(os.open(name, 0), kind) == 0
os.execvp(sys.argv[2], sys.argv[2:])
"""


class Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = f"{self.path} {self.headers.get('Host')} {self.headers.get('Proxy-Authorization')}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *words: object) -> None:  # noqa: A002 - as the library calls it
        """Nothing."""


@pytest.fixture
def server() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as made:
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        yield made.server_address[1]
        made.shutdown()
        thread.join()


def asked(*allowed: str, **more: object) -> dict[str, object]:
    given = {"allowed": list(allowed), "denied": [], "opened": "/nonexistent", "engine": "/nonexistent"}
    return {**given, "upstream": None, **more}


def curl(found: network.Network, *words: str) -> str:
    """What curl says inside."""
    return inside(found, "curl", "-sS", "-m", "20", *words)


def inside(found: network.Network, *words: str) -> str:
    """What a program says inside."""
    environment = {"PATH": os.environ["PATH"], **network.proxy_environment(), "NO_PROXY": "", "no_proxy": ""}
    entering = (sys.executable, "-c", f"import json\n{INSIDE}", json.dumps(found.namespaces))
    done = subprocess.run([*entering, *words], env=environment, capture_output=True, check=False, timeout=60)
    return (done.stdout + done.stderr).decode()


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "network"
    network.end(tmp_path / "network")


@pytest.mark.parametrize(
    "way", [(), ("-p",), ("-x", f"socks5h://127.0.0.1:{SOCKS_PORT}")], ids=["plain", "connect", "socks"]
)
def test_a_host_that_is_named_is_reached_each_way(folder: Path, server: int, way: tuple[str, ...]) -> None:
    with network.network(folder, asked(f"localhost:{server}"), folder) as found:
        said = curl(found, *way, f"http://localhost:{server}/a?b")
        assert said == f"/a?b localhost:{server} None"
    assert network.refused_since(folder, 0) == []


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://other.example/", "not on the list"),
        ("http://127.0.0.1:{port}/", "an address"),
        ("http://localhost:{port}/", "not on the list"),
        ("http://allowed.example:81/", "not on port 81"),
    ],
)
@pytest.mark.parametrize(
    "way", [(), ("-p",), ("-x", f"socks5h://127.0.0.1:{SOCKS_PORT}")], ids=["plain", "connect", "socks"]
)
def test_any_other_is_refused_and_noted(folder: Path, server: int, way: tuple[str, ...], url: str, why: str) -> None:
    with network.network(folder, asked("allowed.example"), folder) as found:
        curl(found, *way, url.format(port=server))
        (noted,) = network.refused_since(folder, 0)
        assert why in noted["why"]
        assert network.refused_since(folder, network.noted(folder)) == []


def test_a_name_that_leads_to_this_machine_is_refused_unless_it_is_named_with_its_port(folder: Path) -> None:
    with network.network(folder, asked("localhost"), folder) as found:
        assert "leads to this machine itself" in curl(found, "http://localhost/")


def test_the_engines_ports_are_refused_also_when_they_are_named(folder: Path, server: int, tmp_path: Path) -> None:
    engine = tmp_path / "engine.json"
    engine.write_text(json.dumps({"ports": {"http": server}}))
    with network.network(folder, asked(f"localhost:{server}", engine=str(engine)), folder) as found:
        assert "leads to this machine itself" in curl(found, f"http://localhost:{server}/")


def test_a_host_that_is_opened_later_counts_at_once_and_never_means_this_machine(
    folder: Path, server: int, tmp_path: Path
) -> None:
    opened = tmp_path / "hosts.ndjson"
    url = f"http://localhost:{server}/"
    with network.network(folder, asked("a.example", opened=str(opened)), folder) as found:
        assert "not on the list" in curl(found, url)
        opened.write_text(json.dumps({"call": "c", "hosts": [], "opened": [f"localhost:{server}"]}) + "\n")
        assert "leads to this machine itself" in curl(found, url)


FLOOD = """
import socket, sys
way, held, refused = ("127.0.0.1", int(sys.argv[1])), [], 0
try:
    while len(held) < 1200:
        held.append(socket.create_connection(way, 1))
except OSError:
    pass
del held[:]
for number in range(1000):
    with socket.create_connection(way, 30) as one:
        one.sendall(b"CONNECT h%d.example:443 HTTP/1.1\\r\\n\\r\\n" % number)
        refused += one.recv(100).startswith(b"HTTP/1.1 403")
print(refused)
"""


def test_a_flood_of_connections_leaves_the_way_out_open_and_few_notes(folder: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 1024), hard))
    try:
        with network.network(folder, asked("a.example"), folder) as found:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            assert inside(found, sys.executable, "-c", FLOOD, str(HTTP_PORT)) == "1000\n"
            assert 0 < len((folder / "refused.ndjson").read_bytes().splitlines()) < 900
            assert "is not on the list" in curl(found, "http://other.example/")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_who_asks_for_nothing_whole_is_let_go(folder: Path) -> None:
    slow = (
        "import socket, sys, time\n"
        "began, way = time.monotonic(), ('127.0.0.1', int(sys.argv[1]))\n"
        "with socket.create_connection(way, 5) as one:\n"
        "    try:\n"
        "        while time.monotonic() - began < 40:\n"
        "            one.sendall(b'G')\n"
        "            time.sleep(0.5)\n"
        "    except OSError:\n"
        "        print('let go')\n"
    )
    with network.network(folder, asked("a.example"), folder) as found:
        assert inside(found, sys.executable, "-c", slow, str(HTTP_PORT)) == "let go\n"


def test_a_persons_own_proxy_is_gone_through(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as upstream:
        heard: list[bytes] = []

        def serve() -> None:
            inside, _ = upstream.accept()
            with inside:
                heard.append(inside.recv(1000))
                inside.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                heard.append(inside.recv(1000))
                inside.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")

        thread = threading.Thread(target=serve)
        thread.start()
        through, secret = network.upstream_of({"HTTPS_PROXY": f"http://me:pass@127.0.0.1:{upstream.getsockname()[1]}"})
        with network.network(folder, asked("allowed.example", upstream=through), folder, secret) as found:
            assert curl(found, "http://allowed.example/x") == "hi"
        kept = b"".join(path.read_bytes() for path in folder.iterdir())
        assert b"pass" not in kept
        assert secret.encode() not in kept
        thread.join()
    assert heard[0].startswith(b"CONNECT allowed.example:80 HTTP/1.1\r\n")
    assert b"Proxy-Authorization: Basic bWU6cGFzcw==\r\n" in heard[0]
    assert heard[1].startswith(b"GET /x HTTP/1.1\r\n")


@pytest.mark.parametrize("junk", [b"\0" * 40, b"GET\r\n\r\n", b"CONNECT x\r\n\r\n", b"\x05\xff", b"A" * 40_000])
def test_junk_harms_nothing(folder: Path, server: int, junk: bytes) -> None:
    text = (
        "import socket, sys\nfor port in (int(sys.argv[1]), int(sys.argv[2])):\n"
        f"    s = socket.create_connection(('127.0.0.1', port)); s.settimeout(2); s.sendall({junk!r})\n    s.close()"
    )
    with network.network(folder, asked(f"localhost:{server}"), folder) as found:
        argv = [
            sys.executable,
            "-c",
            f"import json\n{INSIDE}",
            json.dumps(found.namespaces),
            sys.executable,
            "-c",
            text,
        ]
        subprocess.run([*argv, str(HTTP_PORT), str(SOCKS_PORT)], check=False, capture_output=True, timeout=60)
        assert curl(found, f"http://localhost:{server}/") == f"/ localhost:{server} None"


def test_it_is_made_once_and_found_again(folder: Path) -> None:
    with network.network(folder, asked("a.example"), folder) as first:
        assert network.find(folder, asked("a.example")) == first
        assert network.find(folder, asked("b.example")) is None
    with network.network(folder, asked("a.example"), folder) as second:
        assert second == first


async def test_many_that_start_at_once_share_one(folder: Path) -> None:
    def enter() -> int:
        with network.network(folder, asked(), folder) as found:
            time.sleep(0.2)
            return found.holder

    assert len(set(await asyncio.gather(*(asyncio.to_thread(enter) for _ in range(6))))) == 1


def test_one_that_was_killed_is_made_again(folder: Path) -> None:
    with network.network(folder, asked(), folder) as first:
        facts = json.loads((folder / "network.json").read_text())
        os.kill(facts["pid"], signal.SIGKILL)
        gone = time.monotonic() + 10
        while tree.is_same(facts["holder"], facts["holder_started"]):
            assert time.monotonic() < gone, "the holder outlived its proxy"
            time.sleep(0.02)
    with network.network(folder, asked(), folder) as second:
        assert second.holder != first.holder


def test_it_ends_once_the_journal_forgot_it(folder: Path) -> None:
    with network.network(folder, asked(), folder):
        facts = json.loads((folder / "network.json").read_text())
        (folder / "network.json").unlink()
    gone = time.monotonic() + 15
    while tree.is_same(facts["pid"], facts["started"]):
        assert time.monotonic() < gone, "it stayed"
        time.sleep(0.1)
