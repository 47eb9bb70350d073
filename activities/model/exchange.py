"""One request to the model, from what waits to the assistant entry."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from activities.model.failures import ModelFailure, backoff, masked
from activities.model.flight import Flight, FlightFile, Past, Whole
from activities.model.kept import Kept, is_text, is_worth, recalled, written
from activities.model.left_out import edits_for, with_edits
from activities.model.live import LiveFeed
from activities.model.prices import cost_of
from activities.model.request import Asking, body_bytes, head_bytes, is_thoughtless
from activities.model.rooms import Rooms
from activities.model.stream import Ended, Reply, receive
from activities.model.views import View, ViewCache
from activities.model.waiting import prompt_text, waiting_entries
from activities.transcript import Growth
from activities.world import World
from workflows.contracts.errors import FailureKind
from workflows.contracts.events import (
    ExchangeEnded,
    ExchangeStarted,
    Happened,
    ModelRetry,
    Notice,
    Superseded,
    TurnStarted,
)
from workflows.contracts.messages import Block, Role, ServerBlock, ToolUse
from workflows.contracts.model import MOST_CALLS, CallRef, ModelReply, ModelRequest, StopReason, Usage
from workflows.contracts.settings import SessionContext
from workflows.contracts.transcript import MessageBody, digest_of, stamp
from workflows.core.media import MENDABLE
from workflows.core.server_blocks import found_by

NO_JSON = "its input is no valid JSON"
PROMPT_SHOWN = 4 * 1024
NAME_LENGTH = 128

Said = tuple[Whole, Sequence[Block]]
"""A reply that counts, and its blocks."""


@dataclass(frozen=True)
class Exchange:
    """One flight's work: its surroundings, what is asked, and what earlier attempts left."""

    world: World
    request: ModelRequest
    context: SessionContext
    views: ViewCache
    rooms: Rooms
    flight: Flight
    file: FlightFile
    past: Past
    attempt: int

    async def reply(self) -> ModelReply:
        """The reply that counts. Raises ModelFailure, whose delay watchers have been told; StoreError, ChainError."""
        waiting = await self._edited(await waiting_entries(self.world, self.request))
        async with self._writing(waiting) as writing:
            try:
                said = await self._recalled() or await self._resumed() or await self._asked(waiting)
            except ModelFailure as failure:
                raise self._told(failure) from None
            new, _ = await asyncio.gather(self._append(waiting.head, said), writing)
        return self._replied(new, said)

    async def _edited(self, waiting: Growth) -> Growth:
        """What waits, with what the request leaves out from now on. Raises ModelFailure for a refusal that stays."""
        view = await self._view(waiting)
        edits = await edits_for(self.world, self.request, waiting, self._asking.model, view)
        if edits is None:
            raise ModelFailure(FailureKind.BAD_REQUEST, self.request.refusals[-1].text)
        if not edits:
            return waiting
        if self.attempt == 1:
            self._publish(Notice(what=edits[-1].what, text=edits[-1].text))
        return await with_edits(self.world, waiting, self.request.at, edits)

    @asynccontextmanager
    async def _writing(self, waiting: Growth) -> AsyncIterator[asyncio.Future[str]]:
        """What waits is written beside the request: its head is told to nobody before both are kept."""
        writing = asyncio.ensure_future(self.world.transcript.write(waiting))
        try:
            if self.attempt > 1:
                # A disk that took nothing the last time shall not cost another reply.
                await writing
            yield writing
        finally:
            await asyncio.wait({writing})
            # Whatever ended the block counts; the next attempt writes it again.
            if not writing.cancelled():
                writing.exception()

    @property
    def _asking(self) -> Asking:
        return Asking.of(self.request, self.context)

    async def _recalled(self) -> Said | None:
        """The whole reply of an attempt that died before its report."""
        whole = self.past.whole
        blocks = None if whole is None else await recalled(self.world.store, self.past, whole.blocks)
        return None if whole is None or blocks is None else (whole, blocks)

    async def _resumed(self) -> Said | None:
        """What an attempt that died had complete, as a reply that was cut off; None when that is worth nothing."""
        past = self.past
        blocks = await recalled(self.world.store, past, past.kept)
        if blocks is None or not is_worth(blocks):
            return None
        return self._cut_off(blocks, past.started, past.usage, max(1, past.lost))

    async def _asked(self, waiting: Growth) -> Said:
        view = await self._view(waiting)
        await self._tell_start()
        self.file.asked()
        kept = Kept(self.world.store, self.file, lambda digests: self.flight.say(self.past.lost + 1, digests))
        live = LiveFeed(self._publish, self.request, self.attempt)
        reply = Reply(live, lambda usage: self._started(kept, usage), lambda block: self._keep(kept, block))
        try:
            await self._received(view, kept, reply)
        except ModelFailure:
            if not is_worth(kept.blocks):
                raise
            return await self._broken(kept, reply)
        except asyncio.CancelledError:
            if not reply.is_stopped:
                return await self._ended_early(kept, reply)
        finally:
            self.flight.is_landing = True
            live.flush()
            await kept.stop()
        return self._complete(kept, reply)

    async def _view(self, waiting: Growth) -> View:
        world, request = self.world, self.request
        chain = (request.head, waiting.links())
        return await self.views.at(request.session, self._asking.model, *chain, world.transcript, world.store)

    async def _received(self, view: View, kept: Kept, reply: Reply) -> None:
        """Take the reply; a refusal that tells how much output fits is followed by a request that asks for no more."""
        settings, asking = self.context.settings, self._asking
        may_think = not asking.thinking or not is_thoughtless(view.recent)
        size = view.size + len(head_bytes(self.context, asking))
        for is_last in (False, False, True):
            fitting = self.rooms.fitted(asking, settings.base_url, settings.window, size)
            kept.cap = fitting.max_tokens
            body = body_bytes(head_bytes(self.context, fitting, may_think=may_think), view.written)
            try:
                await receive(self.world.model, body, settings.base_url, settings.idle_seconds, reply)
                return
            except ModelFailure as failure:
                told = (fitting, settings.base_url, settings.window, size, failure.message)
                if is_last or kept.started or not self.rooms.learn(*told):
                    raise

    async def _ended_early(self, kept: Kept, reply: Reply) -> Said:
        """The person interrupted: what was said so far stays said."""
        if not self.flight.is_unwanted:
            raise asyncio.CancelledError
        if (partial := reply.partial_text()) is not None:
            self._keep(kept, partial)
        if not is_worth(kept.blocks):
            raise asyncio.CancelledError
        return await self._broken(kept, reply)

    async def _broken(self, kept: Kept, reply: Reply) -> Said:
        # Not asked again, also if this worker and its host die now.
        await kept.flush()
        return self._cut_off(kept.blocks, kept.started, reply.usage, self.past.lost + 1)

    def _started(self, kept: Kept, usage: Usage) -> None:
        kept.started = _now()
        self.file.started(usage, kept.started)
        self.flight.say(self.past.lost + 1, ())

    def _keep(self, kept: Kept, block: Block) -> None:
        kept.add(block)
        if isinstance(block, ServerBlock):
            for search in found_by(kept.blocks):
                self._publish(Notice(what="web_search", text=search.told))
        if isinstance(block, ToolUse):
            self._start_early(kept, block)

    def _start_early(self, kept: Kept, use: ToolUse) -> None:
        uses = [block.name for block in kept.blocks if isinstance(block, ToolUse)]
        if len(uses) > MOST_CALLS:
            return
        beside = {spec.name for spec in self.context.tools if spec.may_run_beside_others}
        if beside.issuperset(uses):
            self.world.start_early(self.world, self.request, self.context, len(uses) - 1, use)

    def _complete(self, kept: Kept, reply: Reply) -> Said:
        """The reply as the model ended it; a call that the output limit cut off is marked and never run."""
        stop = reply.stop or StopReason.END_TURN
        limit = _limit(stop, kept.cap)
        ended = [*reply.ended]
        if limit and ended and _is_cut(ended[-1]):
            last = ended[-1].block
            ended[-1] = Ended(last.model_copy(update={"input": {}, "cut_off": True}))
        whole = Whole(
            blocks=(),
            stop=stop,
            usage=reply.usage,
            is_counted=reply.is_counted,
            calls=self._refs(ended, limit),
            unknown=self.past.lost + (not reply.is_counted),
            attempt=self.attempt,
            started=kept.started,
            ended=_now(),
        )
        return self._noted(whole, [each.block for each in ended])

    def _cut_off(self, blocks: Sequence[Block], started: str, usage: Usage, unknown: int) -> Said:
        whole = Whole(
            blocks=(),
            stop=StopReason.CUT_OFF,
            usage=usage,
            is_counted=usage != Usage(),
            calls=self._refs([Ended(block) for block in blocks], ""),
            unknown=unknown,
            attempt=self.attempt,
            started=started,
            ended=_now(),
        )
        return self._noted(whole, blocks)

    def _noted(self, whole: Whole, blocks: Sequence[Block]) -> Said:
        """The reply with its blocks, both told to whoever comes if this worker dies before its entry is kept."""
        data = [written(block) for block in blocks]
        whole = whole.model_copy(update={"blocks": tuple(map(digest_of, data))})
        self.file.whole(whole, data)
        return whole, blocks

    def _refs(self, ended: Sequence[Ended], limit: str) -> tuple[CallRef, ...]:
        beside = {spec.name for spec in self.context.tools if spec.may_run_beside_others}
        return tuple(
            CallRef(
                tool=each.block.name[:NAME_LENGTH],
                beside=each.block.name in beside,
                broken=limit if each.block.cut_off else NO_JSON if each.is_no_json else "",
            )
            for each in ended
            if isinstance(each.block, ToolUse)
        )

    async def _append(self, head: str, said: Said) -> str:
        """Write the assistant entry; repeated, it writes the same."""
        (whole, blocks), request = said, self.request
        body = MessageBody(
            role=Role.ASSISTANT,
            blocks=tuple(blocks),
            turn=request.turn,
            exchange=request.exchange,
            model=self._asking.model,
            stop=whole.stop,
            usage=whole.usage if whole.is_counted else None,
            cost=self._cost(whole),
            unknown=whole.unknown,
            discards=request.discards,
            attempt=whole.attempt,
            started=whole.started,
            ended=whole.ended,
        )
        return await self.world.transcript.append(head, request.at, [body])

    def _cost(self, whole: Whole) -> int | None:
        return cost_of(self._asking.model, whole.usage) if whole.is_counted else None

    def _replied(self, new: str, said: Said) -> ModelReply:
        """What history takes, once all is kept."""
        (whole, blocks), model, cost = said, self._asking.model, self._cost(said[0])
        calls = len(whole.calls)
        self._publish(ExchangeEnded(stop=whole.stop, usage=whole.usage, cost=cost, head=new, calls=calls))
        return ModelReply(
            head=new,
            stop=whole.stop,
            calls=whole.calls[:MOST_CALLS],
            beyond=max(0, calls - MOST_CALLS),
            usage=whole.usage,
            cost=cost,
            is_empty=not any(isinstance(block, ToolUse) or is_text(block) for block in blocks),
            unknown=whole.unknown,
            model="" if model == self.context.settings.model else model,
        )

    async def _tell_start(self) -> None:
        request = self.request
        if request.prompt and not self.past.is_told and not request.discards:
            prompt = (await prompt_text(self.world, request)).encode()[:PROMPT_SHOWN].decode("utf-8", "ignore")
            self._publish(TurnStarted(prompt=prompt))
        if self.past.lost:
            self._publish(Superseded(reason="the attempt before broke off"))
        elif request.discards and not self.past.is_told:
            reason = "the output limit cut the reply off; it is asked again with a higher one"
            self._publish(Superseded(reason=reason, exchange=request.exchange - 1))
        self._publish(ExchangeStarted(model=self._asking.model))

    def _told(self, failure: ModelFailure) -> ModelFailure:
        """The failure without keys and with the delay that the engine shall use; watchers are told both."""
        message = masked(failure.message, self.world.environment)
        if failure.kind == FailureKind.OVERLOADED:
            self.file.overloaded()
        is_final = not failure.retryable or self._is_last(failure)
        seconds = None if is_final else failure.retry_after or backoff(self.attempt)
        told = ModelRetry(
            failure=failure.kind,
            text=message,
            seconds=0 if is_final else seconds or 0,
            final=is_final and failure.kind not in MENDABLE,
        )
        self._publish(told)
        return ModelFailure(failure.kind, message, seconds, retryable=not is_final)

    def _is_last(self, failure: ModelFailure) -> bool:
        """No further attempt is made: the engine's are spent, or another model waits for an overloaded one."""
        if failure.kind == FailureKind.OVERLOADED and 0 < self.request.overloads <= self.past.overloads + 1:
            return True
        return self.attempt >= self.request.attempts

    def _publish(self, event: Happened) -> None:
        where = {"turn": self.request.turn, "exchange": event.exchange or self.request.exchange}
        self.world.publish(self.request.session, event.model_copy(update={**where, "attempt": self.attempt}))


def _is_cut(ended: Ended) -> bool:
    return isinstance(ended.block, ToolUse) and (ended.is_empty_call or ended.is_no_json)


def _limit(stop: StopReason, max_tokens: int) -> str:
    """Why the last call of the reply may be broken; empty when the model ended it by itself."""
    if stop == StopReason.MAX_TOKENS:
        return f"cut off by the output limit of {max_tokens} tokens"
    return "cut off by the end of the model's window" if stop == StopReason.WINDOW else ""


def _now() -> str:
    return stamp(datetime.now(UTC))
