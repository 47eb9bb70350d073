"""Which tier works is found out by trying, remembered, and told with its reason."""

import os
from pathlib import Path

import pytest

from activities.safety.sandbox import probe
from activities.safety.sandbox.hold import ground_of, hold
from activities.stores.home import Home
from tests.activities.processes.place import Place
from tests.fakes.held import missing
from tests.fakes.world import make_call, make_world
from workflows.contracts.errors import ToolError
from workflows.contracts.sandbox import SandboxSettings
from workflows.contracts.settings import SessionSettings

pytestmark = pytest.mark.journey


@pytest.fixture
def here(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.ensure()
    return home


@pytest.mark.parametrize("tier", [1, 2])
async def test_a_tier_that_works_is_chosen_and_nothing_of_the_trial_is_left(here: Home, tier: int) -> None:
    if why := missing(tier):
        pytest.skip(f"tier {tier} cannot be shown here: {why}")
    before = sorted(path.name for path in here.root.iterdir())
    found = await probe.chosen(here, SandboxSettings(tier=tier), os.environ)
    assert found.number == tier
    assert found.has_network == (tier == 1)
    assert sorted(path.name for path in here.root.iterdir()) == before


async def test_what_was_found_is_remembered_for_these_settings_alone(here: Home) -> None:
    settings = SandboxSettings()
    assert probe.known(here, settings) is None
    found = await probe.chosen(here, settings, os.environ)
    assert probe.known(here, settings) == found
    assert probe.known(here, SandboxSettings(environment=("X",))) is None
    (here.engine / "sandbox.json").write_text("{damaged")
    assert probe.known(here, settings) is None
    assert await probe.chosen(here, settings, os.environ) == found


async def test_a_tier_that_holds_nothing_is_not_taken_for_a_sandbox(
    here: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = await probe.chosen(here, SandboxSettings(tier=3), os.environ)
    assert (found.number, found.is_sandboxed) == (3, False)
    monkeypatch.setattr("platform.system", lambda: "Darwin")
    lacking = await probe.chosen(here, SandboxSettings(), os.environ, afresh=True)
    assert (lacking.number, lacking.is_sandboxed) == (4, False)
    assert "not built for Darwin" in lacking.why


async def test_where_none_works_commands_are_refused_or_say_so(tmp_path: Path) -> None:
    world = make_world(tmp_path)
    spec = Place(tmp_path).spec("true")
    for settings in (SandboxSettings(tier=3, fail_if_unavailable=True), SandboxSettings(tier=3)):
        call = make_call(world, tmp_path / "work", "Bash", settings=SessionSettings(sandbox=settings))
        if settings.fail_if_unavailable:
            with pytest.raises(ToolError, match="did not run"):
                async with hold(ground_of(call), spec, "true"):
                    pass
        else:
            async with hold(ground_of(call), spec, "true") as held:
                assert "the person's rights" in held.lines[0]
