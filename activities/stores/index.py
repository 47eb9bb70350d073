"""The heads of each session on this host, so that a chain is found when the engine has forgotten it."""

import json
from pathlib import Path

from activities.stores.files import append_line
from activities.stores.home import Home


def index_path(home: Home, session: str) -> Path:
    """The session's list of heads, one JSON object a line, newest last."""
    return home.sessions / f"{session}.ndjson"


def note_head(home: Home, session: str, head: str, at: str, what: str) -> None:
    """Add the newest head."""
    line = json.dumps({"session": session, "head": head, "at": at, "what": what})
    append_line(index_path(home, session), line.encode())
