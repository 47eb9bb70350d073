"""Each refusal rule has a request that it refuses and no other does; and a full request passes them all."""

import base64
import io
import json
import re
from collections.abc import Iterator
from typing import Any, get_args

import anthropic
import pytest
from anthropic.types import ContentBlockParam
from PIL import Image

from tests.worker.rehearsal.stage import Stage
from worker.rehearsal.asked import Asked
from worker.rehearsal.form import FIELDS
from worker.rehearsal.rules import RULES, refusals
from worker.rehearsal.scenario import Limits
from worker.rehearsal.wire import sign

LIMITS = Limits(window=10_000, body=400_000, image_base64=100_000)
KEY = {"x-api-key": "k"}
HOUR = {"type": "ephemeral", "ttl": "1h"}
FIVE = {"type": "ephemeral"}

Json = dict[str, Any]  # Any: requests of every kind, wrong ones too


def user(*blocks: Json | str) -> Json:
    return {"role": "user", "content": [said(block) for block in blocks]}


def assistant(*blocks: Json | str) -> Json:
    return {"role": "assistant", "content": [said(block) for block in blocks]}


def said(block: Json | str) -> Json:
    return {"type": "text", "text": block} if isinstance(block, str) else block


def call(name: str) -> Json:
    return {"type": "tool_use", "id": name, "name": "Bash", "input": {}}


def result(name: str, content: object = "ok") -> Json:
    return {"type": "tool_result", "tool_use_id": name, "content": content}


def thinking(text: str, signature: str) -> Json:
    return {"type": "thinking", "thinking": text, "signature": signature}


def search(name: str) -> Json:
    return {"type": "server_tool_use", "id": name, "name": "web_search", "input": {"query": "q"}}


def found(name: str, signature: str) -> Json:
    page = {"type": "web_search_result", "url": "u", "title": "t", "encrypted_content": signature, "page_age": None}
    return {"type": "web_search_tool_result", "tool_use_id": name, "content": [page]}


CITED = {"type": "web_search_result_location", "url": "u", "title": None, "cited_text": "c", "encrypted_index": "no"}


def image(data: bytes | str, media_type: str = "image/png") -> Json:
    encoded = data if isinstance(data, str) else base64.b64encode(data).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": encoded}}


def pdf(data: bytes) -> Json:
    source = {"type": "base64", "media_type": "application/pdf", "data": base64.b64encode(data).decode()}
    return {"type": "document", "source": source}


def png(width: int, height: int, noise: int = 0) -> bytes:
    held = io.BytesIO()
    Image.new("L", (width, height)).save(held, "PNG")
    return held.getvalue()[:-12] + b"".join(_chunk(b"noIs", bytes(noise))) + held.getvalue()[-12:]


def _chunk(kind: bytes, data: bytes) -> Iterator[bytes]:
    import zlib

    yield len(data).to_bytes(4)
    yield kind + data
    yield zlib.crc32(kind + data).to_bytes(4)


def tool(name: str, **more: object) -> Json:
    return {"name": name, "input_schema": {"type": "object"}, **more}


def request(*messages: Json, **more: object) -> Json:
    body = {"model": "m", "max_tokens": 100, "messages": list(messages), **more}
    return {name: value for name, value in body.items() if value is not None}


def pages(number: int) -> bytes:
    return b"%PDF-1.7\n/Type /Pages /Count 1\n" + b"/Type /Page\n" * number


BROKEN: dict[str, Any] = {
    "body_too_large": request(user("go"), user(pdf(pages(1) + bytes(310_000)))),
    "no_key": request(user("go")),
    "not_json": b'{"model": "m\xff"}',
    "lone_surrogate": request(user("half \ud83d")),
    "bad_form": request(user({"type": "text", "text": "go", "extra": 1})),
    "no_max_tokens": request(user("go"), max_tokens=None),
    "no_messages": request(),
    "first_not_user": request(assistant("hello"), user("go")),
    "no_content": request(user("go"), assistant(), user("go")),
    "empty_text": request(user("go", "")),
    "prefill_whitespace": request(user("go"), assistant("I am ")),
    "call_without_result": request(user("go"), assistant(call("a")), user("and?")),
    "result_without_call": request(user("go"), assistant("no"), user(result("a"))),
    "call_id_twice": request(user("go"), assistant(call("a"), call("a")), user(result("a"))),
    "result_twice": request(user("go"), assistant(call("a")), user(result("a"), result("a"))),
    "results_not_first": request(user("go"), assistant(call("a")), user("here:", result("a"))),
    "image_too_large": request(user(image(png(10, 10, noise=80_000)))),
    "image_too_wide": request(user(image(png(8_001, 20)))),
    "image_unreadable": request(user("go"), assistant(call("a")), user(result("a", [image(b"no picture")]))),
    "pdf_too_long": request(user(pdf(pages(101)))),
    "pdf_unreadable": request(user(pdf(b"plain text"))),
    "pdf_encrypted": request(user(pdf(pages(1) + b"/Encrypt 5 0 R"))),
    "search_domains": request(
        user("go"),
        tools=[
            {"type": "web_search_20250305", "name": "web_search", "allowed_domains": ["a"], "blocked_domains": ["b"]}
        ],
    ),
    "search_unpaired": request(user("go"), assistant(search("s"), "so"), user("go")),
    "search_changed": request(user("go"), assistant(search("s"), found("s", "other"), "so"), user("go")),
    "thinking_changed": request(user("go"), assistant(thinking("hm.", sign("hm")), "so"), user("go")),
    "too_many_markers": request(user(*({"type": "text", "text": "go", "cache_control": FIVE} for _ in range(5)))),
    "longer_after_shorter": request(user("go"), tools=[tool("A", cache_control=FIVE), tool("B", cache_control=HOUR)]),
    "tool_names": request(user("go"), tools=[tool("A"), tool("A")]),
    "too_long": request(user("x" * 44_000)),
    "no_room": request(user("go"), max_tokens=10_000),
}
MORE_BROKEN: list[tuple[str, Json | bytes]] = [
    ("not_json", b"[1]"),
    ("not_json", b""),
    ("not_json", b'{"max_tokens": NaN}'),
    ("not_json", b"\xef\xbb\xbf{}"),
    ("lone_surrogate", request(user("half \udc00 the other"))),
    ("bad_form", request({"role": "tool", "content": "go"})),
    ("bad_form", request(user({"type": "outcome", "text": "go"}))),
    ("bad_form", request({**user("go"), "at": 1})),
    ("bad_form", request(user("go"), tools=[{"name": "A"}])),
    ("bad_form", request(user("go"), assistant({**call("a"), "input": "{}"}), user(result("a")))),
    ("bad_form", request(user("go"), assistant({"type": "thinking", "thinking": "hm"}), user("go"))),
    ("no_content", request({"role": "user", "content": ""})),
    ("empty_text", request(user(" \n"))),
    ("empty_text", request({"role": "user", "content": "  "})),
    ("empty_text", request(user("go"), system=[said("")])),
    ("empty_text", request(user("go"), assistant(call("a")), user(result("a", [said("")])))),
    ("call_without_result", request(user("go"), assistant(call("a"), call("b")), user(result("a")))),
    ("call_without_result", request(user("go"), assistant(call("a")))),
    ("call_without_result", request(user("go"), assistant(call("a")), assistant("hm"), user("go"))),
    ("search_unpaired", request(user("go"), assistant(found("s", sign("u")), "so"), user("go"))),
    ("search_changed", request(user("go"), assistant({**said("so"), "citations": [CITED]}), user("go"))),
    ("thinking_changed", request(user("go"), assistant(thinking("hm", ""), "so"), user("go"))),
    ("image_unreadable", request(user(image(png(1, 1), "image/jpeg")))),
    ("image_unreadable", request(user(image("")))),
    ("image_unreadable", request(user(image(png(4, 4)[:40])))),
    ("tool_names", request(user("go"), tools=[tool("not a name")])),
]


def asked(body: Json | bytes, rule: str = "") -> Asked:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Asked(raw, {} if rule == "no_key" else KEY)


def test_each_rule_of_the_table_has_its_request() -> None:
    assert list(BROKEN) == [rule.name for rule in RULES]


@pytest.mark.parametrize(("rule", "body"), [*BROKEN.items(), *MORE_BROKEN])
def test_a_request_that_breaks_one_rule_is_refused_by_that_rule_alone(rule: str, body: Json | bytes) -> None:
    found = list(refusals(asked(body, rule), LIMITS))
    assert [refusal.rule.name for refusal in found] == [rule]
    assert found[0].message


def test_a_full_request_is_refused_by_no_rule() -> None:
    marked = {"type": "text", "text": "go on \U0001f600", "cache_control": FIVE}
    body = request(
        user("go", image(png(8_000, 20)), pdf(pages(100))),
        assistant(thinking("hm é", sign("hm é")), "so", call("a"), call("b")),
        user(result("b", ""), result("a", [image(png(5, 5))]), "and"),
        assistant(call("a")),
        user({**result("a"), "is_error": True}),
        user(marked),
        assistant(
            search("s"), found("s", sign("u")), {**said("so"), "citations": [{**CITED, "encrypted_index": sign("u")}]}
        ),
        user("and"),
        assistant(search("open")),
        system=[{**said("be brief"), "cache_control": HOUR}],
        tools=[tool("A"), tool("B-2_x")],
    )
    assert list(refusals(asked(body), LIMITS)) == []


def test_the_form_knows_the_fields_of_the_sdks_blocks() -> None:
    blocks = {block.__annotations__["type"]: block for block in get_args(ContentBlockParam)}
    kinds = {re.findall(r"Literal\['(\w+)'\]", repr(kind).replace('"', "'"))[0]: b for kind, b in blocks.items()}
    assert {kind: set(kinds[kind].__annotations__) - {"type"} for kind in FIELDS} == FIELDS


def test_counting_needs_no_output_limit_and_no_room() -> None:
    body = json.dumps(request(user("x" * 44_000), max_tokens=None)).encode()
    assert list(refusals(Asked(body, KEY, counting=True), LIMITS)) == []


def test_a_bearer_token_is_a_key() -> None:
    assert list(refusals(Asked(json.dumps(request(user("go"))).encode(), {"authorization": "Bearer k"}), LIMITS)) == []


def test_one_call_id_may_be_used_in_every_message() -> None:
    talk = [user("go")]
    for _ in range(3):
        talk += [assistant(call("same")), user(result("same"))]
    assert list(refusals(asked(request(*talk)), LIMITS)) == []


async def test_the_sdk_sees_a_refusal_as_a_bad_request_and_the_server_counts_it(stage: Stage) -> None:
    model, client = await stage.play({"fallback": "hi", "limits": {"image_base64": 2_000}})
    with pytest.raises(anthropic.BadRequestError, match="image exceeds 2000 bytes maximum"):
        await client.messages.create(**request(user(image(png(10, 10, noise=3_000)))))
    assert (model.refusals, model.requests[0].answer) == (1, "refused:image_too_large")


@pytest.mark.journey
async def test_a_body_over_the_limit_is_read_to_its_end_and_refused(stage: Stage) -> None:
    _, client = await stage.play({"fallback": "hi"})
    with pytest.raises(anthropic.APIStatusError) as caught:
        await client.messages.create(**request(user("x" * (33 * 1024 * 1024))))
    assert caught.value.status_code == 413


async def test_a_server_that_is_not_strict_refuses_only_what_nobody_could_answer(stage: Stage) -> None:
    _, client = await stage.play({"fallback": "hi"}, strict=False)
    assert (await client.messages.create(**BROKEN["call_without_result"])).content
    with pytest.raises(anthropic.BadRequestError):
        await client.messages.create(**BROKEN["bad_form"])


async def test_thinking_goes_back_as_it_came_also_to_another_server(stage: Stage) -> None:
    scenario = {"fallback": {"content": [{"thinking": "hm é\n"}, {"text": "so"}], "pacing": {"chunk": 1}}}
    _, first = await stage.play(scenario)
    model, second = await stage.play(scenario)
    async with first.messages.stream(**request(user("go"))) as stream:
        reply = await stream.get_final_message()
    back = {"role": "assistant", "content": reply.to_dict()["content"]}
    await second.messages.create(**request(user("go"), back, user("more")))
    assert model.refusals == 0
