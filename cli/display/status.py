"""The footer: phase, age of the last event, tokens, cost, and what the session waits for."""

from cli.display.cells import cells, counted, one_line, wrap
from cli.display.theme import Theme
from cli.display.tools import seconds
from cli.watch import Screen, moment
from workflows.contracts.session import Totals
from workflows.contracts.tools import CallStatus

SPINNER = "|/-\\"


def status_rows(screen: Screen, now: float, width: int, theme: Theme) -> list[str]:
    """All facts that are always visible, in as few rows as hold them."""
    facts = [f"{_spinner(screen, now)} {screen.phase}", f"waits for {waits_for(screen, now)}", age(screen, now)]
    facts += [sandbox(screen), place(screen), tokens(screen.totals), cost(screen.totals)]
    facts += [f"{screen.damaged} damaged lines"] if screen.damaged else []
    return [theme.paint("status", row) for row in _packed([fact for fact in facts if fact], width)]


def _packed(facts: list[str], width: int) -> list[str]:
    rows: list[str] = []
    for fact in facts:
        joined = f"{rows[-1]} · {fact}" if rows else ""
        if rows and cells(joined) <= width:
            rows[-1] = joined
        else:
            rows += wrap(fact, width)
    return rows


def _spinner(screen: Screen, now: float) -> str:
    return "=" if screen.closed or screen.phase == "idle" else SPINNER[int(now) % len(SPINNER)]


def waits_for(screen: Screen, now: float) -> str:
    """What must come before it goes on."""
    if screen.questions:
        return f"your answer to {len(screen.questions)} questions" if len(screen.questions) > 1 else "your answer"
    if screen.waiting_for:
        return one_line(screen.waiting_for)
    if screen.retry is not None:
        return f"the next attempt {_countdown(screen, now)} ({one_line(screen.retry.failure)})"
    running = [one_line(tool.tool) or "a call" for tool in screen.tools if not tool.status]
    if running:
        return ", ".join(running[:3]) + (f" and {len(running) - 3} more" if len(running) > 3 else "")
    return _PHASES.get(screen.phase, "the engine")


_PHASES = {
    "asking the model": "the model's first word",
    "answering": "the model",
    "thinking": "the model",
    "idle": "a prompt",
    "closed": "nothing",
}


def _countdown(screen: Screen, now: float) -> str:
    retry = screen.retry
    due = moment(retry.at) if retry else None
    if retry is None or due is None:
        return "soon"
    left = due + retry.seconds - now
    return f"in {seconds(left)}" if left >= 1 else "now"


def age(screen: Screen, now: float) -> str:
    """How long nothing was heard."""
    at = moment(screen.last_at)
    return f"last event {seconds(float(int(max(0.0, now - at))))} ago" if at is not None else "no event yet"


def place(screen: Screen) -> str:
    """Which turn and exchange this is."""
    return f"turn {screen.turn}, exchange {screen.exchange}" if screen.turn else ""


def sandbox(screen: Screen) -> str:
    """What holds the commands, whatever it is."""
    return f"sandbox {one_line(screen.sandbox)}" if screen.sandbox else ""


def tokens(totals: Totals) -> str:
    """Tokens in and out."""
    usage = totals.usage
    taken = usage.input + usage.cache_read + usage.cache_write
    return f"{_count(taken)} tokens in, {_count(usage.output)} out"


def _count(value: int) -> str:
    if value < 1000:
        return str(value)
    return f"{value / 1000:.1f}k" if value < 1_000_000 else f"{value / 1_000_000:.2f}M"


def cost(totals: Totals) -> str:
    """Dollars so far, and where that is not all of it."""
    known = f"${totals.cost / 1_000_000:.{2 if totals.cost >= 1_000_000 else 4}f}"
    if totals.unpriced:
        return f"cost unknown ({totals.unpriced} replies without a price)" if not totals.cost else f"{known} and more"
    return f"{known} and perhaps more" if totals.unknown else known


def ending(totals: Totals) -> str:
    """The figures of a session in one line, denials first."""
    facts = [f"{counted(totals.denials, 'call')} {CallStatus.DENIED}"] if totals.denials else []
    facts += [counted(totals.exchanges, "exchange"), counted(totals.calls, "call"), tokens(totals), cost(totals)]
    return " · ".join(facts)
