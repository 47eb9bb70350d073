"""A person answers what an agent asks: by flags, by keys where it is shown, and never the agent itself."""

import asyncio
from typing import Any

import pytest

from cli.reader import Reader
from tests.cli.commands.test_approvals import on_terminal
from tests.fakes.command_line import Cli
from workflows.contracts.messages import Text
from workflows.contracts.transcript import OutcomeBody

pytestmark = [pytest.mark.journey, pytest.mark.timeout(180)]

COLOUR = {"question": "Which colour?", "header": "", "options": [{"label": "Red"}, {"label": "Blue"}]}
USES = {
    "question": "For what?",
    "options": [{"label": "Sky"}, {"label": "Sea"}, {"label": "Eyes"}],
    "multiSelect": True,
}


def asks(*questions: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"tool": "AskUserQuestion", "input": {"questions": list(questions)}}]}


def asking(cli: Cli, session: str, *questions: dict[str, Any]) -> None:
    model = cli.scenario(replies=[asks(*questions), "Done."])
    cli.detached(model, "--unattended", "wait", "--session-id", session, "go")
    cli.await_question(session)


def results(cli: Cli, session: str) -> str:
    """What the model was shown of its calls."""
    head = cli.json("show", session, "--json")["snapshot"]["state"]["head"]
    entries = asyncio.run(Reader(cli.home).entries(head))
    outcomes = [entry.body for entry in entries if isinstance(entry.body, OutcomeBody)]
    return "\n".join(part.text for body in outcomes for part in body.content if isinstance(part, Text))


def test_questions_are_listed_with_their_options_and_answered_by_number_label_and_words(cli: Cli) -> None:
    asking(cli, "colours", COLOUR, USES)
    listed = cli("approvals").stdout
    assert "Which colour?" in listed
    assert "2  Blue" in listed
    assert "perdure answer colours 1.0 --choose" in listed
    refused = cli("answer", "colours", "--choose", "green", "--choose", "1")
    assert (refused.returncode, "has no option 'green'" in refused.stderr) == (2, True)
    assert cli("answer", "colours", "--choose", "1").returncode == 2
    assert "answered by choosing" in cli("approve", "colours").stderr
    said = cli("answer", "colours", "--choose", "other", "--text", "Green", "--choose", "sea,1")
    assert said.returncode == 0, said.stderr
    cli.await_state("colours", "idle")
    assert 'Which colour? "Green"\n- For what? Sky, Sea' in results(cli, "colours")
    assert cli("answer", "colours", "--text", "again").returncode == 2


def test_a_declined_question_is_told_to_the_model(cli: Cli) -> None:
    asking(cli, "declined", COLOUR)
    assert cli("deny", "declined", "--text", "no idea").returncode == 0
    cli.await_state("declined", "idle")


def test_keys_answer_where_the_questions_are_shown(cli: Cli) -> None:
    model = cli.scenario(replies=[asks(COLOUR, USES), "Done."])
    code, screen = on_terminal(cli, ["run", "--model", model, "go"], "1  Sky", "213\r")
    assert code == 0, screen
    assert "Done." in screen
    (session,) = [one["id"] for one in cli.json("ls", "--json") if one["title"] == "go" and one["state"] != "closed"][
        :1
    ]
    assert "Which colour? Blue\n- For what? Sky, Eyes" in results(cli, session)


def test_an_agents_command_cannot_answer(cli: Cli) -> None:
    asking(cli, "own", COLOUR)
    cli.more["PERDURE_CALL"] = "x"
    try:
        refused = cli("answer", "own", "--choose", "1")
    finally:
        del cli.more["PERDURE_CALL"]
    assert (refused.returncode, "for a person" in refused.stderr) == (3, True)
    assert cli("deny", "own").returncode == 0


def test_a_plan_is_shown_and_approved_with_the_mode_to_go_on_in(cli: Cli) -> None:
    cli.home.ensure()
    cli.home.plan("plans").write_text("# The plan\n1. Begin\n")
    model = cli.scenario(replies=[{"content": [{"tool": "ExitPlanMode", "input": {}}]}, "Done."])
    cli.detached(model, "--unattended", "wait", "--session-id", "plans", "--permission-mode", "plan", "go")
    cli.await_question("plans")
    assert "| # The plan" in cli("approvals").stdout
    assert cli("approve", "plans", "--mode", "plan").returncode == 2
    assert cli("approve", "plans", "--mode", "acceptedits").returncode == 0
    cli.await_state("plans", "idle")
    assert cli.json("show", "plans", "--json")["snapshot"]["state"]["mode"] == "acceptEdits"
