"""Plays scenarios in the test's own process and gives the real SDK to talk to them."""

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient

from activities.model.roots import trusted_roots
from worker.rehearsal.scenario import Scenario
from worker.rehearsal.server import Rehearsal, rehearse

Loose = Any  # Any: the SDK's own dicts, and blocks of every kind that a test looks into

ASK: Loose = {"model": "m", "max_tokens": 1000, "messages": [{"role": "user", "content": "go"}]}


async def streamed(client: AsyncAnthropic, **more: Loose) -> Loose:
    """The whole message of a streamed reply."""
    async with client.messages.stream(**{**ASK, **more}) as stream:
        return await stream.get_final_message()


class Stage:
    """Plays scenarios; everything it opened is closed when the test ends."""

    def __init__(self, closing: AsyncExitStack) -> None:
        self._closing = closing

    async def play(
        self,
        scenario: dict[str, Loose],
        *,
        record: Path | None = None,
        window: int | None = None,
        strict: bool | None = None,
    ) -> tuple[Rehearsal, AsyncAnthropic]:
        """A server for the scenario, and a client without retries."""
        made = Scenario.model_validate(scenario)
        model = await self._closing.enter_async_context(rehearse(made, record=record, window=window, strict=strict))
        return model, await self.client(model.url)

    async def client(self, url: str, key: str = "key") -> AsyncAnthropic:
        """Another client."""
        http = DefaultAsyncHttpxClient(verify=trusted_roots(), timeout=20)
        client = AsyncAnthropic(base_url=url, api_key=key, max_retries=0, timeout=20, http_client=http)
        return await self._closing.enter_async_context(client)
