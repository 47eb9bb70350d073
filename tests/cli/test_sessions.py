"""A request is repeated under its own id until it is known; every trouble is one line with an exit code."""

import pytest

from cli.line import AlreadyThere, Ended, Late, LineError, Listed, NotThere, Refused, Silent
from cli.sessions import Sessions
from tests.fakes.scripted_line import Answer, ScriptedLine
from workflows.contracts.errors import EngineUnreachable, UsageError, UserError
from workflows.contracts.session import Close, SessionInput, Submit


def listed(session: str) -> Listed:
    return Listed(session, "", "idle", "/x", 0, "2026-01-01T00:00:00Z", "", "m", "h", "hn", "s", "r")


def given() -> SessionInput:
    return SessionInput(session="abc", cwd="/x", host="h", store="s", settings="d", public_key="k")


async def submit(*answers: Answer) -> tuple[ScriptedLine, int]:
    line = ScriptedLine(*answers)
    taken = await Sessions(line, "here").submit("abc", Submit(request="r1", digest="d"))
    return line, taken.turn


@pytest.mark.journey
async def test_a_late_update_is_told_once_and_repeated_under_the_same_id(capsys: pytest.CaptureFixture[str]) -> None:
    line, turn = await submit(Late("x"), Silent("x"), Late("x"), {"turn": 4})
    assert (line.asked, turn) == ([("session-abc", "submit", "r1")] * 4, 4)
    assert capsys.readouterr().err.count("Not yet confirmed") == 1


@pytest.mark.parametrize(
    ("trouble", "kind", "said"),
    [
        (NotThere("x"), UsageError, "perdure ls"),
        (Ended("x"), UserError, "has ended"),
        (Refused("the session is closing"), UserError, r"^The session is closing\.$"),
    ],
)
async def test_what_is_known_ends_the_repeating(trouble: LineError, kind: type[UserError], said: str) -> None:
    with pytest.raises(kind, match=said):
        await Sessions(ScriptedLine(trouble), "here").close("abc", Close(request="r"))


@pytest.mark.journey
async def test_a_silent_server_is_waited_for_a_bounded_time() -> None:
    line = ScriptedLine(*[Silent("gone")] * 9)
    with pytest.raises(EngineUnreachable, match=r"here does not answer \(gone\): start it\.$"):
        await Sessions(line, "here", patience_s=0.2, advice="start it").close("abc", Close(request="r"))


async def test_a_session_is_found_by_the_beginning_of_its_id_if_that_tells_it_apart() -> None:
    sessions = Sessions(ScriptedLine(listed=(listed("abcd"), listed("abce"), listed("xyz"))), "here")
    assert (await sessions.find("x")).session == "xyz"
    assert (await sessions.find("session-abcd")).session == "abcd"
    with pytest.raises(UsageError, match="abcd, abce"):
        await sessions.find("ab")


@pytest.mark.parametrize("word", ["nope", "", '" OR 1', "../x"])
async def test_no_session_is_told_with_where_to_look(word: str) -> None:
    with pytest.raises(UsageError, match="perdure ls"):
        await Sessions(ScriptedLine(listed=(listed("abcd"),)), "here").find(word)


async def test_a_start_whose_answer_was_lost_is_repeated_as_the_same_start() -> None:
    line = ScriptedLine()

    def lose_first(tries: int) -> None:
        if tries == 1:
            raise Silent("cut")

    line.on_start = lose_first
    await Sessions(line, "here").start_session(given(), model="m", title="t", started="now")
    first, second = line.started
    assert first == second
    assert first.attributes == {}
    assert first.given.get("has_attributes") is False


async def test_an_id_that_is_taken_is_told_with_what_to_do() -> None:
    line = ScriptedLine()

    def taken(_tries: int) -> None:
        raise AlreadyThere("x")

    line.on_start = taken
    with pytest.raises(UsageError, match="perdure send abc"):
        await Sessions(line, "here").start_session(given(), model="m", title="t", started="now")
