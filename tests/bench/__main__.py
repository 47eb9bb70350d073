"""`python -m tests.bench [GROUP ...]`: measure, and print one table: measure, result, target, met or missed."""

import asyncio
import importlib
import sys
import time
import traceback

from tests.bench.measure import Measure, not_measured, table

GROUPS = (
    "overhead",
    "long",
    "first_byte",
    "recovery",
    "starts",
    "headless",
    "cold_read",
    "early_start",
    "sandbox",
    "analysis",
)
"""Modules of this folder; each has `measures()`."""


def main(words: list[str]) -> int:
    """Run the named groups, or all; 2 for a group that does not exist, 1 when one could not be run."""
    if unknown := set(words) - set(GROUPS):
        print(f"there is no group {', '.join(sorted(unknown))}; there are {', '.join(GROUPS)}", file=sys.stderr)
        return 2
    found: list[Measure] = []
    broken = 0
    for name in words or GROUPS:
        began = time.monotonic()
        try:
            found += asyncio.run(importlib.import_module(f"tests.bench.{name}").measures())
        except Exception as error:  # noqa: BLE001 - the other groups are measured all the same
            traceback.print_exc()
            broken += 1
            found.append(not_measured(name, "", f"{type(error).__name__}: {error}"))
        print(f"{name}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    print(table(found))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
