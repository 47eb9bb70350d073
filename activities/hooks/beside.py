"""Async hooks: they run beside the work, and what they say when they end is told at the session's next moment."""

import json
from collections.abc import Iterator
from pathlib import Path

from activities.hooks.command import finished
from activities.hooks.place import Ended, HookPlace
from activities.hooks.protocol import BadAnswer, answer_of, short
from activities.stores.files import append_line, create_once, make_folder, read_lines
from activities.world import World
from workflows.contracts.events import Notice
from workflows.contracts.extensions import HookRule

_MOST_WAITED_FOR = 200
"""The newest async hooks of a session that are looked at."""


def note_beside(place: HookPlace, rule: HookRule) -> None:
    """Remember that the hook runs, so that its end is told; before it is started."""
    path = _path(place.world, place.session)
    make_folder(path.parent)
    line = {"folder": str(place.folder_of(rule)), "rule": rule.model_dump(mode="json")}
    append_line(path, json.dumps(line).encode())


def words_of_ended(world: World, session: str, key: str) -> str:
    """What async hooks that have ended say to the model; each is told once, to the call or moment of this key."""
    return "\n".join(_words(world, session, key))


def _words(world: World, session: str, key: str) -> Iterator[str]:
    lines, _damage = read_lines(_path(world, session))
    mask = world.masker(session).text
    for line in list(dict.fromkeys(lines))[-_MOST_WAITED_FOR:]:
        noted = json.loads(line)
        folder, rule = Path(noted["folder"]), HookRule.model_validate(noted["rule"])
        ended = finished(folder) if folder.is_dir() else None
        # Told to whom it was told first, also when that one is tried again.
        if ended is None or create_once(folder / "told", key.encode()) != key.encode():
            continue
        context, message = _said(rule, ended)
        if message:
            world.publish(session, Notice(what="hook", text=mask(message)[:1_000]))
        if context:
            yield mask(f"[{rule.event} hook {rule.label}, which ran beside the work] {context}")


def _said(rule: HookRule, ended: Ended) -> tuple[str, str]:
    """Words for the model, and for the person."""
    if ended.said is None:
        return "", f"hook {rule.label} failed beside the work: {ended.text}"
    if ended.said.exit == 2:
        words = short(ended.said.stderr.strip() or ended.said.stdout.strip() or "it gave no reason")
        return (words, "") if rule.wakes else ("", f"hook {rule.label}: {words}")
    try:
        answer = answer_of(rule.event, ended.said)
    except BadAnswer as error:
        return "", f"hook {rule.label} failed beside the work: {error}"
    return answer.context, answer.message


def _path(world: World, session: str) -> Path:
    return world.journal.root / session / "async-hooks.ndjson"
