"""The view keeps every call paired with its result, whatever the chain holds."""

import random
from collections.abc import Sequence

from workflows.contracts.messages import (
    Block,
    Message,
    RedactedThinking,
    Role,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from workflows.contracts.transcript import Entry, MessageBody, NoticeBody
from workflows.core.view import UNANSWERED, fold, messages_of

USER, ASSISTANT = Role.USER, Role.ASSISTANT


def entry(role: Role, *blocks: Block) -> Entry:
    return Entry(n=0, parent="", page="", at="", body=MessageBody(role=role, blocks=blocks))


def notice(text: str, *, shown: bool = True) -> Entry:
    return Entry(n=0, parent="", page="", at="", body=NoticeBody(what="interrupted", text=text, shown=shown))


def said(text: str) -> Entry:
    return entry(USER, Text(text=text))


def use(name: str) -> ToolUse:
    return ToolUse(id=name, name="Bash")


def result(name: str, text: str = "ok") -> ToolResult:
    return ToolResult(id=name, content=(Text(text=text),))


def kinds(message: Message) -> list[str]:
    return [block.kind for block in message.blocks]


def test_a_call_without_a_result_gets_one_before_the_model_sees_it() -> None:
    view = messages_of([said("list it"), entry(ASSISTANT, use("t1")), said("stop")])
    assert kinds(view[2]) == ["tool_result", "text"]
    assert view[2].blocks[0] == ToolResult(id="t1", content=(Text(text=UNANSWERED),), is_error=True)


def test_results_stand_in_the_order_of_their_calls() -> None:
    view = messages_of([said("x"), entry(ASSISTANT, use("a"), use("b")), entry(USER, result("b"), result("a"))])
    assert view[2].blocks == (result("a"), result("b"))


def test_calls_of_one_id_get_each_its_own_result() -> None:
    both = (result("same", "first"), result("same", "second"))
    view = messages_of([said("x"), entry(ASSISTANT, use("same"), use("same")), entry(USER, *both)])
    assert view[2].blocks == both


def test_a_result_behind_a_text_comes_before_it() -> None:
    view = messages_of([said("x"), entry(ASSISTANT, use("a")), said("also"), entry(USER, result("a"))])
    assert view[2].blocks == (result("a"), Text(text="also"))


def test_a_result_without_its_call_becomes_text() -> None:
    view = messages_of([said("x"), entry(ASSISTANT, Text(text="y")), entry(USER, result("a", "found"))])
    assert view[2].blocks == (Text(text="[a result without its call] found"),)


def test_messages_of_one_speaker_become_one() -> None:
    view = messages_of([said("a"), said("b"), entry(ASSISTANT, Text(text="c")), entry(ASSISTANT, use("t"))])
    assert [kinds(message) for message in view] == [["text", "text"], ["text", "tool_use"]]


def test_blank_text_and_notices_that_are_not_shown_leave_no_trace() -> None:
    view = messages_of([said("a"), entry(ASSISTANT, Text(text=" \n")), notice("closed", shown=False), notice(" ")])
    assert view == (Message(role=USER, blocks=(Text(text="a"),)),)


def test_a_shown_notice_is_said_by_the_user() -> None:
    view = messages_of([said("a"), entry(ASSISTANT, use("t")), notice("interrupted")])
    assert kinds(view[2]) == ["tool_result", "text"]


def test_a_reply_never_ends_with_a_thought() -> None:
    for thought in (Thinking(text="hm", signature="s"), RedactedThinking(data="s")):
        view = messages_of([said("a"), entry(ASSISTANT, thought, Text(text=""))])
        assert kinds(view[1]) == [thought.kind, "text"]


def test_a_conversation_always_begins_with_the_user() -> None:
    assert [message.role for message in messages_of([entry(ASSISTANT, Text(text="hi"))])] == [USER, ASSISTANT]
    assert messages_of([]) == ()


def test_every_call_is_answered_once_right_after_it_whatever_the_entries(chance: random.Random) -> None:
    for _ in range(500):
        check(messages_of([*some_entries(chance), said("end")]))


def test_a_view_continued_is_the_view_of_the_whole(chance: random.Random) -> None:
    for _ in range(500):
        first = [*some_entries(chance), said("then")]
        second = [entry(ASSISTANT, *some_blocks(chance, ASSISTANT), Text(text="so")), *some_entries(chance)]
        assert fold(messages_of(first), second) == messages_of([*first, *second])
        assert fold(messages_of(first), []) == messages_of(first)


def check(view: Sequence[Message]) -> None:
    """What the provider asks of every conversation."""
    assert [message.role for message in view] == [USER if place % 2 == 0 else ASSISTANT for place in range(len(view))]
    uses: list[str] = []
    for message in view:
        assert message.blocks
        assert not any(isinstance(block, Text) and not block.text.strip() for block in message.blocks)
        if message.role == USER:
            answers = [block.id for block in message.blocks if isinstance(block, ToolResult)]
            assert answers == uses
            assert kinds(message)[: len(answers)] == ["tool_result"] * len(answers)
        uses = [block.id for block in message.blocks if isinstance(block, ToolUse)]
        assert message.role == ASSISTANT or not uses
        assert message.blocks[-1].kind not in {"thinking", "redacted_thinking"}


def some_entries(chance: random.Random) -> list[Entry]:
    entries: list[Entry] = []
    for _ in range(chance.randrange(8)):
        if chance.random() < 0.15:
            entries.append(notice(chance.choice(["", "n"]), shown=chance.random() < 0.7))
            continue
        role = chance.choice([USER, ASSISTANT])
        entries.append(entry(role, *some_blocks(chance, role)))
    return entries


def some_blocks(chance: random.Random, role: Role) -> list[Block]:
    text: list[Block] = [Text(text="t"), Text(text=" "), Text(text="u")]
    names = ["a", "a", "b", "c"]
    own: list[Block] = [result(name, str(chance.random())) for name in names]
    if role == ASSISTANT:
        own = [*map(use, names), Thinking(text="", signature="s"), RedactedThinking(data="d")]
    return [chance.choice([*text, *own]) for _ in range(chance.randrange(5))]
