"""Events as a worker writes them: numbered, one second apart, of one session."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta

from workflows.contracts.events import (
    BlockEnded,
    Event,
    ExchangeEnded,
    ExchangeStarted,
    SessionOpened,
    TextDelta,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from workflows.contracts.model import Usage
from workflows.contracts.session import Totals

START = datetime(2026, 1, 1, tzinfo=UTC)
USAGE = Usage(input=100, output=10)


def numbered(events: Iterable[Event], first: int = 1) -> list[Event]:
    """The events with line numbers and times."""
    return [event.model_copy(update={"seq": number, "at": stamp(number)}) for number, event in enumerate(events, first)]


def stamp(second: int) -> str:
    """That many seconds after the start."""
    return (START + timedelta(seconds=second)).isoformat().replace("+00:00", "Z")


def opened() -> list[Event]:
    """A session and its first turn."""
    return [
        SessionOpened(session="s1", cwd="/w", model="m", mode="default"),
        TurnStarted(turn=1, exchange=1, prompt="do it"),
    ]


def reply(exchange: int, *texts: str, calls: int = 0, attempt: int = 1, turn: int = 1) -> Iterator[Event]:
    """A whole reply of one text block that came in these pieces."""
    yield ExchangeStarted(turn=turn, exchange=exchange, attempt=attempt, model="m")
    for text in texts:
        yield TextDelta(turn=turn, exchange=exchange, attempt=attempt, block=0, text=text)
    yield BlockEnded(turn=turn, exchange=exchange, attempt=attempt, block=0, block_kind="text")
    yield ExchangeEnded(
        turn=turn, exchange=exchange, attempt=attempt, stop="tool_use" if calls else "end_turn", usage=USAGE, cost=1000,
        calls=calls,
    )  # fmt: skip


def call(exchange: int, place: int, tool: str = "Read", preview: str = "", status: str = "ok") -> Iterator[Event]:
    """A call from start to end."""
    where = {"turn": 1, "exchange": exchange, "attempt": 1, "place": place}
    yield ToolStarted.model_validate({**where, "tool": tool, "summary": f"file{place}"})
    yield ToolEnded.model_validate({**where, "tool": tool, "status": status, "preview": preview, "seconds": 1})


def ended(exchange: int, reason: str = "done", turn: int = 1) -> TurnEnded:
    """The turn's end."""
    totals = Totals(exchanges=exchange, usage=USAGE, cost=1000 * exchange)
    return TurnEnded(turn=turn, exchange=exchange, reason=reason, totals=totals)
