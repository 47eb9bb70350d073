"""perdure up, down, status: the embedded engine."""

import json
import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.person import check_person, is_agents_command
from worker import engine, model_keys, target
from worker.commands_left import end_commands
from worker.engine import Home
from worker.networks_left import end_networks
from worker.rehearsals import end_rehearsals
from workflows.contracts.errors import ExitCode

if TYPE_CHECKING:  # Rich is loaded where something is drawn
    from rich.table import Table

WORKER_LIMIT_S = 20.0
"""How long `up` waits for the worker before it says that it is still starting."""

ENDS_COMMANDS: tuple[Callable[[Home], None], ...] = (end_commands, end_networks)
"""What `down` calls to end commands that outlive a worker: before its end, and after it for what it still started."""

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def up() -> None:
    """Start the engine (Temporal server and worker) in the background; harmless when it runs."""
    home = Home.from_environment()
    before = engine.status(home)
    engine.ensure_up(home)
    if not is_agents_command():
        model_keys.remember(home, os.environ)
    engine.wait_for_worker(home, WORKER_LIMIT_S)
    now = engine.status(home)
    _show(now, "The engine was already up." if before.is_serving and before.is_polling else "The engine is up.")
    _say_where_sessions_go()


def down() -> None:
    """End the engine and everything it started; sessions go on at the next `perdure up`."""
    check_person("perdure down")
    ended = engine.down(Home.from_environment(), ENDS_COMMANDS, (*ENDS_COMMANDS, end_rehearsals))
    print("The engine is down." if ended else "The engine was not up.")


def status(as_json: AsJson = False) -> None:
    """Show what runs of the engine, and where; exit code 5 when it is down."""
    now = engine.status(Home.from_environment())
    if as_json:
        print(json.dumps(asdict(now), indent=2))
    else:
        _show(now, "The engine is up." if now.is_serving else "The engine is down: `perdure up` starts it.")
        _say_where_sessions_go()
    if not now.is_serving:
        raise typer.Exit(ExitCode.ENGINE_UNREACHABLE)


def _say_where_sessions_go() -> None:
    named = target.named_server(os.environ)
    if named is not None:
        print(f"Sessions go to {named.address} instead, named by {named.source}.")


def _show(now: engine.EngineStatus, headline: str) -> None:
    from rich.console import Console

    console = Console(highlight=False, markup=False)
    console.print(headline, style="bold")
    console.print(_table(now))
    for notice in now.notices:
        console.print(f"Note: {notice}", style="yellow")
    for session in now.failing_sessions:
        console.print(f"The workflow tasks of {session} fail again and again: see {now.worker.log}", style="red")


def _table(now: engine.EngineStatus) -> "Table":
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    if now.is_serving:
        table.add_row("address", now.address)
        table.add_row("web page", now.ui_url)
    table.add_row("home", now.home)
    table.add_row("server", _part(now.server, "serving" if now.is_serving else "not serving yet"))
    table.add_row("worker", _part(now.worker, "polling" if now.is_polling else "starting"))
    table.add_row("supervisor", _part(now.supervisor, "watching"))
    table.add_row("database", f"{now.database_bytes / 1e6:.1f} MB, {now.sync} sync")
    table.add_row("logs", str(Path(now.server.log).parent))
    return table


def _part(part: engine.PartStatus, state: str) -> str:
    words = [f"{state}, pid {part.pid}, for {_span(part.uptime_s)}" if part.pid else "not running"]
    if part.restarts:
        words.append("started again once" if part.restarts == 1 else f"started again {part.restarts} times")
    if part.last_error:
        words.append(f"last error: {part.last_error}")
    return "; ".join(words)


def _span(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
