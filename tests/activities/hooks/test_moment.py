"""Hooks of a session's own moments run once, leave a notice, and hide secrets."""

import asyncio
import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from activities.hooks.moment import moments_of, run_moment
from activities.hooks.session_file import keep_current, session_file
from tests.activities.tool_calls.stage import AT, Stage, use
from tests.fakes.waiting import eventually_async
from worker.commands_left import end_commands
from workflows.contracts.extensions import HookEvent, HookKind, HookMoment, HookRule
from workflows.contracts.messages import Role, Text
from workflows.contracts.settings import SessionSettings
from workflows.contracts.transcript import MessageBody, NoticeBody

SECRET = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"


def hook(command: str, event: str = "UserPromptSubmit", **more: Any) -> HookRule:
    return HookRule(event=event, kind=HookKind.COMMAND, command=command, **more)


async def staged(folder: Path, *hooks: HookRule) -> Stage:
    stage = Stage(folder, SessionSettings(hooks=hooks))
    await stage.reply(use("Glob", pattern="*"))
    return stage


async def moment(stage: Stage, event: HookEvent = HookEvent.USER_PROMPT_SUBMIT, **more: Any) -> HookMoment:
    prompt = await stage.world.store.put(b"say hello")
    given = {"session": "s1", "context": stage.context, "head": stage.entry, "at": AT, "event": event, "prompt": prompt}
    return HookMoment(**{**given, "turn": 1, **more})


async def notice(stage: Stage, head: str) -> NoticeBody:
    body = (await stage.world.transcript.entry(head)).body
    assert isinstance(body, NoticeBody)
    return body


async def test_without_hooks_the_chain_stays_as_it_was(tmp_path: Path) -> None:
    stage = await staged(tmp_path, hook("exit 2", "Stop"))
    done = await run_moment(stage.world, await moment(stage))
    assert (done.head, done.blocked) == (stage.entry, "")


async def test_a_moment_is_told_in_a_notice_and_its_words_are_shown_to_the_model(tmp_path: Path) -> None:
    stage = await staged(tmp_path, hook("cat > given; echo 'it rains'"))
    done = await run_moment(stage.world, await moment(stage))
    told = await notice(stage, done.head)
    assert (told.what, told.shown, told.text) == ("hooks", True, "[UserPromptSubmit hook] it rains")
    assert json.loads((stage.workspace / "given").read_text())["prompt"] == "say hello"


async def test_the_same_moment_tried_again_runs_nothing_and_gives_the_same(tmp_path: Path) -> None:
    stage = await staged(tmp_path, hook("echo x >> runs; echo no >&2; exit 2"))
    first = await run_moment(stage.world, await moment(stage))
    again = await run_moment(stage.after_a_crash().world, await moment(stage))
    assert again == first
    assert (stage.workspace / "runs").read_text() == "x\n"
    await run_moment(stage.world, await moment(stage, turn=2))
    assert (stage.workspace / "runs").read_text() == "x\nx\n"


async def test_secrets_in_what_hooks_say_are_masked(tmp_path: Path) -> None:
    stage = await staged(
        tmp_path, hook(f"echo token {SECRET}"), hook(f"echo {SECRET} >&2; exit 2"), hook(f"echo {SECRET} >&2; exit 5")
    )
    done = await run_moment(stage.world, await moment(stage))
    told = await notice(stage, done.head)
    feed = "".join(path.read_text() for path in stage.world.home.events.rglob("*.ndjson"))
    assert SECRET not in f"{told.text} {done.blocked} {told.data} {feed}"
    assert "token" in told.text


async def test_an_interrupt_ends_the_hooks_of_a_moment(tmp_path: Path) -> None:
    stage = await staged(tmp_path, hook("echo $$ > pid; sleep 60"))
    running = asyncio.ensure_future(run_moment(stage.world, await moment(stage)))
    await eventually_async((stage.workspace / "pid").exists)
    stage.beat.cancelled.set()
    done = await running
    assert "interrupted" in done.stopped
    assert not Path(f"/proc/{(stage.workspace / 'pid').read_text().strip()}").exists()


async def test_going_down_ends_a_hook_that_nobody_watches(tmp_path: Path) -> None:
    stage = await staged(tmp_path, hook("echo $$ > pid; sleep 60"))
    running = asyncio.ensure_future(run_moment(stage.world, await moment(stage)))
    await eventually_async((stage.workspace / "pid").exists)
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
    await asyncio.to_thread(end_commands, stage.world.home)
    assert not Path(f"/proc/{(stage.workspace / 'pid').read_text().strip()}").exists()


@pytest.mark.parametrize(
    ("hooks", "moments"),
    [
        ([], ()),
        ([hook("x", "PreToolUse")], ()),
        ([hook("x", "Stop"), hook("x", "SessionStart")], ("SessionStart", "Stop")),
        ([hook("x", "PostToolUse", is_async=True)], ("UserPromptSubmit", "Stop")),
    ],
)
def test_only_moments_with_hooks_or_with_something_to_hear_are_scheduled(
    hooks: list[HookRule], moments: tuple[str, ...]
) -> None:
    assert moments_of(hooks) == moments


async def test_the_sessions_file_grows_with_the_chain_and_begins_anew_with_another(tmp_path: Path) -> None:
    stage = await staged(tmp_path)
    path = await keep_current(stage.world, "s1", stage.entry)
    assert path == session_file(stage.world.home, "s1")
    body = MessageBody(role=Role.USER, blocks=(Text(text="more"),))
    head = await stage.world.transcript.append(stage.entry, AT, [body])
    await asyncio.gather(*(keep_current(stage.world, "s1", head) for _ in range(4)))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["uuid"] for line in lines] == [stage.entry, head]
    assert lines[1]["message"] == {"role": "user", "content": [{"type": "text", "text": "more"}]}
    other = await stage.world.transcript.append("", AT, [body])
    await keep_current(stage.world, "s1", other)
    assert [json.loads(line)["uuid"] for line in path.read_text().splitlines()] == [other]


async def test_a_hook_of_another_host_finds_no_environment_of_the_first(tmp_path: Path) -> None:
    stage = await staged(tmp_path, hook("env > env"))
    stage.world = replace(stage.world, environment={"PATH": "/usr/bin:/bin", "PERDURE_STORE": "x", "MY_API_KEY": "k"})
    await run_moment(stage.world, await moment(stage))
    environment = (stage.workspace / "env").read_text()
    assert "PERDURE_SESSION_ID=s1" in environment
    assert "MY_API_KEY" not in environment
    assert "PERDURE_STORE" not in environment
