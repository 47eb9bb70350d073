"""early_start: what starting a safe call while its reply still streams saves."""

from tests.bench.measure import Measure, median, spread
from tests.bench.stage import ended, engine, project
from tests.bench.timed_model import timed
from tests.bench.timeline import Deed, exchanges
from tests.fakes.rig import Rig
from workflows.contracts.ids import session_workflow

PAIRS = 5
FILE_BYTES = 16_000_000


async def measures() -> list[Measure]:
    """The same call first in the reply, and last: its activity takes less by what was done meanwhile."""
    async with engine() as running:
        (project(running) / "large.txt").write_bytes(b"a line of a large file\n" * (FILE_BYTES // 23))
        deeds = await _deeds(running)
    first, last = [deed.took for deed in deeds[::2]], [deed.took for deed in deeds[1::2]]
    saved = median(last) - median(first)
    note = f"run_tool with the call first {spread(first, digits=0)}, with the call last {spread(last, digits=0)}"
    return [
        Measure("early start saves (Read deep in 16 MB)", f"{saved:.0f} ms a call", "-", None, f"told only; {note}")
    ]


async def _deeds(running: Rig) -> list[Deed]:
    """What Temporal has of each call: pairs of one that came first in its reply and one that came last."""
    call = {"tool": "Read", "input": {"file_path": str(project(running) / "large.txt"), "offset": 600_000, "limit": 10}}
    text = {"text": "While this is told, the file could be read already. " * 6}
    pair = [{"content": [call, text]}, {"content": [text, call]}]
    async with timed({"pacing": {"token_ms": 25, "chunk": 8}, "replies": [*pair * PAIRS, "done"]}) as model:
        talk = await running.start(model, cwd=project(running))
        await ended(talk, 120)
        seen = await exchanges(running.client, session_workflow(talk.session), "ask_model")
    return [one.deeds[1] for one in seen[: 2 * PAIRS]]
