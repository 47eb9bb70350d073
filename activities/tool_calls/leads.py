"""Leads: where a call's paths lead is seen once; what is decided and answered counts for just that."""

from collections.abc import Sequence
from dataclasses import replace
from os.path import normpath
from pathlib import Path

from activities.safety.paths import real
from activities.stores.digests import digest_of
from activities.stores.regular_files import shown
from activities.tool import AnyTool, Call, ToolInput
from activities.tool_calls.opened import Begun
from workflows.contracts.permissions import Answer, Approval
from workflows.contracts.tools import Pass


def seen_once(call: Call, tool: AnyTool, given: ToolInput, begun: Begun | None = None) -> Call:
    """The call that touches no other files than its paths lead to now, or led to when it was allowed."""
    known: Sequence[str] = begun.leads if begun else ()
    leads = tuple(map(Path, known)) or tuple(map(real, tool.paths(call, given)))
    return replace(call, leads=leads or None)


def told_leads(call: Call, tool: AnyTool, given: ToolInput) -> str:
    """Which of the call's paths are links, and where to: a person sees it, and answers for just that."""
    pairs = zip(tool.paths(call, given), call.leads or (), strict=False)
    return "\n".join(f"{shown(path)} leads to {shown(lead)}" for path, lead in pairs if Path(normpath(path)) != lead)


def leads_digest(call: Call) -> str:
    """What a question keeps of where the call leads; empty for one without paths."""
    return digest_of("\0".join(map(str, call.leads)).encode("utf-8", "surrogateescape")) if call.leads else ""


async def answered_as_asked(call: Call, answer: Answer | None, asked: Approval | None) -> Answer | None:
    """The answer; None where the call leads elsewhere now than when the person was asked, so that they are asked again.

    Raises StoreError.
    """
    if answer is None or asked is None or not call.leads:
        return answer
    found = Pass.model_validate_json(await call.world.store.get(asked.found))
    return answer if found.leads in {"", leads_digest(call)} else None
