"""Lines of a search whose files are told apart by a NUL character, and those of hidden files left out."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum

SEPARATORS = ("--field-match-separator", "\\x00:", "--field-context-separator", "\\x00-")
"""What makes ripgrep's lines tell the path from the rest, whatever both hold."""


class Shape(IntEnum):
    """What a line holds: the number of NUL characters that were put into it."""

    NAME = 0
    """A path alone."""
    COUNT = 1
    """A path, NUL, a number."""
    TEXT = 2
    """A path, SEPARATORS, and a line of that file."""
    NUMBERED = 3
    """The same, with the line's number."""


@dataclass
class Sieve:
    """Passes on the lines of files that may be shown, without the marks."""

    shape: Shape
    is_hidden: Callable[[str], bool]
    known: dict[bytes, bool] = field(default_factory=dict)
    _begun: bytes = b""
    """The first lines of a path that has several."""
    _is_parted: bool = False
    """A line `--` came since the last line that was passed on."""
    _has_passed: bool = False

    def lines(self, line: bytes) -> Iterator[bytes]:
        """The lines to show for this one."""
        if self.shape is Shape.NAME:
            if not self._hides(line.removesuffix(b"\r")):
                yield line
            return
        if b"\0" not in line:
            if line.removesuffix(b"\r") == b"--" and not self._begun:
                self._is_parted = self._has_passed
            else:
                self._begun += line + b"\n"
            return
        name, rest = (self._begun + line).split(b"\0", 1)
        self._begun = b""
        if self._hides(name):
            return
        if self._is_parted:
            yield b"--"
        self._is_parted, self._has_passed = False, True
        match self.shape:
            case Shape.COUNT:
                yield name + b":" + rest
            case Shape.NUMBERED:
                yield name + rest.replace(b"\0", b"", 1)
            case _:
                yield name + rest

    def _hides(self, name: bytes) -> bool:
        if name not in self.known:
            self.known[name] = self.is_hidden(name.decode("utf-8", "surrogateescape"))
        return self.known[name]
