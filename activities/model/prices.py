"""What a reply costs and how large a model's window is, from one dated data file."""

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from workflows.contracts.model import Usage

DATA = Path(__file__).with_name("prices.json")
_VERSION = r"(-latest|-0)?([-@]\d{8})?(-v\d+)?(:\d+)?"
"""What a family's name may be followed by: a date, a version of a cloud."""


@dataclass(frozen=True)
class Price:
    """Nano-dollars a token, by kind of token."""

    input: int
    output: int
    cache_write: int
    cache_write_1h: int
    cache_read: int
    search: int = 0
    """Of a search of the web, not of a token."""

    def of(self, usage: Usage) -> int:
        """Micro-dollars, rounded to the nearest."""
        short = usage.cache_write - usage.cache_write_1h
        nano = (
            usage.input * self.input
            + usage.output * self.output
            + short * self.cache_write
            + usage.cache_write_1h * self.cache_write_1h
            + usage.cache_read * self.cache_read
            + usage.searches * self.search
        )
        return (nano + 500) // 1000


@dataclass(frozen=True)
class Family:
    """Models of one price."""

    pattern: re.Pattern[str]
    price: Price
    window: int


def cost_of(model: str, usage: Usage) -> int | None:
    """Micro-dollars; None when no price is known."""
    family = family_of(model)
    return None if family is None else family.price.of(usage)


def window_of(model: str) -> int | None:
    """Tokens of the model's window; None when it is not known."""
    family = family_of(model)
    return None if family is None else family.window


def family_of(model: str) -> Family | None:
    """The row of the data file that this model's name belongs to, also by a cloud's name for it."""
    return next((family for family in _families() if family.pattern.fullmatch(model)), None)


@cache
def _families() -> tuple[Family, ...]:
    told = json.loads(DATA.read_text(encoding="utf-8"))
    search = round(float(told["search"]) * 1_000_000_000)
    return tuple(_family(row, search) for row in told["families"])


def _family(row: dict[str, str | int | float], search: int) -> Family:
    name = re.escape(str(row["name"]))
    pattern = rf"{name}.*" if row["name"] == "rehearsal" else rf"(.*[./])?{name}{_VERSION}"
    nano = {field: round(float(row[field]) * 1000) for field in Price.__dataclass_fields__ if field in row}
    return Family(re.compile(pattern), Price(**nano, search=search), int(row["window"]))
