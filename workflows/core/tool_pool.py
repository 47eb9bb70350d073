"""The tools that one session sees: those it names, else the usual ones; what the provider runs, only where allowed."""

from collections.abc import Sequence

from pydantic import JsonValue

from workflows.contracts.permissions import Decision, Mode, Policy, Verdict
from workflows.contracts.settings import SessionContext, SessionSettings
from workflows.contracts.tools import ToolSpec
from workflows.contracts.web import WebSettings
from workflows.core.permissions import Asked, decide

_NOBODY = "the provider runs it inside a reply, where nobody can be asked"


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


def without_withdrawn(context: SessionContext, policy: Policy) -> SessionContext:
    """The context without tools of the provider that a rule forbids by now; the same one where none does."""
    tools = tuple(spec for spec in context.tools if not spec.server or not _is_withdrawn(spec, context, policy))
    return context if len(tools) == len(context.tools) else context.model_copy(update={"tools": tools})


def server_verdict(tool: str, settings: SessionSettings, policy: Policy) -> Verdict:
    """Whether a session gets a tool that the provider runs itself: a rule or `--tools` allows it, else it is denied."""
    verdict = decide(Asked(tool=tool), Mode.DEFAULT, policy)
    if verdict.by in {"rule", "policy"}:
        if verdict.decision != Decision.ASK:
            return verdict
        return verdict.model_copy(update={"decision": Decision.DENY, "text": f"{verdict.text}; {_NOBODY}"})
    is_named = tool in settings.tools
    return Verdict(
        decision=Decision.ALLOW if is_named else Decision.DENY,
        by="tool",
        rule=tool,
        text="the session names it" if is_named else f"no rule allows it, and {_NOBODY}",
        policy=policy.digest,
    )


def _is_withdrawn(spec: ToolSpec, context: SessionContext, policy: Policy) -> bool:
    verdict = server_verdict(spec.name, context.settings, policy)
    return verdict.decision == Decision.DENY and verdict.by in {"rule", "policy"}


def _is_in(spec: ToolSpec, settings: SessionSettings, policy: Policy) -> bool:
    if spec.server:
        if settings.web.search_allowed and not settings.web.search_domains:
            return False
        return server_verdict(spec.name, settings, policy).decision == Decision.ALLOW
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
