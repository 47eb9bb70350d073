"""Secrets of a call: masked in what it gives and shows, put back in what it changes."""

import re
from pathlib import Path
from typing import TypeVar

from pydantic import JsonValue

from activities.processes.command import CommandEnd
from activities.processes.output import read_output, read_tail
from activities.stores.masking import MARK, Masker
from activities.stores.regular_files import Version, shown
from activities.stores.text_files import decode, unified
from activities.tool import AnyTool, Call, ToolInput
from workflows.contracts.errors import ToolError
from workflows.contracts.extensions import HookRecord
from workflows.contracts.messages import Shown, Text, clean
from workflows.contracts.permissions import Finding, Verdict
from workflows.contracts.tools import Effect, ToolOutcome

Given = TypeVar("Given", bound=ToolInput)

_MAY_GO_ON = re.compile(r"(?<!\S)(?=\S*+\Z)\S*[^A-Za-z.,;!?()\[\]<>|/#%\s-]\S*+")
"""The last word of output that stops inside a line, when it may be the first half of a secret."""

_WORD = 4_096
"""Bytes of the longest such word."""

_SUMMED_UP = 64 * 1024
"""Characters of a text that a summary may quote; of what follows it can only count the lines."""
_LONGEST_SECRET = 34 * 1024
"""Characters of the longest secret that is looked for by its form, a private key."""


def masked_outcome(masker: Masker, outcome: ToolOutcome) -> ToolOutcome:
    """The outcome as it may be stored and sent. Masked again it stays the same."""
    return outcome.model_copy(
        update={
            "content": tuple(_masked_block(masker, block) for block in outcome.content),
            "effects": tuple(_masked_effect(masker, effect) for effect in outcome.effects),
            "data": masker.json(outcome.data),
        }
    )


def _masked_block(masker: Masker, block: Shown) -> Shown:
    return Text(text=masker.text(block.text)) if isinstance(block, Text) else block


def _masked_effect(masker: Masker, effect: Effect) -> Effect:
    return effect.model_copy(update={"path": masker.text(effect.path)})


def masked_verdict(masker: Masker, verdict: Verdict) -> Verdict:
    """The verdict with the same decision, its words masked."""
    reasons = tuple(_masked_finding(masker, finding) for finding in verdict.reasons)
    return verdict.model_copy(update={"text": masker.text(verdict.text), "reasons": reasons})


def _masked_finding(masker: Masker, finding: Finding) -> Finding:
    return finding.model_copy(update={"text": masker.text(finding.text)})


def masked_record(masker: Masker, record: HookRecord) -> HookRecord:
    """What a hook did, its words masked."""
    words = {"text": masker.text(record.text), "told": tuple(map(masker.text, record.told))}
    return record.model_copy(update=words)


def masked_summary(masker: Masker, tool: AnyTool, given: ToolInput) -> str:
    """One line of what a call wants to do. Masked before the tool cuts it: half a secret is none that can be seen."""
    texts = {name: text for name, text in given if isinstance(text, str)}
    hidden = {name: shown for name, text in texts.items() if (shown := _masked_head(masker, text)) != text}
    return clean(masker.text(tool.summary(given.model_copy(update=hidden))))


def _masked_head(masker: Masker, text: str) -> str:
    """The text masked; of a long one its beginning, filled up to as many lines and bytes as it has.

    A secret that lies across the cut was cut itself and stays unseen, so as much as one can take is left out there.
    """
    if len(text) <= _SUMMED_UP + _LONGEST_SECRET:
        return masker.text(text)
    head = masker.text(text[: _SUMMED_UP + _LONGEST_SECRET])[:-_LONGEST_SECRET]
    lines = unified(text).count("\n") - head.count("\n")
    size = len(text.encode(errors="replace")) - len(head.encode(errors="replace"))
    dots, breaks = "." * (size - lines), "\n" * lines
    return f"{head}{dots}{breaks}" if text.endswith("\n") else f"{head}{breaks}{dots}"


def shown_output(masker: Masker, folder: Path, begin: int, end: int) -> bytes:
    """What a command printed from one byte to another, masked: no half of a secret stands at either edge."""
    lead = max(0, begin - _LONGEST_SECRET)
    data = read_output(folder, lead, end - lead + _LONGEST_SECRET)
    return masker.window(data, begin - lead, end - lead)


def shown_tail(masker: Masker, folder: Path, limit: int, end: CommandEnd | None) -> bytes:
    """The last bytes that a command printed, masked in the same way."""
    data = read_tail(folder, limit + _LONGEST_SECRET, end)
    return masker.window(data, max(0, len(data) - limit), len(data))


def may_go_on(folder: Path, size: int) -> int:
    """How many bytes at the end of so many that a running command has printed may be the first half of a secret."""
    last = read_output(folder, max(0, size - _WORD), min(size, _WORD)).decode("utf-8", "surrogateescape")
    found = _MAY_GO_ON.search(last)
    return len(found[0].encode("utf-8", "surrogateescape")) if found else 0


def progress_text(masker: Masker, newest: bytes, *, is_cut: bool) -> str:
    """What may be shown of the newest output: not the end of a line that began before, nor half a word at the end.

    `is_cut` says that there was output before it.
    """
    text = clean(newest.decode("utf-8", errors="replace"))
    if is_cut:
        line = text.find("\n") + 1
        text = text[line:] if line else ""
    return masker.text(_MAY_GO_ON.sub("", text))


def unmasked(masker: Masker, text: str, holder: str, where: str) -> str:
    """The text with each mark replaced by the secret of `holder` that it stands for: a file keeps its own secrets.

    Raises ToolError for a mark that stands for nothing there, since written out it would take a secret's place.
    """
    marks = set(MARK.findall(text))
    if not marks:
        return text
    values: dict[str, set[str]] = {}
    for secret in masker.mask(holder).found:
        values.setdefault(secret.mark, set()).add(secret.value)
    for mark in marks:
        if mark in holder:
            continue
        if len(values.get(mark, ())) != 1:
            raise ToolError(_unknown(mark, where, is_several=mark in values))
        text = text.replace(mark, next(iter(values[mark])))
    return text


def put_back(call: Call, path: Path, before: Version | None, given: Given) -> Given:
    """The input of a file tool with the file's own secrets where it has their marks. Raises ToolError, see `unmasked`.

    A new file holds no secret that a mark could cost: there it is a text like any other.
    """
    if before is None or MARK.search(given.model_dump_json()) is None:
        return given
    masker, holder = call.world.masker(call.session), unified(decode(before.data)[0])
    name = shown(path)

    def restored(value: JsonValue) -> JsonValue:
        if isinstance(value, str):
            return unmasked(masker, value, holder, name)
        if isinstance(value, list):
            return [restored(each) for each in value]
        return {key: restored(each) for key, each in value.items()} if isinstance(value, dict) else value

    return type(given).model_validate(restored(given.model_dump(mode="json")))


def _unknown(mark: str, where: str, *, is_several: bool) -> str:
    why = "stands for more than one secret" if is_several else "stands for no secret"
    return (
        f"{mark} {why} in {where}. Such a mark hides a secret from you; it is not what the file holds. "
        "Leave the text around it out of this change, or ask the person to make it. Nothing was changed."
    )
