"""What `${x%…}`, `${x/…/…}`, `${x:1}` and `${x,,}` make of a value that is known."""

import glob
import re
from collections.abc import Callable
from fnmatch import translate

from activities.safety.bash.sums import evaluated

Decode = Callable[[str], str | None]
"""A source with its variables put in; nothing where that is only known to the shell."""
Matches = Callable[[str], object]
"""Whether a pattern matches the whole of a text."""

_SLICE = re.compile(r":([^:]+)(?::([^:]+))?")
_TRIM = re.compile(r"(##?|%%?)(.{0,200})", re.DOTALL)
_SWAP = re.compile(r"""/([/#%]?)((?:[^/\\'"]|\\.|'[^']*'|"[^"]*")*)(?:/(.*))?""", re.DOTALL)
_CASE = re.compile(r"(,,?|\^\^?)(.{0,200})", re.DOTALL)
_BY_LETTER = {"@L": ",,", "@U": "^^", "@u": "^"}
_QUOTED = re.compile(r"""\\(.)|'([^']*)'|"([^"]*)\"""", re.DOTALL)
_LONGEST, _SEARCHED = 500, 32
"""Characters of a value that is trimmed, and of one in which every piece is compared with a pattern."""


def changed(value: str, rest: str, decode: Decode, *, is_list: bool = False) -> str | None:
    """The value behind the operator of a parameter expansion; nothing where that is not plain to see.

    `is_list`: the value is that of `$@`: cut are its words, and changed is each of them.
    """
    rest = _BY_LETTER.get(rest, rest)
    if found := _SLICE.fullmatch(rest):
        return _sliced(value, *(part and decode(part) for part in found.groups("")), is_list=is_list)
    if is_list:
        made = [changed(one, rest, decode) for one in value.split(" ")]
        return None if None in made else " ".join(one for one in made if one is not None)
    if len(value) > _LONGEST:
        return None
    if found := _TRIM.fullmatch(rest):
        matches = _matching(decode(found[2]))
        return matches and _trimmed(value, found[1], matches)
    if found := _SWAP.fullmatch(rest):
        return _swapped(value, found[1], decode(found[2]), decode(found[3] or ""))
    if found := _CASE.fullmatch(rest):
        matches = _matching(decode(found[2]) or "?")
        return matches and _cased(value, found[1], matches)
    return None


def _sliced(value: str, first: str | None, length: str | None, *, is_list: bool) -> str | None:
    start, count = evaluated(first or ""), evaluated(length or "")
    if start is None or (length != "" and count is None):
        return None
    if is_list:
        return None if start < 1 or (count or 0) < 0 else " ".join(value.split(" ")[start - 1 :][:count])
    begin = start if start >= 0 else len(value) + start
    end = len(value) if count is None else begin + count if count >= 0 else len(value) + count
    return None if begin < 0 or end < begin else value[begin:end]


def _matching(pattern: str | None) -> Matches | None:
    if pattern is None or pattern.count("*") > 3:
        return None
    try:
        return re.compile(translate(_QUOTED.sub(lambda found: glob.escape(_inside(found)), pattern))).match
    except re.error:
        return None


def _inside(quoted: re.Match[str]) -> str:
    return next(part for part in quoted.groups() if part is not None)


def _trimmed(value: str, sign: str, matches: Matches) -> str:
    if sign[0] == "#":
        cuts = range(len(value) + 1) if sign == "#" else range(len(value), -1, -1)
        return next((value[cut:] for cut in cuts if matches(value[:cut])), value)
    cuts = range(len(value), -1, -1) if sign == "%" else range(len(value) + 1)
    return next((value[:cut] for cut in cuts if matches(value[cut:])), value)


def _swapped(value: str, sign: str, pattern: str | None, instead: str | None) -> str | None:
    """With the longest piece that matches exchanged, or each of them."""
    matches = _matching(pattern)
    # In some versions of the shell `&` is what was found.
    if matches is None or instead is None or "&" in instead:
        return None
    instead = _QUOTED.sub(_inside, instead)
    if pattern is not None and not re.search(r"[*?\[\\'\"]", pattern):
        return _swapped_text(value, sign, pattern, instead)
    if len(value) > _SEARCHED:
        return None
    if not value:
        return instead if matches("") else ""
    made, at = "", 0
    while at < len(value):
        begins = at == 0 or sign != "#"
        ends = [len(value)] if sign == "%" else range(len(value), at, -1)
        end = next((one for one in ends if begins and matches(value[at:one])), at)
        if end > at and sign != "/":
            return made + instead + value[end:]
        made, at = (made + instead, end) if end > at else (made + value[at], at + 1)
    return made


def _swapped_text(value: str, sign: str, text: str, instead: str) -> str:
    match sign:
        case "#":
            return instead + value.removeprefix(text) if value.startswith(text) else value
        case "%":
            return value.removesuffix(text) + instead if value.endswith(text) else value
    return value.replace(text, instead, -1 if sign == "/" else 1) if text else value


def _cased(value: str, sign: str, matches: Matches) -> str:
    """With the letters that match, or the first, made small or large."""
    many = len(value) if len(sign) == 2 else 1
    change = str.lower if sign[0] == "," else str.upper
    return "".join(change(one) if matches(one) else one for one in value[:many]) + value[many:]
