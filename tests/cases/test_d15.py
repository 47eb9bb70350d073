"""D15: failure is not reported as success."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from tests.fakes.case_bench import Json, Play, Ran, Stage, bash, reply
from tests.fakes.waiting import eventually

pytestmark = pytest.mark.journey

Open = Callable[[Play], Stage]


def failing(status: int, **more: Any) -> Json:
    return reply(
        "never", faults=[{"status": status, "message": f"told by the bench: {status}", "times": "always", **more}]
    )


def scene(*replies: Any, words: tuple[str, ...] = (), keys: dict[str, str] | None = None, **more: Any) -> Open:
    """A stage that is opened once the test runs."""

    def opened(play: Play) -> Stage:
        stage = play(*replies, **more)
        stage.words = words
        stage.cli.more.update(keys or {})
        return stage

    return opened


BYPASS = ("--permission-mode", "bypassPermissions")

TABLE: dict[str, tuple[Open, int, str]] = {
    "401": (scene(failing(401)), 7, "unauthorized"),
    "400": (scene(failing(400)), 7, "request_refused"),
    "endless 529": (scene(failing(529), words=("--max-retries", "3")), 8, "model_overloaded"),
    "no text": (scene(reply()), 1, "empty_answer"),
    "turn limit": (scene(fallback=reply(bash("true")), words=(*BYPASS, "--max-turns", "2")), 4, "max_turns"),
    "budget": (scene(fallback=reply(bash("true")), words=(*BYPASS, "--max-budget-usd", "0.0001")), 6, "max_budget"),
    "refused last": (scene(reply(bash("touch made")), "I was not allowed to."), 3, "permission_denied"),
    "no server": (scene("never", keys={"TEMPORAL_ADDRESS": "127.0.0.1:1"}), 5, "engine_unreachable"),
}

SISTERS: dict[str, tuple[Open, int, str]] = {
    "403": (scene(failing(403)), 7, "unauthorized"),
    "404": (scene(failing(404)), 7, "request_refused"),
    "endless 429": (scene(failing(429), words=("--max-retries", "2")), 8, "model_overloaded"),
    "endless 500": (scene(failing(500), words=("--max-retries", "2")), 8, "model_unreachable"),
    "only blanks": (scene(" \n "), 1, "empty_answer"),
    "too long": (scene(reply("never", faults=[{"too_long": 99_000, "times": "always"}])), 1, "prompt_too_long"),
    "denied by a rule": (scene(reply(bash("true")), "no", words=(*BYPASS, "--disallowed-tools", "Bash(true)")), 3,
                         "permission_denied"),
    "nobody listens": (scene("never", keys={"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}, words=("--max-retries", "2")),
                       8, "model_unreachable"),
    "no such mode": (scene("never", words=("--permission-mode", "careless")), 2, "usage"),
}  # fmt: skip


def check(ran: Ran, code: int, reason: str) -> None:
    told = ran.json
    assert (ran.code, told["exit_code"], told["reason"], told["type"]) == (code, code, reason, "result"), ran
    assert told["is_error"] is True
    assert "result" not in told
    assert told["error"]
    assert ran.out.count("\n") == 1


@pytest.mark.parametrize("name", [*TABLE, *SISTERS])
def test_each_failure_has_its_code_and_reason_in_json_and_the_same_code_in_plain(play: Play, name: str) -> None:
    opened, code, reason = {**TABLE, **SISTERS}[name]
    stage = opened(play)
    check(stage.run(), code, reason)
    plain = stage.run(output="text")
    assert plain.code == code
    assert reason not in plain.out
    assert plain.err.strip()


def test_the_nine_endings_are_told_apart() -> None:
    pairs = [(code, reason) for _, code, reason in TABLE.values()] + [(130, "interrupted")]
    assert len(set(pairs)) == len(pairs) == 9


@pytest.mark.parametrize("output", ["json", "text"])
def test_a_cancelled_run_is_told_as_interrupted(play: Play, output: str) -> None:
    stage = play(reply(bash("sleep 60")), "never")
    session, ended = f"cancelled-{output}", []
    runs = threading.Thread(target=lambda: ended.append(stage.run("--session-id", session, output=output)))
    runs.start()
    eventually(lambda: len(stage.asked()) == 1, 40, "the first request")
    eventually(lambda: stage.cli("stop", session).returncode == 0, 20, "the stop is taken")
    runs.join(40)
    if output == "json":
        check(ended[0], 130, "interrupted")
    assert (ended[0].code, output == "text" and ended[0].out) in {(130, ""), (130, False)}


def test_only_a_normal_end_is_a_success(play: Play) -> None:
    ran = play("Good.").run()
    assert (ran.code, ran.json["is_error"], ran.reason, ran.json["result"]) == (0, False, "done", "Good.")
    assert "error" not in ran.json
