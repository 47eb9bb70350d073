"""A note stands for what the provider refuses or a request cannot hold, decided once and the same ever after."""

import pytest

from workflows.contracts.errors import FailureKind
from workflows.contracts.messages import Block, Document, Image, Message, Role, Text, ToolResult, ToolUse
from workflows.contracts.transcript import Body, EditBody, Entry, MessageBody
from workflows.core.media import media_in, older_left_out, refused_left_out
from workflows.core.view import messages_of

MIB = 1024 * 1024


def picture(name: str, size: int = 10) -> Image:
    return Image(media_type="image/png", digest=name, size=size)


def result(call: str, *content: Text | Image | Document) -> ToolResult:
    return ToolResult(id=call, content=content)


def entries(*bodies: Body) -> list[Entry]:
    return [Entry(n=n, parent="", page="", at="", body=body) for n, body in enumerate(bodies)]


def said(*blocks: Block, role: Role = Role.USER) -> MessageBody:
    return MessageBody(role=role, blocks=blocks)


def talk(*pictures: Image | Document) -> list[Body]:
    """A prompt, and one call a picture."""
    bodies: list[Body] = [said(Text(text="look"))]
    for place, each in enumerate(pictures):
        bodies += [
            said(ToolUse(id=f"c{place}", name="Read"), role=Role.ASSISTANT),
            said(result(f"c{place}", Text(text="f:"), each)),
        ]
    return bodies


def shown(bodies: list[Body]) -> list[str]:
    return [media.digest for message in messages_of(entries(*bodies)) for media in media_in(message.blocks)]


def messages(*pictures: Image | Document) -> tuple[Message, ...]:
    return messages_of(entries(*talk(*pictures)))


def test_what_was_refused_is_left_out_wherever_it_stands_and_comes_again() -> None:
    edit = refused_left_out(messages(picture("a"), picture("b")), FailureKind.BAD_MEDIA, "messages.2.content.0: no")
    assert edit is not None
    assert shown([*talk(picture("a"), picture("b")), edit, *talk(picture("a"), picture("b"))[1:]]) == ["b", "b"]


def test_what_was_too_much_is_left_out_where_it_stood_and_shown_when_it_comes_again() -> None:
    edit = older_left_out(messages(picture("a"), picture("b")), 1)
    assert edit is not None
    assert shown([*talk(picture("a"), picture("b")), edit, *talk(picture("a"))[1:]]) == ["b", "a"]


def test_a_note_says_what_stood_there_and_why_it_is_gone() -> None:
    bodies = talk(Document(digest="d", size=5))
    edit = refused_left_out(messages_of(entries(*bodies)), FailureKind.BAD_MEDIA, "The PDF specified was not valid.")
    assert edit is not None
    block = messages_of(entries(*bodies, edit))[-1].blocks[0]
    assert isinstance(block, ToolResult)
    note = block.content[-1]
    assert isinstance(note, Text)
    assert note.text.startswith("[A document stood here; the provider did not take it: The PDF specified was not valid")
    assert "as_text" in note.text


@pytest.mark.parametrize(
    ("why", "gone"),
    [
        ("messages.2.content.0.tool_result.content.1.image.source.base64: image exceeds 5 MB", ("a",)),
        ("messages.4.content.0.tool_result.content.1.image.source.base64: image exceeds 5 MB", ("b",)),
        ("messages.6.content.0: document", ("d",)),
        ("messages.99.content.0: image", ("b",)),
        ("Could not process image", ("b",)),
        ("The PDF specified was not valid.", ("d",)),
        ("images are not supported", ("b",)),
    ],
)
def test_what_is_meant_is_found_by_its_place_else_it_is_the_newest_of_its_kind(why: str, gone: tuple[str, ...]) -> None:
    view = messages(picture("a"), picture("b"), Document(digest="d", size=5))
    edit = refused_left_out(view, FailureKind.BAD_MEDIA, why)
    assert edit is not None
    assert (edit.objects, edit.lasting) == (gone, True)


def test_a_body_that_is_too_large_loses_the_older_half_of_its_media() -> None:
    view = messages(*(picture(name, MIB) for name in "abcd"))
    edit = refused_left_out(view, FailureKind.TOO_LARGE, "Request exceeds the maximum size")
    assert edit is not None
    assert (edit.objects, edit.lasting) == (("a", "b"), False)


def test_the_one_picture_that_makes_a_body_too_large_is_left_out_for_good() -> None:
    edit = refused_left_out(messages(picture("a", MIB)), FailureKind.TOO_LARGE, "too large")
    assert edit is not None
    assert (edit.objects, edit.lasting) == (("a",), True)


def test_without_media_nothing_can_be_left_out() -> None:
    assert refused_left_out(messages(), FailureKind.BAD_MEDIA, "messages.0.content.0: image") is None
    assert older_left_out(messages(), 100) is None


@pytest.mark.parametrize(("excess", "at_least", "gone"), [(1, 0, "a"), (4 * MIB, 0, "abc"), (0, 2, "ab"), (0, 0, "")])
def test_the_oldest_go_first_and_no_more_than_must(excess: int, at_least: int, gone: str) -> None:
    edit = older_left_out(messages(*(picture(name, MIB) for name in "abcd")), excess, at_least)
    assert "".join(edit.objects if edit else ()) == gone


def test_later_edits_leave_the_notes_of_earlier_ones_as_they_were() -> None:
    first = EditBody(what="left_out", objects=("a",), note="first")
    second = EditBody(what="left_out", objects=("a", "b"), note="second")
    blocks = messages_of(entries(*talk(picture("a"), picture("b")), first, second))
    texts = [part.text for message in blocks for block in message.blocks if isinstance(block, ToolResult)
             for part in block.content if isinstance(part, Text) and part.text != "f:"]  # fmt: skip
    assert texts == ["first", "second"]
