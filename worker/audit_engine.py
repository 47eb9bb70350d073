"""What the engine knows of a session: the history of its newest run, and the head that this history took."""

from collections.abc import Mapping

from activities.stores.home import Home
from worker.audit_sources import Source
from worker.target import resolve_address
from workflows.contracts.errors import UserError
from workflows.contracts.ids import session_workflow
from workflows.core.audit_histories import facts_of


async def with_engine(source: Source, home: Home, env: Mapping[str, str]) -> Source:
    """The source with what the engine says; with a note instead when the engine is down or has forgotten the session.

    History alone is asked for, so no worker needs to be alive.
    """
    try:
        target = resolve_address(env, home)
        from temporalio.service import RPCError, RPCStatusCode

        from worker.connection import connect
        from worker.histories import ServerHistories

        histories = ServerHistories(await connect(target))
    except UserError as error:
        return source.with_note(f"read without the engine: {error}")
    try:
        data = (await histories.fetch(session_workflow(source.session), "")).data
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            return source.with_note("the engine has no history of this session (any more)")
        return source.with_note(f"read without the engine's history: {error.message}")
    return source.with_engine(facts_of(data).head, [data])
