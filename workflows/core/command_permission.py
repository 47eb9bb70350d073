"""proof + rules + accepted edits, sub-command by sub-command -> may this whole command run?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from workflows.contracts.commands import Judgement, Reason, Script, Span
from workflows.contracts.permissions import Decision, Policy, SourcedRule
from workflows.core import bash_rules
from workflows.core.accepted_edits import is_accepted_edit, is_below
from workflows.core.path_rules import allows_paths
from workflows.core.permission_rules import parse
from workflows.core.rule_matching import Asked, named_paths

_SILENCED_BY_NAME = "exec_flag"
_SILENCED_BY_ALL = "quote_desync"


@dataclass(frozen=True)
class Cover:
    """What of a command is allowed, and by what."""

    by_rule: Mapping[int, tuple[SourcedRule, ...]]
    """Of each sub-command the rules that cover it."""
    edits: frozenset[int] = frozenset()
    """Sub-commands that are accepted edits."""
    unsaid: tuple[Reason, ...] = ()
    """Asks that nothing silences, sticky ones first."""
    is_whole: bool = False
    """Every sub-command is covered, or read-only by itself."""
    whole_rule: SourcedRule | None = None
    """The rule that covers all of it alone."""
    missing: tuple[int, ...] = field(default=())
    """Sub-commands that nothing covers."""

    @property
    def rules(self) -> tuple[SourcedRule, ...]:
        """The rules that take part, each once, in the order of the command."""
        if self.whole_rule:
            return (self.whole_rule,)
        return tuple(dict.fromkeys(rules[0] for _, rules in sorted(self.by_rule.items())))

    @property
    def is_allowed(self) -> bool:
        """Whether it may run without a question."""
        return self.is_whole and not self.unsaid

    @property
    def sticky(self) -> Reason | None:
        """The first ask that no rule silences."""
        return next((reason for reason in self.unsaid if reason.sticky), None)


def cover(asked: Asked, judged: Judgement, policy: Policy, *, accepts_edits: bool) -> Cover:
    """What allow rules, the proof of read-only and accepted edits make of a command together."""
    script = judged.script
    rules = [rule for rule in policy.rules if rule.action == Decision.ALLOW]
    whole = next((rule for rule in rules if _covers_all(rule, script)), None)
    by_rule = _by_rule(rules, asked, script)
    edits = _edits(asked, script) if accepts_edits else frozenset[int]()
    given = set(by_rule) | edits | ({*range(len(script.commands))} if whole else set())
    missing = tuple(
        place
        for place in range(len(script.commands))
        if place not in given and place not in judged.proved and not bash_rules.is_constant_text(script, place)
    )
    answers = _Answers(script, by_rule, edits, whole, missing)
    unsaid = [reason for reason in judged.reasons if reason.action == Decision.ASK and not answers.silence(reason)]
    is_whole = bool(script.commands or whole) and not missing and (bool(given) or judged.is_proved)
    return Cover(
        by_rule=by_rule,
        edits=edits,
        unsaid=tuple(sorted(unsaid, key=lambda reason: not reason.sticky)),
        is_whole=is_whole,
        whole_rule=whole,
        missing=missing,
    )


def _covers_all(sourced: SourcedRule, script: Script) -> bool:
    rule = parse(sourced.text)
    if rule is None or rule.tool != "Bash":
        return False
    return not rule.content or bash_rules.is_text_of(rule.content, script)


def _by_rule(rules: Sequence[SourcedRule], asked: Asked, script: Script) -> dict[int, tuple[SourcedRule, ...]]:
    found: dict[int, tuple[SourcedRule, ...]] = {}
    for sourced in rules:
        rule = parse(sourced.text)
        if rule is None or not rule.content:
            continue
        places = frozenset[int]()
        if rule.tool == "Bash":
            places = bash_rules.covered(rule.content, script)
        elif rule.tool == "Cd":
            places = _changes_into(rule.content, sourced.root, asked, script)
        for place in places:
            found[place] = (*found.get(place, ()), sourced)
    return found


def _changes_into(content: str, root: str, asked: Asked, script: Script) -> frozenset[int]:
    """`cd` to a folder that a Cd rule names; only the first of a command, since the next counts from there."""
    for place, command in enumerate(script.commands):
        if command.name == "cd":
            is_named = (
                command.is_plain and not command.wrappers and len(command.words) == 2 and command.words[1].is_constant
            )
            paths = named_paths([command.argv[-1]], asked)
            return frozenset({place}) if is_named and allows_paths(content, paths, asked.bases, root) else frozenset()
    return frozenset()


def _edits(asked: Asked, script: Script) -> frozenset[int]:
    if not script.is_parsed or script.is_cut or script.functions:
        return frozenset()
    found: set[int] = set()
    moves = not is_below(asked.ground.cwd, asked.folders)
    for place, command in enumerate(script.commands):
        if is_accepted_edit(command, asked.ground, moves=moves):
            found.add(place)
        moves = moves or command.name in {"cd", "pushd", "popd"}
    return frozenset(found)


@dataclass(frozen=True)
class _Answers:
    """What may answer an ask of the static layers."""

    script: Script
    by_rule: Mapping[int, tuple[SourcedRule, ...]]
    edits: frozenset[int]
    whole: SourcedRule | None
    missing: Sequence[int]

    def silence(self, reason: Reason) -> bool:
        """Whether an allow rule or an accepted edit covers the very sub-command that is asked about."""
        about = _about(reason.span, self.script) or range(len(self.script.commands))
        rules = [rule for place in about for rule in self.by_rule.get(place, ())]
        rules += [self.whole] if self.whole else []
        if reason.sticky:
            if reason.kind == _SILENCED_BY_ALL:
                return bool(rules) and not self.missing
            is_named = reason.kind == _SILENCED_BY_NAME and bool(reason.flag)
            return is_named and any(_names(rule.text, reason.flag) for rule in rules)
        if self.whole:
            return True
        return bool(about) and all(place in self.by_rule or place in self.edits for place in about)


def _names(rule: str, flag: str) -> bool:
    found = parse(rule)
    return found is not None and flag in bash_rules.words_of(found.content)


def _about(span: Span, script: Script) -> tuple[int, ...]:
    """The sub-commands that a reason's place belongs to: the smallest around it, else all that it touches."""
    if span.end <= span.start:
        return ()
    around = [
        (command.span.end - command.span.start, place)
        for place, command in enumerate(script.commands)
        if command.span.start <= span.start and span.end <= command.span.end
    ]
    if around:
        size = min(around)[0]
        return tuple(place for length, place in around if length == size)
    return tuple(
        place
        for place, command in enumerate(script.commands)
        if command.span.start < span.end and span.start < command.span.end
    )
