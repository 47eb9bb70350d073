"""Tool calls and questions of a reply -> the screen after them, closed in call order."""

from dataclasses import replace

from cli.watch.model import Item, Question, Said, Screen, Told, ToolRun
from workflows.contracts.events import (
    ApprovalAnswered,
    ApprovalAsked,
    Event,
    ToolEnded,
    ToolProgress,
    ToolStarted,
)
from workflows.contracts.ids import call_id, hosts_question

ANY = 1_000_000_000
"""Later than every exchange and attempt."""
REMEMBERED = 64
"""Calls, exchanges and lines known by number, so that a repetition is seen."""


def with_tool(screen: Screen, event: ToolStarted | ToolProgress | ToolEnded) -> Screen:
    """A call that starts, goes on or ends; what was closed stays closed."""
    key = (event.exchange, event.place)
    if key in screen.shut:
        return screen
    known = {(tool.exchange, tool.place): tool for tool in screen.tools}
    run = known.get(key, ToolRun(*key))
    if run.status or event.attempt < run.attempt:
        return screen
    known[key] = _tool_run(replace(run, attempt=event.attempt), event)
    screen = replace(screen, tools=tuple(known[each] for each in sorted(known)), turn=max(screen.turn, event.turn))
    if isinstance(event, ToolEnded):
        ids = {call_id(event.exchange, event.place), hosts_question(event.exchange, event.place)}
        screen = replace(screen, questions=tuple(each for each in screen.questions if each.approval not in ids))
    return _with_tool_phase(tools_closed(screen))


def _tool_run(run: ToolRun, event: ToolStarted | ToolProgress | ToolEnded) -> ToolRun:
    match event:
        case ToolStarted():
            return replace(run, tool=event.tool, summary=event.summary, started=event.at)
        case ToolProgress():
            return replace(run, text=event.text or run.text, size=event.size, seconds=event.seconds)
        case ToolEnded():
            changes = {"tool": event.tool, "status": event.status or "ok", "text": event.preview, "crash": event.crash}
            changes["summary"] = run.summary or event.summary
            return replace(run, **changes, seconds=event.seconds)  # type: ignore[arg-type]  # each is a text


def _with_tool_phase(screen: Screen) -> Screen:
    if screen.replied < screen.exchange:
        return screen
    if screen.questions:
        return replace(screen, phase="waiting for approval")
    return replace(screen, phase="running tools" if screen.tools else "between exchanges")


def tools_closed(screen: Screen) -> Screen:
    """Close ended calls in the order of the reply: behind its text, and none before an earlier one."""
    while screen.tools and _may_close(screen, screen.tools[0]):
        screen = _closed_tool(screen, screen.tools[0])
    return screen


def _may_close(screen: Screen, run: ToolRun) -> bool:
    if not run.status or run.exchange > screen.replied:
        return False
    before = sum(exchange == run.exchange for exchange, _place in screen.shut)
    return run.exchange < screen.exchange or run.place <= before


def _closed_tool(screen: Screen, run: ToolRun) -> Screen:
    held, shut = screen.held, (*screen.shut, (run.exchange, run.place))[-REMEMBERED:]
    rest = tuple(tool for tool in screen.tools if tool != run)
    screen = add(replace(screen, tools=rest, held=(), shut=shut), run)
    for said in held:
        screen = add(screen, said)
    return screen


def flushed(screen: Screen, before: int = ANY) -> Screen:
    """Close every call of earlier exchanges, also those whose end never came."""
    for tool in screen.tools:
        screen = _closed_tool(screen, tool) if tool.exchange < before else screen
    return screen


def with_approval(screen: Screen, event: ApprovalAsked | ApprovalAnswered) -> Screen:
    """A question that is asked or answered, each once."""
    others = tuple(question for question in screen.questions if question.approval != event.approval)
    if isinstance(event, ApprovalAsked):
        if any(told[1] == event.approval for told in screen.told):
            return screen
        asked = Question(
            event.approval, event.tool, event.summary, event.reason, event.exchange, event.content, bool(event.choices),
            event.suggestions,
        )  # fmt: skip
        if event.content and not event.choices:
            shown = f"the plan:\n{event.content}" if asked.is_plan else event.content
            # Also where a worker died and the question is told again.
            once = event.model_copy(update={"seq": 0, "at": f"{event.approval} shown"})
            screen = tell(screen, once, Told(shown, "ask"))
        return replace(screen, questions=(*others, asked), phase="waiting for approval")
    verdict = "allowed" if event.allow else "denied"
    told = Told(f"{verdict}: call {event.approval}{_by(event.by)}", "ok" if event.allow else "warning")
    phase = "waiting for approval" if others else "running tools"
    # Known by its approval, so that a second telling of either event says nothing new.
    keyed = event.model_copy(update={"seq": 0, "at": event.approval})
    return tell(replace(screen, questions=others, phase=phase), keyed, told)


def tell(screen: Screen, event: Event, told: Told) -> Screen:
    """Say a line once, also where its event comes twice."""
    key = (event.seq, event.at, told.text)
    if key in screen.told:
        return screen
    return add(replace(screen, told=(*screen.told, key)[-REMEMBERED:]), told)


def add(screen: Screen, item: Item) -> Screen:
    """One more thing to print, text behind the calls of earlier exchanges."""
    if isinstance(item, Said) and any(tool.exchange < item.exchange for tool in screen.tools):
        return replace(screen, held=(*screen.held, item))
    return replace(screen, pending=(*screen.pending, item))


def _by(person: str) -> str:
    return f" by {person}" if person else ""
