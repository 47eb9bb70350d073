"""What a request leaves out is decided once, and a repeated attempt decides the same."""

import io
from pathlib import Path

import pytest
from PIL import Image as Picture

from activities.model import left_out
from activities.model.failures import ModelFailure
from tests.fakes.model_stage import AT, Stage, model_stage
from workflows.contracts.errors import FailureKind
from workflows.contracts.messages import Image, Role, Text
from workflows.contracts.model import ModelRequest, Refusal
from workflows.contracts.transcript import EditBody, MessageBody

WHY = "messages.0.content.1.image.source.base64: image exceeds 1000 bytes maximum"


def png(side: int = 200) -> bytes:
    made = io.BytesIO()
    Picture.effect_noise((side, side), 90).save(made, "PNG")
    return made.getvalue()


async def with_pictures(stage: Stage, *pictures: bytes, **changes: object) -> ModelRequest:
    """A request behind a user message that shows these pictures."""
    store = stage.world.store
    shown = [Image(media_type="image/png", digest=await store.put(data), size=len(data)) for data in pictures]
    body = MessageBody(role=Role.USER, blocks=(Text(text="look"), *shown))
    head = await stage.world.transcript.append(stage.request.head, AT, [body])
    return stage.request.model_copy(update={"head": head, **changes})


async def edits(stage: Stage, head: str) -> list[EditBody]:
    bodies = [link.entry.body for link in await stage.world.transcript.read(head)]
    return [body for body in bodies if isinstance(body, EditBody)]


async def test_after_a_refusal_the_named_picture_is_left_out_and_the_chain_says_so(tmp_path: Path) -> None:
    scenario = {"fallback": "fine", "limits": {"image_base64": 1_000}}
    async with model_stage(tmp_path, scenario) as stage:
        request = await with_pictures(stage, png())
        with pytest.raises(ModelFailure) as told:
            await stage.ask(request)
        assert (told.value.kind, told.value.retryable) == (FailureKind.BAD_MEDIA, False)
        mended = request.model_copy(update={"refusals": (Refusal(kind=told.value.kind, text=str(told.value)[:120]),)})
        reply = await stage.ask(mended)
        (edit,) = await edits(stage, reply.head)
        assert edit.lasting
        assert b'"image"' not in stage.model.requests[-1].body_bytes
        assert [event["what"] for event in stage.told("notice")] == ["left_out"]
        assert [event.get("final", False) for event in stage.told("model_retry")] == [False]


async def test_a_worker_that_died_before_its_report_leaves_the_same_chain(tmp_path: Path) -> None:
    async with model_stage(tmp_path, {"fallback": "fine"}) as stage:
        request = await with_pictures(stage, png(), refusals=(Refusal(kind=FailureKind.BAD_MEDIA, text=WHY),))
        first = await stage.ask(request)
        again = await stage.another_worker().ask(request)
        assert again == first
        assert len(stage.model.requests) == 1


async def test_a_refusal_without_anything_to_leave_out_is_final(tmp_path: Path) -> None:
    async with model_stage(tmp_path, {"fallback": "fine"}) as stage:
        request = await with_pictures(
            stage, refusals=(Refusal(kind=FailureKind.BAD_MEDIA, text="images are not supported"),)
        )
        with pytest.raises(ModelFailure, match="images are not supported") as told:
            await stage.ask(request)
        assert told.value.kind == FailureKind.BAD_REQUEST
        assert stage.model.requests == []


async def test_each_refusal_is_met_in_what_the_ones_before_it_left_and_in_the_end_all_of_a_message_goes(
    tmp_path: Path,
) -> None:
    scenario = {"fallback": "fine", "limits": {"image_base64": 1_000}}
    async with model_stage(tmp_path, scenario) as stage:
        request = await with_pictures(stage, *(png() for _ in range(12)))
        for _ in range(left_out.PATIENCE + 1):
            with pytest.raises(ModelFailure) as failure:
                await stage.ask(request)
            told = Refusal(kind=failure.value.kind, text=str(failure.value)[:120])
            request = request.model_copy(update={"refusals": (*request.refusals, told)})
        reply = await stage.ask(request)
        assert [len(edit.objects) for edit in await edits(stage, reply.head)] == [1] * left_out.PATIENCE + [6]


async def test_more_pictures_than_a_request_may_hold_lose_the_oldest_before_they_are_sent(tmp_path: Path) -> None:
    pictures = [png(8) for _ in range(left_out.MOST_ITEMS + 5)]
    async with model_stage(tmp_path, {"fallback": "fine"}) as stage:
        request = await with_pictures(stage, *pictures)
        first = await stage.ask(request)
        (edit,) = await edits(stage, first.head)
        assert not edit.lasting
        assert stage.model.requests[-1].body_bytes.count(b'"image"') == left_out.LOW_ITEMS
        more = await with_pictures(stage, head=first.head, exchange=2, prompt="")
        later = await stage.ask(more.model_copy(update={"head": first.head, "hidden": "go on"}))
        assert await edits(stage, later.head) == [edit]
        assert stage.model.requests[-1].body_bytes.count(b'"image"') == left_out.LOW_ITEMS
