"""HTTP and SSE on loopback: the rehearsal model as a server that the real SDK talks to."""

import asyncio
import secrets
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

from worker.rehearsal.asked import Asked
from worker.rehearsal.faults import CutFault, StatusFault, TooLongFault, error_body
from worker.rehearsal.http1 import HEAD_LIMIT, ClientLeft, Connection, HttpRequest
from worker.rehearsal.record import KEPT_BYTES, Record, Recorded
from worker.rehearsal.rules import Refusal, key_of, refusals
from worker.rehearsal.scenario import Limits, Pacing, Scenario
from worker.rehearsal.script import Choice, Script
from worker.rehearsal.usage import PromptCache
from worker.rehearsal.wire import Event, Played
from workflows.contracts.errors import UserError

BATCH_BYTES = 64 * 1024
ALWAYS = frozenset({"not_json", "bad_form"})
"""The rules that hold also when the server is not strict: what breaks them cannot be answered."""


class Rehearsal:
    """A scripted model behind the Messages API."""

    def __init__(self, scenario: Scenario, limits: Limits, record: Record, *, strict: bool) -> None:
        self.url = ""
        self.refusals = 0
        """How many requests were refused by a rule of the table."""

        self.unanswered = 0
        """How many requests the scenario had no reply for."""

        self._scenario = scenario
        self._limits = limits
        self._record = record
        self._strict = strict
        self._script = Script(scenario)
        self._cache = PromptCache()
        self._open: set[asyncio.Task[None]] = set()

    @property
    def requests(self) -> list[Recorded]:
        """Every POST so far, in order of arrival."""
        return self._record.requests

    async def serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Answer one client until it leaves."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a connection's callback always runs in one
        self._open.add(task)
        connection = Connection(reader, writer)
        try:
            while (request := await connection.read()) is not None:
                await self._route(connection, request)
        except (ClientLeft, asyncio.CancelledError):
            pass  # the client is gone, or the server stops: there is nobody left to tell
        finally:
            self._open.discard(task)
            connection.close()

    async def stop(self) -> None:
        """Drop all clients."""
        tasks = list(self._open)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _route(self, connection: Connection, request: HttpRequest) -> None:
        match request.method, request.path.rstrip("/"):
            case "POST", "/v1/messages":
                await self._messages(connection, request)
            case "POST", "/v1/messages/count_tokens":
                await self._count(connection, request)
            case "GET", "/v1/models":
                data = [self._model(name) for name in self._models]
                ends = {"first_id": self._models[0], "last_id": self._models[-1], "has_more": False}
                await connection.answer(200, {"data": data, **ends}, _ids())
            case "GET", "/healthz":
                await connection.answer(200, self._health())
            case "GET", path if path.removeprefix("/v1/models/") in self._models:
                await connection.answer(200, self._model(path.removeprefix("/v1/models/")), _ids())
            case _:
                await _refuse(connection, StatusFault(status=404, message=f"{request.path}: not found"))

    async def _messages(self, connection: Connection, request: HttpRequest) -> None:
        asked = Asked(request.body, request.headers)
        recorded = self._record.add(request.path, asked)
        if await self._refused(connection, asked, recorded):
            return
        choice = self._script.choose(asked)
        if choice is None:
            self.unanswered += 1
            self._record.decide(recorded, "unanswered")
            await _refuse(connection, self._nothing_fits(asked))
            return
        self._record.decide(recorded, choice.told)
        await connection.pause(choice.pacing.first_byte_ms / 1000)
        await self._give(connection, asked, choice)
        recorded.ended = True

    async def _give(self, connection: Connection, asked: Asked, choice: Choice) -> None:
        cut: CutFault | None = None
        match choice.fault:
            case StatusFault() as fault:
                return await _refuse(connection, fault)
            case TooLongFault() as fault:
                return await _refuse(connection, fault.as_status(self._limits.window))
            case fault:
                cut = fault
        played = self._script.play(choice, asked, self._cache.use(asked.measured))
        if asked.streamed:
            return await _stream(connection, played, choice.pacing, cut)
        return await _whole(connection, played, cut)

    async def _count(self, connection: Connection, request: HttpRequest) -> None:
        asked = Asked(request.body, request.headers, counting=True)
        recorded = self._record.add(request.path, asked)
        if await self._refused(connection, asked, recorded):
            return
        self._record.decide(recorded, "counted")
        await connection.answer(200, {"input_tokens": asked.measured.tokens}, _ids())
        recorded.ended = True

    async def _refused(self, connection: Connection, asked: Asked, recorded: Recorded) -> bool:
        """Whether the request was refused, and told so."""
        refusal = next(self._refusals(asked), None)
        if refusal is not None:
            self.refusals += 1
            self._record.decide(recorded, f"refused:{refusal.rule.name}")
            await _refuse(connection, StatusFault(status=refusal.rule.status, message=refusal.message))
        elif (fault := self._unwelcome(asked)) is not None:
            self._record.decide(recorded, f"refused:{fault.kind}")
            await _refuse(connection, fault)
        else:
            return False
        recorded.ended = True
        return True

    def _refusals(self, asked: Asked) -> Iterator[Refusal]:
        return (r for r in refusals(asked, self._limits) if self._strict or r.rule.name in ALWAYS)

    def _unwelcome(self, asked: Asked) -> StatusFault | None:
        """What only this scenario refuses: another key, a model it does not list."""
        if self._scenario.key is not None and key_of(asked) != self._scenario.key:
            return StatusFault(status=401)
        if self._scenario.models and asked.model not in self._scenario.models:
            return StatusFault(status=404, message=f"model: {asked.model}")
        return None

    def _nothing_fits(self, asked: Asked) -> StatusFault:
        what = f"rehearsal: the scenario {self._scenario.name!r} has no reply for exchange {asked.exchange}"
        return StatusFault(status=400, message=f"{what} ({len(asked.messages)} messages). Add one, or a fallback.")

    @property
    def _models(self) -> tuple[str, ...]:
        return self._scenario.models or ("rehearsal",)

    def _model(self, name: str) -> dict[str, object]:
        return {
            "type": "model",
            "id": name,
            "display_name": name,
            "created_at": "2026-01-01T00:00:00Z",
            "lifecycle": "active",
            "max_input_tokens": self._limits.window,
            "max_tokens": 64_000,
        }

    def _health(self) -> dict[str, object]:
        counts = {"requests": len(self.requests), "refusals": self.refusals, "unanswered": self.unanswered}
        return {"ok": True, "scenario": self._scenario.name, **counts}


@asynccontextmanager
async def rehearse(
    scenario: Scenario,
    *,
    record: Path | None = None,
    window: int | None = None,
    strict: bool | None = None,
    port: int = 0,
    kept_bytes: int = KEPT_BYTES,
) -> AsyncIterator[Rehearsal]:
    """Serve a scenario on loopback while the block runs; window and strictness default to the scenario's own."""
    limits = scenario.limits if window is None else scenario.limits.model_copy(update={"window": window})
    is_strict = scenario.strict if strict is None else strict
    model = Rehearsal(scenario, limits, Record(record, kept_bytes), strict=is_strict)
    try:
        server = await asyncio.start_server(model.serve, "127.0.0.1", port, limit=HEAD_LIMIT)
    except OSError as error:
        raise UserError(f"port {port} cannot be listened on ({error.strerror}). Choose another, or 0.") from error
    model.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield model
    finally:
        server.close()
        await model.stop()
        await server.wait_closed()


async def _refuse(connection: Connection, fault: StatusFault) -> None:
    ids = _ids()
    body = error_body(fault.kind, fault.text, ids["request-id"])
    await connection.answer(fault.status, body, {**ids, **fault.headers})


async def _whole(connection: Connection, played: Played, cut: CutFault | None) -> None:
    """Send a reply that is not streamed; a cut breaks it off half-way."""
    match cut:
        case None:
            await connection.answer(200, played.as_json(), _ids())
        case CutFault(cut="error"):
            status = 529 if cut.error == "overloaded_error" else 500
            await _refuse(connection, StatusFault(status=status, error=cut.error, message=cut.message))
        case CutFault(cut="stall"):
            await connection.pause(cut.seconds)
            await connection.answer(200, played.as_json(), _ids())
        case _:
            await connection.start_answer(1_000, _ids())
            raise await connection.reset() if cut.cut == "reset" else ClientLeft


async def _stream(connection: Connection, played: Played, pacing: Pacing, cut: CutFault | None) -> None:
    """Send a reply as a stream; a cut happens where its fault says."""
    events = list(played.events(pacing.chunk, pacing.ping_every))
    ids = _ids()
    if cut is None:
        await connection.start_stream(ids)
        return await _finish(connection, events, pacing)
    place = cut.place(events)
    if place or cut.cut in {"end", "error"}:
        await connection.start_stream(ids)
        await _send(connection, events[:place], pacing)
    match cut.cut:
        case "end":
            return await connection.end_stream()
        case "error":
            return await _finish(connection, [cut.event(ids["request-id"])], pacing)
        case "reset":
            raise await connection.reset()
        case "stall":
            await connection.pause(cut.seconds)
            if not place:
                await connection.start_stream(ids)
            return await _finish(connection, events[place:], pacing)


async def _finish(connection: Connection, events: list[Event], pacing: Pacing) -> None:
    await _send(connection, events, pacing)
    await connection.end_stream()


async def _send(connection: Connection, events: list[Event], pacing: Pacing) -> None:
    """Send events at the pace that is set; without one, many at a time."""
    waiting = b""
    for event in events:
        if event.is_delta and pacing.token_ms:
            await connection.send_piece(waiting)
            waiting = b""
            await connection.pause(pacing.token_ms / 1000)
        waiting += event.encode()
        if pacing.wire_bytes:
            for start in range(0, len(waiting), pacing.wire_bytes):
                await connection.send_piece(waiting[start : start + pacing.wire_bytes])
                await asyncio.sleep(0)
            waiting = b""
        elif len(waiting) > BATCH_BYTES:
            await connection.send_piece(waiting)
            waiting = b""
    await connection.send_piece(waiting)


def _ids() -> dict[str, str]:
    return {"request-id": f"req_01{secrets.token_hex(11)}"}
