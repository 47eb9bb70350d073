"""Puts what a session is given into the object store: prompts and settings."""

import re
from collections.abc import Mapping

from activities.stores.environments import keep_environment
from activities.stores.home import Home
from activities.stores.objects import ObjectStore, open_store
from workflows.contracts.errors import UsageError
from workflows.contracts.messages import clean
from workflows.contracts.session import Prompt
from workflows.contracts.settings import SessionSettings
from workflows.contracts.transcript import canonical

MOST_PROMPT_BYTES = 10_000_000
TITLE_LENGTH = 80
_SECRETS = re.compile(
    r"sk-[\w-]{16,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|AKIA[0-9A-Z]{12,}|xox[abeprs]-[\w-]{10,}|glpat-[\w-]{16,}"
    r"|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*|(?i:(?<=password[=: ])|(?<=token[=: ])|(?<=secret[=: ]))[^\s\"']{6,}"
)


class Sender:
    """Writes to the store that this home's sessions use."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._store: ObjectStore = open_store(home.store_url())

    async def store_id(self) -> str:
        """Id of the store, made at the first call."""
        return await self._store.store_id()

    async def prompt(self, text: str, request: str) -> Prompt:
        """Keep a prompt; UsageError when it is blank or over 10 MB."""
        text = clean(text)
        data = text.encode()
        if not text.strip():
            raise UsageError("The prompt is empty: say what is to be done.")
        if len(data) > MOST_PROMPT_BYTES:
            raise UsageError(
                f"The prompt has {len(data) / 1e6:.1f} MB; 10 MB are the most. Put it into a file instead."
            )
        return Prompt(request=request, digest=await self._store.put(data), title=title_of(text))

    def environment(self, session: str, environment: Mapping[str, str]) -> None:
        """Keep what the session's commands shall find in their environment, on this host alone and without keys."""
        keep_environment(self._home, session, environment)

    async def settings(self, settings: SessionSettings) -> str:
        """Keep settings; their digest."""
        return await self._store.put(canonical(settings.model_dump(mode="json")))


def title_of(text: str) -> str:
    """The first words, at most 80 characters, without what looks like a secret."""
    # A few times the length, so that a secret that begins before the cut is seen whole.
    line = " ".join(text[: TITLE_LENGTH * 8].split())
    masked = "".join(letter for letter in _SECRETS.sub("***", line) if letter.isprintable())
    return masked if len(masked) <= TITLE_LENGTH else masked[: TITLE_LENGTH - 1].rstrip() + "…"
