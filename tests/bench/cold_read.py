"""cold_read: a chain of 5,000 entries from a store whose every answer takes 20 ms longer."""

import time

from activities.stores.objects import MemoryStore
from activities.transcript import Transcript
from tests.bench.measure import Measure, median
from tests.fakes.stores import LatencyStore
from workflows.contracts.messages import Role, Text
from workflows.contracts.transcript import Body, MessageBody

ENTRIES = 5_000
LATENCY = 0.02
TIMES = 3


async def measures() -> list[Measure]:
    """Written once, read by readers that know nothing."""
    store = MemoryStore()
    writer, head = Transcript(store), ""
    for first in range(0, ENTRIES, 100):
        head = await writer.append(head, "2026-01-01T00:00:00.000Z", [_body(first + n) for n in range(100)])
    took, most = [], 0
    for _ in range(TIMES):
        slow = LatencyStore(store, LATENCY)
        began = time.perf_counter()
        links = await Transcript(slow).read(head)
        took.append(time.perf_counter() - began)
        most = max(most, slow.most_at_once)
        assert len(links) == ENTRIES
    note = f"{', '.join(f'{each:.2f}' for each in took)} s; at most {most} reads at once"
    return [
        Measure("cold read of 5,000 entries, 20 ms a read", f"{median(took):.2f} s", "<= 2 s", median(took) <= 2, note)
    ]


def _body(number: int) -> Body:
    return MessageBody(role=Role.USER, blocks=(Text(text=f"{number} " + "x" * 200),), turn=1, exchange=number)
