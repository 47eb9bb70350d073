"""The view grows by what is new, is bounded in bytes, and equals a fold of the whole chain."""

import json
import random
from collections.abc import Sequence

import pytest

from activities.model.request import as_api
from activities.model.views import ViewCache
from activities.stores.objects import MemoryStore
from activities.transcript import Transcript
from workflows.contracts.messages import Block, Image, Role, Text, Thinking, ToolResult, ToolUse
from workflows.contracts.transcript import Body, MessageBody, NoticeBody
from workflows.core.view import messages_of

AT = "2026-01-01T00:00:00Z"


class Chain:
    """One growing chain and the views of it."""

    def __init__(self, most_bytes: int = 1 << 26) -> None:
        self.store = MemoryStore()
        self.transcript = Transcript(self.store)
        self.views = ViewCache(most_bytes)
        self.head = ""

    async def add(self, *bodies: Body) -> None:
        self.head = await self.transcript.append(self.head, AT, bodies)

    async def written(self, session: str = "s", model: str = "m") -> list[bytes]:
        view = await self.views.at(session, model, self.head, (), self.transcript, self.store)
        return list(view.written)

    async def written_early(self, *bodies: Body) -> list[bytes]:
        """What is shown behind entries that are written only afterwards."""
        growth = await self.transcript.grown(self.head, AT, bodies)
        view = await self.views.at("s", "m", self.head, growth.links(), self.transcript, self.store)
        self.head = await self.transcript.write(growth)
        return list(view.written)

    async def afresh(self) -> list[bytes]:
        return await as_api(messages_of(link.entry for link in await self.transcript.read(self.head)), self.store)


def user(*blocks: Block | str) -> MessageBody:
    return MessageBody(role=Role.USER, blocks=_blocks(blocks))


def said(*blocks: Block | str, model: str = "m") -> MessageBody:
    return MessageBody(role=Role.ASSISTANT, blocks=_blocks(blocks), model=model)


def _blocks(blocks: Sequence[Block | str]) -> tuple[Block, ...]:
    return tuple(Text(text=block) if isinstance(block, str) else block for block in blocks)


def exchange(number: int) -> list[Body]:
    call = f"c{number}"
    return [
        said(f"step {number}", ToolUse(id=call, name="Read")),
        user(ToolResult(id=call, content=(Text(text="x" * 50),))),
    ]


@pytest.mark.journey
async def test_at_exchange_1000_only_the_new_entries_are_read() -> None:
    chain = Chain()
    await chain.add(user("go"))
    for number in range(999):
        await chain.add(*exchange(number))
    await chain.written()
    before = chain.views.read_entries
    await chain.add(*exchange(1_000))
    written = await chain.written()
    assert chain.views.read_entries - before == 2
    assert len(written) == 2_001


@pytest.mark.parametrize(
    "seed", [0, 1, 2, 3, *(pytest.param(seed, marks=pytest.mark.journey) for seed in range(4, 20))]
)
async def test_a_view_that_grew_equals_a_fold_of_the_whole_chain(seed: int) -> None:
    chance = random.Random(seed)
    chain = Chain()
    await chain.add(user("go"))
    for number in range(40):
        bodies = [
            *exchange(number),
            NoticeBody(what="note", text="seen", shown=chance.random() < 0.5),
            user("more"),
            user(),
            said(),
            said(Thinking(text="hm", signature="s")),
            said("a"),
        ]
        chosen = [body for body in bodies if chance.random() < 0.7]
        if chosen and chance.random() < 0.5:
            assert await chain.written_early(*chosen) == await chain.afresh()
            continue
        await chain.add(*chosen)
        if chance.random() < 0.5:
            assert await chain.written() == await chain.afresh()


async def test_a_view_over_the_bound_is_dropped_and_read_again() -> None:
    chain = Chain(most_bytes=1_500)
    await chain.add(user("go"), *exchange(1), *exchange(2))
    first = await chain.written("s")
    assert chain.views.held_bytes <= 1_500
    for session in ("t", "u", "v"):
        await chain.written(session)
    assert chain.views.held_bytes <= 1_500
    before = chain.views.read_entries
    assert await chain.written("s") == first
    assert chain.views.read_entries - before == 5


async def test_an_older_head_is_shown_without_what_came_after_it() -> None:
    chain = Chain()
    await chain.add(user("go"))
    before, head = await chain.written(), chain.head
    await chain.add(*exchange(1))
    await chain.written()
    chain.head = head
    assert await chain.written() == before


async def test_what_was_shown_once_is_shown_in_the_same_bytes_ever_after() -> None:
    chain = Chain()
    await chain.add(user("go"))
    shown = await chain.written()
    for number in range(30):
        await chain.add(*exchange(number))
        written = await chain.written()
        assert written[: len(shown)] == shown
        shown = written


async def test_a_picture_is_read_from_the_store_into_the_request() -> None:
    chain = Chain()
    digest = await chain.store.put(b"\x89PNG")
    picture = Image(media_type="image/png", digest=digest, size=4)
    await chain.add(user("go"), said(ToolUse(id="c", name="Read")), user(ToolResult(id="c", content=(picture,))))
    block = json.loads((await chain.written())[-1])["content"][0]["content"][0]
    assert block == {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}}


async def test_another_models_thoughts_are_not_shown() -> None:
    chain = Chain()
    await chain.add(user("go"), said(Thinking(text="hm", signature="s"), "a", model="other"), user("more"))
    assert [block["type"] for block in json.loads((await chain.written())[1])["content"]] == ["text"]


async def test_of_a_long_conversation_only_the_end_is_held_as_messages() -> None:
    chain = Chain()
    await chain.add(user("go"))
    for number in range(100):
        await chain.add(*exchange(number))
        view = await chain.views.at("s", "m", chain.head, (), chain.transcript, chain.store)
        assert (len(view.recent) <= 5, len(view.tail) <= 4) == (True, True)
    assert await chain.written() == await chain.afresh()


async def test_entries_that_another_attempt_has_shown_already_are_not_read_again() -> None:
    chain = Chain()
    await chain.add(user("go"), said("a"))
    growth = await chain.transcript.grown(chain.head, AT, [user("more"), user("and more")])
    for shown in (growth.links()[:1], growth.links(), growth.links()):
        view = await chain.views.at("s", "m", chain.head, shown, chain.transcript, chain.store)
        assert view.head == shown[-1].digest
    assert chain.views.read_entries == 4
