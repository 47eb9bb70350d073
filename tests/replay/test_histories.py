"""Every recorded history still replays: a change of workflow code that breaks running sessions is seen here."""

import gzip
from pathlib import Path

import pytest
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer

from tests.replay.kept import HISTORIES
from tests.replay.record import KINDS, STAGED
from worker.assemble import workflow_runner
from worker.connection import CONVERTER
from workflows.catalog import WORKFLOWS

FILES = sorted(HISTORIES.glob("*.json.gz"))


@pytest.mark.parametrize("path", FILES, ids=[path.name.removesuffix(".json.gz") for path in FILES])
async def test_a_recorded_history_replays(path: Path) -> None:
    history = WorkflowHistory.from_json(path.stem, gzip.decompress(path.read_bytes()).decode())
    replayer = Replayer(workflows=WORKFLOWS, workflow_runner=workflow_runner(), data_converter=CONVERTER)
    await replayer.replay_workflow(history)


def test_each_kind_of_session_is_recorded() -> None:
    assert {path.name.rpartition("-")[0] for path in FILES} >= {*KINDS, *STAGED}
    assert (HISTORIES / "roll-2.json.gz").exists()
