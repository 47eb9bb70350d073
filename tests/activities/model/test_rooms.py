"""An output cap that fits into the window."""

from activities.model.request import Asking
from activities.model.rooms import LEAST_OUTPUT, Rooms

REFUSAL = "input length and `max_tokens` exceed context limit: 4000 + 64000 > 40000, decrease input length or ..."
MOST = "max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens for claude-old"


def asking(cap: int, thinking: int = 0) -> Asking:
    return Asking("claude-x", cap, thinking)


def test_a_cap_that_fits_into_the_window_is_asked_for_as_it_is() -> None:
    assert Rooms().fitted(asking(8_000), "", 200_000, 400_000) == asking(8_000)


def test_a_cap_is_lowered_to_what_the_window_leaves() -> None:
    assert Rooms().fitted(asking(64_000), "", 200_000, 600_000).max_tokens == 50_000


def test_a_window_that_is_all_but_full_is_left_to_the_provider_to_refuse() -> None:
    assert Rooms().fitted(asking(8_000), "", 200_000, 4 * (200_001 - LEAST_OUTPUT)) == asking(8_000)


def test_a_refusal_teaches_the_window_and_how_the_provider_counts() -> None:
    rooms = Rooms()
    assert rooms.learn(asking(64_000), "", 200_000, 10_000, REFUSAL)
    assert rooms.fitted(asking(64_000), "", 200_000, 10_000).max_tokens == 40_000 - round(4_000 * 1.02)


def test_a_refusal_teaches_the_most_that_a_model_gives() -> None:
    rooms = Rooms()
    assert rooms.learn(asking(64_000), "", 200_000, 1_000, MOST)
    assert rooms.fitted(asking(64_000), "", 200_000, 1_000).max_tokens == 8_192


def test_thinking_that_the_lower_cap_cannot_hold_is_not_asked_for() -> None:
    rooms = Rooms()
    rooms.learn(asking(64_000, 20_000), "", 200_000, 1_000, MOST)
    assert rooms.fitted(asking(64_000, 20_000), "", 200_000, 1_000).thinking == 0


def test_what_one_endpoint_told_says_nothing_of_another() -> None:
    rooms = Rooms()
    rooms.learn(asking(64_000), "http://127.0.0.1:1", 200_000, 1_000, MOST)
    assert rooms.fitted(asking(64_000), "http://127.0.0.1:2", 200_000, 1_000) == asking(64_000)


def test_any_other_refusal_changes_nothing() -> None:
    assert not Rooms().learn(asking(64_000), "", 200_000, 1_000, "messages.1: at least one message is required")
