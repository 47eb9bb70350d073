"""The bench of all cases: one engine, one loop for models; a BOX and a MODEL for each stage."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.case_bench import WINDOW, Loop, Play, Stage, make_box
from tests.fakes.command_line import Cli
from tests.fakes.stranger import home_for
from worker.engine import Home
from worker.rehearsal.scenario import Scenario


@pytest.fixture(scope="session")
def served() -> Iterator[Home]:
    """RIG: one engine with one worker."""
    with home_for(is_up=True) as home:
        yield home


@pytest.fixture(scope="session")
def loop() -> Iterator[Loop]:
    """The thread of all models."""
    running = Loop()
    yield running
    running.stop()


@pytest.fixture
def play(served: Home, loop: Loop, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Play]:
    """Opens stages: `play(reply, reply, …, window=…, home=…, **scenario)`."""
    with ExitStack() as stack:

        def opened(
            *replies: Any, window: int = WINDOW, home: Home = served, box: Path | None = None, **more: Any
        ) -> Stage:
            limits = {**more.pop("limits", {}), "window": window}
            scenario = Scenario.model_validate({"replies": list(replies), "limits": limits, **more})
            model = stack.enter_context(loop.model(scenario))
            folder = box or make_box(tmp_path_factory.mktemp("box"))
            keys = {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_API_KEY": "sk-ant-of-the-bench"}
            return Stage(model, Cli(home, folder, keys), folder)

        yield opened
