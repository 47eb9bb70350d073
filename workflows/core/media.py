"""Pictures and documents of a conversation: where they stand, and for which of them a note stands instead."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from workflows.contracts.errors import FailureKind
from workflows.contracts.messages import Block, Document, Image, Message, Text, ToolResult, clean
from workflows.contracts.transcript import EditBody, Entry, MessageBody

Media = Image | Document

LEFT_OUT = "left_out"
MENDABLE = frozenset({FailureKind.BAD_MEDIA, FailureKind.TOO_LARGE})
"""Refusals that may end once a picture or document is left out."""

_OLDER = (
    "[A {what} that was shown here is not sent any more, since all of them together became too large. "
    "Read its file again to see it.]"
)
_REFUSED = "[A {what} stood here; the provider did not take it: {why}. It is not sent again.{instead}]"
_PLACE = re.compile(r"messages\.(\d+)\.content\.(\d+)(?:\.tool_result)?(?:\.content\.(\d+))?")
_OF_DOCUMENTS = re.compile(r"\b(pdf|pdfs|document)\b", re.IGNORECASE)


def media_in(blocks: Iterable[Block]) -> Iterator[Media]:
    """Pictures and documents among the blocks, those inside tool results too."""
    for block in blocks:
        if isinstance(block, Image | Document):
            yield block
        elif isinstance(block, ToolResult):
            yield from media_in(block.content)


def lasting_notes(entries: Iterable[Entry]) -> dict[str, str]:
    """By digest, the note that stands for what the provider never takes."""
    notes: dict[str, str] = {}
    for entry in entries:
        if isinstance(entry.body, EditBody) and entry.body.lasting:
            notes = {**_notes(entry.body), **notes}
    return notes


def edited(entries: Sequence[Entry], lasting: Mapping[str, str] | None = None) -> list[Entry]:
    """The entries as they are shown: notes in the places that the edits among them, and earlier ones, name.

    Of several edits that name the same, the one that was decided first counts: what was shown once stays.
    """
    edits = [(place, entry.body) for place, entry in enumerate(entries) if isinstance(entry.body, EditBody)]
    if not edits and not lasting:
        return [*entries]
    before = dict(lasting or {})
    shown: list[Entry] = []
    for place, entry in enumerate(entries):
        if edits and edits[0][0] == place:
            _, edit = edits.pop(0)
            before = {**_notes(edit), **before} if edit.lasting else before
        notes = dict(before)
        for _, edit in edits:
            notes = {**_notes(edit), **notes}
        shown.append(_with_notes(entry, notes))
    return shown


def _notes(edit: EditBody) -> dict[str, str]:
    return dict.fromkeys(edit.objects, edit.note)


def _with_notes(entry: Entry, notes: Mapping[str, str]) -> Entry:
    body = entry.body
    if not notes or not isinstance(body, MessageBody) or not any(m.digest in notes for m in media_in(body.blocks)):
        return entry
    blocks = tuple(_noted(block, notes) for block in body.blocks)
    return entry.model_copy(update={"body": body.model_copy(update={"blocks": blocks})})


def _noted(block: Block, notes: Mapping[str, str]) -> Block:
    match block:
        case Image() | Document() if block.digest in notes:
            what = "picture" if isinstance(block, Image) else "document"
            return Text(text=notes[block.digest].replace("{what}", what))
        case ToolResult():
            content = tuple(_noted(part, notes) for part in block.content)
            return block.model_copy(update={"content": content})
        case _:
            return block


def older_left_out(messages: Sequence[Message], excess: int, at_least: int = 0) -> EditBody | None:
    """An edit that leaves out the oldest media until so many bytes of the request and so many items are gone."""
    left: dict[str, int] = {}
    for media in _all(messages):
        if sum(left.values()) >= excess and len(left) >= at_least:
            break
        left[media.digest] = left.get(media.digest, 0) + travelling(media)
    if not left:
        return None
    text = f"{_count(len(left))} of earlier messages left out of the request, since it became too large"
    return EditBody(what=LEFT_OUT, text=text, objects=tuple(left), note=_OLDER)


def refused_left_out(messages: Sequence[Message], kind: FailureKind, why: str) -> EditBody | None:
    """An edit that leaves out what a refusal speaks of; None when the messages hold nothing that could be meant."""
    everything = list(_all(messages))
    if kind == FailureKind.TOO_LARGE and len({media.digest for media in everything}) > 1:
        return older_left_out(messages, sum(map(travelling, everything)) // 2)
    found = _named(messages, why) or _newest(messages, why)
    if not found:
        return None
    return _left_out(found, why)


def newest_left_out(messages: Sequence[Message], why: str) -> EditBody | None:
    """An edit that leaves out all media of the newest message that has any: one by one they were refused too often."""
    found = next((found for message in reversed(messages) if (found := list(media_in(message.blocks)))), [])
    return _left_out(found, why) if found else None


def _left_out(found: Sequence[Media], why: str) -> EditBody:
    digests = tuple(dict.fromkeys(media.digest for media in found))
    instead = " To get its text, read it with as_text." if any(isinstance(media, Document) for media in found) else ""
    said = clean(why)[:200].replace("{", "(").replace("}", ")").rstrip(". ")
    text = f"{_count(len(digests))} left out for good, since the provider refused it: {said}"
    note = _REFUSED.replace("{why}", said).replace("{instead}", instead)
    return EditBody(what=LEFT_OUT, text=text, objects=digests, note=note, lasting=True)


def travelling(media: Media) -> int:
    """Bytes that it takes in a request."""
    return (media.size + 2) // 3 * 4


def _all(messages: Sequence[Message]) -> Iterator[Media]:
    return (media for message in messages for media in media_in(message.blocks))


def _named(messages: Sequence[Message], why: str) -> list[Media]:
    """What stands at the place that the refusal names."""
    found = _PLACE.search(why)
    if found is None or int(found[1]) >= len(messages):
        return []
    blocks = messages[int(found[1])].blocks
    if int(found[2]) >= len(blocks):
        return []
    block = blocks[int(found[2])]
    inner = shown_content(block) if isinstance(block, ToolResult) else ()
    if found[3] and int(found[3]) < len(inner):
        return list(media_in((inner[int(found[3])],)))
    return list(media_in((block,)))


def _newest(messages: Sequence[Message], why: str) -> list[Media]:
    """What came last, of the kind that the refusal speaks of: all before it was taken once."""
    kinds = (Document, Image) if _OF_DOCUMENTS.search(why) else (Image, Document)
    for kind in kinds:
        for message in reversed(messages):
            if found := [media for media in media_in(message.blocks) if isinstance(media, kind)]:
                return found
    return []


def shown_content(result: ToolResult) -> tuple[Block, ...]:
    """What of a result travels: the provider takes no empty text."""
    return tuple(block for block in result.content if not isinstance(block, Text) or block.text)


def _count(number: int) -> str:
    return "a picture or document was" if number == 1 else f"{number} pictures or documents were"
