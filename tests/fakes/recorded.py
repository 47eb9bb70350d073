"""Whole recorded sessions in an object store, with histories, without an engine."""

import base64
import json
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from activities.stores.objects import ObjectStore
from activities.transcript import Transcript
from workflows.contracts.digests import call_digest
from workflows.contracts.messages import Image, Role, Text, ToolUse
from workflows.contracts.model import StopReason, Usage
from workflows.contracts.permissions import Answer, Decision, Verdict, answer_bytes
from workflows.contracts.tools import CallStatus, Effect
from workflows.contracts.transcript import Body, Entry, MessageBody, NoticeBody, OutcomeBody
from workflows.core.pending import bodies

SESSION = "recorded"


def at(second: int) -> str:
    """A time stamp."""
    return f"2026-01-01T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}.000Z"


def payloads(value: object) -> dict[str, object]:
    """A value as Temporal's JSON shows it."""
    data = base64.b64encode(json.dumps(value).encode()).decode()
    return {"payloads": [{"metadata": {"encoding": "anNvbi9wbGFpbg=="}, "data": data}]}


@dataclass
class Recorded:
    """A session that grows as asked; the head and the history of it so far."""

    store: ObjectStore
    head: str = ""
    second: int = 0
    exchange: int = 0
    turn: int = 1
    key: Ed25519PrivateKey = field(default_factory=Ed25519PrivateKey.generate)
    events: list[dict[str, object]] = field(default_factory=list)
    waiting: list[OutcomeBody] = field(default_factory=list)

    @property
    def public_key(self) -> str:
        """The session's public key, in hex."""
        return self.key.public_key().public_bytes_raw().hex()

    async def append(self, *given: Body) -> str:
        """Append these bodies."""
        self.second += 1
        self.head = await Transcript(self.store).append(self.head, at(self.second), given)
        return self.head

    async def open(self) -> None:
        """The first entry."""
        start = {"session": SESSION, "public_key": self.public_key, "state": None}
        self.event("WORKFLOW_EXECUTION_STARTED", "workflowExecutionStarted", input=payloads(start))
        data = {
            "settings": await self.store.put(b'{"settings":1}'),
            "context": await self.store.put(b'{"context":1}'),
            "public_key": self.public_key,
        }
        await self.activity("open_session", {"session": SESSION}, NoticeBody(what="session_opened", data=dict(data)))

    async def activity(self, name: str, request: dict[str, object], *given: Body, **result: object) -> None:
        """An activity that appends these bodies, in chain and history."""
        scheduled = self.scheduled(name, request)
        await self.append(*given)
        self.completed(scheduled, head=self.head, **result)

    def scheduled(self, name: str, request: dict[str, object]) -> int:
        """An activity begins."""
        asked = {**({"head": self.head} if self.head else {}), **request}
        return self.event(
            "ACTIVITY_TASK_SCHEDULED", "activityTaskScheduled", activityType={"name": name}, input=payloads(asked)
        )

    def completed(self, scheduled: int, **result: object) -> None:
        """An activity ends."""
        key = str(scheduled)
        self.event("ACTIVITY_TASK_STARTED", "activityTaskStarted", scheduledEventId=key, identity="w1@here", attempt=1)
        self.event("ACTIVITY_TASK_COMPLETED", "activityTaskCompleted", scheduledEventId=key, result=payloads(result))

    def event(self, kind: str, name: str, **attributes: object) -> int:
        """Any event of the history."""
        number = len(self.events) + 1
        self.events.append(
            {
                "eventId": str(number),
                "eventTime": at(self.second),
                "eventType": f"EVENT_TYPE_{kind}",
                f"{name}EventAttributes": attributes,
            }
        )
        return number

    async def ask(
        self, *uses: ToolUse, prompt: str = "", usage: Usage | None = None, cost: int | None = None, **fields: object
    ) -> None:
        """One model call."""
        self.exchange += 1
        said = bodies(self.waiting, [prompt] if prompt else [], turn=self.turn, exchange=self.exchange)
        self.waiting = []
        reply = MessageBody(
            role=Role.ASSISTANT,
            blocks=(Text(text=f"reply {self.exchange}"), *uses),
            turn=self.turn,
            exchange=self.exchange,
            model="model-a",
            stop=StopReason.TOOL_USE if uses else StopReason.END_TURN,
            usage=usage,
            cost=cost,
            attempt=1,
            started=at(self.second),
            ended=at(self.second + 2),
        ).model_copy(update=fields)
        request = {"session": SESSION, "exchange": self.exchange, "turn": self.turn}
        shown = usage.model_dump() if usage else {}
        await self.activity("ask_model", request, *said, reply, stop=reply.stop, usage=shown, cost=cost)

    async def set_aside(self, usage: Usage, cost: int) -> str:
        """A reply that the output cap cut off, asked again; its digest."""
        before, waiting = self.head, self.waiting
        await self.ask(usage=usage, cost=cost, stop=StopReason.MAX_TOKENS)
        aside, self.head, self.waiting = self.head, before, waiting
        return aside

    def ran(self, use: ToolUse, place: int = 0, text: str = "done", **fields: object) -> None:
        """One call's outcome, to be written with the next model call."""
        body = OutcomeBody(
            turn=self.turn,
            exchange=self.exchange,
            place=place,
            tool=use.name,
            call=use.id,
            digest=call_digest(use.name, use.input),
            verdict=Verdict(decision=Decision.ALLOW, by="mode", rule="acceptEdits"),
            status=CallStatus.OK,
            content=(Text(text=text),),
            worker="w1@here",
            started=at(self.second),
            ended=at(self.second + 3),
        )
        self.waiting.append(body.model_copy(update=fields))

    def answer(self, use: ToolUse, place: int = 0, *, allow: bool = True, content: str = "") -> Answer:
        """A person's signed answer, to an object that they saw if one is named."""
        plain = Answer(
            request="r1",
            approval=f"{self.exchange}.{place}",
            digest=call_digest(use.name, use.input),
            allow=allow,
            by="ada",
            content=content,
        )
        return plain.model_copy(update={"signature": self.key.sign(answer_bytes(SESSION, plain)).hex()})

    async def archive(self) -> str:
        """The history so far, named by an entry; its digest."""
        digest = await self.store.put(self.history())
        await self.append(NoticeBody(what="archived_history", data={"history": digest, "events": len(self.events)}))
        return digest

    async def settle(self, what: str = "turn_ended") -> None:
        """What waits, and a notice."""
        said = bodies(self.waiting, turn=self.turn, exchange=self.exchange)
        self.waiting = []
        await self.activity("settle", {}, *said, NoticeBody(what=what, data={"turn": self.turn, "end": "done"}))

    def history(self) -> bytes:
        """The history so far, as Temporal's JSON."""
        return json.dumps({"events": self.events}).encode()


async def full_session(store: ObjectStore) -> Recorded:
    """A closed session with something of everything: over 32 entries, so with pages."""
    recorded = Recorded(store)
    await recorded.open()
    edit = ToolUse(id="t", name="Edit", input={"file_path": "/w/a.py"})
    await recorded.ask(edit, prompt="fix it", usage=Usage(input=1, output=2), cost=3)
    # As versions were kept once: in clear, under their own digest.
    before = await store.put(b"SECRET old file")
    effect = Effect(kind="write", path="/w/a.py", before=before, after="a" * 64, before_object=before)
    recorded.ran(edit, effects=(effect,), full=await store.put(b"whole result " * 1000))
    look = ToolUse(id="t", name="Read", input={"file_path": "/w/a.png"})
    await recorded.ask(look, usage=Usage(input=4, output=8, cache_read=16, cache_write=32), cost=64)
    picture = Image(media_type="image/png", digest=await store.put(b"picture"), size=7)
    recorded.ran(look, content=(picture,))
    aside = await recorded.set_aside(Usage(input=128, output=256), 512)
    bash = ToolUse(id="t", name="Bash", input={"command": "make"})
    deny = ToolUse(id="t", name="Bash", input={"command": "rm -rf /"})
    await recorded.ask(bash, deny, discards=(aside,), unknown=1)
    person = Verdict(decision=Decision.ALLOW, by="person", rule="key")
    saw = await store.put(b"what they were asked")
    recorded.ran(bash, crash="attached", attempt=2, verdict=person, answer=recorded.answer(bash, content=saw))
    no = Verdict(decision=Decision.DENY, by="rule", rule="Bash(rm:*)", text="never")
    recorded.ran(deny, 1, "denied", verdict=no, status=CallStatus.DENIED, is_error=True)
    for number in range(10):
        use = ToolUse(id="t", name="Bash", input={"command": f"echo {number}"})
        await recorded.ask(use, usage=Usage(input=1024, output=2048), cost=4096)
        recorded.ran(use, text=f"{number}")
    await recorded.ask(usage=Usage(input=1, output=1), cost=1)
    await recorded.settle()
    await recorded.settle("closed")
    await recorded.archive()
    return recorded


def entry_of(data: bytes) -> Entry:
    """Bytes as an entry."""
    return Entry.model_validate_json(data)
