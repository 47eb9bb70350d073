"""One event more -> the screen after it."""

from dataclasses import replace

from cli.watch.model import Ended, Item, OpenBlock, Prompted, Question, Said, Screen, Told, ToolRun
from workflows.contracts.events import (
    ApprovalAnswered,
    ApprovalAsked,
    BlockEnded,
    Damaged,
    Event,
    ExchangeEnded,
    ExchangeStarted,
    ModelRetry,
    Notice,
    SessionClosed,
    SessionOpened,
    Superseded,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolProgress,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from workflows.contracts.session import Totals

_ANY = 1_000_000_000
_REMEMBERED = 64
"""Calls, exchanges and lines known by number, so that a repetition is seen."""


def reduce(screen: Screen, event: Event) -> Screen:
    """The screen after one more event; repeated, late and missing ones are told, never counted twice."""
    before = screen
    screen = _reduced(screen, event)
    if isinstance(event, Damaged) or event.at <= before.last_at:
        return screen
    return replace(screen, last_at=event.at)


def _reduced(screen: Screen, event: Event) -> Screen:  # noqa: C901, PLR0911, PLR0912  one arm a kind
    match event:
        case SessionOpened():
            return replace(screen, session=event.session, cwd=event.cwd, model=event.model, mode=event.mode)
        case TurnStarted():
            return _turn_started(screen, event)
        case ExchangeStarted():
            return _exchange_started(screen, event)
        case TextDelta() | ThinkingDelta():
            return _text(screen, event)
        case BlockEnded():
            return _block_ended(screen, event)
        case Superseded():
            return _superseded(screen, event)
        case ModelRetry():
            return _retry(screen, event)
        case ExchangeEnded():
            return _exchange_ended(screen, event)
        case ToolStarted() | ToolProgress() | ToolEnded():
            return _tool(screen, event)
        case ApprovalAsked() | ApprovalAnswered():
            return _approval(screen, event)
        case Notice():
            return _tell(screen, event, Told(f"{event.what}: {event.text}" if event.text else event.what))
        case Damaged():
            told = Told(f"the feed is damaged: {event.text}", "warning")
            return replace(_tell(screen, event, told), damaged=screen.damaged + 1)
        case TurnEnded():
            return _turn_ended(screen, event)
        case SessionClosed():
            screen = replace(_flushed(_withdrawn(screen)), closed=True, phase="closed", questions=())
            return _tell(screen, event, Told(f"session closed{_because(event.reason)}"))


def _turn_started(screen: Screen, event: TurnStarted) -> Screen:
    if event.turn and event.turn <= screen.prompted:
        return screen
    screen = _flushed(_withdrawn(screen), event.exchange or _ANY)
    screen = replace(screen, turn=event.turn, prompted=event.turn, ended=None, phase="starting", retry=None)
    return _add(screen, Prompted(event.prompt, event.turn))


def _exchange_started(screen: Screen, event: ExchangeStarted) -> Screen:
    if (event.exchange, event.attempt) < (screen.exchange, screen.attempt):
        return screen
    if event.exchange <= screen.replied:
        return screen
    if event.exchange > screen.exchange:
        screen = _advanced(screen, event.exchange)
    return replace(
        screen,
        turn=max(screen.turn, event.turn),
        exchange=event.exchange,
        attempt=event.attempt,
        model=event.model or screen.model,
        phase="asking the model",
        retry=None,
    )


def _advanced(screen: Screen, exchange: int) -> Screen:
    """A later exchange began, so the reply before it was taken, whether or not its end was heard of."""
    return _tools_closed(replace(_closed_block(screen), text_seq=0, replied=max(screen.replied, exchange - 1)))


def _text(screen: Screen, event: TextDelta | ThinkingDelta) -> Screen:
    where = (event.exchange, event.attempt)
    if event.exchange <= screen.replied or where < (screen.exchange, screen.attempt):
        return _late(screen, event)
    if event.exchange > screen.exchange:
        screen = _advanced(screen, event.exchange)
    implied = Superseded(at=event.at, exchange=event.exchange, attempt=event.attempt)
    superseded = _superseded(screen, implied) if event.attempt > 1 else screen
    # One attempt streams from one process: its lines come in order, and a number seen is a repetition.
    if superseded.text_seq and 0 < event.seq <= superseded.text_seq:
        return screen
    screen = superseded
    screen = replace(screen, exchange=event.exchange, attempt=event.attempt, retry=None, turn=event.turn or screen.turn)
    is_thinking = isinstance(event, ThinkingDelta)
    if screen.open is not None and (screen.open.block, screen.open.thinking) != (event.block, is_thinking):
        screen = _closed_block(screen)
    block = screen.open or OpenBlock(event.exchange, event.attempt, event.block, is_thinking)
    return replace(
        screen,
        open=replace(block, text=block.text + event.text),
        text_seq=event.seq,
        phase="thinking" if is_thinking else "answering",
    )


def _late(screen: Screen, event: TextDelta | ThinkingDelta) -> Screen:
    if event.exchange < screen.exchange:
        told = Told(f"late text of exchange {event.exchange} left out; `perdure show` has it", "warning")
        return _tell(screen, event.model_copy(update={"seq": 0, "at": str(event.exchange)}), told)
    return screen


def _block_ended(screen: Screen, event: BlockEnded) -> Screen:
    block = screen.open
    if block is None or (block.exchange, block.attempt, block.block) != (event.exchange, event.attempt, event.block):
        return screen
    return _closed_block(screen)


def _closed_block(screen: Screen) -> Screen:
    block = screen.open
    if block is None:
        return screen
    said = Said(block.text, block.exchange, block.attempt, block.thinking)
    return replace(_add(screen, said) if block.text else screen, open=None)


def _superseded(screen: Screen, event: Superseded) -> Screen:
    """Withdraw what an earlier attempt streamed; where it was printed for good, a line says it does not count."""
    exchange = event.exchange or screen.exchange
    if exchange > screen.replied and exchange == screen.exchange:
        screen = replace(screen, attempt=max(event.attempt, screen.attempt))
    # A whole reply that is asked again has another exchange's event, whose attempt says nothing of it.
    before = event.attempt if event.attempt and exchange > screen.replied else _ANY
    open_ = screen.open if screen.open and not _is_older(screen.open, exchange, before) else None
    pending = tuple(item for item in screen.pending if not _is_older(item, exchange, before))
    held = tuple(said for said in screen.held if not _is_older(said, exchange, before))
    was_live = (open_, pending, held) != (screen.open, screen.pending, screen.held)
    was_printed = screen.printed_text[0] == exchange and screen.printed_text[1] < before
    if not was_live and not was_printed:
        return screen
    screen = replace(screen, open=open_, pending=pending, held=held)
    if exchange > screen.replied:
        screen = replace(screen, text_seq=0, phase="asking the model")
    if was_printed:
        screen = replace(screen, printed_text=(0, 0))
    what = f"the text above of exchange {exchange} does not count" if was_printed else "a broken reply was withdrawn"
    return _tell(screen, event, Told(f"{what}{_because(event.reason)}", "warning"))


def _is_older(item: Item | OpenBlock, exchange: int, attempt: int) -> bool:
    """Whether this is text of that exchange by an earlier attempt."""
    return isinstance(item, Said | OpenBlock) and item.exchange == exchange and item.attempt < attempt


def _retry(screen: Screen, event: ModelRetry) -> Screen:
    if event.exchange < screen.exchange or event.exchange <= screen.replied:
        return screen
    if event.final:
        told = Told(f"the model call failed for good: {event.text or event.failure}", "error")
        return _tell(replace(screen, retry=None), event, told)
    return replace(screen, retry=event, phase="waiting to ask again", exchange=event.exchange)


def _exchange_ended(screen: Screen, event: ExchangeEnded) -> Screen:
    if event.exchange in screen.counted:
        return screen
    totals, cost = screen.totals, event.cost
    totals = totals.model_copy(
        update={
            "exchanges": totals.exchanges + 1,
            "calls": totals.calls + event.calls,
            "usage": totals.usage.plus(event.usage),
            "cost": totals.cost + (cost or 0),
            "unpriced": totals.unpriced + (cost is None),
        }
    )
    screen = replace(screen, totals=totals, counted=(*screen.counted, event.exchange)[-_REMEMBERED:])
    if event.exchange < screen.exchange:
        return screen
    screen = _withdrawn(screen) if event.stop == "cut_off" else _closed_block(screen)
    screen = replace(screen, exchange=event.exchange, attempt=0, replied=event.exchange, retry=None)
    screen = replace(screen, phase="running tools" if event.calls else "ending the turn")
    return _tools_closed(screen)


def _withdrawn(screen: Screen) -> Screen:
    """Give up an open block that never ended."""
    block = screen.open
    if block is None:
        return screen
    told = Told("the reply broke off here; its last block does not count", "warning")
    return _add(replace(screen, open=None), told)


def _tool(screen: Screen, event: ToolStarted | ToolProgress | ToolEnded) -> Screen:
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
        approval = f"{event.exchange}.{event.place}"
        screen = replace(screen, questions=tuple(each for each in screen.questions if each.approval != approval))
    return _with_tool_phase(_tools_closed(screen))


def _with_tool_phase(screen: Screen) -> Screen:
    if screen.replied < screen.exchange:
        return screen
    if screen.questions:
        return replace(screen, phase="waiting for approval")
    return replace(screen, phase="running tools" if screen.tools else "between exchanges")


def _tool_run(run: ToolRun, event: ToolStarted | ToolProgress | ToolEnded) -> ToolRun:
    match event:
        case ToolStarted():
            return replace(run, tool=event.tool, summary=event.summary, started=event.at)
        case ToolProgress():
            return replace(run, text=event.text or run.text, size=event.size, seconds=event.seconds)
        case ToolEnded():
            changes = {"tool": event.tool, "status": event.status or "ok", "text": event.preview, "crash": event.crash}
            return replace(run, **changes, seconds=event.seconds)  # type: ignore[arg-type]  # each is a text


def _tools_closed(screen: Screen) -> Screen:
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
    held, shut = screen.held, (*screen.shut, (run.exchange, run.place))[-_REMEMBERED:]
    rest = tuple(tool for tool in screen.tools if tool != run)
    screen = _add(replace(screen, tools=rest, held=(), shut=shut), run)
    for said in held:
        screen = _add(screen, said)
    return screen


def _flushed(screen: Screen, before: int = _ANY) -> Screen:
    """Close every call of earlier exchanges, also those whose end never came."""
    for tool in screen.tools:
        screen = _closed_tool(screen, tool) if tool.exchange < before else screen
    return screen


def _approval(screen: Screen, event: ApprovalAsked | ApprovalAnswered) -> Screen:
    others = tuple(question for question in screen.questions if question.approval != event.approval)
    if isinstance(event, ApprovalAsked):
        if any(told[1] == event.approval for told in screen.told):
            return screen
        asked = Question(event.approval, event.tool, event.summary, event.reason, event.exchange)
        return replace(screen, questions=(*others, asked), phase="waiting for approval")
    verdict = "allowed" if event.allow else "denied"
    told = Told(f"{verdict}: call {event.approval}{_by(event.by)}", "ok" if event.allow else "warning")
    phase = "waiting for approval" if others else "running tools"
    # Known by its approval, so that a second telling of either event says nothing new.
    keyed = event.model_copy(update={"seq": 0, "at": event.approval})
    return _tell(replace(screen, questions=others, phase=phase), keyed, told)


def _turn_ended(screen: Screen, event: TurnEnded) -> Screen:
    if screen.ended is not None and screen.ended.turn == event.turn:
        return screen
    screen = _flushed(_withdrawn(screen))
    totals = event.totals if event.totals != Totals() else screen.totals
    screen = replace(screen, ended=event, totals=totals, phase="idle", questions=(), retry=None)
    return _add(screen, Ended(event))


def _tell(screen: Screen, event: Event, told: Told) -> Screen:
    """Say a line once, also where its event comes twice."""
    key = (event.seq, event.at, told.text)
    if key in screen.told:
        return screen
    return _add(replace(screen, told=(*screen.told, key)[-_REMEMBERED:]), told)


def _add(screen: Screen, item: Item) -> Screen:
    if isinstance(item, Said) and any(tool.exchange < item.exchange for tool in screen.tools):
        return replace(screen, held=(*screen.held, item))
    return replace(screen, pending=(*screen.pending, item))


def _because(reason: str) -> str:
    return f" ({reason})" if reason else ""


def _by(person: str) -> str:
    return f" by {person}" if person else ""
