"""Where the pieces of a word end: quotes, escapes, expansions, substitutions."""

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

_PLAIN = re.compile(r"""[^ \t\n'"\\$`|&;()<>]+""")
_BARE = re.compile(r"[A-Za-z0-9_./:@%+,*?-]+(?=[ \t\n;|&)]|\Z)", re.ASCII)
_IN_DOUBLE = re.compile(r'[^"\\$`]+')
_IN_BRACES = re.compile(r"""[^}'"\\$`]+""")
_IN_PARENTHESES = re.compile(r"""[^()'"\\$`]+""")
_NAME = re.compile(r"[A-Za-z_]\w*|[0-9*@#?$!-]", re.ASCII)
ARRAY = re.compile(r"[A-Za-z_]\w*(?:\[[^]]*\])?\+?=", re.ASCII)


@dataclass(slots=True)
class Heredoc:
    """A heredoc, cut out of the text."""

    start: int
    """Where its operator stands."""
    end: int
    """Where its delimiter ends."""
    operator: str
    delimiter: str
    is_constant: bool
    body: tuple[int, int] = (0, 0)
    """The lines between, without the closing one."""
    closed: int = 0
    """Where the closing line ends."""


TOO_DEEP = "it is nested more deeply than is analysed"
DEEPEST, MOST_SUMS = 24, 30
"""Substitutions within substitutions, and places that may be arithmetic."""


@dataclass(slots=True)
class Scanner(ABC):
    """Walks over the pieces of words in a text."""

    text: str
    at: int = 0
    problem: str = ""
    heredocs: list[Heredoc] = field(default_factory=list)
    level: int = 0
    sums: int = 0
    sum_end: int = -1
    """Where the expansion ends that was last found to be arithmetic."""

    def fails(self, problem: str) -> None:
        """Notes what is wrong; the first counts."""
        self.problem = self.problem or problem

    def word_end(self, at: int) -> int:
        """Where the word that begins here ends."""
        if found := _BARE.match(self.text, at):
            return found.end()
        text, size, start = self.text, len(self.text), at
        while at < size:
            char = text[at]
            if char in " \t\n|&;)":
                break
            if char in "<>" and not text.startswith("(", at + 1):
                break
            if char == "(":
                if not ARRAY.fullmatch(text, start, at):
                    break
                at = self.nested(at + 1)
            elif char in "<>":
                at = self.nested(at + 2)
            else:
                at = self.piece(at)
        return min(at, size)

    def piece(self, at: int) -> int:
        """Behind one quoted, escaped, expanded or plain piece of a word."""
        text = self.text
        match text[at]:
            case "'":
                return self._closed(text.find("'", at + 1), "a quote is never closed")
            case '"':
                return self.double_end(at + 1)
            case "\\":
                return at + 2
            case "$":
                return self.dollar_end(at, is_quoted=False)
            case "`":
                return self.backquote_end(at)
        found = _PLAIN.match(text, at)
        return found.end() if found else at + 1

    def _closed(self, found: int, problem: str) -> int:
        if found >= 0:
            return found + 1
        self.fails(problem)
        return len(self.text)

    def double_end(self, at: int) -> int:
        """Behind the quote that closes the double quotes whose text begins here."""
        text, size = self.text, len(self.text)
        while at < size:
            char = text[at]
            if char == '"':
                return at + 1
            if char == "\\":
                at += 2
            elif char == "$":
                at = self.dollar_end(at, is_quoted=True)
            elif char == "`":
                at = self.backquote_end(at)
            else:
                found = _IN_DOUBLE.match(text, at)
                at = found.end() if found else at + 1
        self.fails("a quote is never closed")
        return size

    def backquote_end(self, at: int) -> int:
        """Behind the backquote that closes the one here."""
        at += 1
        while at < len(self.text):
            if self.text[at] == "`":
                return at + 1
            at += 2 if self.text[at] == "\\" else 1
        self.fails("a backquote is never closed")
        return len(self.text)

    def dollar_end(self, at: int, *, is_quoted: bool) -> int:
        """Behind the expansion that begins with the dollar sign here."""
        if self.level > DEEPEST:
            self.fails(TOO_DEEP)
            return len(self.text)
        self.level += 1
        end = self._dollar_end(at, is_quoted=is_quoted)
        self.level -= 1
        return end

    def _dollar_end(self, at: int, *, is_quoted: bool) -> int:
        text = self.text
        following = text[at + 1 : at + 2]
        if following == "(":
            if text.startswith("((", at + 1) and (end := self.arithmetic_end(at + 3)):
                self.sum_end = end
                return end
            return self.nested(at + 2)
        if following == "{":
            return self._braces(at + 2, is_quoted=is_quoted)
        if following == "[":
            return self._closed(text.find("]", at), "$[ is never closed")
        if following == "'" and not is_quoted:
            at += 2
            while at < len(text) and text[at] != "'":
                at += 2 if text[at] == "\\" else 1
            return self._closed(at if at < len(text) else -1, "a quote is never closed")
        if following == '"' and not is_quoted:
            return self.double_end(at + 2)
        found = _NAME.match(text, at + 1)
        return found.end() if found else at + 1

    @abstractmethod
    def nested(self, at: int) -> int:
        """Behind the `)` that closes what begins here."""

    def _braces(self, at: int, *, is_quoted: bool) -> int:
        text, size = self.text, len(self.text)
        while at < size:
            char = text[at]
            if char == "}":
                return at + 1
            if char == "\\":
                at += 2
            elif char == "$":
                at = self.dollar_end(at, is_quoted=is_quoted)
            elif char == "`":
                at = self.backquote_end(at)
            elif char == '"':
                at = self.double_end(at + 1)
            elif char == "'":
                at = at + 1 if is_quoted else self._closed(text.find("'", at + 1), "a quote is never closed")
            else:
                found = _IN_BRACES.match(text, at)
                at = found.end() if found else at + 1
        self.fails("${ is never closed")
        return size

    def arithmetic_end(self, at: int) -> int:
        """Behind the `))` that closes; 0 where it is no arithmetic after all."""
        self.sums += 1
        if self.sums > MOST_SUMS:
            self.fails(TOO_DEEP)
            return 0
        text, size, depth, start = self.text, len(self.text), 2, at
        while at < size:
            char = text[at]
            if char in "()":
                depth += 1 if char == "(" else -1
                at += 1
                if depth == 1 and text[at : at + 1] != ")":
                    break
                if depth == 0:
                    return at
            elif char in "'\"\\$`":
                at = self.piece(at)
            else:
                found = _IN_PARENTHESES.match(text, at)
                at = found.end() if found else at + 1
        # What was looked through for nothing counts too: the text may hold one such place behind another.
        self.sums += (at - start) // 300
        return 0
