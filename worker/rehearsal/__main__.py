"""python -m worker.rehearsal FILE: serve a scenario file until told to stop."""

import argparse
import asyncio
import json
import os
import signal
import sys
from pathlib import Path

from worker.rehearsal.scenario import Scenario, load_scenario
from worker.rehearsal.server import rehearse
from workflows.contracts.errors import ExitCode, UsageError, UserError


def main() -> int:
    """Serve until SIGTERM or SIGINT; a mistake is one line on stderr and an exit code."""
    choices = _parser().parse_args()
    try:
        scenario = load_scenario(choices.file).with_vars(dict(_setting(given) for given in choices.set))
        asyncio.run(_serve(scenario, choices))
    except UserError as error:
        print(error, file=sys.stderr)  # noqa: T201 - this is a program of its own
        return error.exit_code
    return ExitCode.DONE


async def _serve(scenario: Scenario, choices: argparse.Namespace) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with rehearse(
        scenario,
        record=choices.record,
        window=choices.window,
        strict=choices.strict,
        port=choices.port,
        kept_bytes=0,
    ) as model:
        print(json.dumps({"url": model.url, "pid": os.getpid()}), flush=True)  # noqa: T201 - the line who started it waits for
        await stop.wait()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m worker.rehearsal", description="A scripted Messages API on loopback.")
    parser.add_argument("file", type=Path, help="the scenario, YAML or JSON (docs/rehearsal.md)")
    parser.add_argument("--port", type=int, default=0, help="by default any free one")
    parser.add_argument("--record", type=Path, metavar="DIR", help="write every request body here")
    parser.add_argument("--window", type=int, metavar="TOKENS", help="by default the scenario's, else 200,000")
    parser.add_argument("--strict", action=argparse.BooleanOptionalAction, help="refuse what the provider refuses")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a word to replace in replies")
    return parser


def _setting(given: str) -> tuple[str, str]:
    name, found, value = given.partition("=")
    if not found:
        raise UsageError(f"--set {given}: write NAME=VALUE")
    return name, value


if __name__ == "__main__":
    sys.exit(main())
