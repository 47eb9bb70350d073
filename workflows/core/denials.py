"""How often the small model of auto mode may block before a person decides."""

from collections.abc import Iterable
from dataclasses import dataclass

IN_A_ROW, IN_ALL = 3, 20
"""Spec 06 §4."""


@dataclass(frozen=True)
class Denials:
    """What the small model has said in one session."""

    in_a_row: int = 0
    in_all: int = 0

    def after(self, *, is_blocked: bool) -> "Denials":
        """With one more; a call that was let through ends only the row."""
        return Denials(self.in_a_row + 1, self.in_all + 1) if is_blocked else Denials(0, self.in_all)

    @property
    def limit(self) -> str:
        """Why it may not decide any more; empty while it may."""
        if self.in_all >= IN_ALL:
            return f"the classifier has blocked {self.in_all} calls of this session: a person decides from here on"
        if self.in_a_row >= IN_A_ROW:
            return f"the classifier has blocked {self.in_a_row} calls in a row: a person decides the next one"
        return ""


def counted(blocked: Iterable[bool]) -> Denials:
    """All that was said so far, oldest first."""
    denials = Denials()
    for is_blocked in blocked:
        denials = denials.after(is_blocked=is_blocked)
    return denials
