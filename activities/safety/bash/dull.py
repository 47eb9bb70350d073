"""Commands that no check has anything to say about, left out where there are too many to look at each."""

import re

from activities.safety.bash.names import named
from activities.safety.bash.raw import Raw

MANY = 60
_PLAIN = re.compile(r"[A-Za-z0-9_.,:=@%+-]+", re.ASCII)
_DULL = named(
    "true false : ls pwd echo printf cat head tail wc date id whoami hostname uname sleep sort uniq cut tr rev tac nl"
    " test [ grep basename dirname which type uptime groups nproc arch tty a b c x y z foo bar"
)
_ENDS = re.compile(r"\.?env.*|.*(?:perdure|ssh|key|pem|token|secret|passw|netrc|rc|id_).*", re.IGNORECASE)


def telling(raws: list[Raw]) -> list[Raw]:
    """The commands that are worth a look: all, unless there are many."""
    if len(raws) <= MANY:
        return raws
    return [raw for raw in raws if not _is_dull(raw)] or raws[:MANY]


def _is_dull(raw: Raw) -> bool:
    """Whether it only names a program that reads or prints, and plain words that name no place."""
    if raw.redirections or raw.function or raw.loop or raw.is_opaque or not raw.words:
        return False
    name, *rest = raw.words
    return name in _DULL and all(_PLAIN.fullmatch(word) and not _ENDS.fullmatch(word) for word in rest)
