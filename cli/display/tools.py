"""How a tool call and its result look."""

from cli.display.cells import crash_told, fit, one_line, safe_output, wrap
from cli.display.diff import is_diff, painted
from cli.display.theme import Theme
from cli.watch import ToolRun

RESULT_ROWS = 4
DIFF_ROWS = 12
SUMMARY_ROWS = 3
_TONES = {"ok": "ok", "error": "error", "denied": "warning", "cancelled": "warning", "unknown": "error"}


def closed_rows(run: ToolRun, width: int, theme: Theme) -> list[str]:
    """A call that ended, with the beginning of its result."""
    status = run.status or "its end was not told"
    facts = [] if status == "ok" else [status]
    facts += [seconds(run.seconds)] if run.seconds >= 0.1 else []
    facts += [crash_told(run.crash)] if run.crash else []
    summary = one_line(run.summary)
    title = f"* {one_line(run.tool) or 'a call'} {summary}".rstrip()
    rows = wrap(f"{title} - {', '.join(facts)}" if facts else title, width)
    shown = rows[:SUMMARY_ROWS]
    if len(rows) > SUMMARY_ROWS:
        shown[-1] = fit(f"{shown[-1]}…", width)
    tone = _TONES.get(run.status, "warning")
    return [theme.paint(tone, row) for row in shown] + _result_rows(run.text, width, theme)


def _result_rows(text: str, width: int, theme: Theme) -> list[str]:
    clean = safe_output(text).strip("\n")
    if not clean.strip():
        return []
    limit = DIFF_ROWS if is_diff(clean) else RESULT_ROWS
    lines = clean.split("\n")
    rows = [f"  {row}" for row in wrap("\n".join(lines[: limit * 2]), width - 2)]
    left = max(0, len(rows) - limit) + max(0, len(lines) - limit * 2)
    rows = rows[:limit]
    shown = [f"  {row}" for row in painted([row[2:] for row in rows], theme)] if is_diff(clean) else None
    shown = shown or [theme.paint("dim", row) for row in rows]
    return [*shown, theme.paint("dim", fit(f"  … {left} more", width))] if left else shown


def running_row(run: ToolRun, now: float | None, width: int, theme: Theme) -> str:
    """A call that runs or waits for an earlier one, in one row."""
    if run.status:
        return theme.paint(_TONES.get(run.status, "warning"), fit(f"* {one_line(run.tool)} {run.status}", width))
    facts = [seconds(max(now or 0, run.seconds))] if now or run.seconds else []
    facts += [size(run.size)] if run.size else []
    lines = safe_output(run.text).strip().split("\n")
    newest = f" | {one_line(lines[-1])}" if lines[-1] else ""
    head = f"> {one_line(run.tool)} {one_line(run.summary)[: max(20, width // 2)]}".rstrip()
    return theme.paint("tool", fit(f"{head} {' '.join(facts)}{newest}", width))


def seconds(value: float) -> str:
    """A time span as people say it: 0.4 s, 12 s, 3 min, 2 h 5 min."""
    if value < 10:
        return f"{value:.1f} s" if 0 < value < 1 else f"{value:.0f} s"
    if value < 120:
        return f"{value:.0f} s"
    minutes = int(value // 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def size(value: int) -> str:
    """Bytes as people say them."""
    if value < 1000:
        return f"{value} B"
    return f"{value / 1000:.0f} kB" if value < 1_000_000 else f"{value / 1_000_000:.1f} MB"
