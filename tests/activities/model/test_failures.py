"""What a refusal means, when to ask again, and that no key is ever told."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from activities.model.failures import ModelFailure, backoff, event_failure, masked, retry_after
from tests.fakes.model_stage import model_stage
from tests.fakes.world import SilentBeat
from workflows.contracts.errors import FailureKind

K = FailureKind


@pytest.mark.parametrize(
    ("fault", "kind", "again", "text"),
    [
        ({"status": 400, "message": "max_tokens: too odd"}, K.BAD_REQUEST, False, "max_tokens: too odd"),
        ({"status": 400, "message": "Your credit balance is too low"}, K.BAD_REQUEST, False, "credit balance"),
        ({"too_long": 210_000}, K.TOO_LONG, False, "210000 tokens > 200000 maximum"),
        ({"status": 400, "message": "input length and `max_tokens` exceed context limit"}, K.TOO_LONG, False, "limit"),
        ({"status": 400, "message": "messages.0.content.1.image: exceeds 5 MB maximum"}, K.BAD_MEDIA, False, "5 MB"),
        ({"status": 401}, K.UNAUTHORIZED, False, "invalid x-api-key"),
        ({"status": 403}, K.UNAUTHORIZED, False, "permission"),
        ({"status": 404}, K.UNKNOWN_MODEL, False, "model"),
        ({"status": 413}, K.TOO_LARGE, False, "maximum size"),
        ({"status": 429}, K.RATE_LIMITED, True, "rate limit"),
        ({"status": 429, "message": "spend limit reached"}, K.RATE_LIMITED, False, "spend limit"),
        ({"status": 500}, K.SERVER, True, "Internal"),
        ({"status": 503}, K.SERVER, True, "api_error"),
        ({"status": 529}, K.OVERLOADED, True, "Overloaded"),
    ],
)
async def test_each_refusal_has_its_kind_and_keeps_the_provider_s_sentence(
    tmp_path: Path, fault: dict[str, Any], kind: FailureKind, again: bool, text: str
) -> None:
    async with model_stage(tmp_path, {"replies": [{"content": "a", "faults": [fault]}]}) as stage:
        with pytest.raises(ModelFailure) as failed:
            await stage.ask()
    assert (failed.value.kind, failed.value.retryable) == (kind, again)
    assert text in failed.value.message


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("overloaded_error", K.OVERLOADED),
        ("rate_limit_error", K.RATE_LIMITED),
        ("api_error", K.SERVER),
        ("invalid_request_error", K.BAD_REQUEST),
        ("authentication_error", K.UNAUTHORIZED),
    ],
)
def test_an_error_inside_a_stream_has_the_kind_of_its_name(name: str, kind: FailureKind) -> None:
    failure = event_failure({"type": "error", "error": {"type": name, "message": "because"}})
    assert (failure.kind, failure.message) == (kind, "because")


def test_the_wait_doubles_up_to_32_seconds_and_varies_by_a_quarter() -> None:
    for attempt, middle in ((1, 0.5), (2, 1), (7, 32), (60, 32)):
        assert all(0.75 * middle <= backoff(attempt) <= 1.25 * middle for _ in range(50))


def test_retry_after_is_read_as_seconds_milliseconds_or_date() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    assert retry_after({"retry-after": "7"}) == 7
    assert retry_after({"retry-after": "7", "retry-after-ms": "250"}) == 0.25
    assert 55 <= (retry_after({"retry-after": later}) or 0) <= 60
    assert retry_after({"retry-after": "soon"}) is None
    assert retry_after({}) is None


async def test_a_wish_to_wait_for_days_is_an_hour_and_told(tmp_path: Path) -> None:
    fault = {"status": 429, "retry_after": 200_000}
    async with model_stage(tmp_path, {"replies": [{"content": "a", "faults": [fault]}]}) as stage:
        with pytest.raises(ModelFailure, match=r"asks to wait 55\.6 h; tried again after an hour") as failed:
            await stage.ask()
    assert (failed.value.retry_after, failed.value.retryable) == (3600, True)


@pytest.mark.parametrize(("overloads", "final"), [(2, [False, False, True]), (0, [False, False, False])])
async def test_only_overloads_count_until_another_model_is_asked(
    tmp_path: Path, overloads: int, final: list[bool]
) -> None:
    faults = [{"status": 500}, {"status": 529}, {"status": 529}]
    async with model_stage(tmp_path, {"replies": [{"content": "a", "faults": faults}]}) as stage:
        request = stage.request.model_copy(update={"overloads": overloads})
        for attempt in (1, 2, 3):
            with pytest.raises(ModelFailure):
                await stage.ask(request, SilentBeat(attempt=attempt))
        assert [bool(event.get("final")) for event in stage.told("model_retry")] == final


def test_keys_are_masked_by_value_and_by_look() -> None:
    environment = {"ANTHROPIC_API_KEY": "my-odd-key-1", "HOME": "/home/me"}
    text = masked("my-odd-key-1 at /home/me, sk-ant-abc123456 and Bearer abcdefgh", environment)
    assert text == "*** at /home/me, sk-ant-*** and Bearer ***"
