"""What the analysis of a command costs, on every line of the corpus and on ten kilobytes of the worst."""

import time

from activities.safety.bash.judge import judge
from activities.safety.bash.setting import Setting
from activities.safety.bash.work import LONGEST
from tests.bench.measure import Measure, median, quantile, spread
from tests.corpora.heavy import FAMILIES
from tests.corpora.score import lines

TARGET, LONG_TARGET = 1.0, 50.0
_ROUNDS, _TRIES = 3, 5


async def measures() -> list[Measure]:
    """Median of a corpus command; the slowest of the texts that are hard work, of ten kilobytes."""
    setting = Setting()
    texts = [line.command for line in lines()]
    for text in texts:
        judge(text, setting)
    each = [_milliseconds(text, setting) for _ in range(_ROUNDS) for text in texts]
    hard = {name: _least(made(LONGEST), setting) for name, made in FAMILIES.items()}
    middle, worst = median(each), max(hard, key=lambda name: hard[name])
    return [
        Measure(
            "analysis of a corpus command, median",
            f"{middle:.2f} ms",
            f"<= {TARGET:g} ms",
            middle <= TARGET,
            f"{spread(each, digits=2)}, 99 % below {quantile(each, 0.99):.1f} ms, longest {max(each):.1f} ms",
        ),
        Measure(
            "analysis of 10 KB, the worst of its kinds",
            f"{hard[worst]:.0f} ms",
            f"<= {LONG_TARGET:g} ms",
            hard[worst] <= LONG_TARGET,
            f"{worst}; {len(hard)} kinds, median {median(list(hard.values())):.0f} ms",
        ),
    ]


def _least(text: str, setting: Setting) -> float:
    """What it takes where nothing else disturbs it."""
    return min(_milliseconds(text, setting) for _ in range(_TRIES))


def _milliseconds(text: str, setting: Setting) -> float:
    began = time.thread_time()
    judge(text, setting)
    return (time.thread_time() - began) * 1000
