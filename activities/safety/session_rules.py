"""Rules that a person allowed until the session ends: a file beside the session's journal, on its host."""

import json
from collections.abc import Iterable
from pathlib import Path

from activities.stores.files import append_line, make_folder, read_lines
from activities.stores.home import Home
from workflows.contracts.permissions import Decision, Source, SourcedRule


def session_rules(home: Home, session: str) -> tuple[SourcedRule, ...]:
    """What the person allowed so far; a damaged line gives no right."""
    path = _path(home, session)
    if not path.exists():
        return ()
    lines, _damaged = read_lines(path)
    texts = dict.fromkeys(str(json.loads(line).get("rule", "")) for line in lines)
    return tuple(
        SourcedRule(text=text, action=Decision.ALLOW, source=Source.SESSION, file=str(path)) for text in texts if text
    )


def keep_session_rules(home: Home, session: str, rules: Iterable[str], by: str) -> None:
    """Allow these from now on; those that are allowed already are not written again."""
    known = {rule.text for rule in session_rules(home, session)}
    path = _path(home, session)
    make_folder(path.parent)
    for rule in rules:
        if rule not in known:
            append_line(path, json.dumps({"rule": rule, "by": by}).encode())


def _path(home: Home, session: str) -> Path:
    return home.journal / session / "rules.ndjson"
