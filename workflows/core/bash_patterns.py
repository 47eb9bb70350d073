"""The pattern of a Bash rule: words with stars, read with the shell's quoting."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

STAR = "\ue001"
"""Stands for a wildcard in a word that is read."""

_BETWEEN = "\0"
"""Between two words: no argument can hold it."""

_OPERATORS = ";|&\n"


@dataclass(frozen=True)
class Pattern:
    """One simple command's words as a rule names them."""

    words: tuple[str, ...]
    """Each with `STAR` for its wildcards."""
    is_open: bool = False
    """It ended in ` *` or `:*`: further arguments are free."""

    @property
    def is_literal(self) -> bool:
        """Whether it names one argv and no other."""
        return not self.is_open and not any(STAR in word for word in self.words)

    @property
    def leaves_arguments_free(self) -> bool:
        """Whether any further arguments are covered."""
        return self.is_open or self.words[-1].endswith(STAR)

    @property
    def head(self) -> str:
        """The command word up to its first star."""
        return self.words[0].split(STAR, 1)[0]

    @property
    def literals(self) -> int:
        """How many words at the beginning have no star."""
        return next((place for place, word in enumerate(self.words) if STAR in word), len(self.words))

    def fits(self, words: Sequence[str]) -> bool:
        """Whether these words are covered: a star of its own is one or more words, a glued one any characters."""
        pieces, text = _BETWEEN.join(self.words).split(STAR), _BETWEEN.join(words)
        if not self.is_open:
            return _fits(pieces, text)
        return _fits(pieces, text) or _fits([*pieces[:-1], pieces[-1] + _BETWEEN, ""], text)


def _fits(pieces: list[str], text: str) -> bool:
    """Whether the text is these pieces with anything between them; linear, however many stars."""
    first, last = pieces[0], pieces[-1]
    if len(pieces) == 1:
        return text == first
    if not text.startswith(first) or not text[len(first) :].endswith(last):
        return False
    at, end = len(first), len(text) - len(last)
    for piece in pieces[1:-1]:
        found = text.find(piece, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return True


@lru_cache(maxsize=4096)
def pattern_of(content: str) -> Pattern | None:
    """The pattern of a rule that speaks of one simple command; of several, joined by operators, the first."""
    found = patterns_of(content)
    return found[0] if found else None


@lru_cache(maxsize=4096)
def patterns_of(content: str, *, quoted_stars: bool = False) -> tuple[Pattern, ...]:
    """The patterns of a rule, one for each simple command that its text names; none for a text that cannot be read.

    `quoted_stars`: a star in quotes is a wildcard too, as a rule that forbids must take it.
    """
    parts = _read(content, quoted_stars=quoted_stars)
    patterns = [_pattern(words, colon=colon) for words, colon in parts or ()]
    return tuple(pattern for pattern in patterns if pattern) if None not in patterns else ()


def _pattern(words: list[str], *, colon: bool) -> Pattern | None:
    if not words:
        return None
    if len(words) > 1 and words[-1] == STAR and not colon:
        return Pattern(tuple(words[:-1]), is_open=True)
    return Pattern(tuple(words), is_open=colon)


def _read(content: str, *, quoted_stars: bool) -> list[tuple[list[str], bool]] | None:
    """Words of each simple command, and whether it ended in `:*`; None when a quote stays open."""
    reader = _Reader(content, quoted_stars=quoted_stars)
    while reader.at < len(reader.text):
        if not reader.step():
            return None
    reader.end_part()
    return reader.parts


class _Reader:
    """Reads a rule's text once, from left to right."""

    def __init__(self, text: str, *, quoted_stars: bool) -> None:
        self.text = text.strip().replace(STAR, "")
        self.quoted = STAR if quoted_stars else "*"
        self.at = 0
        self.word: str | None = None
        self.colon = False
        self.words: list[str] = []
        self.parts: list[tuple[list[str], bool]] = []

    def step(self) -> bool:
        """Read one piece; False when it has no end."""
        char = self.text[self.at]
        self.at += 1
        if char in " \t":
            self.end_word()
        elif char in _OPERATORS:
            self.end_part()
        elif char == "'":
            return self._single()
        elif char == '"':
            return self._double()
        elif char == "\\":
            self.add(self.text[self.at : self.at + 1])
            self.at += 1
        elif char == "*":
            self.add(STAR)
        elif self.text.startswith(":*", self.at - 1) and self._ends(self.at + 1):
            self.colon, self.at = True, self.at + 1
            self.end_word()
        else:
            self.add(char)
        return True

    def _ends(self, place: int) -> bool:
        rest = self.text[place:].lstrip(" \t")
        return not rest or rest[0] in _OPERATORS

    def _single(self) -> bool:
        end = self.text.find("'", self.at)
        if end < 0:
            return False
        self.add(self.text[self.at : end].replace("*", self.quoted))
        self.at = end + 1
        return True

    def _double(self) -> bool:
        self.add("")
        while self.at < len(self.text):
            char = self.text[self.at]
            self.at += 1
            if char == '"':
                return True
            if char == "\\" and self.text[self.at : self.at + 1] in {"\\", '"', "$", "`", "*"}:
                self.add(self.text[self.at])
                self.at += 1
            else:
                self.add(self.quoted if char == "*" else char)
        return False

    def add(self, text: str) -> None:
        """More of the word that is read."""
        self.word = (self.word or "") + text

    def end_word(self) -> None:
        """A blank came."""
        if self.word is not None:
            self.words.append(_one_star(self.word))
        self.word = None

    def end_part(self) -> None:
        """An operator or the end came."""
        self.end_word()
        if self.words or self.colon:
            self.parts.append((self.words, self.colon))
        self.words, self.colon = [], False


def _one_star(word: str) -> str:
    while STAR * 2 in word:
        word = word.replace(STAR * 2, STAR)
    return word


def quoted(word: str) -> str:
    """A word as a rule must write it to mean exactly this word: stars escaped, quotes where the shell needs them."""
    if word and all(char.isalnum() or char in "_-./=:,@%+^" for char in word) and not word.endswith(":"):
        return word
    if word == "*":
        return r"\*"
    escaped = "".join(f"\\{char}" if char in '\\"$`*' else char for char in word)
    return f'"{escaped}"'
