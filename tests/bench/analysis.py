"""What the analysis of a command costs, on every line of the corpus and on ten kilobytes."""

import time

from activities.safety.bash.judge import judge
from activities.safety.bash.setting import Setting
from activities.safety.bash.work import LONGEST
from tests.bench.measure import Measure, median, quantile, spread
from tests.corpora.score import lines

TARGET, LONG_TARGET = 1.0, 50.0
_ROUNDS = 3
_LONG = (
    "ls -la src && ",
    "grep -rn 'a b' src | head; ",
    "for i in 1 2; do cat $i; done; ",
    'echo "$(pwd)"; ',
    "x" * 40 + " ",
)


async def measures() -> list[Measure]:
    """Median of a corpus command; the slowest of a few texts of ten kilobytes."""
    setting = Setting()
    texts = [line.command for line in lines()]
    for text in texts:
        judge(text, setting)
    each = [_milliseconds(text, setting) for _ in range(_ROUNDS) for text in texts]
    long = [_milliseconds((piece * LONGEST)[:LONGEST], setting) for piece in _LONG]
    middle, slowest = median(each), max(long)
    return [
        Measure(
            "analysis of a corpus command, median",
            f"{middle:.2f} ms",
            f"<= {TARGET:g} ms",
            middle <= TARGET,
            f"{spread(each, digits=2)}, 99 % below {quantile(each, 0.99):.1f} ms, longest {max(each):.1f} ms",
        ),
        Measure("analysis of 10 KB, slowest", f"{slowest:.0f} ms", f"<= {LONG_TARGET:g} ms", slowest <= LONG_TARGET),
    ]


def _milliseconds(text: str, setting: Setting) -> float:
    began = time.thread_time()
    judge(text, setting)
    return (time.thread_time() - began) * 1000
