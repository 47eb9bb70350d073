"""A reply with tool calls in a real chain, and the requests that run or end them."""

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from activities.tool_calls.registry import TOOLS
from activities.tool_calls.run import run_tool
from activities.world import World
from tests.fakes.world import SESSION, SilentBeat, make_world
from workflows.contracts.messages import Role, Text, ToolUse
from workflows.contracts.model import StopReason
from workflows.contracts.permissions import Answer, Approval, Mode
from workflows.contracts.settings import SessionContext, SessionSettings
from workflows.contracts.tools import EndRequest, ToolDone, ToolRequest
from workflows.contracts.transcript import MessageBody, OutcomeBody, canonical

AT = "2026-01-02T03:04:05.006Z"


@dataclass
class Stage:
    """One reply's calls in one workspace."""

    folder: Path
    settings: SessionSettings = field(default_factory=SessionSettings)
    beat: SilentBeat = field(default_factory=SilentBeat)
    world: World = field(init=False)
    entry: str = ""
    context: str = ""

    def __post_init__(self) -> None:
        self.workspace.mkdir(exist_ok=True)
        self.world = make_world(self.folder, beat=self.beat)

    @property
    def workspace(self) -> Path:
        return self.folder.resolve() / "work"

    async def reply(self, *uses: ToolUse) -> None:
        """The model's newest reply has these calls."""
        session_context = SessionContext(
            session=SESSION,
            cwd=str(self.workspace),
            host=self.world.host.id,
            settings=self.settings,
            system=("be good",),
            tools=tuple(tool.spec() for tool in TOOLS),
        )
        self.context = await self.world.store.put(canonical(session_context.model_dump(mode="json")))
        body = MessageBody(role=Role.ASSISTANT, blocks=(Text(text="so"), *uses), stop=StopReason.TOOL_USE)
        self.entry = await self.world.transcript.append("", AT, [body])

    def request(self, place: int = 0, **changed: Any) -> ToolRequest:
        """The workflow's order to run one of them."""
        given = {
            "session": SESSION,
            "exchange": 1,
            "place": place,
            "entry": self.entry,
            "context": self.context,
            "at": AT,
            "mode": Mode.BYPASS,
            "turn": 1,
        }
        return ToolRequest(**{**given, **changed})

    def end(self, place: int = 0, **changed: Any) -> EndRequest:
        """The workflow's order to end it."""
        given = {
            "session": SESSION,
            "exchange": 1,
            "place": place,
            "entry": self.entry,
            "context": self.context,
            "at": AT,
            "turn": 1,
        }
        return EndRequest(**{**given, **changed})

    async def run(self, *uses: ToolUse, **changed: Any) -> tuple[ToolDone, OutcomeBody]:
        """A reply with these calls, of which the first is run."""
        await self.reply(*uses)
        return await self.again(**changed)

    async def again(self, **changed: Any) -> tuple[ToolDone, OutcomeBody]:
        """The same call, once more."""
        done = await run_tool(self.world, self.request(**changed))
        return done, await self.outcome(done)

    async def outcome(self, done: ToolDone) -> OutcomeBody:
        """What was stored of a call."""
        return OutcomeBody.model_validate_json(await self.world.store.get(done.outcome))

    def after_a_crash(self, attempt: int = 2) -> "Stage":
        """Another worker on the same host and store: nothing of the first one's memory is left."""
        beat = SilentBeat(attempt=attempt, worker="second-worker")
        other = Stage(self.folder, self.settings, beat, self.entry, self.context)
        other.world = replace(make_world(self.folder, self.world.store, beat=beat), environment=self.world.environment)
        return other

    def told(self) -> list[dict[str, Any]]:
        """The events told so far."""
        return [
            json.loads(line)
            for path in sorted(self.world.home.events.rglob("*.ndjson"))
            for line in path.read_text().splitlines()
        ]

    def events(self) -> list[str]:
        """Kinds of the events told so far."""
        return [event["kind"] for event in self.told()]


def text(body: OutcomeBody) -> str:
    """What the model reads of an outcome."""
    return "\n".join(block.text for block in body.content if isinstance(block, Text))


def use(tool: str, **given: Any) -> ToolUse:
    """A call with that input."""
    return ToolUse(id="t1", name=tool, input=given)


def yes(asked: Approval, **changed: Any) -> Answer:
    """A person's yes to a question."""
    given = {
        "request": "r",
        "approval": asked.id,
        "digest": asked.digest,
        "content": asked.content,
        "allow": True,
        "by": "me",
    }
    return Answer(**{**given, **changed})
