"""A client is connected, or one line says why not; a failed try never breaks the end of the program."""

import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import Field

from activities.stores.home import Home
from tests.fakes.sleeping_worker import WORKER, end_engine
from worker import engine
from worker.connection import CONVERTER, Target, connect, resolve_address
from workflows.contracts.contract import Contract
from workflows.contracts.errors import EngineUnreachable, UsageError


class Apple(Contract):
    kind: Literal["apple"] = "apple"
    weight: int = 1


class Pear(Contract):
    kind: Literal["pear"] = "pear"
    weight: int = 1


class Basket(Contract):
    fruits: tuple[Annotated[Apple | Pear, Field(discriminator="kind")], ...] = ()
    label: str = "a long text that every payload would carry"


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


@pytest.fixture(scope="module")
def engine_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    home = Home(tmp_path_factory.mktemp("connection") / "home")
    engine.ensure_up(home, WORKER)
    yield home
    end_engine(home)


async def test_what_holds_its_default_is_not_sent_and_unions_come_back() -> None:
    basket = Basket(fruits=(Pear(weight=2), Apple()))
    payload = CONVERTER.payload_converter.to_payload(basket)
    assert b"long text" not in payload.data
    assert CONVERTER.payload_converter.from_payload(payload, Basket) == basket


@pytest.mark.parametrize(
    ("address", "reason"),
    [("127.0.0.1:{port}", "connection refused"), ("no-such-host.invalid:7233", "its name is not known")],
)
async def test_no_server_is_one_line(address: str, reason: str) -> None:
    with pytest.raises(EngineUnreachable, match=reason) as caught:
        await connect(Target(address.format(port=closed_port()), source="TEMPORAL_ADDRESS", api_key="the-secret"))
    assert "\n" not in str(caught.value)
    assert "the-secret" not in str(caught.value)


async def test_no_address_is_one_line() -> None:
    with pytest.raises(UsageError, match="host:port"):
        await connect(Target("not an address", source="TEMPORAL_ADDRESS"))


@pytest.mark.journey
def test_a_failed_try_does_not_abort_the_program() -> None:
    code = (
        "import asyncio, sys\nfrom worker.connection import Target, connect\nasyncio.run(connect(Target(sys.argv[1])))"
    )
    command = [sys.executable, "-I", "-c", code, f"127.0.0.1:{closed_port()}"]
    ends = [subprocess.run(command, capture_output=True, timeout=30, check=False).returncode for _ in range(5)]
    assert ends == [1] * 5


@pytest.mark.journey
async def test_the_embedded_engine_is_connected(engine_home: Home, tmp_path: Path) -> None:
    client = await connect(resolve_address({"HOME": str(tmp_path)}, engine_home), identity="me")
    assert (client.namespace, client.identity) == ("default", "me")


@pytest.mark.journey
async def test_a_namespace_that_is_not_there_is_one_line(engine_home: Home, tmp_path: Path) -> None:
    address = resolve_address({"HOME": str(tmp_path)}, engine_home).address
    with pytest.raises(UsageError, match="TEMPORAL_NAMESPACE"):
        await connect(Target(address, namespace="nowhere", source="TEMPORAL_ADDRESS"))


@pytest.mark.journey
async def test_a_server_without_tls_is_one_line(engine_home: Home, tmp_path: Path) -> None:
    address = resolve_address({"HOME": str(tmp_path)}, engine_home).address
    with pytest.raises(EngineUnreachable, match="does not speak TLS"):
        await connect(Target(address, source="TEMPORAL_ADDRESS", tls=True))
