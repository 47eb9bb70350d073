"""What a tool gave, made fit for store and provider; of a large text a preview stays."""

from activities.stores.objects import ObjectStore
from workflows.contracts.messages import Shown, Text, clean, clean_json
from workflows.contracts.tools import Effect, ToolOutcome
from workflows.core.budgets import preview


def cleaned(outcome: ToolOutcome) -> ToolOutcome:
    """The outcome without what neither the store's JSON nor a provider takes, such as half an emoji."""
    return outcome.model_copy(
        update={
            "content": tuple(map(_cleaned_block, outcome.content)),
            "effects": tuple(map(_cleaned_effect, outcome.effects)),
            "cwd": clean(outcome.cwd),
            "data": clean_json(outcome.data),
        }
    )


def _cleaned_block(block: Shown) -> Shown:
    return Text(text=clean(block.text)) if isinstance(block, Text) else block


def _cleaned_effect(effect: Effect) -> Effect:
    return effect.model_copy(update={"path": clean(effect.path)})


async def trim(outcome: ToolOutcome, limit: int, store: ObjectStore) -> ToolOutcome:
    """The outcome with a preview of about `limit` characters of a larger text, which is an object of the store."""
    texts = [block.text for block in outcome.content if isinstance(block, Text)]
    whole = "\n".join(texts)
    if len(whole) <= limit + 1_000:
        return outcome
    data = whole.encode("utf-8")
    digest = outcome.full or await store.put(data)
    shown = Text(text=preview(whole, limit, digest))
    others = tuple(block for block in outcome.content if not isinstance(block, Text))
    size = outcome.size or len(data)
    return outcome.model_copy(update={"content": (shown, *others), "full": digest, "size": size})
