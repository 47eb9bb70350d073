"""States of a session in the middle of something, for tests of decisions."""

from collections.abc import Sequence
from typing import Any

from workflows.contracts.model import CallRef, ModelReply, StopReason
from workflows.contracts.permissions import Approval, Mode
from workflows.contracts.session import CallState, OpenCall, Prompt, SessionState, SetMode, Turn
from workflows.contracts.tools import CallStatus, ToolDone

DIGEST = "d" * 64


def call(state: CallState = CallState.PENDING, *, tool: str = "Bash", beside: bool = False, place: int = 0) -> OpenCall:
    """One open call; one that was asked about has its question."""
    approval = question(place) if state in {CallState.ASKED, CallState.ANSWERED} else None
    outcome = DIGEST if state == CallState.DONE else ""
    return OpenCall(ref=CallRef(tool=tool, beside=beside), state=state, approval=approval, outcome=outcome)


def question(place: int = 0) -> Approval:
    """A question that asks for as much room as one may take."""
    return Approval(
        id=f"12345.{place}",
        tool="Bash",
        summary="s" * 160,
        digest=DIGEST,
        found=DIGEST,
        asked_at="2026-01-01T00:00:00.000Z",
        reason="r" * 120,
    )


def reply(stop: StopReason = StopReason.END_TURN, calls: Sequence[CallRef] = (), **more: Any) -> ModelReply:
    """What the model answered."""
    return ModelReply(**{"head": "reply", "stop": stop, "calls": tuple(calls), **more})


def done(status: CallStatus = CallStatus.OK, outcome: str = "outcome") -> ToolDone:
    """How a call ended."""
    return ToolDone(status=status, outcome=outcome)


def in_turn(*calls: OpenCall, **turn: Any) -> SessionState:
    """A session in its first turn, with these calls of the newest reply."""
    return SessionState(head="h", context="c", turns=1, turn=Turn(**{"number": 1, "calls": calls, **turn}))


def change(mode: Mode) -> SetMode:
    """A mode change that takes as much room as one may."""
    return SetMode(request="r" * 40, mode=mode, by="b" * 80, signature="5" * 128)


def turn_of(state: SessionState) -> Turn:
    """The turn that runs."""
    assert state.turn is not None
    return state.turn


def prompts(count: int) -> tuple[Prompt, ...]:
    """So many prompts that wait."""
    return tuple(Prompt(digest=f"{number:064x}") for number in range(count))
