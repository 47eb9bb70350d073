"""Which files a session has read, and how they looked: an Edit needs that."""

import json
from pathlib import Path

from activities.stores.files import append_line, make_folder, read_lines


class SeenFiles:
    """Path → SHA-256 of the file's bytes when this session last read or wrote it.

    Kept as lines in a file of the host that has the files. Lost lines only mean that a file must be read again.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._digests: dict[str, str] | None = None

    def digest(self, path: Path) -> str:
        """Digest at the last look; empty when never seen."""
        return self._load().get(str(path), "")

    def note(self, path: Path, digest: str) -> None:
        """Remember how the file looks now."""
        if self._load().get(str(path)) == digest:
            return
        make_folder(self._path.parent)
        append_line(self._path, json.dumps({"path": str(path), "sha256": digest}).encode())
        self._load()[str(path)] = digest

    def _load(self) -> dict[str, str]:
        if self._digests is None:
            lines, _damaged = read_lines(self._path)
            rows = [json.loads(line) for line in lines]
            self._digests = {row["path"]: row["sha256"] for row in rows if "path" in row and "sha256" in row}
        return self._digests
