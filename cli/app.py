"""The command line: one line per command; what a mistake becomes, and with which exit code."""

import errno
import os
import sys
from itertools import pairwise
from typing import NamedTuple

TAGLINE = "A coding agent whose every move survives."


class Listing(NamedTuple):
    """One command: where it is, under which heading it is listed, and what for."""

    name: str
    place: str
    """Module under cli.commands, and function."""
    heading: str
    caption: str


COMMANDS = (
    Listing("run", "run:run", "Work", "Start a session with a prompt and watch it."),
    Listing("send", "run:send", "Work", "Give a session another prompt."),
    Listing("watch", "watch:watch", "Work", "Join a session, late or live."),
    Listing("stop", "sessions:stop", "Work", "Interrupt what a session does now."),
    Listing("close", "sessions:close", "Work", "End a session for good."),
    Listing("rewind", "rewind:rewind", "Work", "Take back files, the conversation, or both."),
    Listing("ls", "sessions:ls", "Look", "List sessions."),
    Listing("show", "sessions:show", "Look", "Show one session."),
    Listing("tasks", "tasks:tasks", "Look", "List what runs in the background, show its output, end it."),
    Listing("audit", "audit:audit", "Look", "Show every step of a session, and verify it."),
    Listing("approvals", "approvals:approvals", "Decide", "List the questions that wait for you."),
    Listing("approve", "approvals:approve", "Decide", "Allow what a session asks for."),
    Listing("answer", "answer:answer", "Decide", "Answer what a session's agent asks you."),
    Listing("deny", "approvals:deny", "Decide", "Refuse what a session asks for."),
    Listing("mode", "mode:mode", "Decide", "Set what a session may do without asking."),
    Listing("permissions", "permissions:permissions", "Decide", "Explain what would be decided about a call, and why."),
    Listing("trust", "trust:trust", "Decide", "Let the settings of a folder count."),
    Listing("up", "engine:up", "Engine", "Start server and worker in the background."),
    Listing("down", "engine:down", "Engine", "End them; sessions go on at the next start."),
    Listing("status", "engine:status", "Engine", "Show what runs, and where."),
    Listing("settings", "settings:settings", "Engine", "Show which settings count, and from which file."),
    Listing("set", "set:set_value", "Engine", "Change one value of a settings file."),
    Listing("hooks", "hooks:hooks", "Engine", "List hooks, or try what they would decide."),
    Listing("sandbox", "sandbox:sandbox", "Engine", "Try a command in the sandbox, and see what is refused."),
    Listing("doctor", "doctor:doctor", "Engine", "Look for what is wrong with this set-up."),
    Listing("worker", "worker:worker", "Engine", "Run a worker for a fleet, in the foreground."),
    Listing("demo", "demo:demo", "Engine", "See a session survive a crash; needs no key."),
)

EPILOG = """\
Exit codes: 0 done, 1 failed, 2 wrong usage, 3 denied or needs approval, 4 exchange limit, 5 engine unreachable,
6 budget, 7 key or request refused, 8 model unreachable, 9 still running (detached), 130 interrupted, 143 terminated."""


def main() -> int:
    """Run the command of this process's arguments; its exit code."""
    _have_streams()
    code = _ended()
    if "temporalio" in sys.modules:
        # Threads of Temporal's client that are still on their way out abort an interpreter that ends before them.
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(code)
    return code


def _have_streams() -> None:
    """What was closed before we began (`>&-`) takes all and gives nothing; its number is not a file's by chance."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            number = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(number, True)  # noqa: FBT003 - it takes no name for it
            setattr(sys, name, os.fdopen(number, mode))


def _ended() -> int:
    words = sys.argv[1:] or ["--help"]
    if words in (["--version"], ["-V"]):
        print(f"perdure {_version()}")
        return 0
    try:
        return _called(words)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        _forget_output()
        return 1
    except OSError as error:
        code = _complain(words, _about(error), 1, "os_error")
        _forget_output()
        return code


def _about(error: OSError) -> str:
    """What the system could not do, and to what."""
    why = error.strerror or str(error)
    if error.filename:
        return f"{error.filename}: {why}"
    if isinstance(error, FileNotFoundError):
        return "The folder that you are in is gone: change to one that is there."
    is_output = error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
    return f"The output cannot be written: {why}." if is_output else why


def _forget_output() -> None:
    """Nobody takes the output any more; Python's own last flush would complain again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _called(words: list[str]) -> int:
    from workflows.contracts.errors import PerdureError, UserError, reason_of

    try:
        from cli.commands_on_demand import program

        code = program(COMMANDS, TAGLINE, EPILOG)(words, prog_name="perdure", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except UserError as error:
        return _complain(words, str(error), error.exit_code, reason_of(error))
    except PerdureError as error:
        return _complain(words, str(error), 1, reason_of(error))
    except OSError:
        raise
    except Exception as error:
        message = _usage(error)
        if message:
            return _complain(words, message, 2, "usage")
        if os.environ.get("PERDURE_DEBUG"):
            raise
        return _complain(words, _fault(error), 1, "fault")


def _usage(error: Exception) -> str:
    """What a wrong call is told, or nothing when the error is none of typer's."""
    shown = getattr(error, "format_message", None)
    if shown is None:
        return "stopped before it was done" if type(error).__name__ == "Abort" else ""
    context = getattr(error, "ctx", None)
    path = context.command_path if context else "perdure"
    return f"{str(shown()).rstrip('.')}. See: {path} --help"


def _complain(words: list[str], message: str, code: int, reason: str) -> int:
    """Say it in one line; where JSON was asked for, as an object on stdout too."""
    print(f"perdure: {' '.join(message.split())}", file=sys.stderr)
    try:
        _print_object(words, message, code, reason)
    except OSError:  # nothing more can be said there
        _forget_output()
    return code


def _print_object(words: list[str], message: str, code: int, reason: str) -> None:
    if _wants(words, "--output-format"):
        from cli.display.results import json_line, outcome_of_error, result_object
        from workflows.contracts.errors import UserError

        print(json_line(result_object(outcome_of_error(UserError(message, code, reason)))), flush=True)
    elif "--json" in words:
        import json

        print(json.dumps({"error": message, "reason": reason, "exit_code": code}), flush=True)


def _wants(words: list[str], flag: str) -> bool:
    """Whether that flag asks for json or stream-json."""
    named = [word.removeprefix(f"{flag}=") for word in words if word.startswith(f"{flag}=")]
    named += [value for word, value in pairwise(words) if word == flag]
    return any(value in {"json", "stream-json"} for value in named)


def _fault(error: Exception) -> str:
    from worker.engine import Home

    logs = Home.from_environment().logs
    return (
        f"perdure has a fault: {type(error).__name__}: {str(error)[:300]}. PERDURE_DEBUG=1 shows where; "
        f"the logs of server and worker are in {logs}."
    )


def _version() -> str:
    # A look at the folder's names takes a millisecond, importlib.metadata a hundred.
    for folder in sys.path:
        try:
            names = os.listdir(folder or ".")  # noqa: PTH208 - pathlib takes longer than all the rest
        except OSError:
            continue
        for name in names:
            if name.startswith("perdure-") and name.endswith(".dist-info"):
                return name.removeprefix("perdure-").removesuffix(".dist-info")
    return "of unknown version"
