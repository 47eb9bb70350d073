"""Write: put a whole text into a file."""

from pathlib import Path

from pydantic import Field, JsonValue

from activities.safety.changes import Change, check_seen, link_note, short_diff
from activities.safety.changing import ChangesFile
from activities.safety.secrets import put_back
from activities.stores.regular_files import Version, read_version, shown
from activities.stores.text_files import UTF8, decode, encode, unified
from activities.tool import Call, ToolInput


class Input(ToolInput):
    file_path: str = Field(description="File to write: absolute, or relative to the workspace.")
    content: str = Field(description="The whole new text of the file. Nothing of the old text is kept.")


class Write(ChangesFile[Input]):
    """Create a text file, or replace everything in one.

    - A file that exists must have been read in this session and be unchanged since; otherwise the call is refused.
    - Missing parent folders are created. A symbolic link is followed: the file it leads to is written.
    - The content is written as UTF-8, exactly as given. A file that exists keeps its mode bits and its Unicode
      encoding with byte order mark; where all its lines end in CRLF, the new ones do too.
    - A mark such as `[secret:github:1a2b]` in what you read hides a secret of the file; written back to that same
      file it stands for the secret.
    - To change a part of a file, use Edit: it is shorter and cannot lose the rest.
    """

    name = "Write"
    input = Input

    def summary(self, given: Input) -> str:
        return f"{shown(given.file_path)} ({_count(given.content)})"

    def file(self, given: Input) -> str:
        return given.file_path

    def plan(self, call: Call, path: Path, given: Input) -> Change:
        before = read_version(path)
        if before is None:
            text = f"Created {shown(path)} ({_count(given.content)})."
            facts: dict[str, JsonValue] = {"diff": short_diff("", given.content), "lines": _lines(given.content)}
            return Change(path, None, encode(given.content, UTF8), text, facts)
        check_seen(call, path, before)
        given = put_back(call, path, before, given)
        data, old, note = _as_before(before, given.content)
        note += link_note(before)
        text = f"Updated {shown(path)} ({_lines(old)} → {_lines(given.content)} lines, {len(data):,} bytes).{note}"
        facts = {
            "diff": short_diff(unified(old), unified(given.content)),
            "lines": _lines(given.content),
            "lines_before": _lines(old),
        }
        return Change(path, before, data, text, facts)


def _as_before(before: Version, content: str) -> tuple[bytes, str, str]:
    """The new bytes, the old text, and what to tell about encoding and line endings."""
    old, coding = decode(before.data)
    note = ""
    if coding.is_guess:
        coding = UTF8
        note = " The old content was no UTF-8; the new one is."
    ends = old.count("\r\n")
    if ends and ends == old.count("\n") == old.count("\r") and "\r" not in content:
        content = content.replace("\n", "\r\n")
        note += " Its lines end in CRLF, as before."
    return encode(content, coding), old, note


def _lines(text: str) -> int:
    text = unified(text)
    return text.count("\n") + (not text.endswith("\n") and bool(text))


def _count(text: str) -> str:
    return f"{_lines(text)} lines, {len(text.encode(errors='replace')):,} bytes"
