"""What a running engine says of itself, and what its processes see of the world."""

import os
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from activities.stores.home import Home
from tests.fakes.sleeping_worker import WORKER, end_engine
from worker import engine, server_api
from worker.engine_state import database_path, read_state
from worker.health import read_health, worker_lock
from workflows.contracts.errors import UserError

pytestmark = pytest.mark.journey


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """One engine for all tests here, for they only look."""
    home = Home(tmp_path_factory.mktemp("shared") / "home")
    before = os.umask(0o022)
    try:
        engine.ensure_up(home, WORKER)
        assert engine.wait_for_worker(home, 20)
    finally:
        os.umask(before)
    yield home
    end_engine(home)


def environment_of(pid: int) -> dict[str, str]:
    pairs = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return dict(os.fsdecode(pair).split("=", 1) for pair in pairs if pair)


def test_status_names_all_a_person_needs(shared: Home) -> None:
    now = engine.status(shared)
    assert (now.is_serving, now.is_polling) == (True, True)
    assert now.address.startswith("127.0.0.1:")
    assert all(part.pid > 0 and part.uptime_s >= 0 and part.restarts == 0 for part in (now.server, now.worker))
    assert Path(now.server.log).is_file()
    assert now.failing_sessions == ()


def test_the_http_api_answers_at_its_base(shared: Home) -> None:
    state = read_state(shared)
    assert engine.http_base(state) == f"http://127.0.0.1:{state.ports.http}/api/v1"
    assert server_api.is_serving(state.ports.http)


def test_search_attributes_are_there(shared: Home) -> None:
    namespace = server_api.read_namespace(read_state(shared).ports.http)
    assert namespace.is_searchable
    assert namespace.keeps_long_enough


def test_the_database_keeps_a_write_ahead_log(shared: Home) -> None:
    with sqlite3.connect(f"file:{database_path(shared)}?mode=ro", uri=True) as database:
        assert database.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_all_listeners_are_on_loopback(shared: Home) -> None:
    import psutil

    listeners = [one for one in psutil.Process(read_state(shared).server.pid).net_connections("tcp") if not one.raddr]
    assert listeners
    assert {one.laddr.ip for one in listeners} <= {"127.0.0.1", "::1"}


def test_everything_in_the_home_is_private(shared: Home) -> None:
    own = [path for path in shared.root.rglob("*") if "seen" not in path.parts]
    assert [path for path in own if stat.S_IMODE(path.stat().st_mode) & 0o077] == []


def test_the_worker_writes_with_the_persons_umask(shared: Home) -> None:
    assert stat.S_IMODE((shared.root / "seen" / "folder").stat().st_mode) == 0o644


def test_the_worker_runs_in_the_home_and_is_sent_to_the_embedded_server(shared: Home) -> None:
    seen = shared.root / "seen"
    assert (seen / "folder").read_text() == str(shared.root)
    assert (seen / "engine").read_text() == "embedded"
    assert (seen / "temporal").read_text() == ""


def test_the_server_sees_only_the_few_settings_it_needs(shared: Home) -> None:
    passed = {"PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR", "PERDURE_HOME"}
    assert set(environment_of(read_state(shared).server.pid)) <= passed


def test_a_second_worker_of_a_home_is_refused_in_one_line(shared: Home) -> None:
    with pytest.raises(UserError, match="runs already"), worker_lock(shared, wait_s=0.1):
        pass


def test_the_announcement_names_the_worker(shared: Home) -> None:
    health = read_health(shared)
    assert (health.is_polling, health.identity) == (True, "sleeper")
    assert health.process == read_state(shared).worker.identity
