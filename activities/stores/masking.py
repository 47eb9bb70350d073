"""Secrets in a text are replaced by marks; every other byte stays."""

import hashlib
import hmac
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from activities.stores.secret_names import named
from activities.stores.secret_patterns import Span, spans

MARK = re.compile(r"\[secret:[a-z-]+:[0-9a-f]{4}\]")

_BREAKS = re.compile(r"\\[rn]|^\s*\d+\N{RIGHTWARDS ARROW}|\s", re.MULTILINE)


@dataclass(frozen=True)
class Secret:
    """A secret that was found."""

    kind: str
    mark: str
    """What stands for it: the same for the same value."""
    value: str


@dataclass(frozen=True)
class Masked:
    """A text with marks in place of its secrets."""

    text: str
    found: tuple[Secret, ...] = ()


class Masker:
    """Masks what is known to be secret on this host, and what looks like a secret."""

    def __init__(self, key: bytes, known: Mapping[str, str] | None = None) -> None:
        """`known` holds exact values and their kinds."""
        self._key = key
        # Longer ones first: one may be a part of another.
        self._known = sorted((known or {}).items(), key=lambda each: -len(each[0]))

    def mask(self, text: str) -> Masked:
        """The text with a mark in place of each secret. Masking it again changes nothing."""
        return self._replaced(text, self._found(text))

    def mask_known(self, text: str) -> str:
        """The text without the exact values that are known: quick, for what is never shown to a model."""
        found = list(self._known_spans(text))
        return self._replaced(text, _apart(text, found)).text if found else text

    def text(self, text: str) -> str:
        """The text masked."""
        return self.mask(text).text

    def data(self, data: bytes) -> bytes:
        """Bytes of a text masked; those that are no UTF-8 stay as they are."""
        text = data.decode("utf-8", "surrogateescape")
        masked = self.mask(text)
        return masked.text.encode("utf-8", "surrogateescape") if masked.found else data

    def window(self, data: bytes, start: int, end: int) -> bytes:
        """The bytes from one place to another, masked: of a secret across an edge the mark stands there, not a half."""
        text = data.decode("utf-8", "surrogateescape")
        first = len(data[:start].decode("utf-8", "surrogateescape"))
        last = first + len(data[start:end].decode("utf-8", "surrogateescape"))
        within = [span for span in self._found(text) if span.start < last and first < span.end]
        if not within:
            return data[start:end]
        first, last = min(first, within[0].start), max(last, within[-1].end)
        moved = [Span(span.start - first, span.end - first, span.kind) for span in within]
        return self._replaced(text[first:last], moved).text.encode("utf-8", "surrogateescape")

    def json(self, value: JsonValue) -> JsonValue:
        """A JSON value with its texts masked, a name before its text counted as what it is called."""
        match value:
            case str():
                return self.text(value)
            case list():
                return [self.json(each) for each in value]
            case dict():
                return {self.text(name): self._member(name, each) for name, each in value.items()}
        return value

    def json_known(self, value: JsonValue) -> JsonValue:
        """A JSON value without the exact values that are known."""
        match value:
            case str():
                return self.mask_known(value)
            case list():
                return [self.json_known(each) for each in value]
            case dict():
                return {name: self.json_known(each) for name, each in value.items()}
        return value

    def mark(self, kind: str, value: str) -> str:
        """What stands for that value."""
        # A private key is the same key with its lines numbered, or its line ends written out.
        value = _BREAKS.sub("", value) if kind == "private-key" else value
        digest = hmac.new(self._key, value.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()
        return f"[secret:{kind}:{digest[:4]}]"

    def _member(self, name: str, value: JsonValue) -> JsonValue:
        if not isinstance(value, str) or "\n" in value:
            return self.json(value)
        before = f"{name}="
        masked = self.text(f"{before}{value}")
        return masked[len(before) :] if masked.startswith(before) else self.text(value)

    def _found(self, text: str) -> list[Span]:
        return _apart(text, [*self._known_spans(text), *spans(text), *_named(text)])

    def _known_spans(self, text: str) -> Iterator[Span]:
        for value, kind in self._known:
            place = text.find(value)
            while place >= 0:
                yield Span(place, place + len(value), kind)
                place = text.find(value, place + len(value))

    def _replaced(self, text: str, found: list[Span]) -> Masked:
        pieces: list[str] = []
        secrets: list[Secret] = []
        place = 0
        for span in found:
            value = text[span.start : span.end]
            secrets.append(Secret(span.kind, self.mark(span.kind, value), value))
            pieces += (text[place : span.start], secrets[-1].mark)
            place = span.end
        return Masked("".join((*pieces, text[place:])), tuple(secrets)) if secrets else Masked(text)


def _named(text: str) -> Iterator[Span]:
    return (Span(start, end, kind) for start, end, kind in named(text))


def _apart(text: str, found: list[Span]) -> list[Span]:
    """The spans in order, those that overlap as one, none where a mark stands already."""
    marks = [match.span() for match in MARK.finditer(text)] if found and "[secret:" in text else []
    apart: list[Span] = []
    for span in sorted(found, key=lambda each: (each.start, -each.end)):
        if any(span.start < end and start < span.end for start, end in marks):
            continue
        if apart and span.start < apart[-1].end:
            last = apart[-1]
            apart[-1] = Span(last.start, max(last.end, span.end), last.kind)
        else:
            apart.append(span)
    return apart
