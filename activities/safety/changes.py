"""Change a person's file once: only as it was read, old version stored, plan written before, looked for on a repeat."""

import asyncio
import difflib
import re
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from pydantic import JsonValue

from activities.safety.secrets import masked_outcome
from activities.stores.digests import digest_of
from activities.stores.regular_files import (
    Version,
    digest_of_file,
    missing_folders,
    read_version,
    remove_leftover,
    replace_content,
    shown,
)
from activities.stores.text_files import decode
from activities.stores.vault import Vault
from activities.tool import Call
from workflows.contracts.errors import ToolError
from workflows.contracts.messages import Text, clean
from workflows.contracts.tools import Effect, ToolOutcome

DIFF_CHARACTERS = 4_000
DIFF_LINES = 5_000
"""Lines on either side above which no diff is made."""
WHOLE_BYTES = 1_000_000
"""Of a file before and after, up to which a person sees the whole diff."""
NOT_ENDED = "\n\\ No newline at end of file"
HUNK = re.compile(r"([-+])(\d+)")
Given = TypeVar("Given")


@dataclass(frozen=True)
class Change:
    """What shall become of one file."""

    path: Path
    """Real path."""
    before: Version | None
    data: bytes
    """The whole new content."""
    text: str
    """What the model is told once it is done."""
    facts: dict[str, JsonValue] = field(default_factory=dict)


async def found_done(call: Call) -> ToolOutcome | None:
    """The outcome of an earlier attempt whose effect is there; None when there is still all to do.

    Raises ToolError when the file is neither as that attempt found it nor as it meant to leave it.
    """
    plan = await asyncio.to_thread(call.record.read_plan) if call.is_repeat else None
    if plan is None:
        return None
    path = Path(str(plan["path"]))
    now = await asyncio.to_thread(digest_of_file, path)
    if now == plan["after"]:
        await asyncio.to_thread(_settle, call, path, now)
        return ToolOutcome.model_validate(plan["outcome"])
    await asyncio.to_thread(remove_leftover, path, call.key)
    if now == plan["before"]:
        return None
    raise ToolError(
        f"{shown(path)} was changed by somebody else while this call was interrupted. "
        "Read it again, see whether the change is still wanted, then repeat it."
    )


def check_seen(call: Call, path: Path, before: Version) -> None:
    """Raises ToolError unless the session has read the file and it is unchanged since."""
    seen = call.seen.digest(path)
    if not seen:
        raise ToolError(
            f"{shown(path)} has not been read in this session. Use Read on it first, then repeat this call."
        )
    if seen != before.digest:
        raise ToolError(
            f"{shown(path)} has changed since it was last read. Use Read on it again, then repeat this call."
        )


def link_note(before: Version | None) -> str:
    """What is said of a file's other names, which keep the old content; empty when it has none."""
    links = before.facts.st_nlink - 1 if before else 0
    return f" Other names of the same file ({links}, hard links) keep the old content." if links > 0 else ""


async def carry_out(call: Call, change: Change) -> ToolOutcome:
    """Do it, and tell it even when the call is cancelled meanwhile: what is begun is finished."""
    return await _finished(_carry_out(call, change))


async def _carry_out(call: Call, change: Change) -> ToolOutcome:
    before = change.before
    after = digest_of(change.data)
    vault = Vault(call.world.home)
    locked = await asyncio.to_thread(vault.lock, before.data) if before else b""
    effect = Effect(
        kind="create" if before is None else "write",
        path=shown(change.path),
        before=before.digest if before else "",
        after=after,
        before_object=await call.world.store.put(locked) if before else "",
        folders=0 if before else await asyncio.to_thread(_new_folders, call, change.path),
    )
    outcome = ToolOutcome(content=(Text(text=clean(change.text)),), effects=(effect,), data=change.facts)
    # The plan keeps it on disk, and an attempt that finds it there tells it from there.
    outcome = masked_outcome(call.world.masker(call.session), outcome)
    plan: dict[str, object] = {
        "path": str(change.path),
        "before": effect.before,
        "after": after,
        "outcome": outcome.model_dump(mode="json"),
    }
    await asyncio.to_thread(_write, call, change, plan)
    return outcome


def _new_folders(call: Call, path: Path) -> int:
    """How many folders above the file this call makes: an attempt that died may have made some of them already."""
    plan = call.record.read_plan() if call.is_repeat else None
    earlier = ToolOutcome.model_validate(plan["outcome"]).effects if plan and plan["path"] == str(path) else ()
    return max([missing_folders(path), *(effect.folders for effect in earlier)])


def _write(call: Call, change: Change, plan: dict[str, object]) -> None:
    call.record.write_plan(plan)
    now = read_version(change.path)
    if (now.digest if now else "") != plan["before"]:
        raise ToolError(
            f"{shown(change.path)} was changed by somebody else just now. Read it again, then repeat this call."
        )
    replace_content(change.path, change.data, now.facts if now else None, call.key)
    _settle(call, change.path, str(plan["after"]))


def _settle(call: Call, path: Path, digest: str) -> None:
    remove_leftover(path, call.key)
    call.seen.note(path, digest)


async def _finished(work: Coroutine[object, object, Given]) -> Given:
    task = asyncio.ensure_future(work)
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            continue
    return task.result()


def short_diff(old: str, new: str, first: int = 1) -> str:
    """A unified diff of two texts for the screen, cut at DIFF_CHARACTERS; a sentence instead where they are large.

    `first` is the number of the line with which both begin.
    """
    sides = _sides(old, new)
    if max(map(len, sides)) > DIFF_LINES or len(old) + len(new) > 100 * DIFF_LINES:
        return f"[{len(sides[0]):,} lines before, {len(sides[1]):,} after: no diff is shown]"
    text = ""
    for line in list(difflib.unified_diff(*sides, n=2, lineterm=""))[2:]:
        if len(text) + len(line) > DIFF_CHARACTERS:
            return clean(f"{text}{line[: max(0, DIFF_CHARACTERS - len(text))]}\n[cut]")
        text += (_moved(line, first - 1) if line.startswith("@@") else line) + "\n"
    return clean(text)


def whole_diff(change: Change) -> str:
    """All of a change for a person who is to allow it, as a unified diff; of a very large one how large it is."""
    data = change.before.data if change.before else b""
    if len(data) + len(change.data) > WHOLE_BYTES:
        return f"[{len(data):,} bytes before, {len(change.data):,} after: no diff is shown]"
    sides = _sides(*(decode(each)[0] for each in (data, change.data)))
    lines = list(difflib.unified_diff(*sides, n=3, lineterm=""))[2:]
    return clean("\n".join(lines)) or "[only line endings or blanks at its end change]"


def _sides(old: str, new: str) -> tuple[list[str], list[str]]:
    """The lines of both; where only one text ends its last line, the other's says that it does not."""
    is_told = old.endswith("\n") or new.endswith("\n")
    return _lines(old, is_told=is_told), _lines(new, is_told=is_told)


def _lines(text: str, *, is_told: bool) -> list[str]:
    *lines, last = text.split("\n")
    return [*lines, last + NOT_ENDED * is_told] if last else lines


def _moved(header: str, by: int) -> str:
    return HUNK.sub(lambda match: f"{match[1]}{int(match[2]) + by}", header)
