"""A background task goes on beyond its call, tells its lines and its end once, and ends when it is told to."""

import asyncio
from pathlib import Path

import pytest

from activities.processes.attach import is_running
from activities.processes.output import stored_bytes
from activities.tasks.watch import end_task, watch_task
from tests.activities.tool_calls.stage import Stage, text, use
from tests.fakes.waiting import eventually_async
from tests.fakes.world import SESSION
from workflows.contracts.directives import StartTask
from workflows.contracts.tasks import MOST_TASKS, Task, Watched, WatchRequest
from workflows.contracts.tools import CallStatus
from workflows.contracts.transcript import NoticeBody

pytestmark = pytest.mark.journey


WAITS = "while [ ! -e go ]; do sleep 0.05; done"


async def begun(stage: Stage, tool: str, **given: object) -> Task:
    """The task that a call starts."""
    done, body = await stage.run(use(tool, **given))
    assert done.status == CallStatus.OK, text(body)
    (directive,) = done.directives
    assert isinstance(directive, StartTask)
    assert body.directives == done.directives
    return directive.task


async def in_background(stage: Stage, command: str, **given: object) -> Task:
    return await begun(stage, "Bash", command=command, run_in_background=True, **given)


def watching(stage: Stage, task: Task, **changed: object) -> WatchRequest:
    return WatchRequest(session=SESSION, context=stage.context, task=task).model_copy(update=changed)


async def told(stage: Stage, watched: Watched) -> NoticeBody:
    return NoticeBody.model_validate_json(await stage.world.store.get(watched.notice))


async def test_the_call_returns_at_once_and_the_command_goes_on_to_its_end(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    task = await in_background(stage, "sleep 1; echo done; exit 3", description="a slow thing")
    assert is_running(stage.world.journal.call(SESSION, task.key).folder)
    assert (task.id[0], task.title, task.call) == ("b", "a slow thing", "1.0")
    watched = await watch_task(stage.world, watching(stage, task))
    notice = await told(stage, watched)
    assert (watched.has_ended, notice.shown, notice.what) == (True, True, "task_ended")
    assert f"{task.id} (a slow thing) has ended: exit code 3" in notice.text
    assert "done" in notice.text
    assert (notice.data["exit_code"], notice.data["status"]) == (3, "error")


async def test_a_call_that_is_tried_again_starts_nothing_twice(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    task = await in_background(stage, "echo ran >> log; sleep 30")
    await eventually_async((stage.workspace / "log").exists)
    record = stage.world.journal.call(SESSION, task.key)
    (record.path / "outcome").unlink()
    done, body = await stage.after_a_crash().again()
    assert done.directives == (StartTask(task=task),)
    assert body.crash == "attached"
    assert (stage.workspace / "log").read_text() == "ran\n"
    await end_task(stage.world, watching(stage, task))


async def test_a_call_that_waited_long_enough_lets_its_command_go_on_as_a_task(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    done, body = await stage.run(use("Bash", command=f"echo one; echo ran >> log; {WAITS}; echo two", timeout=2_000))
    (directive,) = done.directives
    assert isinstance(directive, StartTask)
    assert (body.status, body.is_error) == (CallStatus.OK, False)
    assert text(body).startswith("one\n[it still runs after 2 s and goes on in the background] It runs in the back")
    (stage.workspace / "go").touch()
    notice = await told(stage, await watch_task(stage.world, watching(stage, directive.task)))
    assert f"{directive.task.id} (echo one; echo ran >> log; while [ ! -e ) has" in notice.text
    assert "exit code 0" in notice.text
    assert "one\ntwo" in notice.text
    assert (stage.workspace / "log").read_text() == "ran\n"


async def test_a_command_whose_call_died_past_its_time_goes_on_as_the_same_task(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    first, _body = await stage.run(use("Bash", command="echo ran >> log; sleep 60", timeout=500))
    await eventually_async((stage.workspace / "log").exists)
    (stage.world.journal.calls(SESSION)[0].path / "outcome").unlink()
    again, body = await stage.after_a_crash().again()
    assert (again.directives, body.crash) == (first.directives, "attached")
    assert (stage.workspace / "log").read_text() == "ran\n"
    (directive,) = again.directives
    assert isinstance(directive, StartTask)
    await end_task(stage.world, watching(stage, directive.task))


@pytest.mark.parametrize("command", ["sleep 60", "git version; tail -f /dev/null", "echo ${"])
async def test_a_wait_a_git_command_and_one_that_cannot_be_read_end_at_the_limit(tmp_path: Path, command: str) -> None:
    done, body = await Stage(tmp_path).run(use("Bash", command=command, timeout=500))
    assert done.directives == ()
    assert body.is_error


async def test_with_as_many_tasks_as_may_be_a_command_ends_at_the_limit(tmp_path: Path) -> None:
    done, body = await Stage(tmp_path).run(use("Bash", command="cat; sleep 60", timeout=500), tasks=MOST_TASKS)
    assert (done.directives, body.data["end"]) == ((), "deadline")


async def test_in_a_session_that_ends_with_its_turn_a_command_ends_at_the_limit_and_a_task_says_so(
    tmp_path: Path,
) -> None:
    stage = Stage(tmp_path)
    done, body = await stage.run(use("Bash", command="echo on; sleep 60", timeout=500), once=True)
    assert (done.directives, body.data["end"]) == ((), "deadline")
    _, body = await stage.run(use("Bash", command="echo on", run_in_background=True), once=True, exchange=2)
    assert "wait with TaskOutput for what you need" in text(body)


async def test_an_interrupt_before_the_limit_ends_a_command_that_might_go_on(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    await stage.reply(use("Bash", command="touch begun; sleep 60", timeout=60_000))
    running = asyncio.ensure_future(stage.again())
    await eventually_async((stage.workspace / "begun").exists)
    stage.beat.cancelled.set()
    done, body = await asyncio.wait_for(running, 20)
    assert (done.directives, body.status) == ((), CallStatus.CANCELLED)


async def test_a_watch_that_died_is_taken_up_where_the_command_is_and_tells_the_same(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    task = await in_background(stage, "sleep 0.6; echo done")
    first = asyncio.ensure_future(watch_task(stage.world, watching(stage, task)))
    await asyncio.sleep(0.2)
    first.cancel()
    second = stage.after_a_crash()
    assert "exit code 0" in (await told(second, await watch_task(second.world, watching(stage, task)))).text


async def test_a_cancelled_watch_ends_nothing_and_the_end_that_follows_says_who_wanted_it(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    task = await in_background(stage, "echo begun; sleep 60")
    record = stage.world.journal.call(SESSION, task.key)
    stage.beat.cancelled.set()
    assert await watch_task(stage.world, watching(stage, task, offset=3)) == Watched(offset=3)
    assert is_running(record.folder)
    watched = await end_task(stage.world, watching(stage, task, by="me@here"))
    assert watched.has_ended
    assert "it was stopped by me@here. What it gave:]\nbegun" in (await told(stage, watched)).text
    assert not is_running(record.folder)
    assert await end_task(stage.world, watching(stage, task, by="me@here")) == watched


async def test_the_lines_of_a_monitor_are_told_together_each_once_and_its_end_at_last(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    task = await begun(stage, "Monitor", command="echo one; echo two; sleep 1.2; printf 'half'", description="log")
    first = await watch_task(stage.world, watching(stage, task))
    assert (await told(stage, first)).text == f"[Background task {task.id} (log) printed:]\none\ntwo"
    assert (first.offset, first.has_ended) == (len("one\ntwo\n"), False)
    last = await watch_task(stage.world, watching(stage, task, offset=first.offset, number=2))
    assert last.has_ended
    assert "half" in (await told(stage, last)).text


async def test_of_many_lines_the_first_are_shown_and_where_the_rest_is(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    task = await begun(stage, "Monitor", command="seq 1 5000; sleep 30", description="numbers")
    notice = await told(stage, await watch_task(stage.world, watching(stage, task)))
    assert notice.text.splitlines()[1:101] == [str(number) for number in range(1, 101)]
    shown = sum(len(f"{number}\n") for number in range(1, 101))
    assert f"TaskOutput shows them from offset {shown}" in notice.text
    await end_task(stage.world, watching(stage, task))


async def test_a_monitor_has_a_time_limit_and_a_background_command_none(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    task = await begun(stage, "Monitor", command="sleep 60", description="d", timeout_ms=300)
    notice = await told(stage, await watch_task(stage.world, watching(stage, task)))
    assert "its time was over" in notice.text


async def test_output_is_read_from_any_place_while_it_runs_and_after(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    task = await in_background(stage, "echo alpha; sleep 1; echo omega")
    folder = stage.world.journal.call(SESSION, task.key).folder
    await eventually_async(lambda: (folder / "output").exists() and (folder / "output").read_bytes() == b"alpha\n")
    _done, body = await stage.run(use("TaskOutput", task_id=task.id, block=False))
    assert text(body).endswith("runs; bytes 0 to 6 of 6; the next begin at offset 6]\nalpha")
    _done, body = await stage.run(use("TaskOutput", task_id=task.id, offset=6))
    assert text(body).endswith("has ended: exit code 0; bytes 6 to 12 of 12; the next begin at offset 12]\nomega")
    _done, body = await stage.run(use("TaskOutput", task_id=task.id, offset=2, timeout=0))
    assert text(body).endswith("\npha\nomega")


async def test_a_task_is_stopped_once_and_those_that_run_are_named(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    one = await in_background(stage, "echo one; sleep 60", description="first")
    other = await in_background(stage, "sleep 61", description="second")
    folder = stage.world.journal.call(SESSION, one.key).folder
    await eventually_async(lambda: (folder / "output").exists() and (folder / "output").stat().st_size > 0)
    done, body = await stage.run(use("TaskStop", task_id=one.id))
    assert done.status == CallStatus.OK
    assert text(body) == f"Task {one.id} (first) has ended: it was stopped.\none"
    assert [directive.kind for directive in done.directives] == ["drop_task"]
    _done, body = await stage.run(use("TaskStop", task_id=one.id), exchange=2)
    assert f"has ended already. These run: {other.id} (second)." in text(body)
    _done, body = await stage.run(use("TaskStop", task_id="b0"), exchange=3)
    assert "no background task 'b0'. There are: " in text(body)
    await end_task(stage.world, watching(stage, other))


async def test_a_session_has_only_so_many_tasks(tmp_path: Path) -> None:
    done, body = await Stage(tmp_path).run(use("Bash", command="sleep 60", run_in_background=True), tasks=MOST_TASKS)
    assert (done.status, done.directives) == (CallStatus.ERROR, ())
    assert "End one with TaskStop" in text(body)


TOKEN = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cF0hL3kM6"
HALVES = (TOKEN[:20], TOKEN[20:])


async def printed(stage: Stage, command: str) -> Task:
    """A task that has printed and ended."""
    task = await in_background(stage, command)
    await watch_task(stage.world, watching(stage, task))
    return task


@pytest.mark.parametrize("offset", [101, 120, 139])
async def test_no_offset_shows_half_of_a_secret(tmp_path: Path, offset: int) -> None:
    stage = Stage(tmp_path)
    (stage.workspace / "log").write_text(f"{'x' * 99} {TOKEN} end\n")
    task = await printed(stage, "cat log")
    done, body = await stage.run(use("TaskOutput", task_id=task.id, offset=offset), exchange=2)
    assert done.status == CallStatus.OK
    assert "[secret:github:" in text(body)
    assert text(body).endswith(" end")
    assert TOKEN[-8:] not in text(body)


async def test_a_look_that_ends_within_a_secret_shows_none_of_it(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    (stage.workspace / "log").write_text(f"{'x' * 29_979} {TOKEN} end\n" + "y" * 40_000)
    task = await printed(stage, "cat log")
    for offset in (0, 30_000):
        _done, body = await stage.run(use("TaskOutput", task_id=task.id, offset=offset), exchange=2 + offset)
        assert not any(half in text(body) for half in HALVES)
        assert "[secret:github:" in text(body)


async def test_a_word_that_a_running_command_has_not_finished_is_shown_with_the_next_look(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    first, second = HALVES
    (stage.workspace / "first").write_text(f"key {first}")
    (stage.workspace / "second").write_text(f"{second}\n")
    task = await in_background(stage, f"cat first; {WAITS}; cat second")
    folder = stage.world.journal.call(SESSION, task.key).folder
    await eventually_async(lambda: stored_bytes(folder) == 24)
    _done, body = await stage.run(use("TaskOutput", task_id=task.id, block=False), exchange=2)
    assert first not in text(body)
    assert "20 more from offset 4" in text(body)
    (stage.workspace / "go").touch()
    await watch_task(stage.world, watching(stage, task))
    _done, body = await stage.run(use("TaskOutput", task_id=task.id, offset=4), exchange=3)
    assert text(body).splitlines()[-1].startswith("[secret:github:")


async def test_the_end_that_is_shown_of_a_stopped_task_holds_no_half_of_a_secret(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    (stage.workspace / "log").write_text(f"{'x' * 99} {TOKEN} {'y' * 3_979}\n")
    task = await in_background(stage, f"cat log; {WAITS}")
    folder = stage.world.journal.call(SESSION, task.key).folder
    await eventually_async(lambda: stored_bytes(folder) > 4_000)
    _done, body = await stage.run(use("TaskStop", task_id=task.id), exchange=2)
    assert "[secret:github:" in text(body)
    assert TOKEN[-10:] not in text(body)


async def test_lines_that_are_cut_within_a_secret_show_none_of_it(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    (stage.workspace / "log").write_text(f"{'x' * 3_979} {TOKEN} end\n")
    task = await begun(stage, "Monitor", command=f"cat log; {WAITS}", description="the log")
    notice = await told(stage, await watch_task(stage.world, watching(stage, task)))
    (stage.workspace / "go").touch()
    assert "[secret:github:" in notice.text
    assert HALVES[0][:12] not in notice.text
