"""Brace expansion, before anything else, and the cutting of what expands into words."""

import re
from collections.abc import Callable

MOST_BRACES = 24
MOST = 64
"""Words that one word may become; more is cut, and told by the caller."""

Skip = Callable[[str, int], int]
"""The place behind the quoted or expanded piece that begins here."""

_TELLING = re.compile(r"""[{},'"\\$`<>]""")
_OPENED = re.compile(r"""'[^']*'|"(?:[^"\\]|\\.)*"|\\.|\{""", re.DOTALL)
_RANGE = re.compile(r"(-?\d+|[A-Za-z])\.\.(-?\d+|[A-Za-z])(?:\.\.(-?\d+))?", re.ASCII)


def holds_brace(source: str) -> bool:
    """Whether a brace stands outside of quotes; it says yes where only the expansions in it could tell."""
    if "{" not in source or "$" in source or "`" in source:
        return "{" in source
    return any(found[0] == "{" for found in _OPENED.finditer(source))


def fields(text: str, separators: str) -> list[str]:
    """A text cut at the characters of IFS; whole where there are none."""
    return re.split(f"[{re.escape(separators)}]+", text) if separators else [text]


def expand(source: str, skip: Skip) -> list[str]:
    """The words that a source becomes; itself where it holds no brace expansion."""
    if "{" not in source or source.count("{") > MOST_BRACES:
        return [source]
    found = _first(source, skip)
    if found is None:
        return [source]
    start, end, parts = found
    head, tails = source[:start], expand(source[end:], skip)
    middles = [one for part in parts for one in expand(part, skip)]
    return [f"{head}{middle}{tail}" for middle in middles[:MOST] for tail in tails][:MOST]


def _first(source: str, skip: Skip) -> tuple[int, int, list[str]] | None:
    at = 0
    while at < len(source):
        char = source[at]
        if char == "{" and (found := _parts(source, at, skip)) is not None:
            return at, *found
        at = max(skip(source, at), at + 1) if char in "'\"\\$`<>" else at + 1
    return None


def _parts(source: str, at: int, skip: Skip) -> tuple[int, list[str]] | None:
    """End and alternatives of the brace that opens here, if it is one."""
    depth, begin, start, parts = 0, at + 1, at, list[str]()
    while found := _TELLING.search(source, at):
        at, char = found.start(), found[0]
        if char in "'\"\\$`<>":
            at = max(skip(source, at), at + 1)
            continue
        if char == "{":
            depth += 1
        elif char == "," and depth == 1:
            parts.append(source[begin:at])
            begin = at + 1
        elif char == "}":
            depth -= 1
            if depth == 0:
                if parts:
                    return at + 1, [*parts, source[begin:at]]
                counted = _range(source[start + 1 : at])
                return (at + 1, counted) if counted else None
        at += 1
    return None


def _range(text: str) -> list[str] | None:
    found = _RANGE.fullmatch(text)
    if not found:
        return None
    first, last, by = found[1], found[2], abs(int(found[3] or 1)) or 1
    if first.lstrip("-").isdigit() and last.lstrip("-").isdigit():
        low, high, width = (
            int(first),
            int(last),
            max(len(first), len(last)) if first[:1] == "0" or last[:1] == "0" else 0,
        )
        numbers = range(low, high + 1, by) if low <= high else range(low, high - 1, -by)
        return [str(number).zfill(width) for number in numbers[:MOST]]
    if len(first) == len(last) == 1 and first.isalpha() and last.isalpha():
        low, high = ord(first), ord(last)
        return [chr(one) for one in (range(low, high + 1, by) if low <= high else range(low, high - 1, -by))]
    return None
