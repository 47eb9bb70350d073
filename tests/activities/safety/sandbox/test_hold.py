"""A command in the sandbox: it ends as it would outside, outlives the worker, and says what held it."""

import asyncio
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from activities.processes.attach import end_command, ended, is_running, watch
from activities.processes.command import EndKind
from activities.safety.sandbox import network
from activities.safety.sandbox.hold import is_excluded, sandbox_told
from activities.tool_calls.vet import vet
from activities.tools.bash import Bash
from tests.activities.processes.place import tagged, until
from tests.activities.safety.sandbox.cell import Cell, cell
from tests.fakes.held import missing
from tests.fakes.world import SESSION, make_call, text_of, use
from workflows.contracts.errors import ToolError
from workflows.contracts.permissions import Decision, Mode
from workflows.contracts.sandbox import FilesystemRules, SandboxSettings
from workflows.contracts.settings import SessionSettings

pytestmark = [pytest.mark.journey, pytest.mark.timeout(120)]


@pytest.fixture(scope="module", params=[1, 2], ids=["tier1", "tier2"])
def inside(request: pytest.FixtureRequest) -> Iterator[Cell]:
    if why := missing(request.param):
        pytest.skip(f"tier {request.param} cannot be shown here: {why}")
    with cell(request.param) as made:
        yield made


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("exit 3", {"exit_code": 3}),
        ("exit 139", {"exit_code": 139}),
        ("bash -c 'kill -SEGV $$'", {"exit_code": 139}),
        ("kill -SEGV $$", {"signal": 11}),
        ("kill -KILL $$", {"signal": 9}),
        ("exec sh -c 'kill -TERM $$'", {"signal": 15}),
        ("trap 'exit 4' EXIT; true", {"exit_code": 4}),
        ("exec true", {"exit_code": 0}),
        ("no-such-program-here", {"exit_code": 127}),
    ],
)
async def test_it_ends_as_it_would_outside(inside: Cell, command: str, told: dict[str, int]) -> None:
    outcome = await inside.run(command)
    assert {name: outcome.data[name] for name in told} == told


async def test_what_it_leaves_running_is_ended_and_counted(inside: Cell) -> None:
    said = await inside.text("sleep 60 & setsid sleep 61 & echo done")
    assert "done\n[2 process(es) it left running were ended]" in said


async def test_a_reader_of_its_output_may_finish(inside: Cell) -> None:
    await inside.run("echo late > >(sleep 0.05; cat > late)")
    assert (inside.workspace / "late").read_text() == "late\n"


async def test_it_runs_on_without_the_worker_network_included_and_ends_when_asked(inside: Cell) -> None:
    settings = SessionSettings(sandbox=inside.settings)
    call = make_call(inside.world, inside.workspace, "Bash", 900, settings=settings)
    attempt = asyncio.ensure_future(use(call, Bash(), command="echo $$; sleep 60"))
    await until(lambda: is_running(call.record.folder))
    folder = inside.world.home.journal / SESSION / "sandbox" / "network"
    before = network.find(folder)
    attempt.cancel()
    await asyncio.gather(attempt, return_exceptions=True)
    assert is_running(call.record.folder)
    assert network.find(folder) == before
    end = await end_command(call.record.folder)
    assert end is not None
    assert end.kind == EndKind.CANCELLED
    assert tagged(call.key) == []


async def test_nothing_of_it_survives_its_runner_and_warden(inside: Cell) -> None:
    if inside.tier == 2:
        pytest.skip("without a namespace of processes, what drops its tag and its session escapes two kills at once")
    call = make_call(inside.world, inside.workspace, "Bash", 901, settings=SessionSettings(sandbox=inside.settings))
    mine = {f"7{number}.{time.time_ns()}" for number in (1, 2)}
    one, other = sorted(mine)
    command = f"(setsid env -i sleep {one} &) ; echo on; sleep {other}"
    attempt = asyncio.ensure_future(use(call, Bash(), command=command))
    await until(lambda: (call.record.folder / "output").exists() and (call.record.folder / "output").stat().st_size > 0)
    facts = (call.record.folder / "started").read_text()
    for name in ("warden", "runner"):
        os.kill(int(facts.split(f'"{name}": ')[1].split(",")[0]), signal.SIGKILL)
    outcome = await attempt
    assert "outcome unknown" in text_of(outcome)
    assert not mine & set(_sleepers())


def _sleepers() -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[:1] == [b"sleep"]:
            found.append(words[1].decode())
    return found


async def test_a_second_attempt_joins_and_tells_what_was_refused_to_the_first(inside: Cell) -> None:
    settings = SessionSettings(sandbox=inside.settings)
    call = make_call(inside.world, inside.workspace, "Bash", 902, settings=settings)
    command = "echo x > .git/commondir; echo y > /perdure-x; sleep 0.5"
    attempt = asyncio.ensure_future(use(call, Bash(), command=command))
    await until((inside.workspace / ".git" / "commondir").exists)
    attempt.cancel()
    await asyncio.gather(attempt, return_exceptions=True)
    await watch(call.record.folder)
    said = text_of(await use(call, Bash(), command=command))
    assert ".git/commondir was moved to" in said
    assert "/perdure-x" in said


async def test_a_sandbox_that_cannot_start_is_told_as_that_and_nothing_ran(inside: Cell) -> None:
    if inside.tier == 2:
        pytest.skip("tier 2 mounts nothing, so nothing of it can be missing")
    gone = inside.workspace.parent / "gone"
    gone.mkdir(exist_ok=True)
    settings = inside.settings.model_copy(update={"filesystem": FilesystemRules(allow_write=(str(gone),))})
    call = make_call(inside.world, inside.workspace, "Bash", 903, settings=SessionSettings(sandbox=settings))
    start = inside.world.start_runner

    def late(folder: Path) -> None:
        gone.rmdir()
        start(folder)

    object.__setattr__(call.world, "start_runner", late)
    try:
        with pytest.raises(ToolError, match=r"sandbox could not be started: .*gone.*did not run"):
            await use(call, Bash(), command="touch ran")
    finally:
        object.__setattr__(call.world, "start_runner", start)
    assert not (inside.workspace / "ran").exists()
    end = ended(call.record.folder)
    assert end is not None
    assert not end.is_started


async def test_what_settings_open_is_open(inside: Cell) -> None:
    rules = FilesystemRules(allow_write=(str(inside.outside),), allow_read=("~/.ssh",))
    said = text_of(await inside.run("echo x > $OUT/new && rm $OUT/new && cat ~/.ssh/id", filesystem=rules))
    assert "of the person" in said
    assert "denial" not in said


async def test_variables_that_look_like_secrets_stay_outside_unless_named(inside: Cell) -> None:
    inside.variables["DEPLOY_TOKEN"] = "abc"
    assert "abc" not in await inside.text("env")
    assert "abc" in text_of(await inside.run("env", environment=("DEPLOY_TOKEN",)))


async def test_package_managers_find_a_cache_that_lasts(inside: Cell) -> None:
    await inside.run('mkdir -p "$PIP_CACHE_DIR" && echo kept > "$PIP_CACHE_DIR/x"; echo t > "$TMPDIR/t"')
    assert "kept\nt" in await inside.text('cat "$PIP_CACHE_DIR/x" "$TMPDIR/t"; test -w "$XDG_CACHE_HOME"')


async def test_a_server_is_reached_by_the_commands_own_loopback(inside: Cell) -> None:
    if inside.tier == 2:
        pytest.skip("tier 2 has no network at all")
    command = "python3 -m http.server 8123 --bind 127.0.0.1 >/dev/null 2>&1 & sleep 1; "
    assert "DOCTYPE" in await inside.text(command + "curl -sS http://127.0.0.1:8123/ | head -1")


async def test_a_lesser_tier_says_so_in_each_result_and_in_the_first_entry(inside: Cell) -> None:
    said = await inside.text("true")
    assert ("tier 2" in said) == (inside.tier == 2)
    assert (await sandbox_told(inside.world, inside.settings)).split(":")[0] == {1: "full", 2: "landlock"}[inside.tier]


async def test_what_is_spared_a_question_is_allowed_by_the_full_sandbox_alone(inside: Cell) -> None:
    held = inside.settings.model_copy(update={"auto_allow_bash_if_sandboxed": True})
    call = make_call(inside.world, inside.workspace, "Bash", settings=SessionSettings(sandbox=held))
    tool, given = Bash(), Bash.input(command="touch made")
    assert vet(call, tool, given, Mode.DEFAULT, None).decision == Decision.ASK, "nobody knows the tier yet"
    await sandbox_told(inside.world, held)
    verdict = vet(call, tool, given, Mode.DEFAULT, None)
    assert (verdict.decision == Decision.ALLOW, verdict.by == "sandbox") == 2 * (inside.tier == 1,)
    outside = tool.input(command="touch made", dangerouslyDisableSandbox=True)
    assert vet(call, tool, outside, Mode.DEFAULT, None).decision == Decision.ASK


async def test_the_sandbox_is_quick_to_be_there(inside: Cell) -> None:
    began = time.monotonic()
    await inside.run("true")
    assert time.monotonic() - began < 5


async def test_to_run_outside_is_asked_of_a_person_and_not_silenced_by_a_rule(inside: Cell) -> None:
    call = make_call(inside.world, inside.workspace, "Bash", 904, settings=SessionSettings(sandbox=inside.settings))
    tool = Bash()
    given = tool.input(command="touch $OUT/x", dangerouslyDisableSandbox=True)
    (found,) = [one for one in tool.findings(call, given) if one.check == "sandbox"]
    assert (found.action, found.sticky) == (Decision.ASK, True)
    closed = inside.settings.model_copy(update={"allow_unsandboxed_commands": False})
    call = make_call(inside.world, inside.workspace, "Bash", 905, settings=SessionSettings(sandbox=closed))
    (found,) = [one for one in tool.findings(call, given) if one.check == "sandbox"]
    assert found.action == Decision.DENY


@pytest.mark.parametrize(
    ("command", "is_out"),
    [
        ("docker ps", True),
        ("docker compose up", True),
        ("dockerx ps", False),
        ("docker ps; rm -rf x", False),
        ("docker $(evil)", False),
        ("sudo docker ps", False),
        ("npm test", False),
        ("npm run deploy now", True),
    ],
)
def test_an_excluded_command_is_one_simple_command(command: str, is_out: bool) -> None:
    settings = SandboxSettings(excluded_commands=("docker:*", "npm run deploy"))
    assert is_excluded(command, settings) == is_out
