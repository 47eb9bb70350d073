"""What a tool call stands in: its entry, its tool, its session's context, its place in the journal."""

import json
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import JsonValue, ValidationError

from activities.stores.contexts import read_context
from activities.stores.journal import CallRecord, effect_key
from activities.tool import AnyTool, Call, ToolInput
from activities.tool_calls.registry import find
from activities.tool_calls.vet import parse_input
from activities.world import World
from workflows.contracts.contract import Contract
from workflows.contracts.digests import call_digest
from workflows.contracts.errors import ChainError, ToolError
from workflows.contracts.messages import ToolUse
from workflows.contracts.permissions import Answer, Mode, Verdict
from workflows.contracts.settings import SessionContext
from workflows.contracts.tools import EndRequest, ToolRequest
from workflows.contracts.transcript import MessageBody


class Begun(Contract):
    """What let a call begin, as its intent says."""

    verdict: Verdict
    answer: Answer | None = None
    leads: tuple[str, ...] = ()
    """Where its paths led, links followed; none where nobody wrote it down."""


@dataclass(frozen=True)
class OpenedCall:
    """One call of a reply, read from the chain."""

    use: ToolUse
    tool: AnyTool | None
    """None when the model named a tool that is not in the session's pool."""
    context: SessionContext
    digest: str
    """SHA-256 of tool and input, as the reply has them."""
    record: CallRecord
    updated_input: dict[str, JsonValue] | None = None
    """What a hook put in the place of the input."""

    @property
    def effective_input(self) -> dict[str, JsonValue]:
        """The input that counts."""
        return self.use.input if self.updated_input is None else self.updated_input

    @property
    def bound(self) -> str:
        """SHA-256 of tool and input that counts: what an approval is bound to."""
        if self.updated_input is None:
            return self.digest
        return call_digest(self.use.name, self.updated_input)

    def with_input(self, updated: dict[str, JsonValue] | None) -> "OpenedCall":
        """The call with the input that a hook gave it; itself when none did."""
        return self if updated is None else replace(self, updated_input=updated)

    def call(self, world: World, request: ToolRequest | EndRequest, *, is_repeat: bool = False) -> Call:
        """What the tool is given to run with."""
        own, workspace = Path(self.context.cwd), Path(request.workspace or self.context.cwd)
        run = request if isinstance(request, ToolRequest) else None
        cwd = run.cwd if run else ""
        return Call(
            world=world,
            session=request.session,
            exchange=request.exchange,
            place=request.place,
            key=self.record.key,
            record=self.record,
            workspace=workspace,
            cwd=Path(cwd) if cwd else workspace,
            seen=world.seen(request.session),
            settings=self.context.settings,
            attempt=world.beat().attempt,
            is_repeat=is_repeat,
            mode=run.mode if run else Mode.DEFAULT,
            own_folder=own if own != workspace else None,
            tasks=run.tasks if run else 0,
            once=run.once if run else False,
        )

    def begin(self, request: ToolRequest, begun: Begun, engine: str) -> None:
        """Say on disk that the call is about to have its effect, who allowed it, and who waits for it where."""
        self.record.write_intent(
            {
                "tool": self.use.name,
                "at": request.at,
                "digest": self.digest,
                "begun": begun.model_dump(mode="json"),
                "exchange": request.exchange,
                "place": request.place,
                "engine": engine,
            }
        )

    def begun(self) -> Begun | None:
        """What let an earlier attempt begin; None when none did, or its intent cannot be read."""
        intent = self.record.read_intent()
        try:
            return Begun.model_validate(intent["begun"]) if intent else None
        except (KeyError, ValidationError):
            return None

    def given(self) -> ToolInput:
        """The call's input as its tool takes it. Raises ToolError."""
        if self.tool is None:
            names = ", ".join(spec.name for spec in self.context.tools)
            raise ToolError(f"There is no tool {self.use.name}. There are: {names}.")
        return parse_input(self.tool, self.use.model_copy(update={"input": self.effective_input}))


async def opened(world: World, request: ToolRequest | EndRequest) -> OpenedCall:
    """The call that a request names. Raises StoreError or ChainError when chain and request do not fit."""
    entry = await world.transcript.entry(request.entry)
    context = await read_context(world.store, request.context)
    uses = (
        [block for block in entry.body.blocks if isinstance(block, ToolUse)]
        if isinstance(entry.body, MessageBody)
        else []
    )
    if request.place >= len(uses):
        raise ChainError(f"entry {request.entry} has no call number {request.place}")
    use = uses[request.place]
    key = effect_key(request.session, request.exchange, request.place, use.name, json.dumps(use.input))
    tool = find(use.name) if use.name in {spec.name for spec in context.tools} else None
    digest = call_digest(use.name, use.input)
    return OpenedCall(use, tool, context, digest, world.journal.call(request.session, key))
