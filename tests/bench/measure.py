"""Measure: one line of the bench's table, and how the table is printed."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Measure:
    """What was measured, what came out, what was wanted."""

    name: str
    result: str
    target: str
    is_met: bool | None
    """None where nothing is wanted, and where it could not be measured: the note then says why."""
    note: str = ""
    """Figures behind the result; for a target that was missed, where the time or the bytes go."""

    @property
    def verdict(self) -> str:
        """One word."""
        if self.is_met is None:
            return "not measured" if self.result == "-" else "told"
        return "met" if self.is_met else "MISSED"


def not_measured(name: str, target: str, why: str) -> Measure:
    """A line for what is not there to be measured."""
    return Measure(name, "-", target, None, why)


def median(values: Sequence[float]) -> float:
    """The middle value; 0 of none."""
    return statistics.median(values) if values else 0.0


def quantile(values: Sequence[float], part: float) -> float:
    """The value below which that part of all lies; 0 of none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))] if ordered else 0.0


def spread(values: Sequence[float], unit: str = "ms", digits: int = 1) -> str:
    """Median and the middle half of the values, as text: how much noise there was."""
    low, high = quantile(values, 0.25), quantile(values, 0.75)
    return f"{median(values):.{digits}f} {unit} ({low:.{digits}f}-{high:.{digits}f}, n={len(values)})"


def table(measures: Sequence[Measure]) -> str:
    """All measures as aligned text, each note below its line."""
    rows = [("measure", "result", "target", ""), *((m.name, m.result, m.target, m.verdict) for m in measures)]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    notes = ["", *(measure.note for measure in measures)]
    lines: list[str] = []
    for row, note in zip(rows, notes, strict=True):
        lines.append("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        lines += [f"    {note}"] if note else []
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)
