"""Which file a command showed to the model: what `cat f` printed counts as read, as what Read shows does."""

from contextlib import suppress

from activities.processes.command import CommandEnd
from activities.safety.bash.syntax import parse
from activities.safety.paths import is_inside, located
from activities.stores.regular_files import read_version
from activities.tool import Call
from workflows.contracts.commands import SimpleCommand
from workflows.contracts.errors import ToolError

_WITH_VALUE = {
    "cat": set[str](),
    "head": {"-n", "-c", "--lines", "--bytes"},
    "tail": {"-n", "-c", "--lines", "--bytes"},
    "sed": set[str](),
    "grep": {"-A", "-B", "-C", "-m"},
}
"""Programs that print of a file what stands there, and their options that take the next word."""


def note_shown(call: Call, command: str, end: CommandEnd) -> None:
    """Take the one file of the workspace that the command showed as read, unless it was changed since."""
    name = shown_file(command) if end.exit_code == 0 else ""
    if not name or end.started_at is None:
        return
    with suppress(ToolError):
        path = located(call, str(call.cwd / name))
        if not is_inside(path, call.workspace):
            # In the sandbox another file has that name.
            return
        version = read_version(path)
        if version is not None and version.facts.st_mtime < end.started_at:
            call.seen.note(path, version.digest)


def shown_file(command: str) -> str:
    """The file that a command prints, or parts of it; empty for any other, and for more than one."""
    script = parse(command)
    if script.problem or script.features or len(script.commands) != 1:
        return ""
    (one,) = script.commands
    is_bare = one.is_plain and not (one.assignments or one.wrappers or one.redirections or one.places or one.folder)
    if not is_bare or one.name not in _WITH_VALUE or not all(word.is_constant for word in one.words):
        return ""
    operands = _operands(one)
    if one.name == "sed":
        operands = operands[1:] if "-n" in one.argv and not any(word[:2] == "-i" for word in one.argv) else []
    elif one.name == "grep":
        operands = operands[1:]
    return operands[0] if len(operands) == 1 else ""


def _operands(command: SimpleCommand) -> list[str]:
    """Its words that are neither options nor what these take."""
    operands, takes = [], False
    for word in command.argv[1:]:
        if not takes and not word.startswith("-"):
            operands.append(word)
        takes = not takes and word in _WITH_VALUE[command.name]
    return operands
