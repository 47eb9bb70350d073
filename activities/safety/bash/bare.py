"""Words that are what they say: no quotes, no expansions."""

import functools
import re

from workflows.contracts.commands import Word

_BARE = re.compile(r"[A-Za-z0-9_./:=@%+,^-]+", re.ASCII)
_PATTERN = re.compile(r"[A-Za-z0-9_./:=@%+,^*?\[\]-]+", re.ASCII)
_GLOB = frozenset({"glob"})


@functools.lru_cache(maxsize=4096)
def bare_word(source: str) -> Word | None:
    """The word of a source that is what it says, but for names of files in its place."""
    if _BARE.fullmatch(source):
        return Word(source, source)
    if _PATTERN.fullmatch(source) and any(sign in source for sign in "*?["):
        return Word(source, source, is_plain=False, has_glob=True, expansions=_GLOB)
    return None
