"""What both readings of a text give: commands as sources, not yet decoded."""

from dataclasses import dataclass, field

from activities.safety.bash.scan import Heredoc
from workflows.contracts.commands import Place

OVERRUN = "overrun"
"""The feature of a text of which a part could not be looked at: it is refused, for a deny check is never skipped."""


@dataclass(slots=True)
class RawRedirection:
    """A redirection as written."""

    operator: str
    source: str
    fd: str = ""
    heredoc: Heredoc | None = None


@dataclass(slots=True)
class Raw:
    """A simple command as written, and where it stands."""

    start: int
    end: int
    words: list[str] = field(default_factory=list)
    redirections: list[RawRedirection] = field(default_factory=list)
    places: tuple[Place, ...] = ()
    pipes: tuple[tuple[int, int], ...] = ()
    """Pipelines around it, outermost first: number, stage."""
    scope: tuple[int, ...] = ()
    """Subshells around it."""
    loops: tuple[int, ...] = ()
    """Numbers of the `for` loops around it."""
    function: str = ""
    """The function whose body it is in."""
    loop: int = 0
    """Its own number, where it is the head of a `for`: the first word is the variable."""
    is_opaque: bool = False
    """A whole `[[ … ]]` or `(( … ))`: its words are looked into, not expanded as arguments."""


@dataclass(slots=True)
class Reading:
    """A text cut into commands."""

    raws: list[Raw] = field(default_factory=list)
    cuts: list[tuple[int, int]] = field(default_factory=list)
    """Where its words stand: both readings must agree."""
    features: set[str] = field(default_factory=set)
    functions: list[str] = field(default_factory=list)
    problem: str = ""
    text: str = ""
