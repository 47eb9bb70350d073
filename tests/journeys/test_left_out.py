"""What a provider refused stays out of every later request, also behind a roll and with a worker killed on the way."""

import io
from pathlib import Path

import pytest
from PIL import Image as Picture

from tests.fakes.rig import Rig, played
from workflows.contracts.session import TurnEnd
from workflows.contracts.settings import Thresholds
from workflows.contracts.transcript import EditBody

pytestmark = [pytest.mark.journey, pytest.mark.asyncio(loop_scope="module")]

CALL = {"content": [{"tool": "Bash", "input": {"command": "sleep 0.3"}}], "repeat": 10}


def noise(path: Path) -> None:
    made = io.BytesIO()
    Picture.effect_noise((300, 300), 90).save(made, "PNG")
    path.write_bytes(made.getvalue())


async def test_a_refused_picture_is_refused_once_in_a_session_that_rolls(rig: Rig, tmp_path: Path) -> None:
    noise(tmp_path / "a.png")
    look = {"content": [{"tool": "Read", "input": {"file_path": "a.png"}}]}
    scenario = {"replies": [look, CALL], "fallback": "Done.", "limits": {"image_base64": 1_000}}
    async with played(scenario) as model:
        talk = await rig.start(model, cwd=tmp_path, thresholds=Thresholds(roll_events=40))
        await talk.when(lambda snapshot: snapshot.state.totals.exchanges >= 5, 40)
        rig.kill_worker()
        result = await talk.result()
        assert result.end == TurnEnd.DONE
        assert talk.handle.first_execution_run_id != (await talk.handle.describe()).run_id
        refused = [request.number for request in model.requests if request.answer.startswith("refused")]
        assert refused == [2]
        assert [request.number for request in model.requests if b'"image"' in request.body_bytes] == [2]
        edits = [link.entry.body for link in await talk.links(result.head) if isinstance(link.entry.body, EditBody)]
        assert [edit.lasting for edit in edits] == [True]
