"""A command that a person allowed reaches the hosts that it names; no other host, and no other command, does."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from activities.safety.sandbox import network
from activities.tools.bash import Bash
from tests.activities.safety.sandbox.cell import Cell, cell
from tests.fakes.held import missing
from tests.fakes.way_out import way_out
from tests.fakes.world import SESSION, make_call, text_of, use
from worker.networks_left import end_networks
from workflows.contracts.permissions import Decision, Verdict
from workflows.contracts.settings import SessionSettings

pytestmark = [
    pytest.mark.journey,
    pytest.mark.timeout(120),
    pytest.mark.skipif(bool(missing(1)), reason=f"no namespaces: {missing(1)}"),
]

ALLOWED = Verdict(decision=Decision.ALLOW, by="person", rule="me@here")


@pytest.fixture(scope="module")
def inside() -> Iterator[Cell]:
    with cell(1) as made:
        yield made


async def run(inside: Cell, place: int, command: str, port: int, verdict: Verdict | None) -> str:
    """What the model reads of a command that runs by this verdict."""
    environment = {**inside.world.environment, "HTTPS_PROXY": f"http://127.0.0.1:{port}"}
    call = make_call(
        replace(inside.world, environment=environment),
        inside.workspace,
        "Bash",
        place,
        settings=SessionSettings(sandbox=inside.settings),
        verdict=verdict,
    )
    return text_of(await use(call, Bash(), command=command))


async def test_it_reaches_what_it_names_and_the_next_command_does_not(inside: Cell) -> None:
    (inside.workspace / "list").write_text("other.example\n")
    both = "curl -s http://named.example/x; curl -s http://$(cat list)/y"
    with way_out() as (port, heard):
        said = await run(inside, 1, both, port, ALLOWED)
        assert said.startswith("hello")
        assert "[sandbox denial: other.example:80 is not on the list" in said
        assert "open to this command alone, since it was allowed by name: named.example]" in said
        for place, verdict in ((2, None), (3, ALLOWED.model_copy(update={"by": "mode", "rule": "bypassPermissions"}))):
            said = await run(inside, place, "curl -s http://named.example/x", port, verdict)
            assert "[sandbox denial: named.example:80 is not on the list" in said
            assert "open to this command alone" not in said
        assert heard == [b"named.example:80"]


async def test_such_a_network_is_one_of_the_sessions_and_ends_with_them(inside: Cell) -> None:
    with way_out() as (port, _):
        assert "hello" in await run(inside, 4, "curl -s http://named.example/x", port, ALLOWED)
    others = [each for each in network.all_of(inside.world.home.journal / SESSION / "sandbox") if network.find(each)]
    assert [each.parent.name for each in others if each.name != network.USUAL] == ["networks"]
    end_networks(inside.world.home)
    assert not any(map(network.find, others))
