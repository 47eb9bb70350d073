"""Commands that are imported only when they are called, so that help and quick commands stay quick."""

import difflib
import importlib
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Protocol

import typer
from typer.core import TyperArgument, TyperGroup, TyperOption

from workflows.contracts.errors import UsageError

if TYPE_CHECKING:  # typer names these in its signatures only
    from typer._click.core import Command, Context
    from typer._click.formatting import HelpFormatter

_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


class Described(Protocol):
    """What is known of a command before it is imported."""

    @property
    def name(self) -> str:
        """As it is called."""
        ...

    @property
    def place(self) -> str:
        """`module:function` under cli.commands."""
        ...

    @property
    def heading(self) -> str:
        """Part of the list of commands."""
        ...

    @property
    def caption(self) -> str:
        """One sentence."""
        ...


def program(commands: Sequence[Described], tagline: str, epilog: str) -> "Command":
    """The whole command line, as something to be called with its words."""
    table = {command.name: command for command in commands}

    class Commands(TyperGroup):
        """Finds each command when it is asked for."""

        def list_commands(self, ctx: "Context") -> list[str]:  # noqa: ARG002 - as typer asks
            return list(table)

        def get_command(self, ctx: "Context", cmd_name: str) -> "Command | None":  # noqa: ARG002 - as typer asks
            if cmd_name in table:
                return _imported(table[cmd_name])
            near = difflib.get_close_matches(cmd_name, table, n=1)
            guess = f" Did you mean perdure {near[0]}?" if near else ""
            raise UsageError(f"There is no command {cmd_name!r}.{guess} See: perdure --help", reason="usage")

        def format_commands(self, ctx: "Context", formatter: "HelpFormatter") -> None:  # noqa: ARG002 - as typer asks
            for heading in dict.fromkeys(command.heading for command in commands):
                with formatter.section(heading):
                    formatter.write_dl([(c.name, c.caption) for c in commands if c.heading == heading])

        def format_epilog(self, ctx: "Context", formatter: "HelpFormatter") -> None:  # noqa: ARG002 - as typer asks
            formatter.write(f"\n{epilog}\n")

    app = typer.Typer(
        cls=Commands, help=tagline, rich_markup_mode=None, pretty_exceptions_enable=False,
        no_args_is_help=True, context_settings=_SETTINGS,
    )  # fmt: skip
    app.callback(help=tagline)(_root)
    return _quick(typer.main.get_command(app))


def _root(version: Annotated[bool, typer.Option("--version", "-V", help="Print the version.")] = False) -> None:
    """Nothing: `main` answers --version before typer is imported."""


def _imported(command: Described) -> "Command":
    module, _, name = command.place.partition(":")
    found = importlib.import_module(f"cli.commands.{module}")
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    function = getattr(found, name)
    settings = {**_SETTINGS, **getattr(function, "context_settings", {})}
    app.command(command.name, context_settings=settings)(function)
    return _quick(typer.main.get_command(app))


def _quick(command: "Command") -> "Command":
    """The command, its texts and flags taken as they come: typer would import pydantic to make text of text."""
    context = typer.Context(command, help_option_names=["-h", "--help"])
    # Should typer keep this elsewhere one day, commands are slower and work as before.
    with suppress(ImportError, AttributeError, TypeError):
        from typer._coercion import PassThroughRuntimeParam

        for parameter in command.get_params(context):
            if not isinstance(parameter, TyperOption | TyperArgument):
                continue
            described = parameter.type_descriptor
            many = parameter.nargs != 1 or (isinstance(parameter, TyperOption) and parameter.multiple)
            if described.annotation in {str, bool} and not many:
                kept = PassThroughRuntimeParam(annotation=described.annotation, parameter_info=described.parameter_info)
                parameter._runtime_param = kept  # noqa: SLF001 - there is no other place to say it
    return command
