"""A session moves into a worktree and stays there through crashes, a roll and the next turn."""

import asyncio
import subprocess
import time
from pathlib import Path

import pytest

from tests.fakes.crash import healthy, kill
from tests.fakes.rig import Rig, Told, played
from workflows.contracts.settings import Thresholds
from workflows.contracts.tools import CallStatus

pytestmark = [pytest.mark.journey, pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(150)]


def call(tool: str, **given: object) -> Told:
    return {"tool": tool, "input": given}


async def test_work_in_a_worktree_survives_crashes_and_leaves_the_folder_alone(rig: Rig, tmp_path: Path) -> None:
    folder = tmp_path / "repo"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    for words in (["init"], ["add", "."], ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-m", "first"]):
        subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)
    edit = [call("Read", file_path="a.txt"), call("Edit", file_path="a.txt", old_string="one", new_string="two")]
    replies = [
        {"content": [call("EnterWorktree", name="side"), call("Bash", command="pwd")]},
        {"content": [call("Bash", command="sleep 0.5; touch began"), *edit]},
        "Changed.",
        {
            "content": [
                call("Read", file_path="a.txt"),
                call("ExitWorktree", action="keep"),
                call("Read", file_path="a.txt"),
            ]
        },
    ]
    tree = tmp_path / "repo.worktrees" / "side"
    async with played({"replies": replies, "fallback": "Done."}) as model:
        began = time.monotonic()
        talk = await rig.start(model, cwd=folder, once=False, thresholds=Thresholds(roll_events=20))
        await talk.when(lambda shown: shown.state.workspace == str(tree), 40, "it works in the worktree")
        kill(rig, "worker")
        await talk.when(lambda shown: shown.state.turns == 1 and shown.phase == "idle", 60, "the first turn's end")
        assert ((tree / "a.txt").read_text(), (folder / "a.txt").read_text()) == ("two\n", "one\n")
        kill(rig, "both")
        await healthy(rig)
        # A session rolls three seconds after its start at the earliest, however quick the machine is.
        await asyncio.sleep(max(0.0, began + 4 - time.monotonic()))
        await talk.send("go on")
        await talk.when(lambda shown: shown.state.turns == 2 and shown.phase == "idle", 60, "the second turn's end")
        snapshot = await talk.snapshot()
        assert (snapshot.state.workspace, snapshot.state.runs > 1) == ("", True)
        await talk.close()
        head = (await talk.result(40)).head
    outcomes = await talk.outcomes(head)
    assert [outcome.status for outcome in outcomes] == [CallStatus.OK] * len(outcomes)
    shown = [part.text for outcome in outcomes for part in outcome.content if part.kind == "text"]
    assert shown[1].splitlines()[0] == str(tree)
    assert ["two" in text for text in (shown[-3], shown[-1])] == [True, False]
