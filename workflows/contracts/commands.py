"""The normal form of a shell command: what every check and every rule reads instead of its text.

It is made and used within one call and never crosses a boundary, so it is plain dataclasses.
"""

from dataclasses import dataclass
from enum import StrEnum

from workflows.contracts.permissions import Decision

UNKNOWN = "\ue000"
"""Stands in a decoded value for a part that only the shell will know; a text that holds it itself is unknown too."""

_OPEN = frozenset({"variable", "command", "process-in", "process-out", "arithmetic", "operator"})


@dataclass(frozen=True, slots=True)
class Span:
    """Where something stands in the text, in characters; what was found by decoding has its carrier's place."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Word:
    """One argument as written and as the shell will see it."""

    source: str
    value: str
    """Quotes, escapes, constant variables and constant substitutions decoded; each unknown part is one `UNKNOWN`."""
    is_plain: bool = True
    """A bare literal: no quote, escape, expansion, brace or glob in it."""
    has_glob: bool = False
    """It holds `*`, `?` or `[…]` outside quotes; `value` holds the pattern."""
    may_split: bool = False
    """An unknown part stands outside quotes, or a whole list: it may become no word, or several."""
    expansions: frozenset[str] = frozenset()
    """What the shell does in it: variable, command, text (`$(cat <<'EOF' …)`, a constant), process-in, process-out,
    arithmetic, literal-arithmetic, operator (`${x:=…}` and its like), brace, tilde, glob, ansi (`$'…'`)."""
    variables: tuple[str, ...] = ()
    """Names that it reads, known ones too."""

    @property
    def is_constant(self) -> bool:
        """Whether it is exactly `value` and one word, whatever the shell finds when it runs."""
        return not self.has_glob and not self.may_split and UNKNOWN not in self.value

    @property
    def is_free(self) -> bool:
        """Whether its text is open: a rule may cover it only where the rule leaves arguments free."""
        return not self.is_constant or not self.expansions.isdisjoint(_OPEN)


@dataclass(frozen=True, slots=True)
class Assignment:
    """`NAME=value`, before a command, as the argument of `env`, or alone."""

    name: str
    value: Word
    appends: bool = False
    is_element: bool = False
    """`NAME[…]=value`."""


@dataclass(frozen=True, slots=True)
class Redirection:
    """`N>target` and its like."""

    operator: str
    """< > >> >| <> &> &>> >& <& << <<- <<<"""
    target: Word
    """The file, the descriptor, or the text of a heredoc or here-string, decoded."""
    fd: str = ""
    """Descriptor in front: empty, a number, or a `{name}`."""

    @property
    def is_heredoc(self) -> bool:
        """Whether it carries its text instead of naming a file."""
        return self.operator in {"<<", "<<-", "<<<"}

    @property
    def is_copy(self) -> bool:
        """Whether it only copies or closes a descriptor: `2>&1`, `>&-`."""
        target = self.target
        return self.operator in {">&", "<&"} and target.is_plain and (target.value.rstrip("-") or "0").isdecimal()

    @property
    def is_harmless(self) -> bool:
        """Whether rules may overlook it: descriptor copies, `/dev/null`, reading, a text of its own."""
        if self.is_copy or self.is_heredoc or self.operator == "<":
            return True
        return self.operator != "<>" and self.target.is_constant and self.target.value == "/dev/null"


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A program in front that runs the rest: `timeout 5`, `sudo -u x`, `env A=b`."""

    name: str
    """Base name, decoded."""
    words: tuple[Word, ...]
    """Itself with its options and operands, as they stood."""
    is_transparent: bool = False
    """One of those that rules and proof look through, with known options only."""
    assignments: tuple[Assignment, ...] = ()
    """What `env` sets."""


class Reach(StrEnum):
    """How a simple command was found."""

    DIRECT = "direct"
    """It stands in the text: lists, pipes, groups, control flow, functions, substitutions."""
    INNER = "inner"
    """Another command runs it, openly: xargs, find -exec, sh -c, eval, trap, ssh, git alias, a heredoc for a shell."""
    DECODED = "decoded"
    """Only decoding shows it: built from pieces, variables, printf, a pipe into a shell."""


class Place(StrEnum):
    """One thing that a simple command stands inside of."""

    GROUP = "group"
    SUBSHELL = "subshell"
    NEGATION = "negation"
    IF = "if"
    FOR = "for"
    LOOP = "loop"
    """while, until, select, C-style for."""
    CASE = "case"
    FUNCTION = "function"
    COPROC = "coproc"
    BACKGROUND = "background"
    SUBSTITUTION = "substitution"
    """`$(…)` or backquotes."""
    PROCESS_IN = "process-in"
    """`<(…)`."""
    PROCESS_OUT = "process-out"
    """`>(…)`."""
    HEREDOC = "heredoc"
    """A substitution in a heredoc's text."""
    RUN_BY = "run-by"
    """The text or argument of another command that runs it."""


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """One program or builtin with its arguments; also bare assignments and bare redirections, which have no words."""

    words: tuple[Word, ...]
    """Command word and arguments, behind every wrapper."""
    span: Span
    assignments: tuple[Assignment, ...] = ()
    wrappers: tuple[Wrapper, ...] = ()
    redirections: tuple[Redirection, ...] = ()
    """Its own, then those of the groups around it."""
    places: tuple[Place, ...] = ()
    """What it stands inside of, outermost first."""
    reach: Reach = Reach.DIRECT
    parent: int = -1
    """Index of the command that holds or runs it."""
    pipeline: int = 0
    """Number of its pipeline; commands of a group share that of the group's stage, by `upstream`."""
    stage: int = 0
    upstream: tuple[int, ...] = ()
    """Indexes of the commands that write into its input, through pipes."""
    depth: int = 0
    folder: str = ""
    """Where a `cd` before it went: empty for where the script began, `UNKNOWN` where only the shell will know."""

    @property
    def name(self) -> str:
        """Base name of the command word, decoded; empty without words."""
        return self.words[0].value.rsplit("/", 1)[-1] if self.words else ""

    @property
    def argv(self) -> tuple[str, ...]:
        """Decoded words, behind every wrapper."""
        return tuple(word.value for word in self.words)

    @property
    def whole(self) -> tuple[Word, ...]:
        """All its words, wrappers included."""
        return (*(word for wrapper in self.wrappers for word in wrapper.words), *self.words)

    @property
    def is_plain(self) -> bool:
        """Whether its command word is a bare literal without a path."""
        return bool(self.words) and self.words[0].is_plain and "/" not in self.words[0].value


@dataclass(frozen=True, slots=True)
class Loop:
    """`for name in items`."""

    variable: str
    items: tuple[Word, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Script:
    """A whole command line in normal form."""

    text: str
    commands: tuple[SimpleCommand, ...] = ()
    """Every simple command at every depth, in the order of the text; the inner ones after their carrier."""
    is_parsed: bool = True
    """Whether the grammar took all of it; else the commands come from the lexical fallback."""
    problem: str = ""
    """Why it cannot be trusted to mean what it seems to: one short sentence."""
    loops: tuple[Loop, ...] = ()
    functions: tuple[str, ...] = ()
    """Names that it defines."""
    features: frozenset[str] = frozenset()
    """Constructs that the proof does not follow: while, case, select, function, coproc, background, arithmetic, …"""
    is_cut: bool = False
    """Whether there was more than is analysed: text, commands or depth."""


@dataclass(frozen=True, slots=True)
class Reason:
    """What one validator saw."""

    validator: str
    action: Decision
    text: str
    """One sentence for the person and the model."""
    sticky: bool = False
    """Whether an allow rule leaves the question open."""
    kind: str = ""
    """persistence, remote_code, exec_flag, secret_read …: what a rule must name to silence it."""
    span: Span = Span(0, 0)
    hint: str = ""
    """What to do instead."""
    flag: str = ""
    """The flag it is about: an allow rule that spells it out silences `exec_flag`."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the static layers say of a command."""

    verdict: Decision
    """Allow means: proved read-only."""
    reasons: tuple[Reason, ...]
    """Deny first, then sticky asks, then asks; empty when it is proved."""
    script: Script
    proved: frozenset[int] = frozenset()
    """Indexes of the commands that are read-only taken by themselves: the rest may be covered by rules."""

    @property
    def is_proved(self) -> bool:
        """Whether the whole is proved read-only."""
        return self.verdict == Decision.ALLOW
