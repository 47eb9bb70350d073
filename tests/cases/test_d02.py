"""D02: a failed model call does not replay the whole run."""

from typing import Any

import pytest

from tests.fakes.case_bench import Play, Stage, bash, engine_says, of_kind, reply
from workflows.contracts.activity_specs import RUN_TOOL

pytestmark = pytest.mark.journey

FINAL = [
    pytest.param({"status": 400, "message": "messages.3: not as the bench likes it"}, 7, id="400"),
    pytest.param({"status": 404, "message": "model: it was here yesterday"}, 7, id="404"),
    pytest.param({"status": 413, "message": "the bench takes no more than this"}, 7, id="413"),
]

PASSING = [
    pytest.param([{"status": 500, "message": "one of these days", "times": 3}], 5, id="500 three times"),
    pytest.param([{"status": 529}, {"cut": "reset"}, {"cut": "error"}], 5, id="overloaded, broken, failed inside"),
]


def check_once(stage: Stage, session: str, name: str) -> None:
    assert stage.effects() == stage.effects(name) == 1
    assert stage.model.refusals == 0
    assert engine_says(stage.cli.home, session).runs == 1


@pytest.mark.parametrize(("fault", "code"), FINAL)
def test_a_refusal_for_good_ends_the_run_in_its_own_words_with_its_effect_once(
    play: Play, fault: dict[str, Any], code: int
) -> None:
    stage = play(reply(bash("./effect install")), reply("never", faults=[{**fault, "times": "always"}]))
    ran = stage.run()
    assert (ran.code, ran.json["error"]) == (code, fault["message"])
    assert len(stage.asked()) == 2
    check_once(stage, ran.session, "install")
    assert any(fault["message"] in line["text"] for line in of_kind(stage.audit(ran.session), "notice"))


def test_a_command_that_outlasts_every_heartbeat_limit_runs_once(play: Play) -> None:
    seconds = 15
    assert RUN_TOOL.heartbeat is not None
    assert seconds > 2 * RUN_TOOL.heartbeat.total_seconds()
    stage = play(reply(bash(f"./effect slow; sleep {seconds}; echo slept")), reply("done"))
    ran = stage.run()
    assert (ran.code, stage.results()[0]["content"][0]["text"]) == (0, "slept")
    check_once(stage, ran.session, "slow")
    (call,) = of_kind(stage.audit(ran.session), "call")
    assert (call["attempt"], call["status"]) == (1, "ok")


@pytest.mark.parametrize(("faults", "requests"), PASSING)
def test_a_failure_that_passes_is_asked_again_and_nothing_else_is(
    play: Play, faults: list[dict[str, Any]], requests: int
) -> None:
    stage = play(reply(bash("./effect install")), reply("installed", faults=faults))
    ran = stage.run()
    assert (ran.code, ran.json["result"]) == (0, "installed")
    assert len(stage.asked()) == requests
    check_once(stage, ran.session, "install")
