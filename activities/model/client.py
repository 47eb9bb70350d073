"""The far end of the wire: the SDK's clients, opened late, one a base URL."""

import asyncio
import importlib
import ipaddress
import json
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable
from urllib.parse import urlsplit

from activities.model.events import EventDecoder, Json
from activities.model.failures import ModelFailure
from activities.model.roots import trusted_roots
from workflows.contracts.errors import FailureKind

if TYPE_CHECKING:
    import httpx2
    from anthropic import (
        AsyncAnthropic,
        AsyncAnthropicBedrock,
        AsyncAnthropicVertex,
        DefaultAsyncHttpxClient,
    )

    Client = AsyncAnthropic | AsyncAnthropicBedrock | AsyncAnthropicVertex

CONNECT_SECONDS = 10.0
NO_KEY = (
    "no key for the model: set ANTHROPIC_API_KEY, set ANTHROPIC_BASE_URL to a server that needs none, "
    "or try `perdure demo`"
)
CLIENTS_HELD = 8
"""Endpoints and keys whose connections are kept, those used last."""
PING: Json = {"type": "ping"}
_ROUTE = "/v1/messages"
_KEY, _TOKEN, _URL, _HEADERS = _PARTS = (
    "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_CUSTOM_HEADERS",
)  # fmt: skip
_CLOUDS = {"CLAUDE_CODE_USE_BEDROCK": "bedrock", "CLAUDE_CODE_USE_VERTEX": "vertex"}
_SWITCHED_OFF = frozenset({"", "0", "false", "no", "off"})


@runtime_checkable
class KeyRing(Protocol):
    """An environment that knows several endpoints, each with its own key."""

    def leading_to(self, base_url: str) -> Mapping[str, str]:
        """The environment as it is meant for that endpoint."""
        ...


class AnthropicEndpoint:
    """Anthropic's API, whatever speaks its Messages API, or a cloud's; keys are the worker's own."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._clients: dict[tuple[str, ...], Client] = {}
        self._busy: Counter[tuple[str, ...]] = Counter()
        self._loading = asyncio.Lock()
        self._is_loaded = False

    async def warm(self) -> None:
        """Import the SDK in a thread: it takes one to three seconds, and the first request needs it."""
        if self._is_loaded:
            return
        async with self._loading:
            await asyncio.to_thread(importlib.import_module, "anthropic")
            await asyncio.to_thread(importlib.import_module, "anthropic.types")
        self._is_loaded = True

    async def close(self) -> None:
        """Give all connections back."""
        clients, self._clients = list(self._clients.values()), {}
        for client in clients:
            await client.close()

    @asynccontextmanager
    async def stream(self, body: bytes, base_url: str) -> AsyncIterator[AsyncIterator[Json]]:
        """Yields the API's events, a ping for bytes that complete none; asking for the first one sends the body.

        `base_url` is an endpoint that the person has set, or a rehearsal model on loopback, or empty for the worker's
        own endpoint. Raises ModelFailure and the SDK's and its HTTP layer's own errors.
        """
        self._check(base_url)
        await self.warm()
        name, client, cloud = self._client(base_url)
        self._busy[name] += 1
        try:
            async with aclosing(_cloud_events(client, body) if cloud else _events(client, body)) as events:
                yield events
        finally:
            self._busy[name] -= 1
            await self._close_idle()

    def _check(self, base_url: str) -> None:
        own = self._own(base_url)
        if base_url:
            if not own and not is_loopback(base_url):
                message = f"a session may name a model on loopback or one that is set here, not {_host(base_url)}"
                raise ModelFailure(FailureKind.BAD_REQUEST, message)
        elif not self._cloud() and not any(own.get(name) for name in (_KEY, _TOKEN, _URL)):
            raise ModelFailure(FailureKind.NO_KEY, NO_KEY)

    @property
    def clients(self) -> int:
        """How many clients are open."""
        return len(self._clients)

    async def _close_idle(self) -> None:
        """Give back the connections that were not used for longest; those of a stream that is read stay."""
        while len(self._clients) > CLIENTS_HELD:
            # Looked for anew each time: while one is closed, streams begin and end beside it.
            name = next((name for name in self._clients if not self._busy[name]), None)
            if name is None:
                return
            del self._busy[name]
            await self._clients.pop(name).close()

    def _client(self, base_url: str) -> "tuple[tuple[str, ...], Client, str]":
        cloud = "" if base_url else self._cloud()
        # A key may change while the worker lives: the person sets another one for the next run.
        own = self._own(base_url)
        name = (cloud or base_url, *(own.get(part, "") for part in _PARTS))
        client = self._clients.pop(name, None) or (_cloud_client(cloud) if cloud else _anthropic(base_url, own))
        self._clients[name] = client
        return name, client, cloud

    def _own(self, base_url: str) -> dict[str, str]:
        """What belongs to that endpoint; nothing for a rehearsal, which never sees a real key."""
        ring = self._environment
        leading = ring.leading_to(base_url) if isinstance(ring, KeyRing) else ring
        found = {part: leading.get(part, "").strip() for part in _PARTS}
        return found if base_url in {"", found[_URL]} else {}

    def _cloud(self) -> str:
        switched_on = (name for switch, name in _CLOUDS.items() if self._switch(switch) not in _SWITCHED_OFF)
        return next(switched_on, "")

    def _switch(self, name: str) -> str:
        return self._environment.get(name, "").strip().lower()


def _anthropic(base_url: str, own: Mapping[str, str]) -> "AsyncAnthropic":
    from anthropic import AsyncAnthropic

    url = base_url or own.get(_URL)
    key = own.get(_KEY)
    token = None if key else own.get(_TOKEN)
    headers = dict(line.split(":", 1) for line in own.get(_HEADERS, "").splitlines() if ":" in line)
    # The SDK sends a key as a bearer token; other servers of this API may still ask for its older header.
    headers |= {"X-Api-Key": key} if key and url else {}
    return AsyncAnthropic(
        # A person's own server may want no key, the SDK insists on one.
        api_key=key or (None if token else "none"),
        auth_token=token or None,
        base_url=url or None,
        default_headers={name.strip(): value.strip() for name, value in headers.items()} or None,
        max_retries=0,
        timeout=_timeout(),
        http_client=_loopback_client() if is_loopback(url or "") else None,
    )


def _loopback_client() -> "DefaultAsyncHttpxClient":
    from anthropic import DefaultAsyncHttpxClient

    # A proxy of the environment has no way to this machine's own loopback.
    return DefaultAsyncHttpxClient(trust_env=False, verify=trusted_roots(), timeout=_timeout())


def _host(url: str) -> str:
    return urlsplit(url).hostname or url[:80]


def is_loopback(url: str) -> bool:
    """Whether the URL's host is this machine's own loopback."""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _timeout() -> "httpx2.Timeout":
    import httpx2

    # Silence is the watchdog's: only it knows that a slow living stream is not a dead one.
    return httpx2.Timeout(None, connect=CONNECT_SECONDS)


def _cloud_client(cloud: str) -> "Client":
    try:
        if cloud == "bedrock":
            from anthropic import AsyncAnthropicBedrock

            return AsyncAnthropicBedrock(max_retries=0, timeout=_timeout())
        from anthropic import AsyncAnthropicVertex

        return AsyncAnthropicVertex(max_retries=0, timeout=_timeout())
    except (ImportError, ValueError) as error:
        message = f"{cloud} cannot be used: {error}; see `pip install 'anthropic[{cloud}]'` and the SDK's variables"
        raise ModelFailure(FailureKind.NO_KEY, message) from error


async def _events(client: "Client", body: bytes) -> AsyncGenerator[Json, None]:
    from anthropic import AsyncStream

    # The SDK would walk and write a long conversation anew for each request: its bytes are sent as they are.
    opened = await client.post(_ROUTE, cast_to=object, content=body, stream=True, stream_cls=AsyncStream[object])
    async with opened:
        _check_kind(opened.response)
        decoder = EventDecoder()
        async for piece in opened.response.aiter_bytes():
            for event in _decoded(decoder, piece) or (PING,):
                yield event


async def _cloud_events(client: "Client", body: bytes) -> AsyncGenerator[Json, None]:
    from anthropic import AsyncStream

    # The clouds' clients move parts of the body into the URL, and decode streams of their own.
    kind = AsyncStream[Any]  # Any: the provider's JSON
    opened = await client.post(_ROUTE, cast_to=object, body=json.loads(body), stream=True, stream_cls=kind)
    async with opened:
        async for event in opened:
            yield event


def _check_kind(response: "httpx2.Response") -> None:
    kind = response.headers.get("content-type", "")
    if kind.startswith(("application/json", "text/html")):
        message = f"{response.url.host} answers with {kind.partition(';')[0]}, not with a stream: is it a Messages API?"
        raise ModelFailure(FailureKind.BAD_REQUEST, message)


def _decoded(decoder: EventDecoder, piece: bytes) -> list[Json]:
    try:
        return decoder.feed(piece)
    except ValueError as error:
        raise ModelFailure(FailureKind.TRANSPORT, f"the stream is damaged: {error}") from error
