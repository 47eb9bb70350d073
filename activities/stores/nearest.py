"""Nearest: the region of a text that looks most like what was searched for, found in bounded time."""

import re
from collections import Counter
from difflib import SequenceMatcher

WORD = re.compile(r"\w{2,}")
WORDS = 40
"""Most words of the wanted text that are looked for."""
PLACES = 60
"""Most places of one word that count."""
CANDIDATES = 8
COMPARED = 2_000
"""Characters of each side that are compared exactly."""
SHOWN_LINES = 20
SHOWN_WIDTH = 200


def nearest_region(text: str, wanted: str) -> str:
    """Numbered lines of `text` around what is most like `wanted`; empty when nothing is like it. Newlines only."""
    lines = max(1, wanted.strip("\n").count("\n") + 1)
    starts = _starts(text, wanted.strip("\n"))
    scored = [(_likeness(text, place, lines, wanted), line, place) for line, place in starts]
    if not scored:
        return ""
    ratio, line, place = max(scored)
    return numbered(text, place, line, lines) if ratio > 0.35 else ""


def _starts(text: str, wanted: str) -> list[tuple[int, int]]:
    """Lines (number, place in the text) at which the wanted text would begin if its words stand where they should."""
    hits = sorted(
        (place, wanted.count("\n", 0, match.start()), len(match.group()) / count)
        for match in _words(wanted)
        for places in [_places(text, match.group())]
        for count in [len(places)]
        for place in places
    )
    votes: Counter[int] = Counter()
    number, done = 1, 0
    for place, below, weight in hits:
        number += text.count("\n", done, place)
        done = place
        votes[max(1, number - below)] += round(1_000 * weight)
    best = [line for line, _ in votes.most_common(CANDIDATES)]
    return list(zip(sorted(best), _places_of_lines(text, sorted(best)), strict=True))


def _words(wanted: str) -> list[re.Match[str]]:
    """Its longest words, each once."""
    first: dict[str, re.Match[str]] = {}
    for match in WORD.finditer(wanted[:20_000]):
        first.setdefault(match.group(), match)
    return sorted(first.values(), key=lambda match: -len(match.group()))[:WORDS]


def _places(text: str, word: str) -> list[int]:
    found: list[int] = []
    place = text.find(word)
    while place >= 0 and len(found) < PLACES:
        found.append(place)
        place = text.find(word, place + 1)
    return found


def _places_of_lines(text: str, numbers: list[int]) -> list[int]:
    """Where these lines begin; the numbers rise."""
    places = []
    line, place = 1, 0
    for number in numbers:
        while line < number:
            place = text.index("\n", place) + 1
            line += 1
        places.append(place)
    return places


def _likeness(text: str, place: int, lines: int, wanted: str) -> float:
    there = "\n".join(text[place : place + COMPARED + 200 * lines].split("\n")[:lines])
    return SequenceMatcher(None, _plain(there), _plain(wanted), autojunk=False).quick_ratio()


def _plain(text: str) -> str:
    """Blanks at the edges of lines do not make a region less like."""
    return "\n".join(line.strip() for line in text.strip("\n").split("\n"))[:COMPARED]


def numbered(text: str, place: int, number: int, count: int) -> str:
    """Some lines from the one that begins at `place` on, with their numbers, each cut to fit a message."""
    shown = []
    for line in range(number, number + min(count, SHOWN_LINES)):
        end = text.find("\n", place)
        whole = text[place : min(end if end >= 0 else len(text), place + SHOWN_WIDTH + 1)]
        shown.append(f"{line:>6}→{whole[:SHOWN_WIDTH]}{'…' if len(whole) > SHOWN_WIDTH else ''}")
        if end < 0:
            break
        place = end + 1
    if count > SHOWN_LINES:
        shown.append(f"       [{count - SHOWN_LINES} more lines]")
    return "\n".join(shown)
