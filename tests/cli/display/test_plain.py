"""Without a terminal: plain lines, each once, and never a long silence."""

from cli.display.plain import STILL_SECONDS, PlainView
from cli.watch import Screen, reduce
from tests.fakes.feed import START, call, ended, numbered, opened, reply
from workflows.contracts.events import ApprovalAsked, Event, ModelRetry, Superseded, TextDelta


class Reading:
    """A plain view and what it wrote."""

    def __init__(self) -> None:
        self.text = ""
        self.view = PlainView(self._write, "s1")
        self.screen = Screen()

    def _write(self, text: str) -> None:
        self.text += text

    def see(self, *events: Event, now: float = 0) -> None:
        """Draw after these events, that many seconds after the start."""
        for event in events:
            self.screen = reduce(self.screen, event)
        self.screen = self.view.draw(self.screen, START.timestamp() + now)


def test_text_comes_by_whole_lines_and_each_once() -> None:
    reading = Reading()
    for event in numbered([*opened(), *reply(1, "one\ntw", "o\nthr", "ee", calls=1), *call(1, 0), ended(1)]):
        reading.see(event)
    assert reading.text.split("\n")[:5] == ["> do it", "one", "two", "three", "* Read file0 - 1 s"]
    assert "\x1b" not in reading.text


def test_a_question_is_asked_once_and_says_how_to_answer() -> None:
    reading = Reading()
    asked = ApprovalAsked(turn=1, exchange=1, place=0, tool="Bash", approval="1.0", summary="rm x")
    reading.see(*numbered([*opened(), *reply(1, "x", calls=1), asked]))
    reading.see(now=1)
    assert reading.text.count("perdure approve s1 1.0") == 1


def test_a_retry_is_told() -> None:
    reading = Reading()
    reading.see(
        *numbered([*opened(), ModelRetry(turn=1, exchange=1, attempt=1, failure="overloaded", text="", seconds=9)]),
        now=3,
    )
    assert "the next attempt in 9 s (overloaded)" in reading.text


def test_a_long_silence_is_told_now_and_then() -> None:
    reading = Reading()
    reading.see(*numbered([*opened(), *reply(1, "x", calls=1), next(call(1, 0))]))
    for second in range(STILL_SECONDS * 2 + 5):
        reading.see(now=second)
    assert reading.text.count("running tools · waits for Read") == 2


def test_printed_lines_of_a_superseded_attempt_are_said_not_to_count() -> None:
    reading = Reading()
    reading.see(*numbered([*opened(), TextDelta(turn=1, exchange=1, attempt=1, block=0, text="wrong\nmore")]))
    reading.see(
        *numbered([Superseded(turn=1, exchange=1, attempt=2, reason="broken"), *reply(1, "right", attempt=2)], 9)
    )
    assert "- the text above of exchange 1 does not count (broken)\nright\n" in reading.text
    assert "more" not in reading.text
