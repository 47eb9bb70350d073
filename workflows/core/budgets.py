"""How much results may show, one alone and all of one reply together -> the large ones as previews."""

from collections.abc import Sequence

from workflows.contracts.messages import Text
from workflows.contracts.transcript import OutcomeBody, digest_of

MESSAGE_CHARACTERS = 200_000
"""Of text in the one message that answers a reply (spec 03, level 1)."""

PREVIEW_CHARACTERS = 2_000
"""Of a result that does not fit: its beginning and its end."""


def within_budget(
    outcomes: Sequence[OutcomeBody], budget: int = MESSAGE_CHARACTERS
) -> tuple[list[OutcomeBody], list[bytes]]:
    """The outcomes in their order, together within the budget as far as previews allow; the whole texts to be kept.

    The largest become previews first, so that many small results stay whole. The same outcomes give the same bytes.
    """
    fitting, kept = list(outcomes), []
    sizes = {place: _size(outcome) for place, outcome in enumerate(fitting)}
    for place in sorted(sizes, key=lambda each: (-sizes[each], each)):
        if sum(sizes.values()) <= budget or sizes[place] <= PREVIEW_CHARACTERS:
            break
        fitting[place], whole = _previewed(fitting[place])
        kept += [] if outcomes[place].full else [whole]
        sizes[place] = _size(fitting[place])
    return fitting, kept


def preview(text: str, most: int, digest: str, why: str = "") -> str:
    """Beginning and end of a text, together `most` characters; between them what `Read` takes to see the rest."""
    half = most // 2
    left_out = f"{len(text) - 2 * half:,} of {len(text):,} characters left out{why}"
    return f"{text[:half]}\n[{left_out}; all of it: Read result:{digest}]\n{text[-half:]}"


def _size(outcome: OutcomeBody) -> int:
    return sum(len(block.text) for block in outcome.content if isinstance(block, Text))


def _previewed(outcome: OutcomeBody) -> tuple[OutcomeBody, bytes]:
    text = "\n".join(block.text for block in outcome.content if isinstance(block, Text))
    data = text.encode()
    digest = outcome.full or digest_of(data)
    why = ", since the results of this reply are too large together"
    shown = Text(text=preview(text, PREVIEW_CHARACTERS, digest, why))
    others = tuple(block for block in outcome.content if not isinstance(block, Text))
    size = outcome.size or len(data)
    return outcome.model_copy(update={"content": (shown, *others), "full": digest, "size": size}), data
