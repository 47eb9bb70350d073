"""The tools that one session sees: those it names, else the usual ones; what the provider runs, only where allowed."""

from collections.abc import Sequence

from pydantic import JsonValue

from workflows.contracts.permissions import Decision, Mode, Policy
from workflows.contracts.settings import SessionContext, SessionSettings
from workflows.contracts.tools import ToolSpec
from workflows.contracts.web import WebSettings
from workflows.core.permissions import Asked, decide


def pool(specs: Sequence[ToolSpec], settings: SessionSettings, policy: Policy) -> tuple[ToolSpec, ...]:
    """The session's tools, in the order of `specs`.

    A tool that the provider runs itself is never asked about, since nobody can be asked in the middle of a request: it
    is there only if the session names it or an allow rule does, and not if a deny or ask rule does.
    """
    return tuple(_declared(spec, settings.web) for spec in specs if _is_in(spec, settings, policy))


def with_searches_left(context: SessionContext, made: int) -> SessionContext:
    """The context with no more searches than the session may still make; the same one as long as these are enough."""
    left = context.settings.web.session_searches - made
    if left >= context.settings.web.searches or not any(spec.server for spec in context.tools):
        return context
    tools = (
        spec.model_copy(update={"server": {**spec.server, "max_uses": left}}) if spec.server else spec
        for spec in context.tools
        if left > 0 or not spec.server
    )
    return context.model_copy(update={"tools": tuple(tools)})


def _is_in(spec: ToolSpec, settings: SessionSettings, policy: Policy) -> bool:
    if spec.server:
        if settings.web.search_allowed and not settings.web.search_domains:
            return False
        verdict = decide(Asked(tool=spec.name), Mode.DEFAULT, policy)
        is_decided = verdict.by in {"rule", "policy"}
        return verdict.decision == Decision.ALLOW if is_decided else spec.name in settings.tools
    return spec.name in settings.tools if settings.tools else spec.by_default


def _declared(spec: ToolSpec, web: WebSettings) -> ToolSpec:
    if not spec.server:
        return spec
    given: dict[str, JsonValue] = {}
    if web.search_allowed:
        given = {"allowed_domains": [*web.search_domains]}
    elif web.search_blocked:
        given = {"blocked_domains": [*web.search_blocked]}
    return spec.model_copy(update={"server": {**spec.server, "max_uses": web.searches, **given}})
