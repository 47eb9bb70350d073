"""ask_model: one request to the model, in single flight."""

import asyncio
from collections import OrderedDict

from activities.model.exchange import Exchange
from activities.model.flight import Flight, Past, flight_name, flight_path, forget, locked
from activities.model.rooms import Rooms
from activities.model.views import MOST_BYTES, ViewCache
from activities.stores.contexts import read_context
from activities.world import Beat, World
from workflows.contracts.model import ModelReply, ModelRequest
from workflows.contracts.settings import SessionContext
from workflows.core.tool_pool import with_searches_left

CONTEXTS_HELD = 32


class ModelCalls:
    """The model calls of one worker: what is under way, and the views they are made from."""

    def __init__(self, most_view_bytes: int = MOST_BYTES) -> None:
        self.views = ViewCache(most_view_bytes)
        self.rooms = Rooms()
        self._flights: dict[tuple[str, int], Flight] = {}
        self._contexts: OrderedDict[str, SessionContext] = OrderedDict()

    async def ask_model(self, world: World, request: ModelRequest) -> ModelReply:
        """Ask the model once, however many attempts ask for it.

        Only the workflow's cancel ends the request: an attempt that is superseded or timed out leaves it running for
        the next one. Raises ModelFailure; CancelledError when nothing was said before the workflow's cancel.
        """
        beat = world.beat()
        flight = self._joined(world, request, beat)
        cancelled = asyncio.ensure_future(beat.cancelled.wait())
        try:
            await asyncio.wait({flight.task, cancelled}, return_when=asyncio.FIRST_COMPLETED)
            if not flight.task.done():
                flight.end()
                await asyncio.wait({flight.task})
        finally:
            cancelled.cancel()
            flight.leave(beat)
        return flight.task.result()

    def _joined(self, world: World, request: ModelRequest, beat: Beat) -> Flight:
        key, name = (request.session, request.exchange), flight_name(request)
        flight = self._flights.get(key)
        if flight is None or flight.name != name or flight.task.done():
            self._end_older(request)
            flight = Flight(name, lambda own: self._fly(world, request, own, beat))
            self._flights[key] = flight
            flight.task.add_done_callback(lambda _: self._landed(key, name))
        flight.join(beat)
        return flight

    def _end_older(self, request: ModelRequest) -> None:
        """The workflow has moved on: what is still under way for what it asked before is of no use."""
        for (session, exchange), flight in self._flights.items():
            if session == request.session and exchange <= request.exchange:
                flight.task.cancel()

    def _landed(self, key: tuple[str, int], name: str) -> None:
        flight = self._flights.get(key)
        if flight is not None and flight.name == name and flight.task.done():
            del self._flights[key]

    async def _fly(self, world: World, request: ModelRequest, flight: Flight, beat: Beat) -> ModelReply:
        attempt, details = beat.attempt, beat.details
        folder = world.home.journal
        forget(flight_path(folder, request.session, request.exchange - 1))
        async with locked(flight_path(folder, request.session, request.exchange), flight.name) as file:
            past = file.past()
            if not past.is_told:
                # The attempt before may have run on another host, whose file is not here.
                past = Past.of_details(details)
            context = await self._context(world, request.context)
            if any(spec.server for spec in context.tools):
                context = await asyncio.to_thread(world.allowed_now, world, context)
            context = with_searches_left(context, request.searches)
            exchange = Exchange(world, request, context, self.views, self.rooms, flight, file, past, attempt)
            return await exchange.reply()

    async def _context(self, world: World, digest: str) -> SessionContext:
        if digest not in self._contexts:
            self._contexts[digest] = await read_context(world.store, digest)
            while len(self._contexts) > CONTEXTS_HELD:
                self._contexts.popitem(last=False)
        return self._contexts[digest]
