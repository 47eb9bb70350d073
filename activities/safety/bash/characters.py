"""Validators 1 and 2: characters that falsify what a person sees, and characters that cannot be seen."""

import re
from collections.abc import Iterator

from activities.safety.bash.view import View
from workflows.contracts.commands import Reason, Span
from workflows.contracts.permissions import Decision

_ATTACKS = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e0fff]"
)
_HIDDEN = re.compile(
    "[\r\x85\xa0\xad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028\u2029"
    "\u202f\u205f-\u2065\u206a-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff\U0001d173-\U0001d17a"
    "\U000f0000-\U0010ffff\ue000-\uf8ff\ud800-\udfff]"
)
_FULL_WIDTH = re.compile(
    "[\uff01-\uff5e\u2215\u2044\u29f8\u2571\u01c3\u2010-\u2015\u2212\ufe58\ufe63\u2024\u037e\u2223"
    "\u01c0\u2768-\u2775\u2018-\u201f]"
)
_FULL_LETTER = re.compile("[\uff0f\uff10-\uff19\uff21-\uff3a\uff41-\uff5a]")
_FOREIGN = re.compile("[^\x00-\x7f]")
_DASH = re.compile("[\u2010-\u2015\u2212\u2043\ufe58\ufe63]")
_COMBINING = re.compile("[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u20d0-\u20ff\ufe20-\ufe2f]")


def control_characters(view: View) -> Iterator[Reason]:
    """Controls, escapes, and marks that turn the direction of text."""
    for found in _first(_ATTACKS, view.script.text):
        yield Reason(
            "control-chars",
            Decision.DENY,
            f"it holds {_named(found[0])}, which can falsify what a person is shown",
            kind="display_attack",
            span=Span(found.start(), found.end()),
        )


def invisible_characters(view: View) -> Iterator[Reason]:
    """Blanks that are none, letters that cannot be seen, look-alikes in a command word or a path."""
    for found in _first(_HIDDEN, view.script.text):
        yield _asks(f"it holds {_named(found[0])}, which cannot be seen", Span(found.start(), found.end()))
    for command in view.script.commands:
        for place, word in enumerate(command.words):
            is_path = place == 0 or "/" in word.value or "／" in word.value
            hit = _FULL_WIDTH.search(word.source) if is_path else None
            hit = hit or (_FOREIGN.search(word.source) if place == 0 else None)
            hit = hit or _DASH.match(word.source) or _FULL_LETTER.search(word.source)
            if hit or (is_path and _mixes(word.source)):
                shown = _named(hit[0]) if hit else "letters of several alphabets"
                yield _asks(f"{word.source!a} holds {shown}, which looks like something else", command.span)
                return


def _mixes(text: str) -> bool:
    """Whether letters that look Latin stand beside Latin ones."""
    return re.search(r"[A-Za-z]", text) is not None and (
        re.search("[\u0370-\u03ff\u0400-\u052f\u0530-\u058f\u13a0-\u13ff\U0001d400-\U0001d7ff]", text) is not None
        or _COMBINING.search(text) is not None
    )


def _asks(text: str, span: Span) -> Reason:
    return Reason(
        "invisible-chars",
        Decision.ASK,
        text,
        sticky=True,
        kind="hidden_chars",
        span=span,
        hint="Write it in plain letters.",
    )


def _first(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    found = pattern.search(text)
    if found:
        yield found


def _named(char: str) -> str:
    return f"U+{ord(char):04X}"
