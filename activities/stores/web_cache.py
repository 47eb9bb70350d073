"""Pages fetched a short while ago, in files of the home: asked for again, they are not fetched again."""

import hashlib
import os
import time
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from activities.stores.files import make_folder, write_atomic
from workflows.contracts.contract import Contract
from workflows.contracts.errors import UserError

SECONDS = 15 * 60
MOST_BYTES = 64 * 1024 * 1024
MOST_PAGES = 500


class WebPage(Contract):
    """What a URL gave."""

    url: str
    """After redirects."""
    status: int
    media_type: str
    """Empty when the server did not say."""
    size: int
    """Bytes that were taken, unpacked."""
    is_cut: bool = False
    """There was more."""
    text: str = ""
    """As it is shown; empty for what is no text."""
    elsewhere: str = ""
    """The other host's URL that a redirect leads to, which was not followed."""


class WebCache:
    """At most so many bytes and pages, none older than a quarter of an hour; what cannot be kept is fetched again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, name: str) -> WebPage | None:
        """The page kept under that name, if it is young enough."""
        path = self._path(name)
        try:
            if time.time() - path.stat().st_mtime > SECONDS:
                return None
            return WebPage.model_validate_json(path.read_bytes())
        except (OSError, ValidationError):
            return None

    def keep(self, name: str, page: WebPage) -> None:
        """Keep it, and let go what is old or too much."""
        with suppress(OSError, UserError):
            make_folder(self._folder)
            write_atomic(self._path(name), page.model_dump_json().encode("utf-8", "replace"))
            self._let_go()

    def _path(self, name: str) -> Path:
        return self._folder / f"{hashlib.sha256(name.encode('utf-8', 'replace')).hexdigest()}.json"

    def _let_go(self) -> None:
        found = [(entry.stat(), entry.path) for entry in os.scandir(self._folder)]
        held, oldest = 0, time.time() - SECONDS
        for number, (facts, path) in enumerate(sorted(found, key=lambda each: -each[0].st_mtime), 1):
            held += facts.st_size
            if number > MOST_PAGES or held > MOST_BYTES or facts.st_mtime < oldest:
                with suppress(FileNotFoundError):
                    os.unlink(path)
