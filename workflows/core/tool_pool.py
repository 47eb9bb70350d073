"""The tools that one session sees: those it names, else the usual ones; what the provider runs, only where allowed."""

from collections.abc import Sequence

from workflows.contracts.settings import SessionSettings
from workflows.contracts.tools import ToolSpec
from workflows.contracts.web import WebSettings


def pool(specs: Sequence[ToolSpec], settings: SessionSettings) -> tuple[ToolSpec, ...]:
    """The session's tools, in the order of `specs`.

    A tool that the provider runs itself is never asked about, since nobody can be asked in the middle of a request: it
    is there only if the session names it or an allow rule does, and not if a deny or ask rule does.
    """
    return tuple(_declared(spec, settings.web) for spec in specs if _is_in(spec, settings))


def _is_in(spec: ToolSpec, settings: SessionSettings) -> bool:
    if spec.server:
        rules = settings.rules
        if spec.name in {*rules.deny, *rules.ask}:
            return False
        return spec.name in {*settings.tools, *rules.allow}
    return spec.name in settings.tools if settings.tools else spec.by_default


def _declared(spec: ToolSpec, web: WebSettings) -> ToolSpec:
    if not spec.server:
        return spec
    limits = {"allowed_domains": list(web.search_allowed), "blocked_domains": list(web.search_blocked)}
    given = {name: domains for name, domains in limits.items() if domains}
    return spec.model_copy(update={"server": {**spec.server, "max_uses": web.searches, **given}})
