"""perdure demo: a session that is killed in the middle, goes on, and is audited."""

import os
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Annotated

import typer

from worker import engine
from worker.demonstration.killer import kill_in_the_middle
from worker.demonstration.project import make_project
from worker.engine import Home
from workflows.contracts.errors import ExitCode, UserError

SESSION = "demo"
PROMPT = "The test fails. Find out why, mend it, and run the tests."
LIMIT = 120.0

Keep = Annotated[bool, typer.Option("--keep", help="Leave the demonstration's folder and engine where they are.")]


def demo(keep: Keep = False) -> None:
    """Show a session that survives kill -9: a rehearsed model mends a small project. Needs no key."""
    root = Path(tempfile.mkdtemp(prefix="perdure-demo-"))
    home = Home(root / "home")
    environment = _environment(home)
    try:
        make_project(root / "project")
        _say(
            "The model of this demonstration is a rehearsed one: it plays a script, so no key is needed and nothing is "
            f"paid.\nEverything else is real: engine, worker, files, processes. It happens in {root}.\n"
        )
        engine.ensure_up(home)
        engine.wait_for_worker(home, 30.0)
        code = _run(home, environment, root / "project")
        _show_tests(root / "project")
        code = code or _perdure(environment, "audit", SESSION, "--verify")
    finally:
        if not keep:
            _perdure(environment, "down", quiet=True)
            shutil.rmtree(root, ignore_errors=True)
    if keep:
        _say(f"Left for you: PERDURE_HOME={home.root} perdure audit {SESSION}; perdure down ends its engine.")
    raise typer.Exit(code)


def _environment(home: Home) -> dict[str, str]:
    """The person's, but with the demonstration's own home and engine."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TEMPORAL_", "PERDURE_"))}
    return {**kept, "PERDURE_HOME": str(home.root), "PERDURE_ENGINE": "embedded"}


def _run(home: Home, environment: dict[str, str], project: Path) -> int:
    killed: list[int] = []
    killer = threading.Thread(target=lambda: killed.append(kill_in_the_middle(home, SESSION, LIMIT)), daemon=True)
    killer.start()
    scenario = Path(__file__).parents[2] / "worker" / "demonstration" / "scenario.yaml"
    code = _perdure(
        environment,
        "run",
        "--model",
        f"rehearsal:{scenario}",
        "--session-id",
        SESSION,
        "--allowed-tools",
        "Edit,Bash",
        "--once",
        PROMPT,
        cwd=project,
    )
    if code == ExitCode.DONE and not killed:
        raise UserError("the demonstration ended without a crash: the worker could not be killed in time")
    return code


def _show_tests(project: Path) -> None:
    _say("\nThe tests, run once more by the demonstration itself:")
    ran = subprocess.run(
        [sys.executable, "-m", "unittest"], cwd=project, capture_output=True, text=True, check=False, timeout=60
    )
    _say("  " + ran.stderr.strip().replace("\n", "\n  ") + "\n")


def _perdure(environment: dict[str, str], *words: str, cwd: Path | None = None, quiet: bool = False) -> int:
    command = [sys.executable, "-I", "-c", "import sys; from cli.app import main; sys.exit(main())", *words]
    output = subprocess.DEVNULL if quiet else None
    return subprocess.run(command, env=environment, cwd=cwd, stdout=output, stderr=output, check=False).returncode


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
