"""Start a session: what must be there first, what is kept, and who watches it then."""

import os
import secrets
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from cli.commands.attending import Attended, attend, say
from cli.commands.choices import Choices, detached_notice
from cli.commands.from_files import Asking, trusted_settings, variables, with_files
from cli.commands.root import check_root
from cli.display.results import json_line
from cli.gateway import open_sessions
from cli.person import is_agents_command
from cli.sender import Sender
from cli.signing import new_request, public_key
from worker import engine, model_keys
from worker.engine import Home
from worker.rehearsals import start_rehearsal
from worker.target import named_server
from workflows.contracts.errors import ExitCode, KeyRefused, UsageError
from workflows.contracts.ids import is_session_id
from workflows.contracts.session import SessionInput
from workflows.contracts.settings import SessionSettings
from workflows.contracts.transcript import stamp

ID_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"
"""32 letters and digits that are not mistaken for each other."""
NO_KEY = (
    "No key for the model: set ANTHROPIC_API_KEY, or ANTHROPIC_BASE_URL for a server that needs none, "
    "or try `perdure demo`."
)


@dataclass(frozen=True)
class Start:
    """A session to be started, and how it is watched."""

    choices: Choices
    folder: str
    prompt: str
    title: str = ""
    session: str = ""
    """Its id; empty for a random one."""
    once: bool = False
    output: str = ""
    partial: bool = False
    is_verbose: bool = False
    trusts: bool = False
    """The person trusts the folder's settings as they are."""

    def asking(self) -> Asking:
        """Whether somebody can be asked here and now."""
        is_watched = not (self.choices.detach or self.choices.unattended or self.output)
        return Asking(is_attended=is_watched and sys.stdin.isatty() and sys.stderr.isatty(), trusts=self.trusts)


async def start_and_watch(start: Start, environment: Mapping[str, str] = os.environ) -> int:
    """Start the session and, unless it is detached, watch it until its prompt is done; the exit code."""
    begun = time.monotonic()
    home = Home.from_environment(environment)
    start = _named(start)
    scenario = start.choices.scenario(environment)
    # All that can be wrong is found before anything is started or kept.
    settings, thresholds = (
        start.choices.settings(environment, "rehearsal" if scenario else ""),
        start.choices.thresholds(),
    )
    if settings.tools:
        _check_tools(settings)
    is_embedded = named_server(environment) is None
    if is_embedded and not scenario and not model_keys.leads_to_a_model(environment):
        raise KeyRefused(NO_KEY, reason="no_key")
    files = trusted_settings(home, start.folder, start.asking(), environment)
    settings = with_files(settings, files, start.choices, environment)
    base_url = model_keys.base_url_of(environment)
    home.ensure()
    await check_root(home, settings, environment)
    if is_embedded:
        keep_key(home, environment)
        _have_engine(home)
    sessions = await open_sessions(home, environment)
    # Last of what may fail: a model that no session asks would run on for nobody.
    if scenario:
        base_url = start_rehearsal(home, scenario)
    if scenario or is_embedded:
        settings = settings.model_copy(update={"base_url": base_url})
    sender = Sender(home)
    sender.environment(start.session, variables(files, environment))
    prompt = await sender.prompt(start.prompt, new_request())
    prompt = prompt.model_copy(update={"title": sender.title(start.title) or prompt.title})
    if told := sender.notice():
        say(told)
    host = home.host()
    given = SessionInput(
        session=start.session, cwd=start.folder, host=host.id, host_name=host.name, store=await sender.store_id(),
        settings=await sender.settings(settings), public_key=public_key(home), prompts=(prompt,),
        thresholds=thresholds, mode=settings.mode, once=start.once,
    )  # fmt: skip
    await sessions.start_session(given, model=settings.model, title=prompt.title, started=stamp(datetime.now(UTC)))
    _tell(start, settings)
    if start.choices.detach:
        return _detached(start)
    attended = Attended(
        home, sessions, start.session, turn=1, output=start.output, partial=start.partial, once=start.once,
        may_answer=not start.output, started=begun,
    )  # fmt: skip
    return await attend(attended)


def _check_tools(settings: SessionSettings) -> None:
    from worker.offline import check_tools  # a table of all tools takes its time to import

    check_tools(settings.tools)


def _named(start: Start) -> Start:
    """The same with an id, checked."""
    session = start.session or "".join(secrets.choice(ID_LETTERS) for _ in range(8))
    if not is_session_id(session):
        raise UsageError(
            f"{session!r} can be no session id: lower-case letters, digits and dashes, at most 63, no dash first."
        )
    return replace(start, session=session)


def keep_key(home: Home, environment: Mapping[str, str]) -> None:
    """Keep the person's key for the embedded worker; an agent's command may not put its own in that place."""
    if not is_agents_command():
        model_keys.remember(home, environment)


def _have_engine(home: Home) -> None:
    """Start the engine where it is not up; its worker comes while the session already waits for it."""
    if not engine.status(home).is_serving:
        say("Starting the engine (Temporal server and worker) in the background …")
    engine.ensure_up(home)


def _tell(start: Start, settings: SessionSettings) -> None:
    if start.choices.detach or start.choices.unattended:
        say(detached_notice(start.session, settings))
    elif not start.output or start.is_verbose:
        say(f"Session {start.session}. From elsewhere: perdure watch {start.session}")
    if start.is_verbose:
        say(f"Model {settings.model}, mode {settings.mode}, folder {start.folder}")


def _detached(start: Start) -> int:
    if start.output in {"json", "stream-json"}:
        print(json_line({"type": "started", "session_id": start.session}))
    else:
        print(start.session)
    return ExitCode.DONE
