"""What a session is doing, in one word for lists and a few for people."""

from dataclasses import dataclass

from workflows.contracts.session import CallState, SessionState, Turn
from workflows.contracts.settings import Thresholds
from workflows.core.tool_batches import next_batch


@dataclass(frozen=True)
class Phase:
    """One word of running, waiting, idle, closing; and what a person reads."""

    word: str
    text: str


def phase_of(state: SessionState) -> Phase:
    """Where the session is."""
    if state.waiting_for.startswith("waiting for host"):
        return Phase("waiting", state.waiting_for)
    if state.turn is None:
        return Phase("closing", "closing") if state.closing else Phase("idle", "idle")
    is_ending = state.interrupt or state.closing
    if not is_ending and (state.waiting_for == "waiting for approval" or _only_asks(state.turn)):
        return Phase("waiting", "waiting for approval")
    if is_ending:
        return Phase("running", state.waiting_for or "ending")
    if any(call.state != CallState.DONE for call in state.turn.calls):
        return Phase("running", "running tools")
    return Phase("running", "asking the model")


def _only_asks(turn: Turn) -> bool:
    is_open = any(call.state != CallState.DONE for call in turn.calls)
    return is_open and not next_batch(turn.calls, Thresholds().side_by_side)
