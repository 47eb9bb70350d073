"""perdure run, send: give an agent a prompt, and watch what it does with it."""

import asyncio
import os
from typing import Annotated

import typer

from cli.commands.attending import FORMATS, Attended, attend, say
from cli.commands.choices import Choices, folder_of, prompt_of
from cli.commands.sessions import Session
from cli.commands.starting import Start, keep_key, start_and_watch
from cli.display.results import json_line
from cli.gateway import open_sessions
from cli.person import check_person
from cli.sender import Sender
from cli.signing import new_request
from worker.engine import Home
from worker.target import named_server
from workflows.contracts.errors import ExitCode, UsageError
from workflows.contracts.session import Submit

Words = Annotated[
    list[str] | None,
    typer.Argument(metavar="PROMPT", help="What is to be done; - reads it from standard input."),
]
Print = Annotated[
    bool,
    typer.Option("--print", "-p", help="Print only the answer."),
]
Format = Annotated[
    str,
    typer.Option("--output-format", help="text, json (one object at the end) or stream-json (one a line)."),
]
Partial = Annotated[
    bool, typer.Option("--include-partial-messages", help="stream-json also tells tokens as they come.")
]
Detach = Annotated[bool, typer.Option("--detach", "-d", help="Print the session's id and leave it alone: exit code 0.")]
Model = Annotated[
    str,
    typer.Option(help="Model, or rehearsal:FILE for a scripted one. [env: PERDURE_MODEL, ANTHROPIC_MODEL]"),
]
Fallback = Annotated[str, typer.Option(help="Up to three, with commas, for when the model is overloaded.")]
PermissionMode = Annotated[
    str, typer.Option(help="What needs no question: default, acceptEdits, plan, auto, dontAsk or bypassPermissions.")
]
Allowed = Annotated[
    list[str] | None,
    typer.Option("--allowed-tools", "--allowedTools", help="Rules that allow, such as 'Bash(git status),Edit'."),
]
Disallowed = Annotated[
    list[str] | None,
    typer.Option("--disallowed-tools", "--disallowedTools", help="Rules that deny."),
]
Tools = Annotated[str, typer.Option(help="Only these tools, with commas.")]
MaxTurns = Annotated[int, typer.Option(help="Most exchanges for one prompt; without it no limit.", show_default=False)]
MaxBudget = Annotated[
    float, typer.Option(help="Most dollars for the session; without it no limit.", show_default=False)
]
MaxRetries = Annotated[int, typer.Option(help="Most attempts of one model call; without it 10.", show_default=False)]
Idle = Annotated[float, typer.Option(help="Longest silence of a reply, in seconds; without it 90.", show_default=False)]
System = Annotated[str, typer.Option(help="System prompt instead of perdure's own.")]
AppendSystem = Annotated[str, typer.Option(help="Text after perdure's own system prompt.")]
Folder = Annotated[str, typer.Option(help="Folder to work in; by default this one.")]
AddDir = Annotated[
    list[str] | None, typer.Option("--add-dir", help="One more folder to read and, where you allow it, change.")
]
Name = Annotated[str, typer.Option("--name", "-n", help="Title; by default the first words of the prompt.")]
SessionId = Annotated[str, typer.Option(help="Id; by default eight random letters.")]
Once = Annotated[bool, typer.Option("--once", help="Close the session when the prompt is done.")]
Unattended = Annotated[
    str, typer.Option(help="Nobody attends: deny questions, or let them wait; deny with --detach and --print.")
]
Trust = Annotated[
    bool, typer.Option("--trust", help="Trust the settings of the folder as they are now, as perdure trust does.")
]
NoSandbox = Annotated[bool, typer.Option("--no-sandbox", help="Commands run with all your rights, outside a sandbox.")]
Verbose = Annotated[bool, typer.Option("--verbose", help="Say more on standard error.")]


def run(  # noqa: PLR0917 - typer reads them by name, never by place
    prompt: Words = None,
    model: Model = "",
    fallback_model: Fallback = "",
    permission_mode: PermissionMode = "",
    allowed_tools: Allowed = None,
    disallowed_tools: Disallowed = None,
    tools: Tools = "",
    max_turns: MaxTurns = 0,
    max_budget_usd: MaxBudget = 0.0,
    max_retries: MaxRetries = 0,
    idle_seconds: Idle = 0.0,
    system_prompt: System = "",
    append_system_prompt: AppendSystem = "",
    cwd: Folder = "",
    add_dir: AddDir = None,
    name: Name = "",
    session_id: SessionId = "",
    once: Once = False,
    detach: Detach = False,
    unattended: Unattended = "",
    print_only: Print = False,
    output_format: Format = "",
    partial: Partial = False,
    trust: Trust = False,
    no_sandbox: NoSandbox = False,
    verbose: Verbose = False,
) -> int:
    """Start a session with a prompt and watch it until the prompt is done.

    Ctrl-C leaves the session running (exit code 9) and says how to come back; twice interrupts it (130).
    With --detach the exit code is 0 as soon as the session is started.
    """
    choices = Choices(
        model=model, fallback_model=fallback_model, permission_mode=permission_mode,
        allowed_tools=tuple(allowed_tools or ()), disallowed_tools=tuple(disallowed_tools or ()), tools=tools,
        max_turns=max_turns, max_budget_usd=max_budget_usd, max_retries=max_retries, system_prompt=system_prompt,
        append_system_prompt=append_system_prompt, idle_seconds=idle_seconds, unattended=unattended, detach=detach,
        is_print=print_only, no_sandbox=no_sandbox, add_dirs=tuple(add_dir or ()),
    )  # fmt: skip
    output = output_of(output_format, is_print=print_only)
    if choices.gives_rights():
        check_person("A session with more rights")
    start = Start(
        choices=choices, folder=folder_of(cwd), prompt=prompt_of(prompt), title=name, session=session_id, once=once,
        output=output, partial=partial, is_verbose=verbose, trusts=trust,
    )  # fmt: skip
    return asyncio.run(start_and_watch(start))


def send(
    session: Session,
    prompt: Words = None,
    detach: Detach = False,
    print_only: Print = False,
    output_format: Format = "",
    partial: Partial = False,
) -> int:
    """Give a session another prompt and watch it until that is done.

    It waits behind the prompts that the session has already. Ctrl-C leaves as in perdure run.
    """
    output = output_of(output_format, is_print=print_only)
    return asyncio.run(_send(session, prompt_of(prompt), output, detach=detach, partial=partial))


async def _send(word: str, text: str, output: str, *, detach: bool, partial: bool) -> int:
    home = Home.from_environment()
    sessions = await open_sessions(home)
    session = (await sessions.find(word)).session
    if named_server(os.environ) is None:
        # The key of the session's endpoint may be another one by now.
        keep_key(home, os.environ)
    request = new_request()
    sender = Sender(home)
    kept = await sender.prompt(text, request)
    if told := sender.notice():
        say(told)
    taken = await sessions.submit(session, Submit(request=request, digest=kept.digest, title=kept.title))
    if detach:
        print(json_line({"session_id": session, "turn": taken.turn}) if output else session)
        return ExitCode.DONE
    return await attend(
        Attended(home, sessions, session, turn=taken.turn, output=output, partial=partial, may_answer=not output)
    )


def output_of(chosen: str, *, is_print: bool) -> str:
    """The output format meant; UsageError for one that is not known."""
    if chosen not in FORMATS:
        raise UsageError(f"There is no output format {chosen!r}: choose text, json or stream-json.")
    return chosen or ("text" if is_print else "")
