"""Opinions: the small model of auto mode thinks about a call while its hooks run, and the verdict waits for both."""

import asyncio
from dataclasses import dataclass, field

from pydantic import JsonValue

from activities.tool import AnyTool, Call, ToolInput
from activities.tool_calls.classifier import Spent, classify, spent_on
from activities.tool_calls.denials import note_said
from activities.tool_calls.vet import vet
from workflows.contracts.permissions import Answer, Mode, Verdict
from workflows.core.permissions import Opinion, wants_opinion


@dataclass
class Opinions:
    """What a small model thinks of one call; it is asked only where nothing else decides."""

    call: Call
    tool: AnyTool
    entry: str
    """The reply that holds the call."""
    mode: Mode
    spent: Spent = field(init=False)
    """What it cost, an opinion that nobody needed in the end included."""
    _given: ToolInput | None = None
    _task: asyncio.Task[Opinion | None] | None = field(default=None)

    def __post_init__(self) -> None:
        self.spent = spent_on(self.call)

    @property
    def facts(self) -> dict[str, JsonValue]:
        """What the outcome tells of it."""
        spent = self.spent
        if not spent.stages:
            return {}
        usage = spent.usage.model_dump(mode="json")
        told: dict[str, JsonValue] = {"model": spent.model, "stages": spent.stages, "cost": spent.cost, "usage": usage}
        return {"classifier": told}

    def begin(self, given: ToolInput) -> None:
        """Ask beside whatever comes before the verdict; a person's answer needs no opinion."""
        if self.mode == Mode.AUTO and self.call.answer is None and self.call.approval is None:
            self._given = given
            self._task = asyncio.ensure_future(self._first(given))

    async def verdict(self, call: Call, given: ToolInput, answer: Answer | None, hook: Verdict | None) -> Verdict:
        """What is decided about the call, its input as hooks left it."""
        try:
            verdict = await asyncio.to_thread(vet, call, self.tool, given, self.mode, answer, hook)
            if answer is not None and answer.allow and self.mode == Mode.AUTO:
                note_said(call, is_blocked=False)
            if not wants_opinion(verdict):
                return verdict
            opinion = await self._thought(given)
            return await asyncio.to_thread(vet, call, self.tool, given, self.mode, answer, hook, opinion)
        finally:
            self.end()

    def end(self) -> None:
        """Nobody waits for an opinion any more."""
        if self._task is not None:
            self._task.cancel()

    async def _thought(self, given: ToolInput) -> Opinion:
        if self._task is not None and self._given == given and (thought := await self._task):
            return thought
        self.end()
        return await classify(self.call, self.tool, given, self.entry, self.spent)

    async def _first(self, given: ToolInput) -> Opinion | None:
        verdict = await asyncio.to_thread(vet, self.call, self.tool, given, self.mode, None)
        return await classify(self.call, self.tool, given, self.entry, self.spent) if wants_opinion(verdict) else None
