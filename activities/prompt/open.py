"""open_session: fix what never changes inside a session, and write its first entry."""

import asyncio
import platform
from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from activities.hooks.matching import may_match
from activities.hooks.moment import moments_of
from activities.hooks.snapshot import frozen
from activities.prompt.segments import STATIC, surroundings
from activities.prompt.taken_up import taken_up
from activities.safety.sandbox.hold import sandbox_told
from activities.settings.opening import hooks_of, settings_of, told
from activities.settings.places import places_of
from activities.settings.policy import current_policy
from activities.stores.index import note_head
from activities.world import World
from workflows.contracts.errors import UserError
from workflows.contracts.events import Notice, SessionOpened
from workflows.contracts.extensions import HookRule
from workflows.contracts.ids import is_session_id
from workflows.contracts.session_steps import Opened, OpenRequest
from workflows.contracts.settings import SessionContext, SessionSettings
from workflows.contracts.tools import ToolSpec
from workflows.contracts.transcript import NoticeBody, canonical
from workflows.core.tool_pool import pool

_TOLD = 40
"""Hooks, and problems of hooks, that the first entry names."""


async def open_session(world: World, request: OpenRequest, tools: tuple[ToolSpec, ...]) -> Opened:
    """Store the session's context and begin its chain. Raises UserError for a missing folder or odd settings."""
    if not is_session_id(request.session):
        raise UserError(f"{request.session[:80]!r} is no session id: lower-case letters, digits and dashes are")
    await _check_store(world, request.store)
    folder = Path(request.cwd).resolve()
    if not Path(request.cwd).is_absolute() or not folder.is_dir():
        raise UserError(f"the session's folder {request.cwd} does not exist on {world.host.name}", reason="no_folder")
    settings = await _settings(world, request.settings)
    _check_tools(settings, tools)
    files = await asyncio.to_thread(settings_of, world, folder, settings)
    policy = await asyncio.to_thread(current_policy, places_of(world), folder, settings)
    found, problems = hooks_of(files)
    hooks = await asyncio.to_thread(frozen, world.home, request.session, found, files.settings)
    settings = _keeping_scripts(settings, found)
    offered = pool(tools, settings, policy)
    guards = (*hooks, *settings.hooks)
    unseen = [spec.name for spec in offered if spec.server and may_match(guards, "PreToolUse", spec.name)]
    problems = (*problems, *map(_unseen, unseen))
    context = SessionContext(
        session=request.session,
        cwd=str(folder),
        host=request.host,
        settings=settings,
        system=tuple(map(world.masker(request.session).text, _system(settings, folder, request.at))),
        tools=tuple(spec for spec in offered if spec.name not in unseen),
        hooks=hooks,
    )
    older = await taken_up(world, request)
    digest = await world.store.put(canonical(older.as_context(context).model_dump(mode="json")))
    held = await sandbox_told(world, settings.sandbox)
    notice = NoticeBody(
        what=older.what,
        text=older.text,
        shown=older.shown,
        data={
            **dict(older.facts),
            "context": digest,
            "settings": request.settings,
            "host": request.host,
            "store": request.store,
            "public_key": request.public_key,
            "sandbox": held,
            **told(files),
            "hooks": [f"{rule.event}: {rule.label} ({rule.source})" for rule in hooks[:_TOLD]],
            "hook_problems": [problem[:300] for problem in problems[:_TOLD]],
        },
    )
    head = await world.transcript.append(request.start, request.at, (*older.results, notice))
    note_head(world.home, request.session, head, request.at, older.what)
    _announce(world, context, problems, held)
    return Opened(
        context=digest,
        head=head,
        hooks=moments_of((*hooks, *settings.hooks)),
        turns=older.turns,
        exchanges=older.exchanges,
    )


def _keeping_scripts(settings: SessionSettings, hooks: Sequence[HookRule]) -> SessionSettings:
    """The settings with the scripts of hooks read-only in the sandbox."""
    files = settings.sandbox.filesystem
    kept = (*files.deny_write, *(script.path for hook in hooks for script in hook.scripts))
    filesystem = files.model_copy(update={"deny_write": tuple(dict.fromkeys(kept))})
    return settings.model_copy(update={"sandbox": settings.sandbox.model_copy(update={"filesystem": filesystem})})


def _unseen(tool: str) -> str:
    return (
        f"{tool} is not offered: a PreToolUse hook matches it, and the provider runs it inside a reply, where no hook "
        "can be asked. Leave it out of the hook's matcher to have it."
    )


def _announce(world: World, context: SessionContext, problems: Sequence[str], held: str) -> None:
    world.publish(
        context.session,
        SessionOpened(
            session=context.session,
            cwd=context.cwd,
            model=context.settings.model,
            mode=context.settings.mode.value,
            tools=tuple(tool.name for tool in context.tools),
            sandbox=held.split(":", maxsplit=1)[0],
        ),
        *(Notice(what="hook", text=problem[:1_000]) for problem in problems[:_TOLD]),
    )


async def _check_store(world: World, named: str) -> None:
    mine = await world.store.store_id()
    if named and named != mine:
        raise UserError(
            f"the session's objects are in the store {named[:8]}, this worker's store {world.store.url} is {mine[:8]}: "
            "set PERDURE_STORE to one and the same for the command and the worker",
            reason="other_store",
        )


def _check_tools(settings: SessionSettings, tools: tuple[ToolSpec, ...]) -> None:
    known = [tool.name for tool in tools]
    if unknown := sorted(set(settings.tools) - set(known)):
        raise UserError(f"there is no tool {', '.join(unknown)}; there are {', '.join(known)}", reason="no_tool")


async def _settings(world: World, digest: str) -> SessionSettings:
    try:
        return SessionSettings.model_validate_json(await world.store.get(digest))
    except ValidationError as error:
        raise UserError(f"the session's settings {digest} cannot be read: {error.errors()[0]['msg']}") from error


def _system(settings: SessionSettings, folder: Path, at: str) -> tuple[str, ...]:
    where = surroundings(
        str(folder),
        f"{platform.system()} {platform.release()}",
        "bash",
        at[:10],
        settings.model,
        is_git=(folder / ".git").exists(),
    )
    parts = (settings.system_prompt or STATIC, where, settings.append_system_prompt)
    return tuple(part for part in parts if part.strip())
