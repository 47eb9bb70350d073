"""keep_always: the rules that a person's *always* allows, saved where each belongs; done twice it is done once."""

import asyncio
from collections.abc import Sequence

from pydantic import JsonValue

from activities.safety.session_rules import keep_session_rules
from activities.settings.always import always_allow
from activities.settings.places import places_of
from activities.tool import Call
from workflows.contracts.errors import UserError
from workflows.contracts.permissions import Answer, Source
from workflows.contracts.tools import Pass
from workflows.core.suggestions import destination


async def keep_always(call: Call, answer: Answer | None) -> dict[str, JsonValue]:
    """What became of it, for the outcome: the rules that are kept and where, or why none is. Never raises UserError."""
    if answer is None or not (answer.allow and answer.always) or call.approval is None:
        return {}
    found = Pass.model_validate_json(await call.world.store.get(call.approval.found))
    if not found.suggestions:
        return {"always": {"rules": [], "why": "no rule would answer this question the next time"}}
    try:
        where = await asyncio.to_thread(_keep, call, found.suggestions, answer.by)
    except UserError as error:
        return {"always": {"rules": [], "why": str(error)}}
    return {"always": {"rules": [*found.suggestions], "file": where}}


def _keep(call: Call, rules: Sequence[str], by: str) -> str:
    passing = [rule for rule in rules if destination(rule) == Source.SESSION]
    lasting = [rule for rule in rules if destination(rule) != Source.SESSION]
    keep_session_rules(call.world.home, call.session, passing, by)
    if not lasting:
        return "the session"
    file, _added = always_allow(places_of(call.world), call.own_folder or call.workspace, lasting, by)
    return str(file)
