"""`python -m tests.corpora.score`: how the command analysis and the rule matcher do on the corpora."""

import json
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from activities.safety.bash.judge import judge
from activities.safety.bash.setting import Setting
from activities.safety.bash.syntax import parse
from workflows.contracts.permissions import Decision
from workflows.core.rule_matching import covers_alone

FOLDER = Path(__file__).parent
STRETCH = {
    *("safe_expansion", "safe_substitution", "process_substitution", "control_flow", "xargs_readonly", "glob_safe"),
    "tricky_literal",
}
"""Kinds for which asking is safe; they are counted apart."""


@dataclass(frozen=True)
class Line:
    """One command of the corpus."""

    id: str
    command: str
    verdict: Decision
    kind: str


@dataclass
class Score:
    """The four figures, each with its misses."""

    false_allow: list[Line] = field(default_factory=list)
    missed_deny: list[Line] = field(default_factory=list)
    false_ask: list[Line] = field(default_factory=list)
    false_ask_stretch: list[Line] = field(default_factory=list)
    false_deny: list[Line] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def misses(self) -> Iterator[tuple[str, Line]]:
        """Every miss with the figure that it counts in."""
        for name in ("false_allow", "missed_deny", "false_ask", "false_ask_stretch", "false_deny"):
            for line in getattr(self, name):
                yield name.replace("_", " "), line

    def share(self, misses: list[Line], kind: str) -> float:
        """Misses among all lines of their kind."""
        return len(misses) / max(self.counts.get(kind, 0), 1)


def _rows(*names: str) -> list[dict[str, Any]]:
    return [json.loads(line) for name in names for line in (FOLDER / name).read_text("utf-8").splitlines()]


def lines(*names: str) -> list[Line]:
    """The corpus, or that of the files with these names."""
    rows = _rows(*(names or ("commands.jsonl",)))
    return [Line(row["id"], row["command"], Decision(row["verdict"]), row["kind"]) for row in rows]


def score(corpus: list[Line]) -> Score:
    """How the analysis judges these lines."""
    found, setting = Score(), Setting()
    for line in corpus:
        began = time.perf_counter()
        verdict = judge(line.command, setting).verdict
        found.seconds.append(time.perf_counter() - began)
        group = "stretch" if line.kind in STRETCH else "allow" if line.verdict == Decision.ALLOW else "other"
        found.counts[group] = found.counts.get(group, 0) + 1
        _count(found, line, verdict)
    return found


def _count(found: Score, line: Line, verdict: Decision) -> None:
    if verdict == line.verdict:
        return
    if verdict == Decision.ALLOW:
        found.false_allow.append(line)
    if line.verdict == Decision.DENY:
        found.missed_deny.append(line)
    elif verdict == Decision.DENY:
        found.false_deny.append(line)
    elif line.verdict == Decision.ALLOW:
        (found.false_ask_stretch if line.kind in STRETCH else found.false_ask).append(line)


def rule_misses() -> tuple[list[str], int]:
    """Rules that the matcher reads otherwise than the corpus, told; and how many there are in all."""
    rows = _rows("rules.jsonl", "more_rules.jsonl")
    known = Setting().known()
    missed = [
        f"{row['id']} as {row['as']}: {row['rule']!a} on {row['command']!a} should be {row['match']}"
        for row in rows
        if covers_alone(row["rule"], Decision(row["as"]), parse(row["command"], known)) != row["match"]
    ]
    return missed, len(rows)


def main() -> int:
    """Print the figures and every miss; 1 where a target is missed."""
    found = score(lines("commands.jsonl", "more_commands.jsonl"))
    missed, rules = rule_misses()
    asked, stretch = found.share(found.false_ask, "allow"), found.share(found.false_ask_stretch, "stretch")
    others = sum(found.counts.values()) or 1
    denied = len(found.false_deny) / others
    print(f"false allow   {len(found.false_allow):4}        target 0")
    print(f"missed deny   {len(found.missed_deny):4}        target 0")
    print(f"false ask     {len(found.false_ask):4} {asked:6.1%} target < 3%, of {found.counts.get('allow', 0)}")
    stretched = found.counts.get("stretch", 0)
    print(f"  stretch     {len(found.false_ask_stretch):4} {stretch:6.1%} target < 40%, of {stretched}")
    print(f"false deny    {len(found.false_deny):4} {denied:6.1%} target < 1%, of {others}")
    print(f"rules missed  {len(missed):4}        target 0, of {rules}")
    print(f"median        {statistics.median(found.seconds) * 1000:7.2f} ms a command")
    for name, line in found.misses:
        print(f"  {name}: {line.id} {line.kind} {line.command!a}")
    for text in missed:
        print(f"  rule: {text}")
    bad = found.false_allow or found.missed_deny or missed
    return 1 if bad or asked >= 0.03 or stretch >= 0.4 or denied >= 0.01 else 0


if __name__ == "__main__":
    sys.exit(main())
