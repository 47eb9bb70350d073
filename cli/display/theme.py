"""Colours, and nothing else."""

import os
from collections.abc import Mapping

STYLES = {
    "plain": "",
    "prompt": "1",
    "dim": "2",
    "tool": "1;36",
    "ok": "32",
    "error": "31",
    "warning": "33",
    "ask": "1;33",
    "added": "32",
    "removed": "31",
    "status": "2",
    "thinking": "2;3",
}


def wants_colour(env: Mapping[str, str] = os.environ) -> bool:
    """Whether the person wants colours (no-color.org), and the terminal knows any."""
    return not env.get("NO_COLOR") and env.get("TERM") != "dumb"


class Theme:
    """Paints pieces of a row; without colours it leaves them as they are."""

    def __init__(self, *, colour: bool = True) -> None:
        self.colour = colour

    def paint(self, style: str, text: str) -> str:
        """The text in a style of STYLES, ending with a reset."""
        code = STYLES[style]
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour and code and text else text
