"""Opening a session fixes what never changes inside it."""

import json
from pathlib import Path

import pytest

from activities.prompt.open import open_session
from activities.stores.index import index_path
from activities.tool_calls.registry import TOOLS
from activities.world import World
from tests.activities.tool_calls.stage import AT
from tests.fakes.world import make_world
from workflows.contracts.errors import MissingObject, UserError
from workflows.contracts.extensions import HookKind, HookRule
from workflows.contracts.permissions import Rules
from workflows.contracts.session_steps import OpenRequest
from workflows.contracts.settings import SessionContext, SessionSettings
from workflows.contracts.transcript import NoticeBody, canonical

SPECS = tuple(tool.spec() for tool in TOOLS)


@pytest.fixture
def world(tmp_path: Path) -> World:
    (tmp_path / "work").mkdir()
    return make_world(tmp_path)


async def request(world: World, folder: Path, settings: SessionSettings | None = None, **changed: str) -> OpenRequest:
    digest = await world.store.put(canonical((settings or SessionSettings()).model_dump(mode="json")))
    given = {"session": "s1", "cwd": str(folder), "host": "h", "settings": digest, "at": AT, "public_key": "k"}
    return OpenRequest.model_validate({**given, **changed})


async def context_of(world: World, digest: str) -> SessionContext:
    return SessionContext.model_validate_json(await world.store.get(digest))


async def test_the_first_entry_names_all_that_an_audit_needs(world: World, tmp_path: Path) -> None:
    asked = await request(world, tmp_path / "work")
    opened = await open_session(world, asked, SPECS)
    (link,) = await world.transcript.read(opened.head)
    assert isinstance(link.entry.body, NoticeBody)
    assert link.entry.body.what == "session_opened"
    named = {"context": opened.context, "settings": asked.settings, "public_key": "k", "host": "h"}
    assert named.items() <= link.entry.body.data.items()
    assert json.loads(index_path(world.home, "s1").read_text())["head"] == opened.head


async def test_opening_again_gives_the_same_context_and_head(world: World, tmp_path: Path) -> None:
    asked = await request(world, tmp_path / "work")
    assert await open_session(world, asked, SPECS) == await open_session(world, asked, SPECS)


async def test_the_folder_is_kept_by_its_real_path(world: World, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("work")
    opened = await open_session(world, await request(world, tmp_path / "link"), SPECS)
    context = await context_of(world, opened.context)
    assert context.cwd == str((tmp_path / "work").resolve())
    assert f"Working directory: {context.cwd} (no git repository)" in context.system[1]


async def test_the_session_has_the_tools_that_were_chosen_and_the_persons_words(world: World, tmp_path: Path) -> None:
    settings = SessionSettings(tools=("Read", "Glob"), system_prompt="Be brief.", append_system_prompt="In German.")
    opened = await open_session(world, await request(world, tmp_path / "work", settings), SPECS)
    context = await context_of(world, opened.context)
    assert [tool.name for tool in context.tools] == ["Glob", "Read"]
    assert (context.system[0], context.system[2]) == ("Be brief.", "In German.")


async def test_without_words_of_the_person_the_model_gets_ours(world: World, tmp_path: Path) -> None:
    opened = await open_session(world, await request(world, tmp_path / "work"), SPECS)
    context = await context_of(world, opened.context)
    assert context.system[0].startswith("You are perdure")
    assert len(context.system) == 2
    assert [tool.name for tool in context.tools] == [tool.name for tool in TOOLS if tool.by_default]


@pytest.mark.parametrize(
    ("matcher", "is_there"), [("Bash", True), ("*", False), ("WebSearch", False), ("Web.*", False)]
)
async def test_a_search_that_a_guard_wants_to_see_is_not_offered_and_that_is_told(
    world: World, tmp_path: Path, matcher: str, is_there: bool
) -> None:
    guard = HookRule(event="PreToolUse", kind=HookKind.COMMAND, matcher=matcher, command="true")
    settings = SessionSettings(rules=Rules(allow=("WebSearch",)), hooks=(guard,))
    opened = await open_session(world, await request(world, tmp_path / "work", settings), SPECS)
    context = await context_of(world, opened.context)
    assert ("WebSearch" in [tool.name for tool in context.tools]) is is_there
    (link,) = await world.transcript.read(opened.head)
    assert isinstance(link.entry.body, NoticeBody)
    assert ("WebSearch is not offered" in str(link.entry.body.data["hook_problems"])) is not is_there


@pytest.mark.parametrize("folder", ["missing", "file"])
async def test_a_folder_that_is_none_is_said_by_name(world: World, tmp_path: Path, folder: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="does not exist on") as error:
        await open_session(world, await request(world, tmp_path / folder), SPECS)
    assert error.value.reason == "no_folder"


async def test_a_relative_folder_means_nothing_to_a_worker(world: World) -> None:
    with pytest.raises(UserError):
        await open_session(world, await request(world, Path()), SPECS)


async def test_an_unknown_tool_is_told_with_those_there_are(world: World, tmp_path: Path) -> None:
    asked = await request(world, tmp_path / "work", SessionSettings(tools=("Reed",)))
    with pytest.raises(UserError, match=r"there is no tool Reed; there are .*Bash, Edit"):
        await open_session(world, asked, SPECS)


@pytest.mark.parametrize("session", ["../../x", "", "A B"])
async def test_an_odd_session_id_touches_no_file(world: World, tmp_path: Path, session: str) -> None:
    asked = await request(world, tmp_path / "work", session=session)
    with pytest.raises(UserError, match="no session id"):
        await open_session(world, asked, SPECS)


async def test_settings_that_are_missing_are_an_error_of_the_store(world: World, tmp_path: Path) -> None:
    asked = (await request(world, tmp_path / "work")).model_copy(update={"settings": "e" * 64})
    with pytest.raises(MissingObject):
        await open_session(world, asked, SPECS)


async def test_settings_that_are_none_are_said_to_be(world: World, tmp_path: Path) -> None:
    odd = await world.store.put(b'{"max_tokens": "many"}')
    asked = (await request(world, tmp_path / "work")).model_copy(update={"settings": odd})
    with pytest.raises(UserError, match="settings"):
        await open_session(world, asked, SPECS)
