"""What a session carries into its next run after so many exchanges, made by the core's own functions."""

from workflows.contracts.model import CallRef, ModelReply, StopReason, Usage
from workflows.contracts.session import Prompt, SessionInput, SessionState
from workflows.contracts.settings import Thresholds
from workflows.contracts.tools import CallStatus, ToolDone
from workflows.core import turn as turns

_DIGEST = "ab" * 32


def carried(exchanges: int) -> int:
    """Bytes of the input of a run that begins after so many exchanges of one turn."""
    thresholds = Thresholds()
    prompt = Prompt(request="first", digest=_DIGEST, title="do it")
    state = turns.started(SessionState(head=_DIGEST, context=_DIGEST, title="do it", queue=(prompt,), seen=("first",)))
    for number in range(1, exchanges + 1):
        reply = ModelReply(
            head=_DIGEST,
            stop=StopReason.TOOL_USE,
            calls=(CallRef(tool="Read", beside=True),),
            usage=Usage(input=1_000, output=40, cache_read=1_200 * number, cache_write=1_200),
        )
        state = turns.replied(state, reply, thresholds)
        state = turns.ran(state, 0, ToolDone(outcome=_DIGEST, status=CallStatus.OK))
    state = state.model_copy(update={"runs": 1 + exchanges // 340})
    given = SessionInput(
        session="bench", cwd="/project", host=_DIGEST[:32], store=_DIGEST[:32], settings=_DIGEST, public_key=_DIGEST
    )
    return len(given.model_copy(update={"state": state}).model_dump_json())
