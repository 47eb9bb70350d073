"""classify: two questions to a small model about one call of auto mode, asked while hooks run."""

import asyncio
import os
from dataclasses import dataclass, field
from pathlib import Path

from activities.model.failures import ModelFailure
from activities.model.prices import cost_of
from activities.model.small import SmallQuestion, ask_small, small_model
from activities.safety.paths import is_inside, real
from activities.settings.load import load_settings
from activities.settings.places import places_of
from activities.stores.regular_files import opened
from activities.tool import AnyTool, Call, ToolInput
from activities.tool_calls.denials import denials_before, note_said
from activities.tool_calls.registry import find
from workflows.contracts.errors import ToolError
from workflows.contracts.messages import Role, Text, ToolUse
from workflows.contracts.model import Usage
from workflows.contracts.permissions import Answer, Decision
from workflows.contracts.settings_files import AutoModeKeys
from workflows.contracts.transcript import MessageBody, OutcomeBody
from workflows.core.classifier import (
    FAST,
    FAST_TOKENS,
    REASONED,
    REASONED_TOKENS,
    RULES,
    Scene,
    is_let_through,
    question,
    reasoned,
)
from workflows.core.permissions import Opinion

IDLE_SECONDS = 30.0
_NOTES = ("CLAUDE.md", "AGENTS.md")
_MOST_NOTES = 8_000


@dataclass
class Spent:
    """What the questions about one call cost."""

    model: str
    usage: Usage = field(default_factory=Usage)
    stages: int = 0

    @property
    def cost(self) -> int:
        """Micro-dollars, as far as the price is known."""
        return cost_of(self.model, self.usage) or 0

    def add(self, usage: Usage) -> None:
        """One more question was asked."""
        self.stages += 1
        total = {name: getattr(self.usage, name) + getattr(usage, name) for name in type(usage).model_fields}
        self.usage = Usage(**total)


async def classify(call: Call, tool: AnyTool, given: ToolInput, entry: str, spent: Spent) -> Opinion:
    """Whether the small model lets the call run; when it fails, it does not. `entry` is the reply that holds the call.

    After too many blocks it is not asked any more: then the opinion is to ask a person. What it costs is added to
    `spent`.
    """
    if why := denials_before(call).limit:
        return Opinion(Decision.ASK, why)
    try:
        scene = question(await _scene(call, tool, given, entry))
        scene = await asyncio.to_thread(call.world.masker(call.session).text, scene)
        is_allowed, why = await _asked(call, spent, scene)
    except ModelFailure as failure:
        is_allowed, why = False, f"the classifier gave no verdict: {failure.message}"
    note_said(call, is_blocked=not is_allowed)
    return Opinion(Decision.ALLOW if is_allowed else Decision.DENY, why)


def spent_on(call: Call) -> Spent:
    """Nothing yet, on the model that is asked about this call."""
    return Spent(small_model(call.world.environment, call.settings.model, call.settings.base_url))


async def _asked(call: Call, spent: Spent, scene: str) -> tuple[bool, str]:
    if is_let_through(await _said(call, spent, f"{scene}\n\n{FAST}", FAST_TOKENS)):
        return True, ""
    return reasoned(await _said(call, spent, f"{scene}\n\n{REASONED}", REASONED_TOKENS))


async def _said(call: Call, spent: Spent, text: str, max_tokens: int) -> str:
    asked = SmallQuestion(spent.model, call.settings.base_url, RULES, text, max_tokens, IDLE_SECONDS)
    return (await ask_small(call.world.model, asked, spent.add)).text


async def _scene(call: Call, tool: AnyTool, given: ToolInput, entry: str) -> Scene:
    user: list[str] = []
    calls: list[ToolUse] = []
    for link in await call.world.transcript.read(entry):
        body = link.entry.body
        if isinstance(body, OutcomeBody):
            user += _answered(body.answer)
        if not isinstance(body, MessageBody) or body.hidden:
            continue
        if body.role == Role.USER:
            user += [block.text for block in body.blocks if isinstance(block, Text)]
        elif link.digest != entry:
            calls += [block for block in body.blocks if isinstance(block, ToolUse)]
    notes, keys = await asyncio.to_thread(_surroundings, call)
    return Scene(
        user=user,
        calls=[(use.name, use.input) for use in calls if (known := find(use.name)) is None or not known.is_read_only],
        tool=tool.name,
        given=given.model_dump(mode="json"),
        cwd=str(call.cwd),
        notes=notes,
        keys=keys,
    )


def _answered(answer: Answer | None) -> list[str]:
    """A person's own words in an answer: why they said no, what they chose instead."""
    if answer is None:
        return []
    return [text for text in (answer.text, *(one.text for one in answer.chosen)) if text]


def _surroundings(call: Call) -> tuple[str, AutoModeKeys]:
    """The project's own notes, as far as they can be read, and what settings tell of this mode."""
    folder = call.own_folder or call.workspace
    keys = load_settings(places_of(call.world), folder, call.settings.roots).settings.auto_mode
    return next((text for name in _NOTES if (text := _notes(folder / name))), ""), keys


def _notes(path: Path) -> str:
    """The beginning of a file of notes; nothing of what is none, or leads out of its folder."""
    try:
        # A link of a folder that somebody else made could show any file of the person.
        if not is_inside(path, path.parent):
            return ""
        with opened(real(path)) as descriptor:
            return os.read(descriptor, _MOST_NOTES).decode("utf-8", "ignore")
    except ToolError:
        return ""
