"""The program says where it listens, plays the file, and leaves in order."""

import json
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

pytestmark = pytest.mark.journey

Write = Callable[[str], Path]
PROGRAM = [sys.executable, "-m", "worker.rehearsal"]


@contextmanager
def program(*words: str | Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    with subprocess.Popen([*PROGRAM, *map(str, words)], stdout=subprocess.PIPE, text=True) as running:
        try:
            assert running.stdout
            told = json.loads(running.stdout.readline())
            assert told["pid"] == running.pid
            yield running, told["url"]
        finally:
            running.kill()


def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PROGRAM, *map(str, words)], check=False, capture_output=True, text=True, timeout=30)


def ask(url: str) -> dict[str, object]:
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
    request = urllib.request.Request(f"{url}/v1/messages", json.dumps(body).encode(), {"x-api-key": "k"})
    with urllib.request.urlopen(request, timeout=20) as answer:
        found: dict[str, object] = json.load(answer)
    return found


def test_it_plays_a_file_records_requests_and_stops_at_sigterm(scenario_file: Write, tmp_path: Path) -> None:
    file = scenario_file("replies: ['{who} {n}']\n")
    with program(file, "--record", tmp_path / "seen", "--set", "who=me") as (running, url):
        assert ask(url)["content"] == [{"type": "text", "text": "me 0"}]
        with urllib.request.urlopen(f"{url}/healthz", timeout=20) as answer:
            assert json.load(answer)["requests"] == 1
        running.send_signal(signal.SIGTERM)
        assert running.wait(timeout=20) == 0
    assert (tmp_path / "seen" / "00001.json").exists()


def test_it_stops_while_a_client_waits(scenario_file: Write) -> None:
    file = scenario_file("fallback: {content: hi, pacing: {first_byte_ms: 60000}}\n")
    with program(file) as (running, url):
        waiting = subprocess.Popen([sys.executable, "-c", _ASK, url], stderr=subprocess.DEVNULL)
        while not _requests(url):
            assert waiting.poll() is None
        running.send_signal(signal.SIGTERM)
        assert running.wait(timeout=20) == 0
        assert waiting.wait(timeout=20) != 0


def test_a_mistake_is_one_line_and_the_usage_exit_code(scenario_file: Write) -> None:
    ended = run(scenario_file("replies: 3\n"))
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (2, "", 1)


def test_a_port_that_is_taken_is_told(scenario_file: Write) -> None:
    file = scenario_file("fallback: hi\n")
    with program(file) as (_, url):
        port = url.rpartition(":")[2]
        ended = run(file, "--port", port)
    assert ended.returncode == 1
    assert f"port {port}" in ended.stderr


def _requests(url: str) -> int:
    with urllib.request.urlopen(f"{url}/healthz", timeout=20) as answer:
        return int(json.load(answer)["requests"])


_ASK = """
import json, sys, urllib.request
body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
request = urllib.request.Request(sys.argv[1] + "/v1/messages", json.dumps(body).encode(), {"x-api-key": "k"})
urllib.request.urlopen(request)
"""
