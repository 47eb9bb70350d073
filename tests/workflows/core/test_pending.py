"""What waits becomes entries: each outcome, then one message of results and prompts, then hidden words."""

from workflows.contracts.messages import Image, Role, Text, ToolResult
from workflows.contracts.permissions import Decision, Verdict
from workflows.contracts.tools import CallStatus
from workflows.contracts.transcript import MessageBody, OutcomeBody
from workflows.core.pending import bodies, shown


def outcome(place: int, *content: Text | Image, is_error: bool = False) -> OutcomeBody:
    return OutcomeBody(
        exchange=1,
        place=place,
        tool="Bash",
        call=f"t{place}",
        digest="d" * 64,
        verdict=Verdict(decision=Decision.ALLOW, by="mode"),
        status=CallStatus.OK,
        content=content,
        is_error=is_error,
    )


def test_results_stand_in_call_order_before_the_prompt_in_one_message() -> None:
    first, second = outcome(0, Text(text="a")), outcome(1, Text(text="b"))
    *outcomes, message = bodies([first, second], ["go on"], turn=2, exchange=3)
    assert outcomes == [first, second]
    blocks = (shown(first), shown(second), Text(text="go on"))
    assert message == MessageBody(role=Role.USER, blocks=blocks, turn=2, exchange=3)


def test_hidden_words_are_a_message_of_their_own_that_the_person_did_not_write() -> None:
    said, hidden = bodies([], ["hello"], "go on")
    assert isinstance(said, MessageBody)
    assert isinstance(hidden, MessageBody)
    assert (said.hidden, hidden.hidden) == (False, True)
    assert hidden.blocks == (Text(text="go on"),)


def test_nothing_waiting_makes_no_entry() -> None:
    assert bodies([]) == ()


def test_a_result_without_text_says_so() -> None:
    nothing = (Text(text="(no output)"),)
    assert shown(outcome(0)) == ToolResult(id="t0", content=nothing)
    assert shown(outcome(0, Text(text=" \n"), is_error=True)) == ToolResult(id="t0", content=nothing, is_error=True)


def test_a_picture_is_shown_without_an_empty_text_beside_it() -> None:
    picture = Image(media_type="image/png", digest="d" * 64, size=3)
    assert shown(outcome(0, picture, Text(text=""))).content == (picture,)


def test_a_prompt_without_a_word_is_still_said() -> None:
    (message,) = bodies([], ["  \n"])
    assert isinstance(message, MessageBody)
    assert message.blocks == (Text(text="(an empty prompt)"),)


def test_what_no_provider_takes_is_replaced() -> None:
    (message,) = bodies([], ["a\ud83d\0"])
    assert isinstance(message, MessageBody)
    assert message.blocks == (Text(text="a\ufffd\u2400"),)
