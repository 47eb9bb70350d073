"""What is known while a text is followed: its commands so far, variables, functions, and how much is left to read."""

import re
from collections.abc import Callable

from activities.safety.bash.raw import OVERRUN, Raw, Reading
from activities.safety.bash.work import LONGEST, READING, TOKEN, Work
from workflows.contracts.commands import Loop, Place, Reach, SimpleCommand, Span

MOST, DEEPEST, LOOPED, READ = 120, 12, 24, 4_000
"""Commands, depth, rounds of a loop and characters beside twice the text's own that are followed."""

Read = Callable[..., tuple[Reading, bool]]
"""Reads a text: its raw commands, and whether the grammar's reading is trusted."""

_CUT = re.compile(r"\$(?:\\\n)|[<>&|;](?:\\\n)+[<>&|;(]")
_JOINED = re.compile(r"[\w/.'\"-]\\\n[\w/.'\"-]")
"""A word that goes on in the next line; inside loops and functions the grammar takes it for two."""


class Where:
    """What a level of commands stands inside of."""

    def __init__(
        self,
        places: tuple[Place, ...] = (),
        reach: Reach = Reach.DIRECT,
        parent: int = -1,
        depth: int = 0,
        span: Span | None = None,
        folder: str = "",
    ) -> None:
        self.places, self.reach, self.parent = places, reach, parent
        self.depth, self.span, self.folder = depth, span, folder

    def below(self, place: Place, parent: int, span: Span, folder: str, reach: Reach | None = None) -> "Where":
        """What a level below stands inside of."""
        return Where((*self.places, place), reach or self.reach, parent, self.depth + 1, span, folder)


class Builder:
    """Follows one text through all that it runs."""

    def __init__(self, text: str, known: dict[str, str], read: Read, follow: "Follow") -> None:
        self.text = text
        self.known = known
        self.read = read
        self.follow = follow
        self.commands: list[SimpleCommand] = []
        self.loops: list[Loop] = []
        self.features: set[str] = set()
        self.functions: list[str] = []
        self.problem = ""
        self.used_fallback = False
        self.is_cut = False
        self.pipelines = 0
        self.total = 0
        self.work = Work(len(text))
        self.readings: dict[str, Reading] = {}
        self.bodies: dict[str, list[Raw]] = {}
        self.aliases: dict[str, str] = {}
        self.calls = 0
        self.files: dict[str, str] = {}
        """Files that the text itself fills with what is plain to see, by path."""

    def build(self) -> None:
        """Reads the whole text."""
        reading, is_trusted = self._reading(self.text)
        self.functions.extend(reading.functions)
        self.used_fallback = not is_trusted
        self.problem = reading.problem
        self.features |= reading.features
        self.follow(self, reading, Where())
        is_cut = _CUT.search(self.text) is not None
        if is_cut:
            # Bash joins the lines before it looks for operators and expansions; the words above stand where they stood.
            self.problem = self.problem or "the end of a line cuts an operator or an expansion"
        if is_cut or _JOINED.search(self.text):
            self.inner(self.text.replace("\\\n", ""), Where(reach=Reach.DECODED))
        if self.work.is_done:
            self.overruns()

    def _reading(self, text: str) -> tuple[Reading, bool]:
        reading, is_trusted = self.read(text, is_short=len(text) <= LONGEST)
        self.work.spend(READING + TOKEN * (len(reading.cuts) + 2 * len(reading.raws)))
        return reading, is_trusted

    @property
    def is_full(self) -> bool:
        """Whether no more is followed."""
        return self.work.is_done or self.total > READ + 2 * len(self.text) or len(self.commands) > MOST

    def overruns(self) -> None:
        """There was more than is followed."""
        self.is_cut = True
        self.features.add(OVERRUN)

    def inner(self, text: str, where: "Where") -> list[int]:
        """Reads a text that is run inside; the indexes of its own commands."""
        self.total += len(text)
        if where.depth > DEEPEST or self.is_full:
            self.overruns()
            return []
        reading = self.readings.get(text)
        if reading is None:
            reading = self.readings[text] = self._reading(text)[0]
        self.functions.extend(reading.functions)
        if OVERRUN in reading.features:
            self.overruns()
        if where.reach == Reach.DIRECT:
            self.problem = self.problem or reading.problem
            self.features |= reading.features
        self.features |= reading.features & {"while", "background", "background-in-loop"}
        return self.follow(self, reading, where)


Follow = Callable[[Builder, Reading, Where], list[int]]
"""Follows the commands of one text; the indexes of its own."""
