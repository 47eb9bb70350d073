"""The second tokeniser: words, operators and heredocs of a text, as bash itself cuts them.

It checks the grammar's reading (both must find the same words) and stands in for it where the grammar gives up.
"""

import re
import sys
from dataclasses import dataclass, field
from enum import Enum, auto

from activities.safety.bash.scan import ARRAY, DEEPEST, TOO_DEEP, Heredoc, Scanner

_OPERATOR = re.compile(r"&>>|&>|<<<|<<-|<<|<&|>&|<>|>>|>\||;;&|;;|;&|;|&&|&|\|\||\|&|\||\(|\)|<|>")
_BLANK = re.compile(r"(?:[ \t]|\\\n)+")
_COMMENT = re.compile(r"#[^\n]*")
_DESCRIPTOR = re.compile(r"(?:\d+|\{[A-Za-z_]\w*\})(?=[<>])", re.ASCII)

OPENERS = {"if", "then", "else", "elif", "while", "until", "do", "{", "!", "coproc"}
"""Reserved words after which a command begins."""
CLOSERS = {"}", "fi", "done", "then", "else", "elif", "do"}
RESERVED = OPENERS | {"fi", "done", "}", "for", "select", "case", "esac", "in", "function", "[["}
_MAY_BE_RESERVED = {"in", "do"}
_BEFORE_FD = frozenset("0123456789{")
_FLAT = re.compile(r"[A-Za-z0-9_./:@%+,*? \t-]*+\)", re.ASCII)
"""Plain words up to a closing parenthesis."""
_LINES = re.compile(r"\n(?:[ \t]*\n)*")
_BARE_WORDS = re.compile(r"""(?:[ \t]+[^ \t\n'"\\$`|&;()<>#][^ \t\n'"\\$`|&;()<>]*+(?=[ \t\n;|&)]|\Z))+""")
"""Words that hold nothing which a shell's tokeniser looks into."""
_BARE_WORD = re.compile(r"[^ \t]+")


class Kind(Enum):
    """What a token is."""

    WORD = auto()
    OPERATOR = auto()
    NEWLINE = auto()
    DESCRIPTOR = auto()
    TEST = auto()
    """A whole `[[ … ]]`."""
    ARITHMETIC = auto()
    """A whole `(( … ))`."""
    RESERVED = auto()


@dataclass(slots=True)
class Token:
    """One piece of the text."""

    kind: Kind
    source: str
    start: int
    end: int


@dataclass(slots=True)
class Lexer(Scanner):
    """Reads a text once, from a place to its end or to an unmatched `)`."""

    tokens: list[Token] = field(default_factory=list)
    pending: list[Heredoc] = field(default_factory=list)
    is_begin: bool = True
    """Whether a command may begin here."""
    cases: int = 0
    most: int = sys.maxsize
    """Tokens that it reads, with those of its substitutions."""
    nested_tokens: int = 0

    @property
    def count(self) -> int:
        """Tokens read so far, with those of its substitutions."""
        return len(self.tokens) + self.nested_tokens

    def read(self, *, until_parenthesis: bool = False) -> int:
        """Reads on; the place behind the last thing read."""
        text, size, opened = self.text, len(self.text), 0
        # A text that is nested too deeply is refused, whatever else it holds.
        while self.at < size and self.count <= self.most and self.problem != TOO_DEEP:
            char = text[self.at]
            if char in " \t" or text.startswith("\\\n", self.at):
                if self._bare_words():
                    continue
                found = _BLANK.match(text, self.at)
                self.at = found.end() if found else self.at + 1
            elif char == "\n":
                found = None if self.pending else _LINES.match(text, self.at)
                self._add(Kind.NEWLINE, found.end() if found else self.at + 1)
                self._bodies()
                self.is_begin = True
            elif char == "#":
                found = _COMMENT.match(text, self.at)
                self.at = found.end() if found else size
            elif char in "<>" and text.startswith("(", self.at + 1):
                self._word()
            elif found := _OPERATOR.match(text, self.at):
                opened += (found[0] == "(") - (found[0] == ")")
                if opened < 0 and self.cases:
                    opened = 0
                elif opened < 0 and until_parenthesis:
                    self.at = found.end()
                    return self.at
                self._operator(found[0])
            else:
                self._word()
        if until_parenthesis:
            self.fails("a parenthesis is never closed")
        if self.pending:
            self._bodies()
        return self.at

    def _add(self, kind: Kind, end: int) -> None:
        self.tokens.append(Token(kind, self.text[self.at : end], self.at, end))
        self.at = end

    def _bare_words(self) -> bool:
        """Reads plain words behind two others at once: most of a long command."""
        tokens = self.tokens
        if self.is_begin or len(tokens) < 2 or tokens[-1].kind != Kind.WORD or tokens[-2].kind != Kind.WORD:
            return False
        found = _BARE_WORDS.match(self.text, self.at)
        if found is None:
            return False
        for one in _BARE_WORD.finditer(self.text, self.at, found.end()):
            tokens.append(Token(Kind.WORD, one[0], one.start(), one.end()))
        self.at = found.end()
        return True

    def _operator(self, operator: str) -> None:
        last = self.tokens[-1] if operator == "(" and self.tokens else None
        follows_for = last is not None and last.kind == Kind.RESERVED and last.source == "for"
        if operator == "(" and (self.is_begin or follows_for) and self.text.startswith("((", self.at):
            end = self.arithmetic_end(self.at + 2)
            if end:
                self._add(Kind.ARITHMETIC, end)
                self.is_begin = False
                return
        if operator in {";;", ";&", ";;&"} and not self.cases:
            self.fails(f"{operator} stands outside of case")
        start = self.at
        self._add(Kind.OPERATOR, self.at + len(operator))
        if operator in {"<<", "<<-"}:
            self._heredoc(start, operator)
        elif operator[-1] not in "<>" and operator not in {">&", "<&", ">|", "&>", "&>>"}:
            self.is_begin = True

    def _heredoc(self, start: int, operator: str) -> None:
        if found := _BLANK.match(self.text, self.at):
            self.at = found.end()
        begin = self.at
        end = self.word_end(begin)
        if end == begin:
            self.fails("a heredoc names no end")
            return
        source = self.text[begin:end]
        self._add(Kind.WORD, end)
        plain = re.sub(r"""\\\n|['"\\]|\$(?=['"])""", "", source)
        one = Heredoc(start, end, operator, plain, is_constant=plain != source)
        self.pending.append(one)
        self.heredocs.append(one)

    def _bodies(self) -> None:
        for one in self.pending:
            begin = at = self.at
            while True:
                end = self.text.find("\n", at)
                line = self.text[at : end if end >= 0 else len(self.text)]
                if one.operator == "<<-":
                    line = line.lstrip("\t")
                if line == one.delimiter:
                    one.body, one.closed = (begin, at), end + 1 if end >= 0 else len(self.text)
                    break
                if end < 0:
                    one.body = (begin, len(self.text))
                    one.closed = len(self.text)
                    self.fails("a heredoc is never closed")
                    break
                at = end + 1
            self.at = one.closed
        self.pending.clear()

    def _word(self) -> None:
        if self.text[self.at] in _BEFORE_FD and (found := _DESCRIPTOR.match(self.text, self.at)):
            self._add(Kind.DESCRIPTOR, found.end())
            return
        start, end = self.at, self.word_end(self.at)
        if end == start:
            end += 1
        source = self.text[start:end]
        last = self.tokens[-1] if self.tokens else None
        if not self.is_begin:
            self.tokens.append(Token(Kind.WORD, source, start, end))
            self.at = end
            if source in _MAY_BE_RESERVED or (last is not None and last.kind == Kind.RESERVED):
                self._after_for(source)
            return
        is_target = (
            last is not None
            and last.kind == Kind.OPERATOR
            and last.source[-1] in "<>&|"
            and ("<" in last.source or ">" in last.source)
        )
        if is_target or source not in RESERVED:
            self._add(Kind.WORD, end)
            if not is_target and not ("=" in source and ARRAY.match(source)):
                self.is_begin = False
            self._after_for(source)
        elif source == "[[":
            self._test()
        else:
            self._misplaced(source, last)
            self._add(Kind.RESERVED, end)
            self.cases += (source == "case") - (source == "esac" and self.cases > 0)
            self.is_begin = source in OPENERS

    def _misplaced(self, source: str, last: Token | None) -> None:
        """Reserved words that bash takes here for an error, and the grammar does not."""
        if source == "!" and last is not None and last.source in {"|", "|&"}:
            self.fails("! stands behind a pipe")
        if source in CLOSERS and last is not None and last.kind == Kind.RESERVED and last.source in OPENERS - {"!"}:
            self.fails(f"nothing stands between {last.source} and {source}")

    def _after_for(self, source: str) -> None:
        """`in` and `do` behind `for NAME`, `in` behind `case WORD` and what follows `function NAME` is reserved too."""
        if len(self.tokens) >= 2 and self.tokens[-2].kind == Kind.RESERVED and self.tokens[-2].source == "function":
            self.is_begin = True
        if source not in _MAY_BE_RESERVED or len(self.tokens) < 3:
            return
        head = self.tokens[-3]
        if head.kind == Kind.RESERVED and head.source in {"for", "select", "case"}:
            last = self.tokens[-1]
            self.tokens[-1] = Token(Kind.RESERVED, source, last.start, last.end)
            self.is_begin = source == "do" or head.source == "case"

    def _test(self) -> None:
        start = self.at
        at = start + 2
        while at < len(self.text):
            char = self.text[at]
            if char in " \t\n()<>|&;":
                at += 1
                continue
            end = max(self.word_end(at), at + 1)
            if self.text[at:end] == "]]":
                self._add(Kind.TEST, end)
                self.is_begin = False
                return
            at = end
        self.fails("[[ is never closed")
        self._add(Kind.TEST, len(self.text))

    def nested(self, at: int) -> int:
        """Behind the `)` that closes what begins here."""
        if self.level > DEEPEST:
            self.fails(TOO_DEEP)
            return len(self.text)
        if (found := _FLAT.match(self.text, at)) and RESERVED.isdisjoint(found[0][:-1].split()):
            return found.end()
        inner = Lexer(self.text, at, level=self.level + 1, sums=self.sums, most=self.most - self.count)
        end = inner.read(until_parenthesis=True)
        self.sums = inner.sums
        self.nested_tokens += inner.count + 2
        self.heredocs.extend(inner.heredocs)
        if inner.problem:
            self.fails(inner.problem)
        return end
