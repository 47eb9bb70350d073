"""What `${x%…}`, `${x/…/…}`, `${x:1}` and `${x,,}` make of a value that is known."""

import re
from fnmatch import translate

_SLICE = re.compile(r":\s*(-?\d+|\s-\d+)(?::(\d+))?", re.ASCII)
_TRIM = re.compile(r"(##?|%%?)([^$`\\]{0,200})", re.DOTALL)
_SWAP = re.compile(r"(//?)([^/*?\[]+)/?(.*)", re.DOTALL)
_LONGEST = 500


def changed(value: str, rest: str) -> str | None:
    """The value behind the operator of a parameter expansion; nothing where that is not plain to see."""
    if cut := _SLICE.fullmatch(rest):
        start = int(cut[1])
        return value[start : start + int(cut[2]) if cut[2] else None]
    if swap := _SWAP.fullmatch(rest):
        return value.replace(swap[2], swap[3], -1 if swap[1] == "//" else 1)
    if rest in {"@L", ",,", "@U", "^^"}:
        return value.lower() if rest in {"@L", ",,"} else value.upper()
    if (trim := _TRIM.fullmatch(rest)) and len(value) <= _LONGEST and trim[2].count("*") < 4:
        return _trimmed(value, trim[1], trim[2].strip("'\""))
    return None


def _trimmed(value: str, sign: str, pattern: str) -> str | None:
    try:
        matches = re.compile(translate(pattern)).match
    except re.error:
        return None
    if sign[0] == "#":
        cuts = range(len(value) + 1) if sign == "#" else range(len(value), -1, -1)
        return next((value[cut:] for cut in cuts if matches(value[:cut])), value)
    cuts = range(len(value), -1, -1) if sign == "%" else range(len(value) + 1)
    return next((value[:cut] for cut in cuts if matches(value[cut:])), value)
