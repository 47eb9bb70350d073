"""An audit as text: what counts first, then one block a step, then what was verified."""

from collections.abc import Iterable, Iterator, Mapping

from pydantic import JsonValue

from cli.display.cells import counted, crash_told, decided_by, one_line
from cli.display.theme import Theme
from workflows.contracts.audit import (
    CallStep,
    DamagedStep,
    ExchangeStep,
    NoticeStep,
    PromptStep,
    Step,
    Totals,
)

SHORT = 12
"""Digits of a digest that are shown."""
_HOOK_CRASHES = {
    "found": "a worker died, and its answer was found again",
    "attached": "a worker died while it ran, and it was joined",
    "repeated": "a worker died while it was asked, and it was asked again",
}
_INDENT = " " * 14


def summary_rows(session: str, head: str, totals: Totals, theme: Theme) -> Iterator[str]:
    """The session in a few rows, denials first."""
    yield theme.paint("prompt", f"session {session}") + theme.paint("dim", f"  head {head[:SHORT]}")
    denied = counted(totals.denials, "denied call")
    yield theme.paint("error" if totals.denials else "plain", denied) + (
        f", {counted(totals.prompts, 'prompt')}, {counted(totals.replies, 'model call')}, "
        f"{counted(totals.calls, 'tool call')}{_apart(totals.errors, 'not ended well')}"
        f"{_apart(totals.damaged, 'damaged')}, {totals.seconds:,.1f} s"
    )
    yield f"{_tokens(totals.usage)}; {_dollars(totals.cost)}{_left(totals.unpriced, totals.unknown)}"
    if len(totals.models) > 1:
        for name, bill in totals.models.items():
            yield (
                f"  {one_line(name)}: {counted(bill.replies, 'call')}, {_tokens(bill.usage)}; {_dollars(bill.cost)}"
                f"{_left(bill.unpriced, bill.unknown)}"
            )


def step_rows(step: Step, theme: Theme) -> Iterator[str]:
    """One step."""
    match step:
        case PromptStep():
            yield _first(step, "prompt", theme, f"{step.by}: {one_line(step.text)}", style="prompt")
        case ExchangeStep():
            yield from _exchange_rows(step, theme)
        case CallStep():
            yield from _call_rows(step, theme)
        case NoticeStep():
            text = one_line(step.text)
            yield _first(step, "notice", theme, step.what.replace("_", " ") + (f": {text}" if text else ""))
            if step.what == "archived_history":
                yield theme.paint("dim", f"{_INDENT}history {str(step.data.get('history', ''))[:SHORT]}")
            elif step.what == "mode_changed":
                yield theme.paint("dim", f"{_INDENT}{_who_changed(step.data)}")
            elif step.what == "hooks" and isinstance(hooks := step.data.get("hooks"), list):
                yield from _hook_rows(hooks, theme)
            elif step.what == "turn_ended" and (end := step.data.get("end")):
                yield theme.paint("dim", f"{_INDENT}turn {step.data.get('turn', '')} ended: {end}")
        case DamagedStep():
            yield theme.paint("error", f"{step.n:>5}  damaged  {one_line(step.why)}")


def _who_changed(data: Mapping[str, JsonValue]) -> str:
    """Who set the mode and with what; what a turn changed is noted at its end."""
    by = one_line(str(data.get("by") or "the agent"))
    if approval := data.get("approval"):
        return f"by {by}, with the answer to call {one_line(str(approval))}, from which on it counts"
    return f"by {by}, {'signed' if data.get('signature') else 'not signed'}"


def _exchange_rows(step: ExchangeStep, theme: Theme) -> Iterator[str]:
    state = "" if step.state == "counted" else f", {step.state}"
    text = f"{one_line(step.model) or 'model not known'}{state}, stop {step.stop or 'not known'}{_took(step.seconds)}"
    yield _first(step, f"ask {step.exchange}", theme, text)
    usage = "usage not known" if step.usage is None else _tokens(step.usage)
    cost = "cost not known" if step.cost is None else _dollars(step.cost)
    yield theme.paint("dim", f"{_INDENT}{usage}; {cost}{_attempt(step.attempt)}{_by_worker(step.worker)}")
    if step.unknown:
        yield theme.paint("warning", f"{_INDENT}{counted(step.unknown, 'attempt')} before it may have been billed")
    if step.text:
        yield f"{_INDENT}{one_line(step.text)}"


def _call_rows(step: CallStep, theme: Theme) -> Iterator[str]:
    yield _first(step, f"call {step.exchange}.{step.place}", theme, f"{step.tool} {one_line(step.input)}", style="tool")
    file = f" ({one_line(step.file)})" if step.file else ""
    asked = (
        f", answered by {one_line(step.signer) or 'somebody'} (signature {step.signature})" if step.signature else ""
    )
    reason = f": {one_line(step.reason)}" if step.reason not in {"", f"rule {step.rule}"} else ""
    yield theme.paint(
        "error" if step.decision == "deny" or step.signature in {"invalid", "unsigned"} else "dim",
        f"{_INDENT}{step.decision} by {decided_by(step.by, one_line(step.rule))}{file}{asked}{reason}",
    )
    style = {"ok": "ok", "unknown": "warning"}.get(step.status, "error")
    yield f"{_INDENT}{theme.paint(style, step.status)}" + theme.paint(
        "dim",
        f"{_took(step.seconds)}{_attempt(step.attempt)}{_by_worker(step.worker)}, "
        f"result {step.result[:SHORT]} of {step.size:,} bytes",
    )
    if step.crash:
        yield theme.paint("warning", f"{_INDENT}{crash_told(step.crash)}")
    if step.cost:
        yield theme.paint("dim", f"{_INDENT}models beside the conversation: {_dollars(step.cost)}")
    if step.updated_input:
        yield theme.paint("warning", f"{_INDENT}a hook changed its input to {one_line(step.updated_input)}")
    yield from _hook_rows(step.hooks, theme)
    for line in step.sandbox_told:
        yield theme.paint("warning" if "denial" in line else "dim", f"{_INDENT}{one_line(line)}")
    yield from _hosts_rows(step.hosts, theme)
    for effect in step.effects:
        change = f"  {_change(effect['before'], effect['after'])}" if effect["after"] else ""
        yield theme.paint("dim", f"{_INDENT}{effect['kind']} {one_line(effect['path'])}{change}")


def _hook_rows(hooks: Iterable[JsonValue], theme: Theme) -> Iterator[str]:
    """One row a hook: which, from where, what it decided, and what went wrong with it."""
    for hook in hooks:
        if not isinstance(hook, dict):
            continue
        told = {name: one_line(str(hook.get(name, ""))) for name in ("event", "hook", "source", "text")}
        failed = f", failed ({hook['failure']})" if hook.get("failure") else ""
        decision = hook.get("decision") or "decided nothing"
        ended = f", exit {hook['exit']}" if hook.get("exit") is not None else ""
        seconds = hook.get("seconds")
        took = _took(float(seconds)) if isinstance(seconds, int | float) else ""
        crash = f"; {_HOOK_CRASHES.get(str(hook['crash']), hook['crash'])}" if hook.get("crash") else ""
        row = f"{_INDENT}{told['event']} hook {told['hook']} ({told['source'] or 'of the session'}): {decision}"
        yield theme.paint("error" if failed else "dim", f"{row}{failed}{ended}{took}{crash}")
        if told["text"]:
            yield theme.paint("dim", f"{_INDENT}  {told['text'][:200]}")


def _hosts_rows(hosts: Mapping[str, JsonValue], theme: Theme) -> Iterator[str]:
    """Of hosts that its command was refused: who was asked, who answered, what was opened."""
    if not hosts:
        return
    told = {name: one_line(_listed(value)) for name, value in hosts.items()}
    who = f", answered by {told['signer'] or 'somebody'} (signature {told['signature']})" if told["signature"] else ""
    asked = f"asked about {told['asked']}{who or ', not answered'}" if told["asked"] else "nobody was asked"
    why = told["rule"] or told["by"]
    row = f"{_INDENT}hosts refused: {told['refused']}; {asked} ({why}); opened: {told['opened'] or 'none'}"
    yield theme.paint("error" if told["signature"] in {"invalid", "unsigned"} else "dim", row)


def _listed(value: JsonValue) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _change(before: str, after: str) -> str:
    """Digests of a file before and after; one where it stayed as it was."""
    return after[:SHORT] if before == after else f"{before[:SHORT] or 'nothing'} → {after[:SHORT]}"


def verification_row(entries: int, objects: int, histories: int, theme: Theme) -> str:
    """The last row of a verified session."""
    return theme.paint(
        "ok",
        f"verified: {counted(entries, 'entry', 'entries')}, {counted(objects, 'object')}, "
        f"{counted(histories, 'history', 'histories')}",
    )


def _first(
    step: PromptStep | ExchangeStep | CallStep | NoticeStep, kind: str, theme: Theme, text: str, style: str = "plain"
) -> str:
    lead = f"{step.n:>5}  {kind}"
    return f"{lead:<{len(_INDENT) - 1}} {theme.paint(style, text)}" + theme.paint(
        "dim", f"  {_time(step.at)}  {step.digest[:SHORT]}"
    )


def _time(at: str) -> str:
    return f"{at[:10]} {at[11:19]} UTC" if len(at) >= 19 else at


def _took(seconds: float | None) -> str:
    return "" if seconds is None else f", {seconds:,.1f} s"


def _attempt(attempt: int) -> str:
    return f", attempt {attempt}" if attempt else ""


def _by_worker(worker: str) -> str:
    return f", worker {one_line(worker)}" if worker else ""


def _tokens(usage: Mapping[str, int]) -> str:
    cached = [
        f"{usage.get(name, 0):,} {words}"
        for name, words in (("cache_read", "from cache"), ("cache_write", "to cache"))
        if usage.get(name)
    ]
    parts = [f"{usage.get('input', 0):,} in", *cached, f"{usage.get('output', 0):,} out"]
    return f"tokens {', '.join(parts)}"


def _dollars(micro: int) -> str:
    return f"${micro / 1_000_000:,.4f}"


def _left(unpriced: int, unknown: int) -> str:
    parts = []
    if unpriced:
        parts.append(f"{counted(unpriced, 'reply', 'replies')} without a known price")
    if unknown:
        parts.append(f"{counted(unknown, 'call')} whose usage is not known")
    return f", and {' and '.join(parts)}" if parts else ""


def _apart(count: int, words: str) -> str:
    return f" ({count} {words})" if count else ""
