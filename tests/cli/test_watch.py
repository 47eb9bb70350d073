"""The reducer: what a watcher is shown after any events, in any order, once or twice."""

import random
from collections.abc import Iterable

import pytest

from cli.watch import (
    Continuity,
    Ended,
    Item,
    Prompted,
    Said,
    Screen,
    Told,
    ToolRun,
    drained,
    events_from_chain,
    printed,
    reduce,
)
from tests.fakes.feed import call, ended, numbered, opened, reply, stamp
from workflows.contracts.events import (
    ApprovalAnswered,
    ApprovalAsked,
    Damaged,
    Event,
    ExchangeEnded,
    ExchangeStarted,
    ModelRetry,
    SessionClosed,
    Superseded,
    TextDelta,
    ThinkingDelta,
    ToolEnded,
    ToolProgress,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from workflows.contracts.messages import Role, Text, ToolUse
from workflows.contracts.model import StopReason, Usage
from workflows.contracts.permissions import Decision, Verdict
from workflows.contracts.tools import CallStatus
from workflows.contracts.transcript import Body, Entry, MessageBody, NoticeBody, OutcomeBody


def after(events: Iterable[Event], screen: Screen | None = None) -> Screen:
    screen = screen or Screen()
    for event in events:
        screen = reduce(screen, event)
    return screen


def shown(screen: Screen) -> list[str]:
    return [_short(item) for item in screen.pending]


def _short(item: Item) -> str:
    match item:
        case Said():
            return item.text
        case Told():
            return f"- {item.text}"
        case ToolRun():
            return f"* {item.exchange}.{item.place} {item.status}"
        case Prompted():
            return f"> {item.text}"
        case Ended():
            return f"= {item.event.reason}"


TURN = numbered(
    [
        *opened(),
        *reply(1, "I look ", "first.", calls=2),
        *call(1, 0),
        *call(1, 1),
        *reply(2, "Done."),
        ended(2),
    ]
)


def test_a_turn_is_shown_in_the_order_of_the_transcript() -> None:
    assert shown(after(TURN)) == ["> do it", "I look first.", "* 1.0 ok", "* 1.1 ok", "Done.", "= done"]


def test_every_event_twice_changes_nothing() -> None:
    twice = [event for event in TURN for _ in range(2)]
    assert shown(after(twice)) == shown(after(TURN))
    assert after(twice).totals == after(TURN).totals


def test_the_whole_feed_again_changes_no_figure_and_shows_no_call_twice() -> None:
    again = after([*TURN[:-1], *TURN[:-1]])
    assert again.totals == after(TURN[:-1]).totals
    assert [line for line in shown(again) if line.startswith("*")] == ["* 1.0 ok", "* 1.1 ok"]


def test_calls_that_end_in_another_order_are_shown_in_call_order() -> None:
    head = [*opened(), *reply(1, "text", calls=3)]
    calls = [event for place in (2, 0, 1) for event in call(1, place)]
    assert shown(after(numbered([*head, *calls])))[2:] == ["* 1.0 ok", "* 1.1 ok", "* 1.2 ok"]


def test_a_call_that_starts_before_the_reply_ends_is_shown_behind_its_text() -> None:
    text = TextDelta(turn=1, exchange=1, attempt=1, block=0, text="text")
    end = ExchangeEnded(turn=1, exchange=1, attempt=1, stop="tool_use", calls=1)
    assert shown(after(numbered([*opened(), text, *call(1, 0), end])))[1:] == ["text", "* 1.0 ok"]


def test_two_watchers_see_one_order_however_the_feeds_of_two_hosts_interleave(chance: random.Random) -> None:
    model = numbered([*opened(), *reply(1, "one", calls=2), *reply(2, "two", calls=1), *reply(3, "three"), ended(3)])
    tools = numbered([*call(1, 0), *call(1, 1), *call(2, 0)])
    seen = {tuple(shown(after(_interleaved(model, tools, chance)))) for _ in range(50)}
    assert seen == {
        ("> do it", "one", "* 1.0 ok", "* 1.1 ok", "two", "* 2.0 ok", "three", "= done"),
    }


def _interleaved(model: list[Event], tools: list[Event], chance: random.Random) -> list[Event]:
    """Each feed in its own order; a call starts before the exchange after it ends, as the loop makes it."""
    model, tools, merged = list(model), list(tools), list[Event]()
    while model or tools:
        must = bool(tools) and bool(model) and isinstance(model[0], ExchangeEnded | TurnEnded | ExchangeStarted)
        must = must and tools[0].exchange < max(model[0].exchange, 1)
        take = tools if tools and (must or not model or chance.random() < 0.5) else model
        merged.append(take.pop(0))
    return merged


def test_live_text_of_a_superseded_attempt_is_withdrawn_and_the_watcher_told() -> None:
    first = TextDelta(turn=1, exchange=1, attempt=1, block=0, text="wrong")
    again = Superseded(turn=1, exchange=1, attempt=2, reason="the connection broke")
    screen = after(numbered([*opened(), first, again, *reply(1, "right", attempt=2)]))
    assert shown(screen)[1:] == ["- a broken reply was withdrawn (the connection broke)", "right"]


def test_printed_text_of_a_superseded_attempt_is_said_not_to_count() -> None:
    first = TextDelta(turn=1, exchange=1, attempt=1, block=0, text="wrong\n\nand more")
    screen = printed(drained(after(numbered([*opened(), first]))), "and more", 7)
    screen = after(
        numbered([Superseded(turn=1, exchange=1, attempt=2, reason="why"), *reply(1, "ok", attempt=2)], 9), screen
    )
    assert shown(screen) == ["- the text above of exchange 1 does not count (why)", "ok"]


def test_text_of_a_new_attempt_replaces_the_old_also_when_nobody_said_so() -> None:
    screen = after(numbered([*opened(), *list(reply(1, "old"))[:2], *reply(1, "new", attempt=2)]))
    assert shown(screen)[1:] == ["- a broken reply was withdrawn", "new"]


def test_a_second_telling_of_superseded_leaves_the_new_text_alone() -> None:
    again = Superseded(turn=1, exchange=1, attempt=2)
    new = list(reply(1, "new", attempt=2))
    screen = after(numbered([*opened(), *list(reply(1, "old"))[:2], again, *new[:2], again, *new[2:]]))
    assert shown(screen)[1:] == ["- a broken reply was withdrawn", "new"]


def test_a_whole_reply_that_is_asked_again_is_said_not_to_count() -> None:
    screen = drained(after(numbered([*opened(), *reply(1, "cut of")])))
    screen = reduce(screen, Superseded(seq=20, at=stamp(20), turn=1, exchange=1, attempt=1, reason="output limit"))
    assert shown(screen) == ["- the text above of exchange 1 does not count (output limit)"]


def test_late_text_of_an_old_attempt_is_not_shown() -> None:
    old = TextDelta(turn=1, exchange=1, attempt=1, block=0, text="old")
    screen = after(numbered([*opened(), old, *list(reply(1, "new", attempt=2))[:2], old]))
    assert screen.open is not None
    assert screen.open.text == "new"


def test_a_block_that_broke_off_at_a_cut_does_not_count_and_that_is_said() -> None:
    text = TextDelta(turn=1, exchange=1, attempt=1, block=1, text="half a wo")
    end = ExchangeEnded(turn=1, exchange=1, attempt=1, stop="cut_off")
    assert shown(after(numbered([*opened(), text, end])))[1:] == [
        "- the reply broke off here; its last block does not count"
    ]


def test_a_reply_whose_block_end_was_lost_is_kept() -> None:
    events = [event for event in TURN if event.kind != "block_ended"]
    assert shown(after(events)) == shown(after(TURN))


def test_thinking_and_text_are_blocks_of_their_own() -> None:
    where = {"turn": 1, "exchange": 1, "attempt": 1}
    thought = ThinkingDelta.model_validate({**where, "block": 0, "text": "hm"})
    text = TextDelta.model_validate({**where, "block": 1, "text": "yes"})
    screen = after(numbered([*opened(), thought, text]))
    assert (shown(screen)[1:], screen.phase) == (["hm"], "answering")


def test_a_damaged_line_is_counted_and_told() -> None:
    screen = after([*TURN[:3], Damaged(text="line 4: not JSON"), *TURN[3:]])
    assert screen.damaged == 1
    assert "- the feed is damaged: line 4: not JSON" in shown(screen)


def test_progress_is_the_newest_and_an_ended_call_takes_none() -> None:
    where = {"turn": 1, "exchange": 1, "attempt": 1, "place": 0}
    started = ToolStarted.model_validate({**where, "tool": "Bash", "summary": "make"})
    progress = [ToolProgress.model_validate({**where, "text": text, "size": 9, "seconds": 2}) for text in "ab"]
    screen = after(numbered([*opened(), *reply(1, "x", calls=1), started, *progress]))
    assert [(run.text, run.seconds) for run in screen.tools] == [("b", 2)]
    end = ToolEnded.model_validate({**where, "tool": "Bash", "status": "ok"})
    assert after(numbered([end, progress[0]], 20), screen).tools == ()


def test_an_open_question_is_there_until_it_is_answered_and_comes_back_by_no_repetition() -> None:
    where = {"turn": 1, "exchange": 1, "attempt": 1, "place": 0, "approval": "1.0"}
    asked = ApprovalAsked.model_validate({**where, "tool": "Bash", "summary": "rm x"})
    screen = after(numbered([*opened(), *reply(1, "x", calls=1), asked]))
    assert [each.approval for each in screen.questions] == ["1.0"]
    assert screen.phase == "waiting for approval"
    answer = ApprovalAnswered.model_validate({**where, "allow": True, "by": "ann"})
    screen = after(numbered([answer, asked, answer], 30), screen)
    assert screen.questions == ()
    assert shown(screen).count("- allowed: call 1.0 by ann") == 1


def test_a_call_that_asks_twice_shows_each_question_and_what_it_is_about_once() -> None:
    first = {"turn": 1, "exchange": 1, "place": 0, "approval": "1.0"}
    second = {**first, "approval": "1.0.hosts", "summary": "open far.example", "content": "hosts:\n  far.example"}
    screen = after([
        ApprovalAsked.model_validate({**first, "seq": 1, "tool": "Bash", "summary": "make"}),
        ApprovalAnswered.model_validate({**first, "seq": 2, "allow": True}),
        *(ApprovalAsked.model_validate({**second, "seq": seq, "tool": "Bash"}) for seq in (3, 4)),
    ])  # fmt: skip
    assert [question.approval for question in screen.questions] == ["1.0.hosts"]
    assert sum("far.example" in line for line in shown(screen)) == 1
    ends = ToolEnded.model_validate({**first, "seq": 5, "tool": "Bash", "status": "ok"})
    assert after([ends], screen).questions == ()


def test_a_retry_is_shown_until_the_model_answers_and_a_final_one_is_a_line() -> None:
    retry = ModelRetry(turn=1, exchange=1, attempt=1, failure="overloaded", text="busy", seconds=9)
    screen = after(numbered([*opened(), ExchangeStarted(turn=1, exchange=1, attempt=1, model="m"), retry]))
    assert (screen.phase, screen.retry is not None) == ("waiting to ask again", True)
    assert after(numbered(reply(1, "x", attempt=2), 20), screen).retry is None
    final = retry.model_copy(update={"final": True})
    assert "- the model call failed for good: busy" in shown(after(numbered([final], 20), screen))


def test_a_call_whose_end_was_never_told_is_closed_with_its_turn() -> None:
    events = [*opened(), *reply(1, "x", calls=1), next(call(1, 0)), ended(1, "interrupted")]
    assert shown(after(numbered(events)))[2:] == ["* 1.0 ", "= interrupted"]


def test_a_second_turn_starts_anew() -> None:
    screen = after([*TURN, TurnStarted(seq=40, at=stamp(40), turn=2, exchange=3, prompt="more")])
    assert (screen.turn, screen.ended, shown(screen)[-1]) == (2, None, "> more")


def test_an_end_that_is_told_again_by_the_engine_ends_nothing_twice() -> None:
    again = TurnEnded(turn=1, reason="done")
    closed = SessionClosed(reason="once")
    events = [*TURN, again, closed, closed.model_copy(update={"seq": 30, "at": stamp(30)})]
    assert shown(after(events))[-2:] == ["= done", "- session closed (once)"]
    second = TurnStarted(seq=40, at=stamp(40), turn=2, exchange=3, prompt="more")
    assert after([*TURN, second, again]).ended is None


def test_figures_are_known_before_the_turn_ends_and_unpriced_replies_are_counted() -> None:
    end = ExchangeEnded(turn=1, exchange=3, attempt=1, stop="end_turn", usage=Usage(input=5))
    totals = after(numbered([*opened(), *reply(1, "a"), *reply(2, "b"), end])).totals
    assert (totals.exchanges, totals.usage.input, totals.cost, totals.unpriced) == (3, 205, 2000, 1)


@pytest.mark.parametrize(
    ("lines", "missing"),
    [
        ([("a", 1, "1"), ("a", 2, "2")], [0, 0]),
        ([("a", 1, "1"), ("a", 1, "1")], [0, None]),
        ([("a", 1, "1"), ("a", 5, "2")], [0, 3]),
        ([("a", 3, "1")], [2]),
        ([("a", 1, "1"), ("b", 1, "1"), ("a", 2, "2")], [0, 0, 0]),
        ([("a", 1, "1"), ("a", 2, "2"), ("a", 1, "3"), ("a", 2, "4")], [0, 0, 0, 0]),
    ],
)
def test_continuity_tells_repeated_and_missing_lines_of_each_host(
    lines: list[tuple[str, int, str]], missing: list[int | None]
) -> None:
    continuity = Continuity()
    assert [continuity.missing(*line) for line in lines] == missing


def test_joining_late_on_purpose_misses_nothing() -> None:
    assert Continuity(7).missing("a", 7, "1") == 0


def test_the_chain_alone_shows_turns_calls_and_answers() -> None:
    use = ToolUse(id="t", name="Read", input={"path": "a.py"})
    verdict = Verdict(decision=Decision.ALLOW, by="mode")
    bodies: list[Body] = [
        NoticeBody(what="session_opened", text="session s"),
        MessageBody(role=Role.USER, blocks=(Text(text="do it"),), turn=1, exchange=1),
        MessageBody(
            role=Role.ASSISTANT, blocks=(Text(text="I look."), use), turn=1, exchange=1, stop=StopReason.TOOL_USE,
            usage=Usage(input=3), cost=5,
        ),
        OutcomeBody(
            turn=1, exchange=1, place=0, tool="Read", call="t", digest="", verdict=verdict, status=CallStatus.OK
        ),
        MessageBody(role=Role.ASSISTANT, blocks=(Text(text="Done."),), turn=1, exchange=2, stop=StopReason.END_TURN),
        NoticeBody(what="turn_ended", data={"turn": 1, "end": "done", "totals": {"exchanges": 2}}),
    ]  # fmt: skip
    entries = [Entry(n=n, parent="", page="", at=stamp(n), body=body) for n, body in enumerate(bodies)]
    screen = after(events_from_chain(entries))
    assert shown(screen)[2:] == ["> do it", "I look.", "* 1.0 ok", "Done.", "= done"]
    assert "rebuilt from the transcript" in shown(screen)[0]
    assert screen.totals.exchanges == 2
