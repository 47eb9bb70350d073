"""The lexer's reading: tokens to raw commands, flat, for what the grammar cannot take."""

from activities.safety.bash.lexer import Kind, Lexer, Token
from activities.safety.bash.raw import OVERRUN, Raw, RawRedirection, Reading
from workflows.contracts.commands import Place

_DEEPEST = 60
_FEATURES = {"while", "until", "select", "case", "function", "coproc"}
"""Reserved words that the reading tells of."""


def read_tokens(text: str, lexer: Lexer) -> Reading:
    """The commands of a text by its tokens alone."""
    reader = _Reader(text, lexer)
    for at, token in enumerate(lexer.tokens):
        reader.take(token, lexer.tokens[at + 1] if at + 1 < len(lexer.tokens) else None)
    reader.end()
    reader.reading.problem = lexer.problem or reader.reading.problem
    return reader.reading


class _Reader:
    """Puts tokens together to commands."""

    def __init__(self, text: str, lexer: Lexer) -> None:
        self.text = text
        self.heredocs = {one.start: one for one in lexer.heredocs}
        self.reading = Reading(text=text)
        self.raw: Raw | None = None
        self.operator: Token | None = None
        self.fd = ""
        self.count = 1
        self.stage = 0
        self.scope: list[int] = []
        self.loop: Raw | None = None
        self.head = ""

    def take(self, token: Token, following: Token | None) -> None:
        match token.kind:
            case Kind.WORD:
                self._word(token)
            case Kind.TEST | Kind.ARITHMETIC:
                raw = self._open(token)
                raw.words.append(token.source)
                raw.is_opaque = True
                self.reading.cuts.append((token.start, token.end))
                if token.kind == Kind.ARITHMETIC:
                    self.reading.features.add("arithmetic")
            case Kind.DESCRIPTOR:
                self.fd = token.source
            case Kind.NEWLINE:
                self.end()
                self._next_pipeline()
            case Kind.RESERVED:
                self._reserved(token)
            case Kind.OPERATOR:
                self._operator(token, following)

    def _open(self, token: Token) -> Raw:
        if self.raw is None:
            pipes = ((self.count, self.stage),)
            self.raw = Raw(token.start, token.end, pipes=pipes, scope=tuple(self.scope))
            for feature, place in (("function", Place.FUNCTION), ("while", Place.LOOP)):
                if feature in self.reading.features:
                    self.raw.places = (*self.raw.places, place)
        self.raw.end = token.end
        return self.raw

    def _word(self, token: Token) -> None:
        if self.operator is None or self.operator.start not in self.heredocs:
            self.reading.cuts.append((token.start, token.end))
        if self.head == "function":
            self.head = ""
            self.reading.functions.append(token.source)
            return
        if self.operator is None:
            if self.raw is not None and self.raw.is_opaque:
                self.reading.problem = self.reading.problem or "words stand behind a test"
            self._open(token).words.append(token.source)
            return
        raw = self._open(token)
        heredoc = self.heredocs.get(self.operator.start)
        raw.redirections.append(RawRedirection(self.operator.source, token.source, self.fd, heredoc))
        self.operator, self.fd = None, ""

    def _reserved(self, token: Token) -> None:
        self.end()
        self.head = token.source
        if token.source in _FEATURES:
            self.reading.features.add("while" if token.source == "until" else token.source)

    def _operator(self, token: Token, following: Token | None) -> None:
        sign = token.source
        if sign == ">|" or (sign[-1] in "<>&" and ("<" in sign or ">" in sign)) or sign == "<<-":
            self.operator = token
            if following is None or following.kind != Kind.WORD:
                self.operator = None
                self.reading.problem = self.reading.problem or "a redirection has no target"
            return
        if sign == "(" and self.raw is not None and following is not None and following.source == ")":
            self.reading.features.add("function")
            self.reading.functions.extend(self.raw.words)
            self.reading.cuts = self.reading.cuts[: -len(self.raw.words)] if self.raw.words else self.reading.cuts
            self.raw = None
        self.end()
        if sign in {"|", "|&"}:
            self.stage += 1
            return
        if sign == "&":
            self.reading.features.update(
                {"background", "background-in-loop"} if "while" in self.reading.features else {"background"}
            )
        if sign == "(":
            self.count += 1
            self.scope.append(self.count)
            if len(self.scope) > _DEEPEST:
                self.reading.features.add(OVERRUN)
                self.scope.clear()
        elif sign == ")" and self.scope:
            self.scope.pop()
        self._next_pipeline()

    def _next_pipeline(self) -> None:
        self.count += 1
        self.stage = 0

    def end(self) -> None:
        """A command ends here."""
        if self.raw is not None and (self.raw.words or self.raw.redirections):
            self.reading.raws.append(self.raw)
        self.raw = None
        self.operator, self.fd = None, ""
