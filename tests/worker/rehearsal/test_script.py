"""The same request gets the same reply again; faults and alternatives are counted; words are filled in."""

import json
from typing import Any

from worker.rehearsal.asked import Asked
from worker.rehearsal.scenario import Scenario
from worker.rehearsal.script import Script
from worker.rehearsal.usage import Usage
from worker.rehearsal.wire import Call, Played, Text


def ask(exchange: int, last: str = "go", **more: Any) -> Asked:
    talk = [{"role": "user", "content": "go"}, {"role": "assistant", "content": "ok"}] * exchange
    body = {"model": "m", "max_tokens": 100, "messages": [*talk, {"role": "user", "content": last}], **more}
    return Asked(json.dumps(body).encode())


def script(**scenario: Any) -> Script:
    return Script(Scenario.model_validate(scenario))


def places(played: Script, *requests: Asked) -> list[str]:
    return [choice.told if (choice := played.choose(asked)) else "" for asked in requests]


def reply(played: Script, asked: Asked) -> Played:
    choice = played.choose(asked)
    assert choice
    return played.play(choice, asked, Usage(input_tokens=10))


def test_a_request_that_comes_again_gets_its_reply_again() -> None:
    told = places(script(replies=["a", "b"]), ask(0), ask(0), ask(1), ask(0), ask(1), ask(2))
    assert told == ["replies[0]", "replies[0]", "replies[1]", "replies[0]", "replies[1]", ""]


def test_a_reply_may_stand_for_many_exchanges() -> None:
    played = script(replies=["first", {"content": "n{n} i{i}", "repeat": 3}, {"content": "on", "repeat": "always"}])
    assert places(played, ask(0), ask(1), ask(3), ask(4), ask(5000)) == [
        "replies[0]",
        "replies[1]",
        "replies[1]",
        "replies[2]",
        "replies[2]",
    ]
    assert reply(played, ask(3)).blocks == (Text("n3 i2"),)


def test_by_arrival_the_next_request_gets_the_next_reply_whatever_it_is() -> None:
    played = script(order="arrival", replies=["a", {"content": "b", "faults": [{"status": 500}]}, "c"])
    told = places(played, ask(0), ask(0), ask(0), ask(5))
    assert told == ["replies[0]", "replies[1].faults[0]", "replies[1]", "replies[2]"]


def test_the_first_rule_that_fits_comes_before_the_replies() -> None:
    played = script(
        rules=[{"when": {"last_contains": "summarize"}, "content": "short", "times": 2}], replies=["a"], fallback="f"
    )
    told = places(played, ask(0), ask(7, "summarize"), ask(0, "summarize"), ask(0, "summarize"), ask(7))
    assert told == ["replies[0]", "rules[0]", "rules[0]", "replies[0]", "fallback"]


def test_of_alternatives_the_first_that_fits_and_is_not_spent_is_given_in_each_exchange() -> None:
    big = {"when": {"max_tokens": {"at_least": 64000}}, "content": "long"}
    played = script(replies=[[big, {"content": "cut", "stop_reason": "max_tokens", "times": 1}, "whole"]])
    told = places(played, ask(0), ask(0), ask(0, max_tokens=64000))
    assert told == ["replies[0][1]", "replies[0][2]", "replies[0][0]"]


def test_faults_are_counted_for_each_exchange_by_itself() -> None:
    played = script(replies=[{"content": "a", "faults": [{"status": 500, "times": 2}], "repeat": "always"}])
    told = places(played, ask(0), ask(0), ask(1), ask(0), ask(1), ask(1))
    fault = "replies[0].faults[0]"
    assert told == [fault, fault, fault, "replies[0]", fault, "replies[0]"]


def test_ids_differ_between_calls_and_exchanges_and_are_the_same_in_every_run() -> None:
    scenario = {"replies": [{"content": [{"tool": "A"}, {"tool": "A"}], "repeat": "always"}]}
    ids = [
        block.id
        for exchange in (0, 1, 0)
        for block in reply(script(**scenario), ask(exchange)).blocks
        if isinstance(block, Call)
    ]
    assert len(set(ids[:4])) == 4
    assert ids[:2] == ids[4:]


def test_ids_may_be_random_or_one_and_the_same() -> None:
    random = script(ids="random", replies=["a"])
    assert reply(random, ask(0)).id != reply(random, ask(0)).id
    fixed = script(replies=[{"content": {"tool": "A", "id": "call_1"}, "repeat": "always"}])
    assert reply(fixed, ask(0)).blocks == reply(fixed, ask(9)).blocks == (Call("call_1", "A", "{}"),)


def test_words_are_filled_in_everywhere_and_other_braces_stay() -> None:
    call = {"tool": "Bash", "input": {"command": ["awk '{print}' {root}/{n}", {"deep": "{who}"}], "count": 3}}
    played = script(
        vars={"who": "me"}, capture={"root": r"folder: (\S+)"}, replies=[{"content": [{"text": "{root}"}, call]}]
    )
    text, made = reply(played, ask(0, system="Your folder: /tmp/x")).blocks
    assert text == Text("/tmp/x")
    assert isinstance(made, Call)
    assert json.loads(made.input_json) == {"command": ["awk '{print}' /tmp/x/0", {"deep": "me"}], "count": 3}


def test_usage_that_is_given_replaces_what_was_computed() -> None:
    given = {"output_tokens": 2, "cache_creation": {"ephemeral_5m_input_tokens": 4, "ephemeral_1h_input_tokens": 8}}
    usage = reply(script(fallback={"content": "abc", "usage": given}), ask(0)).usage
    assert usage == Usage(10, 2, ephemeral_5m=4, ephemeral_1h=8, cache_creation_input_tokens=12)


def test_a_bare_number_of_cache_writes_counts_as_five_minutes() -> None:
    usage = reply(script(fallback={"usage": {"cache_creation_input_tokens": 4}}), ask(0)).usage
    assert (usage.cache_creation_input_tokens, usage.ephemeral_5m, usage.ephemeral_1h) == (4, 4, 0)
