"""What a session is doing, in one word for lists and a few for people."""

from dataclasses import dataclass

from workflows.contracts.session import CallState, SessionState


@dataclass(frozen=True)
class Phase:
    """One word of running, waiting, idle, closing; and what a person reads."""

    word: str
    text: str


def phase_of(state: SessionState) -> Phase:
    """Where the session is."""
    if state.turn is None:
        return Phase("closing", "closing") if state.closing else Phase("idle", "idle")
    if state.waiting_for == "waiting for approval" or _only_asks(state):
        return Phase("waiting", "waiting for approval")
    if state.waiting_for.startswith("waiting for host"):
        return Phase("waiting", state.waiting_for)
    if state.interrupt or state.closing:
        return Phase("running", state.waiting_for or "ending")
    if any(call.state != CallState.DONE for call in state.turn.calls):
        return Phase("running", "running tools")
    return Phase("running", "asking the model")


def _only_asks(state: SessionState) -> bool:
    still_open = [call for call in (state.turn.calls if state.turn else ()) if call.state != CallState.DONE]
    return bool(still_open) and still_open[0].state == CallState.ASKED
