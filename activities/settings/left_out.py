"""LeftOut: the files that a search does not show, since a person's rules keep them back."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from activities.settings.places import places_of
from activities.settings.policy import current_policy
from activities.tool import Call
from workflows.contracts.permissions import Decision, Policy, SourcedRule
from workflows.core.path_rules import Bases, Keeper, keeper
from workflows.core.permission_rules import parse, speaks_of


@dataclass
class LeftOut:
    """Which files a search passes over, and how many it did."""

    rules: tuple[tuple[SourcedRule, Keeper], ...] = ()
    counts: dict[SourcedRule, int] = field(default_factory=dict)

    def rule_of(self, path: str, real: str = "") -> SourcedRule | None:
        """The rule that keeps this file back, by its name or by where it leads; None when it may be shown."""
        if not self.rules:
            return None
        path = os.path.normpath(path)
        names = (path, real) if real and real != path else (path,)
        return next((rule for rule, kept in self.rules if any(kept.forbids(name) for name in names)), None)

    def is_hidden(self, path: str) -> bool:
        """Whether it is not to be shown."""
        return self.rule_of(path) is not None

    def count(self, path: str, real: str = "") -> bool:
        """The same, and it is counted."""
        rule = self.rule_of(path, real)
        if rule is not None:
            self.counts[rule] = self.counts.get(rule, 0) + 1
        return rule is not None

    def lines(self) -> list[str]:
        """What is told of it: how many files, and by which rule of which file; never their names.

        In the order of the rules: that of the search would tell of what was found in them.
        """
        told = dict.fromkeys(rule for rule, _ in self.rules if rule in self.counts)
        return [_line(rule, self.counts[rule]) for rule in told]


def left_out(call: Call, tool: str, paths: Sequence[Path]) -> LeftOut:
    """What a search of these paths leaves out, by the rules that count now.

    Files that a deny rule speaks of; those of an ask rule too, unless it was asked about this very search.
    """
    places = places_of(call.world)
    policy = current_policy(places, call.own_folder or call.workspace, call.settings)
    asked = [os.path.normpath(one) for path in paths for one in (path, path / "-")]
    return LeftOut(keepers(policy, tool, Bases(str(call.workspace), str(places.user)), asked))


def keepers(
    policy: Policy, tool: str, bases: Bases, asked: Sequence[str] = ()
) -> tuple[tuple[SourcedRule, Keeper], ...]:
    """The rules that keep files from this tool, ready for many paths; no ask rule that speaks of what was asked."""
    kept: list[tuple[SourcedRule, Keeper]] = []
    for rule in policy.rules:
        parsed = parse(rule.text)
        if rule.action == Decision.ALLOW or parsed is None or not parsed.content or not speaks_of(parsed, tool):
            continue
        made = keeper(parsed.content, bases, rule.root)
        if rule.action == Decision.DENY or not any(map(made.forbids, asked)):
            kept.append((rule, made))
    return tuple(kept)


def _line(rule: SourcedRule, count: int) -> str:
    files = "1 file was" if count == 1 else f"{count:,} files were"
    where = f" of {rule.file}" if rule.file else ""
    hint = "" if rule.action == Decision.DENY else "; name one as path, and the person is asked"
    return f"[{files} left out: {rule.action} rule {rule.text}{where}{hint}]"
