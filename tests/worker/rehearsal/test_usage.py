"""Tokens are bytes / 4; what an earlier request marked and this one repeats comes from the cache."""

from typing import Any

from worker.rehearsal.usage import LOOK_BACK, PromptCache, Usage, measure

FIVE = {"type": "ephemeral"}
HOUR = {"type": "ephemeral", "ttl": "1h"}


def text(words: str, marker: dict[str, str] | None = None) -> dict[str, Any]:
    return {"type": "text", "text": words, **({"cache_control": marker} if marker else {})}


def talk(*blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": list(blocks)}], **more}


def whole(usage: Usage) -> int:
    return usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens


def test_a_request_without_markers_uses_no_cache() -> None:
    cache, measured = PromptCache(), measure(talk(text("x" * 400)))
    for _ in range(2):
        assert cache.use(measured) == Usage(input_tokens=measured.tokens)
    assert 100 < measured.tokens < 120


def test_what_was_marked_is_read_by_the_next_request_that_begins_with_it() -> None:
    cache = PromptCache()
    first = cache.use(measure(talk(text("a" * 400, FIVE), text("b" * 40))))
    second = cache.use(measure(talk(text("a" * 400), text("b" * 40), text("c" * 400, FIVE), text("d"))))
    assert first.cache_read_input_tokens == 0
    assert second.cache_read_input_tokens == first.cache_creation_input_tokens == first.ephemeral_5m > 100
    assert second.cache_creation_input_tokens > 100


def test_the_three_parts_of_the_input_are_the_whole() -> None:
    cache = PromptCache()
    for body in (talk(text("a" * 400, FIVE), text("b")), talk(text("a" * 400), text("b", FIVE), text("c" * 99))):
        measured = measure(body)
        assert whole(cache.use(measured)) == measured.tokens


def test_a_changed_tool_makes_everything_behind_it_new() -> None:
    cache = PromptCache()
    body = talk(text("a" * 400, FIVE), tools=[{"name": "A"}])
    cache.use(measure(body))
    assert cache.use(measure(body)).cache_read_input_tokens > 0
    assert cache.use(measure({**body, "tools": [{"name": "B"}]})).cache_read_input_tokens == 0


def test_the_same_text_as_a_string_and_as_a_block_is_the_same_prefix() -> None:
    cache = PromptCache()
    cache.use(measure(talk(text("a" * 400, FIVE))))
    again = {"model": "m", "messages": [{"role": "user", "content": "a" * 400}], "cache_control": FIVE}
    assert cache.use(measure(again)).cache_read_input_tokens > 100


def test_an_hour_and_five_minutes_are_told_apart() -> None:
    usage = PromptCache().use(measure(talk(text("a" * 800, HOUR), text("b" * 400, FIVE))))
    assert usage.ephemeral_1h > usage.ephemeral_5m > 100
    assert usage.ephemeral_1h + usage.ephemeral_5m == usage.cache_creation_input_tokens


def test_an_entry_further_back_than_the_provider_looks_is_missed() -> None:
    for between, hit in ((LOOK_BACK - 2, True), (LOOK_BACK, False)):
        cache = PromptCache()
        cache.use(measure(talk(text("a" * 400, FIVE))))
        later = cache.use(measure(talk(text("a" * 400), *[text("b")] * between, text("c", FIVE))))
        assert (later.cache_read_input_tokens > 0) is hit


def test_a_picture_counts_by_its_area_and_not_by_its_bytes() -> None:
    source = {"type": "base64", "media_type": "image/jpeg", "data": "A" * 4_000_000}
    assert measure(talk({"type": "image", "source": source})).tokens < 2_000
