"""Costs come from one dated file; what it does not list is unknown."""

import pytest

from activities.model.prices import cost_of, window_of
from workflows.contracts.model import Usage

MILLION = 1_000_000


def test_each_kind_of_token_has_its_price() -> None:
    usage = Usage(input=MILLION, output=MILLION, cache_read=MILLION, cache_write=3 * MILLION, cache_write_1h=MILLION)
    assert cost_of("claude-sonnet-4-5", usage) == round((3 + 15 + 0.3 + 2 * 3.75 + 6) * MILLION)


def test_a_sum_is_rounded_once_to_the_nearest_micro_dollar() -> None:
    assert cost_of("claude-haiku-4-5", Usage(cache_read=4)) == 0
    assert cost_of("claude-haiku-4-5", Usage(cache_read=5)) == 1


@pytest.mark.parametrize(
    "name",
    [
        "claude-sonnet-4-5",
        "claude-sonnet-4-5-20250929",
        "claude-sonnet-4-5@20250929",
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "rehearsal",
        "rehearsal-b",
    ],
)
def test_a_cloud_s_or_a_dated_name_has_the_family_s_price(name: str) -> None:
    assert cost_of(name, Usage(input=100)) == 300
    assert window_of(name) == 200_000


@pytest.mark.parametrize("name", ["", "gpt", "claude-opus-4-99", "claude-sonnet-4-55", "claude-opus-5"])
def test_a_model_that_is_not_listed_has_no_price_and_no_window(name: str) -> None:
    assert cost_of(name, Usage(input=100)) is None
    assert window_of(name) is None
