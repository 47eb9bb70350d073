"""One event more -> the screen after it."""

from dataclasses import replace

from cli.watch.calls import ANY, REMEMBERED, add, flushed, tell, tools_closed, with_approval, with_tool
from cli.watch.model import (
    Ended,
    Item,
    OpenBlock,
    Prompted,
    Said,
    Screen,
    Told,
    with_reply,
    with_text,
)
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


def reduce(screen: Screen, event: Event) -> Screen:
    """The screen after one more event; repeated, late and missing ones are told, never counted twice."""
    if isinstance(event, TextDelta | ThinkingDelta) and _goes_on(screen, event):
        if _is_repeated(screen, event) or screen.open is None:
            return screen
        return with_text(screen, screen.open, event.text, event.seq, event.at)
    last_at = screen.last_at
    screen = _reduced(screen, event)
    if isinstance(event, Damaged) or event.at <= last_at:
        return screen
    return replace(screen, last_at=event.at)


def _reduced(screen: Screen, event: Event) -> Screen:  # noqa: C901, PLR0911, PLR0912  one arm a kind
    match event:
        case SessionOpened():
            opened = replace(screen, session=event.session, cwd=event.cwd, model=event.model, mode=event.mode)
            return replace(opened, sandbox=event.sandbox)
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
            return with_tool(screen, event)
        case ApprovalAsked() | ApprovalAnswered():
            return with_approval(screen, event)
        case Notice():
            return tell(screen, event, Told(f"{event.what}: {event.text}" if event.text else event.what))
        case Damaged():
            told = Told(f"the feed is damaged: {event.text}", "warning")
            return replace(tell(screen, event, told), damaged=screen.damaged + 1)
        case TurnEnded():
            return _turn_ended(screen, event)
        case SessionClosed() if screen.closed:
            return screen
        case SessionClosed():
            screen = replace(flushed(_withdrawn(screen)), closed=True, phase="closed", questions=())
            return tell(screen, event, Told(f"session closed{_because(event.reason)}"))


def _turn_started(screen: Screen, event: TurnStarted) -> Screen:
    if event.turn and event.turn <= screen.prompted:
        return screen
    screen = flushed(_withdrawn(screen), event.exchange or ANY)
    screen = replace(screen, turn=event.turn, prompted=event.turn, ended=None, phase="starting", retry=None)
    return add(screen, Prompted(event.prompt, event.turn))


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


def _goes_on(screen: Screen, event: TextDelta | ThinkingDelta) -> bool:
    """Whether this is more of the open block."""
    block = screen.open
    if block is None or screen.phase not in {"answering", "thinking"} or screen.retry:
        return False
    ours = (event.exchange, event.attempt, event.block, isinstance(event, ThinkingDelta))
    theirs = (screen.exchange, screen.attempt, block.block, block.thinking)
    return ours == theirs and (block.exchange, block.attempt) == ours[:2]


def _is_repeated(screen: Screen, event: TextDelta | ThinkingDelta) -> bool:
    # One attempt streams from one process: its lines come in order, and a number seen is a repetition.
    return 0 < event.seq <= screen.text_seq


def _advanced(screen: Screen, exchange: int) -> Screen:
    """A later exchange began, so the reply before it was taken, whether or not its end was heard of."""
    return tools_closed(replace(_closed_block(screen), text_seq=0, replied=max(screen.replied, exchange - 1)))


def _text(screen: Screen, event: TextDelta | ThinkingDelta) -> Screen:
    where = (event.exchange, event.attempt)
    if event.exchange <= screen.replied or where < (screen.exchange, screen.attempt):
        return _late(screen, event)
    if event.exchange > screen.exchange:
        screen = _advanced(screen, event.exchange)
    implied = Superseded(at=event.at, exchange=event.exchange, attempt=event.attempt)
    superseded = _superseded(screen, implied) if event.attempt > 1 else screen
    if _is_repeated(superseded, event):
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
        return tell(screen, event.model_copy(update={"seq": 0, "at": str(event.exchange)}), told)
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
    return replace(add(screen, said) if block.text else screen, open=None)


def _superseded(screen: Screen, event: Superseded) -> Screen:
    """Withdraw what an earlier attempt streamed; where it was printed for good, a line says it does not count."""
    exchange = event.exchange or screen.exchange
    if exchange > screen.replied and exchange == screen.exchange:
        screen = replace(screen, attempt=max(event.attempt, screen.attempt))
    # A whole reply that is asked again has another exchange's event, whose attempt says nothing of it.
    before = event.attempt if event.attempt and exchange > screen.replied else ANY
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
    return tell(screen, event, Told(f"{what}{_because(event.reason)}", "warning"))


def _is_older(item: Item | OpenBlock, exchange: int, attempt: int) -> bool:
    """Whether this is text of that exchange by an earlier attempt."""
    return isinstance(item, Said | OpenBlock) and item.exchange == exchange and item.attempt < attempt


def _retry(screen: Screen, event: ModelRetry) -> Screen:
    if event.exchange < screen.exchange or event.exchange <= screen.replied:
        return screen
    if event.final:
        told = Told(f"the model call failed for good: {event.text or event.failure}", "error")
        return tell(replace(screen, retry=None), event, told)
    return replace(screen, retry=event, phase="waiting to ask again", exchange=event.exchange)


def _exchange_ended(screen: Screen, event: ExchangeEnded) -> Screen:
    if event.exchange in screen.counted:
        return screen
    screen = replace(
        screen, totals=with_reply(screen.totals, event), counted=(*screen.counted, event.exchange)[-REMEMBERED:]
    )
    if event.exchange < screen.exchange:
        return screen
    screen = _withdrawn(screen) if event.stop == "cut_off" else _closed_block(screen)
    screen = replace(screen, exchange=event.exchange, attempt=0, replied=event.exchange, retry=None)
    screen = replace(screen, phase="running tools" if event.calls else "ending the turn")
    return tools_closed(screen)


def _withdrawn(screen: Screen) -> Screen:
    """Give up an open block that never ended."""
    block = screen.open
    if block is None:
        return screen
    told = Told("the reply broke off here; its last block does not count", "warning")
    return add(replace(screen, open=None), told)


def _turn_ended(screen: Screen, event: TurnEnded) -> Screen:
    if event.turn < screen.prompted or (screen.ended is not None and screen.ended.turn == event.turn):
        return screen
    screen = flushed(_withdrawn(screen))
    totals = event.totals if event.totals != Totals() else screen.totals
    screen = replace(screen, ended=event, totals=totals, phase="idle", questions=(), retry=None)
    return add(screen, Ended(event))


def _because(reason: str) -> str:
    return f" ({reason})" if reason else ""
