"""Sessions to record that ask a person, plan, and work in the background."""

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from tests.fakes.command_line import bash as call
from tests.fakes.rig import Rig, Talk, Told, played
from workflows.contracts.ids import task_workflow
from workflows.contracts.permissions import Chosen, Mode
from workflows.contracts.session import Snapshot
from workflows.contracts.settings import Thresholds


def bash(command: str) -> Told:
    """One call of Bash."""
    (only,) = call(command)["content"]
    return dict(only)


def asks(snapshot: Snapshot) -> bool:
    """Whether a question is open."""
    return bool(snapshot.approvals)


async def _question(rig: Rig, box: Path) -> Talk:
    options = [{"label": "one"}, {"label": "two"}]
    ask = {"tool": "AskUserQuestion", "input": {"questions": [{"question": "Which?", "options": options}]}}
    async with played({"replies": [{"content": [ask]}, "Done."]}) as model:
        talk = await rig.start(model, cwd=box)
        (asked,) = (await talk.when(asks)).approvals
        await talk.choose(asked, Chosen(options=(2,)))
        await talk.result()
        return talk


async def _plan(rig: Rig, box: Path) -> Talk:
    rig.home.plan("planned").write_text("# Plan")
    replies = [{"content": [{"tool": "ExitPlanMode", "input": {}}]}, {"content": [bash("echo one")]}, "Done."]
    async with played({"replies": replies}) as model:
        talk = await rig.start(model, cwd=box, mode=Mode.PLAN, session="planned")
        (asked,) = (await talk.when(asks)).approvals
        await talk.choose(asked, mode=Mode.BYPASS)
        await talk.result()
        return talk


async def _background(rig: Rig, box: Path) -> Talk:
    """One task ends inside the turn, one wakes the session, one ends with it."""
    starts = [
        {"tool": "Bash", "input": {"command": f"sleep {seconds}", "run_in_background": True}} for seconds in (0, 4, 300)
    ]
    replies = [{"content": starts}, {"content": [bash("sleep 1")]}, "They run.", "One is done."]
    async with played({"replies": replies}) as model:
        talk = await rig.start(model, cwd=box, once=False)
        await talk.when(lambda snapshot: snapshot.state.turns == 2 and snapshot.phase == "idle", 60)
        await talk.close("enough")
        await talk.result()
        return talk


async def _stopped_task(rig: Rig, box: Path) -> Talk:
    """A command outlasts its call, and a person ends the task that it became."""
    long = {"tool": "Bash", "input": {"command": "echo on; sleep 300", "timeout": 500}}
    async with played({"replies": [{"content": [long]}, "It goes on.", "It is over."]}) as model:
        talk = await rig.start(model, cwd=box, once=False)
        resting = await talk.when(lambda snapshot: snapshot.phase == "idle" and bool(snapshot.state.tasks), 60)
        (task,) = resting.state.tasks
        child = rig.client.get_workflow_handle(task_workflow(talk.session, task.id))
        await child.cancel(reason="me@here with perdure tasks")
        await talk.when(lambda snapshot: snapshot.state.turns == 2 and snapshot.phase == "idle", 60)
        await talk.close("enough")
        await talk.result()
        return talk


async def _monitor(rig: Rig, box: Path) -> Talk:
    """Lines come while the session rolls over."""
    watch = {"tool": "Monitor", "input": {"command": "echo a; sleep 15; echo b; sleep 300", "description": "letters"}}
    calls = {"content": [bash("sleep 0.5")], "repeat": 6}
    async with played({"replies": [{"content": [watch]}, calls], "fallback": "Noted."}) as model:
        talk = await rig.start(model, cwd=box, once=False, thresholds=Thresholds(roll_events=30))
        await talk.when(lambda snapshot: snapshot.state.turns == 2 and snapshot.phase == "idle", 60)
        await talk.close("enough")
        await talk.result()
        return talk


async def _hosts(rig: Rig, box: Path) -> Talk:
    """A call asks for itself and then for a host; another is interrupted while it asks for one."""
    called: Told = {"content": [bash("curl -s http://$(cat name)/; true")]}
    async with played({"replies": [called, "Done.", called]}) as model:
        talk = await rig.start(model, cwd=box, mode=Mode.DEFAULT, once=False)
        for exchange, name in ((1, "a.example"), (3, "b.example")):
            (box / "name").write_text(name)
            if exchange == 3:
                await talk.until("idle")
                await talk.send("again")
            for approval in (f"{exchange}.0", f"{exchange}.0.hosts"):
                (asked,) = (await talk.when(partial(_asks_for, approval=approval))).approvals
                if asked.id != "3.0.hosts":
                    await talk.choose(asked)
        await talk.interrupt()
        await talk.until("idle")
        await talk.close("enough")
        await talk.result()
        return talk


def _asks_for(snapshot: Snapshot, approval: str) -> bool:
    return [one.id for one in snapshot.approvals] == [approval]


ASKING: dict[str, Callable[[Rig, Path], Awaitable[Talk]]] = {
    "question": _question,
    "plan": _plan,
    "background": _background,
    "monitor": _monitor,
    "stopped-task": _stopped_task,
    "hosts": _hosts,
}
"""Each by the name of its histories."""
