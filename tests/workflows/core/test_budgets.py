"""All results of one reply together stay within a budget."""

import pytest

from workflows.contracts.messages import Image, Text
from workflows.contracts.permissions import Decision, Verdict
from workflows.contracts.tools import CallStatus
from workflows.contracts.transcript import OutcomeBody, digest_of
from workflows.core.budgets import MESSAGE_CHARACTERS, PREVIEW_CHARACTERS, within_budget


def outcome(place: int, text: str, full: str = "") -> OutcomeBody:
    return OutcomeBody(
        exchange=1,
        place=place,
        tool="Grep",
        call=f"c{place}",
        digest="d" * 64,
        verdict=Verdict(decision=Decision.ALLOW, by="mode"),
        status=CallStatus.OK,
        content=(Text(text=text), Image(media_type="image/png", digest="e" * 64, size=9)),
        full=full,
    )


def text_of(body: OutcomeBody) -> str:
    return "".join(block.text for block in body.content if isinstance(block, Text))


def test_results_within_the_budget_stay_as_they_are() -> None:
    outcomes = [outcome(place, "x" * 50_000) for place in range(4)]
    assert within_budget(outcomes) == (outcomes, [])


def test_the_largest_become_previews_and_the_small_ones_stay_whole() -> None:
    outcomes = [outcome(0, "small"), outcome(1, "a" * 90_000), outcome(2, "b" * 150_000), outcome(3, "c" * 60_000)]
    fitting, kept = within_budget(outcomes)
    assert [fitting[place] for place in (0, 1, 3)] == [outcomes[place] for place in (0, 1, 3)]
    assert kept == [b"b" * 150_000]
    told = text_of(fitting[2])
    assert told.startswith("b" * 1_000)
    assert told.endswith("b" * 1_000)
    assert "148,000 of 150,000 characters left out" in told
    assert f"Read result:{digest_of(kept[0])}" in told
    assert (fitting[2].full, fitting[2].size) == (digest_of(kept[0]), 150_000)
    assert sum(len(text_of(body)) for body in fitting) <= MESSAGE_CHARACTERS


def test_a_result_that_is_stored_whole_already_keeps_its_name() -> None:
    fitting, kept = within_budget([outcome(0, "a" * 150_000, full="f" * 64), outcome(1, "b" * 100_000)])
    assert (fitting[0].full, kept) == ("f" * 64, [])
    assert f"Read result:{'f' * 64}" in text_of(fitting[0])


def test_pictures_stay_and_the_same_outcomes_give_the_same_bytes() -> None:
    outcomes = [outcome(place, "y" * 70_000) for place in range(6)]
    first, again = within_budget(outcomes), within_budget(outcomes)
    assert first == again
    assert all(isinstance(body.content[-1], Image) for body in first[0])


@pytest.mark.parametrize("count", [1, 30, 128])
def test_many_results_end_as_previews_at_most(count: int) -> None:
    fitting, _ = within_budget([outcome(place, "z" * 9_000) for place in range(count)])
    total = sum(len(text_of(body)) for body in fitting)
    assert total <= max(MESSAGE_CHARACTERS, count * (PREVIEW_CHARACTERS + 300))
