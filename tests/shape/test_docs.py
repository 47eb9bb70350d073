"""What the README says of the command line is what the program does."""

import re
from pathlib import Path

from cli.app import COMMANDS
from workflows.contracts.errors import ExitCode

README = Path(__file__).parents[2].joinpath("README.md").read_text(encoding="utf-8")


def test_every_command_has_its_place_in_the_readme() -> None:
    table = README.partition("## The commands")[2].partition("\n## ")[0]
    named = set(re.findall(r"`(?:perdure )?([a-z]+)(?: [^`]*)?`", table))
    assert {command.name for command in COMMANDS} <= named


def test_every_command_that_the_readme_names_exists() -> None:
    named = set(re.findall(r"`?perdure ([a-z]+)", README.partition("## Start")[2]))
    assert named <= {command.name for command in COMMANDS}


def test_the_exit_codes_are_the_programs_own() -> None:
    told = {int(code) for code in re.findall(r"\| (\d+) \|", README)}
    assert told == {value for name, value in vars(ExitCode).items() if name.isupper()}
