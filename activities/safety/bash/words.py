"""A word's source to what the shell makes of it: quotes, escapes, braces, variables, constant substitutions."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from activities.safety.bash.bare import bare_word
from activities.safety.bash.braces import MOST, MOST_BRACES, expand, fields, holds_brace
from activities.safety.bash.escapes import unescape
from activities.safety.bash.lexer import Lexer
from activities.safety.bash.sums import evaluated
from activities.safety.bash.trims import changed
from activities.safety.bash.work import PIECE, WORD, Work
from workflows.contracts.commands import UNKNOWN, Word

SET = "\ue001"
"""Behind an unknown part that is not empty."""
Run = Callable[[str, str], tuple[str | None, bool]]
"""Notes a command that a word runs (its text, its kind); its output where that is constant, and whether it is a text
that stands there as it is: a quoted heredoc."""

_SPECIAL = re.compile(r"""['"\\$`*?\[~<>]""")
_HOME = re.compile(r"~([A-Za-z_][\w.-]*|[+-])?(?=/|$)", re.ASCII)
_NAMED = re.compile(r"([A-Za-z_]\w*|[0-9]+|[@*#?$!-])(.*)", re.ASCII | re.DOTALL)
_ACTIVE = re.compile(r"[\\$`]")
_MOST_MADE, _DEEPEST, _REMEMBERED = 256, 24, 100


@dataclass(slots=True)
class Decoder:
    """Decodes words with what is known of the variables so far."""

    known: Mapping[str, str]
    run: Run
    work: Work
    is_cut: bool = False
    depth: int = 0
    made: int = 0
    """Words that braces made."""

    def decode(self, source: str) -> list[Word]:
        """The words that a source becomes: one, several by braces and splitting, or none."""
        self.work.spend(WORD)
        bare = bare_word(source) if len(source) < _REMEMBERED else None
        if bare is not None and not bare.has_glob:
            return [bare]
        self.work.spend(WORD)
        if bare is not None:
            return [bare]
        if not holds_brace(source):
            return self._one(source, source)
        self.work.spend(source.count("{") * len(source) >> 3)
        sources = expand(source, self._skip) if self.made < _MOST_MADE else [source]
        self.made += len(sources) - 1
        self.is_cut = self.is_cut or len(sources) >= MOST or self.made >= _MOST_MADE or source.count("{") > MOST_BRACES
        if len(sources) == 1 and sources[0] is source:
            return self._one(source, source)
        return [word for one in sources for word in self._one(source, one, "brace")]

    def _skip(self, source: str, at: int) -> int:
        if not self.work.spend(1):
            return len(source)
        if source[at] in "<>":
            return Lexer(source).word_end(at) if source.startswith("(", at + 1) else at + 1
        return Lexer(source).piece(at)

    def text(self, source: str) -> Word:
        """What stands in a heredoc that expands, or between double quotes."""
        if self.depth > _DEEPEST:
            self.is_cut = True
            return Word(source, UNKNOWN, is_plain=False, may_split=True)
        self.depth += 1
        pieces = _Pieces(self, source, is_heredoc=True)
        pieces.double(source)
        self.depth -= 1
        return pieces.word()

    def _one(self, source: str, piece: str, *marks: str) -> list[Word]:
        pieces = _Pieces(self, source)
        pieces.marks.update(marks)
        pieces.read(piece)
        return pieces.words()


@dataclass(slots=True)
class _Pieces:
    """One word while it is put together."""

    decoder: Decoder
    source: str
    is_heredoc: bool = False
    value: list[str] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    marks: set[str] = field(default_factory=set)
    names: list[str] = field(default_factory=list)
    has_glob: bool = False
    may_split: bool = False
    is_quoted: bool = False

    def words(self) -> list[Word]:
        values = [*self.done, "".join(self.value)]
        if not values[-1] and not self.is_quoted and (self.done or (self.marks and not self.may_split)):
            values.pop()
        return [self._made(value) for value in values]

    def word(self) -> Word:
        return self._made("".join(self.value))

    def _made(self, value: str) -> Word:
        return Word(
            self.source,
            value,
            is_plain=value == self.source and not self.marks and not self.is_quoted,
            has_glob=self.has_glob,
            may_split=self.may_split,
            expansions=frozenset(self.marks),
            variables=tuple(self.names),
        )

    def read(self, text: str) -> None:
        at, size = 0, len(text)
        if text.startswith("~"):
            at = self._tilde(text)
        while at < size:
            char = text[at]
            if char == "'":
                end = text.find("'", at + 1)
                end = size if end < 0 else end
                self._quoted(text[at + 1 : end])
                at = end + 1
            elif char == '"':
                end = Lexer(text).double_end(at + 1)
                self.is_quoted = True
                self.double(text[at + 1 : max(end - 1, at + 1)])
                at = end
            elif char == "\\":
                if text[at + 1 : at + 2] != "\n":
                    self._quoted(text[at + 1 : at + 2])
                at += 2
            elif char in "$`":
                at = self._expansion(text, at, is_quoted=False)
            elif char in "<>" and text.startswith("(", at + 1):
                end = Lexer(text).nested(at + 2)
                self._process(text[at + 2 : end - 1], char)
                at = end
            elif char in "*?[":
                self.has_glob = True
                self.marks.add("glob")
                self.value.append(char)
                at += 1
            else:
                found = _SPECIAL.search(text, at + 1)
                end = found.start() if found else size
                self.value.append(text[at:end])
                at = end

    def _quoted(self, text: str) -> None:
        self.is_quoted = True
        self.value.append(text)

    def _tilde(self, text: str) -> int:
        found = _HOME.match(text)
        if not found:
            return 0
        self.marks.add("tilde")
        name = found[1] or ""
        home = self.decoder.known.get("HOME") if not name else self.decoder.known.get(f"~{name}")
        if home is not None:
            self.value.append(home)
        else:
            self.value.append(UNKNOWN if name in {"", "+", "-"} else f"/home/{name}")
        return found.end()

    def double(self, text: str) -> None:
        """What stands between double quotes, or in a heredoc."""
        at, size = 0, len(text)
        while at < size:
            char = text[at]
            if char == "\\":
                following = text[at + 1 : at + 2]
                if following in ("$`\\\n" if self.is_heredoc else '$`"\\\n') and following:
                    self.value.append("" if following == "\n" else following)
                else:
                    self.value.append("\\" + following)
                at += 2
            elif char in "$`":
                at = self._expansion(text, at, is_quoted=True)
            else:
                found = _ACTIVE.search(text, at)
                end = found.start() if found else size
                self.value.append(text[at:end])
                at = end

    def _expansion(self, text: str, at: int, *, is_quoted: bool) -> int:
        lexer = Lexer(text)
        if not self.decoder.work.spend(PIECE):
            self._unknown(is_quoted=False)
            return len(text)
        if text[at] == "`":
            end = lexer.backquote_end(at)
            inner = re.sub(r"\\([\\$`])", r"\1", text[at + 1 : end - 1])
            self._command(inner, is_quoted=is_quoted)
            return end
        end = lexer.dollar_end(at, is_quoted=is_quoted)
        self.decoder.work.spend((end - at) >> 1)
        body = text[at:end]
        if body == "$":
            self.value.append("$")
        elif body.startswith("$(("):
            if lexer.sum_end == end:
                self._sum(body[3:-2])
            else:
                self._command(body[2:-1], is_quoted=is_quoted)
        elif body.startswith("$("):
            self._command(body[2:-1] if body.endswith(")") else body[2:], is_quoted=is_quoted)
        elif body.startswith("${"):
            self._parameter(body[2:-1], is_quoted=is_quoted)
        elif body.startswith("$["):
            self._sum(body[2:-1])
        elif body.startswith("$'") and not is_quoted:
            self.is_quoted = True
            self.marks.add("ansi")
            self.value.append(unescape(body[2:-1]))
        elif body.startswith('$"') and not is_quoted:
            self.is_quoted = True
            self.marks.add("ansi")
            self.double(body[2:-1])
        else:
            self._variable(body[1:], is_quoted=is_quoted)
        return end

    def _sum(self, text: str) -> None:
        if (result := evaluated(text)) is not None:
            self.marks.add("literal-arithmetic")
            self.value.append(str(result))
            return
        self.marks.add("arithmetic")
        # Names in it may hold subscripts that run commands; those written here are run.
        self.decoder.text(text)
        self.value.append(UNKNOWN)

    def _command(self, inner: str, *, is_quoted: bool) -> None:
        output, is_text = self.decoder.run(inner, "substitution") if inner.strip() else ("", False)
        self.marks.add("text" if is_text else "command")
        self._put(output and output.rstrip("\n"), is_quoted=is_quoted)

    def _process(self, inner: str, sign: str) -> None:
        self.marks.add("process-in" if sign == "<" else "process-out")
        self.decoder.run(inner, "process-in" if sign == "<" else "process-out")
        self.value.append(UNKNOWN)

    def _unknown(self, *, is_quoted: bool) -> None:
        self.value.append(UNKNOWN)
        self.may_split = self.may_split or not is_quoted

    def _put(self, text: str | None, *, is_quoted: bool) -> None:
        """A value, if it is known; outside quotes it is cut at blanks, and its stars are patterns."""
        if text is None or not self.decoder.work.spend(len(text) >> (6 if is_quoted else 3)):
            self._unknown(is_quoted=is_quoted)
            return
        if is_quoted:
            self.value.append(text)
            return
        if any(char in text for char in "*?["):
            self.has_glob = True
            self.marks.add("glob")
        parts = fields(text, self.decoder.known.get("IFS", " \t\n"))
        self.decoder.work.spend(WORD * len(parts))
        self.value.append(parts[0])
        for part in parts[1:]:
            if "".join(self.value):
                self.done.append("".join(self.value))
            self.value[:] = [part]

    def _variable(self, name: str, *, is_quoted: bool) -> None:
        self.names.append(name)
        self.marks.add("variable")
        value = self.decoder.known.get(self.decoder.known.get(f"&{name}", name))
        if name in {"@", "*"}:
            is_quoted = is_quoted and name == "*"
        self._put(value, is_quoted=is_quoted)

    def _parameter(self, body: str, *, is_quoted: bool) -> None:
        found = _NAMED.fullmatch(body)
        if body[:1] in {"!", "#"} and len(body) > 1:
            self._special(body)
            return
        if not found:
            self.marks.add("operator")
            self._unknown(is_quoted=is_quoted)
            return
        name, rest = found[1], found[2]
        if not rest:
            self._variable(name, is_quoted=is_quoted)
            return
        self.marks.add("operator")
        self.names.append(name)
        if rest.startswith("["):
            self._element(name, rest, is_quoted=is_quoted)
            return
        value = self.decoder.known.get(name)
        if found := re.match(r":?([-=+?])", rest):
            default = self.decoder.text(rest[found.end() :])
            if found[1] == "?" and not value:
                # The shell ends here where it is unset: what follows sees it set.
                self._unknown(is_quoted=is_quoted)
                self.value.append(SET)
                return
            uses_default = (found[1] == "+") if value else (found[1] != "+")
            chosen = default.value if uses_default else (value or "")
            self._put(chosen, is_quoted=is_quoted)
            self.may_split = self.may_split or not is_quoted
            return
        self.decoder.text(rest)
        made = None
        if value is not None and self.decoder.work.spend(min(len(value), 500)):
            made = changed(value, rest, self._plainly, is_list=name in {"@", "*"})
        self._put(made, is_quoted=is_quoted)

    def _plainly(self, source: str) -> str | None:
        """A part of an expansion with its variables put in; what it runs was noted before."""
        made = source if "$(" in source or "`" in source or "$" not in source else self.decoder.text(source).value
        return None if UNKNOWN in made or "$(" in made or "`" in made else made

    def _element(self, name: str, rest: str, *, is_quoted: bool) -> None:
        self.decoder.text(rest)
        self._put(self.decoder.known.get(name + rest), is_quoted=is_quoted and rest not in {"[@]", "[*]"})

    def _special(self, body: str) -> None:
        self.marks.add("operator")
        name = body[1:]
        self.names.append(name)
        pointed = self.decoder.known.get(self.decoder.known.get(name, "")) if body[0] == "!" else None
        self.decoder.text(name)
        self._put(pointed, is_quoted=False)
        self.may_split = True
