"""What the small model of auto mode has said in a session, kept on its host: a call counts once however often tried."""

import json
from pathlib import Path

from activities.stores.files import append_line, make_folder, read_lines
from activities.tool import Call
from workflows.core.denials import Denials, counted


def denials_before(call: Call) -> Denials:
    """What was said of other calls before this one."""
    path = _path(call)
    lines = read_lines(path)[0] if path.exists() else []
    said: dict[str, bool] = {}
    for line in lines:
        row = json.loads(line)
        said.pop(row["call"], None)
        said[row["call"]] = bool(row["blocked"])
    said.pop(call.key, None)
    return counted(said.values())


def note_said(call: Call, *, is_blocked: bool) -> None:
    """What became of this call."""
    path = _path(call)
    make_folder(path.parent)
    append_line(path, json.dumps({"call": call.key, "blocked": is_blocked}).encode())


def _path(call: Call) -> Path:
    return call.world.home.journal / call.session / "denials.ndjson"
