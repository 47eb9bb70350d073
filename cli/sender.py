"""Puts what a session is given into the object store: prompts and settings."""

import os
from collections.abc import Mapping

from activities.stores.environments import keep_environment
from activities.stores.home import Home
from activities.stores.maskers import Maskers
from activities.stores.objects import ObjectStore, open_store
from workflows.contracts.errors import UsageError
from workflows.contracts.messages import clean
from workflows.contracts.session import Prompt
from workflows.contracts.settings import SessionSettings
from workflows.contracts.transcript import canonical

MOST_PROMPT_BYTES = 10_000_000
TITLE_LENGTH = 80


class Sender:
    """Writes to the store that this home's sessions use."""

    def __init__(self, home: Home) -> None:
        self.hidden: tuple[str, ...] = ()
        """Kinds of the secrets that the newest prompt held; they are masked in what is kept and sent."""
        self._home = home
        self._masker = Maskers(home, os.environ).of("")
        self._store: ObjectStore = open_store(home.store_url())

    async def store_id(self) -> str:
        """Id of the store, made at the first call."""
        return await self._store.store_id()

    async def prompt(self, text: str, request: str) -> Prompt:
        """Keep a prompt, its secrets masked; UsageError when it is blank or over 10 MB."""
        text = clean(text)
        if not text.strip():
            raise UsageError("The prompt is empty: say what is to be done.")
        if (size := len(text.encode())) > MOST_PROMPT_BYTES:
            raise UsageError(f"The prompt has {size / 1e6:.1f} MB; 10 MB are the most. Put it into a file instead.")
        masked = self._masker.mask(text)
        self.hidden = tuple(dict.fromkeys(secret.kind for secret in masked.found))
        digest = await self._store.put(masked.text.encode())
        return Prompt(request=request, digest=digest, title=title_of(masked.text))

    def title(self, text: str) -> str:
        """A title that the person gave, its secrets masked."""
        return title_of(self._masker.text(text))

    def notice(self) -> str:
        """What is told of the secrets in the newest prompt; empty when there were none."""
        if not self.hidden:
            return ""
        return (
            f"Your prompt holds what looks like a secret ({', '.join(self.hidden)}). It is masked: neither the model "
            "nor what is kept of the session has it. To let a command use it, put it into a file or a variable."
        )

    def environment(self, session: str, environment: Mapping[str, str]) -> None:
        """Keep what the session's commands shall find in their environment, on this host alone and without keys."""
        keep_environment(self._home, session, environment)

    async def settings(self, settings: SessionSettings) -> str:
        """Keep settings; their digest. Secrets in words for the model are masked."""
        words = {name: self._masker.text(getattr(settings, name)) for name in ("system_prompt", "append_system_prompt")}
        return await self._store.put(canonical(settings.model_copy(update=words).model_dump(mode="json")))


def title_of(text: str) -> str:
    """The first words of a masked text, at most 80 characters."""
    # Some more of it at first: what cannot be printed is taken out.
    line = " ".join(text[: TITLE_LENGTH * 8].split())
    seen = "".join(letter for letter in line if letter.isprintable())
    return seen if len(seen) <= TITLE_LENGTH else seen[: TITLE_LENGTH - 1].rstrip() + "…"
