"""Events -> screen model, one reducer."""

from cli.watch.chain import events_from_chain
from cli.watch.continuity import Continuity
from cli.watch.model import (
    Ended,
    Item,
    OpenBlock,
    Prompted,
    Question,
    Said,
    Screen,
    Told,
    ToolRun,
    drained,
    moment,
    printed,
)
from cli.watch.reducer import reduce

__all__ = [
    "Continuity",
    "Ended",
    "Item",
    "OpenBlock",
    "Prompted",
    "Question",
    "Said",
    "Screen",
    "Told",
    "ToolRun",
    "drained",
    "events_from_chain",
    "moment",
    "printed",
    "reduce",
]
