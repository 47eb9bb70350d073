"""Which rules *always allow* saves: literal ones, at most five, and only if they would have answered the question."""

from collections.abc import Iterator, Sequence

from workflows.contracts.commands import Judgement, Reach, SimpleCommand, Word
from workflows.contracts.permissions import Decision, Finding, Mode, Policy, Source, SourcedRule, Verdict
from workflows.core.bash_patterns import quoted
from workflows.core.path_rules import literal
from workflows.core.permission_rules import EDITS, READS, parse
from workflows.core.permissions import Asked, decide, effective

MOST = 5
MOST_LETTERS = 160
"""Of a rule that is saved by one key."""
_ANSWERABLE = frozenset({"mode", "finding", "classifier", "limit"})
_UNTIL_THE_END = EDITS | READS


def is_short(rules: Sequence[str]) -> bool:
    """Whether a person can read these rules at a glance, before one key saves them."""
    return all(len(rule) <= MOST_LETTERS for rule in rules)


def suggested_rules(
    asked: Asked, mode: Mode, policy: Policy, verdict: Verdict, findings: tuple[Finding, ...] = ()
) -> tuple[str, ...]:
    """The rules that a person's *always* saves for this question; none where no rule would answer it next time."""
    if verdict.decision != Decision.ASK or verdict.by not in _ANSWERABLE or asked.needs_person or policy.only_managed:
        return ()
    rules = tuple(dict.fromkeys(_rules(asked)))
    if not rules or len(rules) > MOST:
        return ()
    given = (SourcedRule(text=rule, action=Decision.ALLOW, source=destination(rule)) for rule in rules)
    with_them = policy.model_copy(update={"rules": (*policy.rules, *given)})
    again = decide(asked, _asking(mode, policy), with_them, findings)
    return rules if again.decision == Decision.ALLOW else ()


def _asking(mode: Mode, policy: Policy) -> Mode:
    """A mode in which allow rules are looked at as in this one, and a question is a question."""
    mode = effective(mode, policy)
    return Mode.DEFAULT if mode in {Mode.DONT_ASK, Mode.AUTO} else mode


def destination(rule: str) -> Source:
    """Where such a rule is kept: edits and reads until the session ends, all others in the folder's local file."""
    parsed = parse(rule)
    return Source.SESSION if parsed is not None and parsed.tool in _UNTIL_THE_END else Source.LOCAL


def _rules(asked: Asked) -> Iterator[str]:
    if asked.tool == "Bash":
        yield from _of_command(asked.judged)
    elif asked.tool in EDITS | READS:
        for path in asked.paths:
            for one in path.both:
                content = literal(one)
                yield f"{'Edit' if asked.tool in EDITS else 'Read'}({content})" if content else ""
    elif asked.tool == "WebFetch":
        yield f"WebFetch(domain:{asked.host})"
    else:
        yield f"{asked.tool}({quoted(asked.content)})" if asked.content else asked.tool


def _of_command(judged: Judgement | None) -> Iterator[str]:
    """A literal rule for each sub-command that is not proved by itself; of a proved compound, for each."""
    if judged is None:
        return
    commands = judged.script.commands
    missing = [place for place in range(len(commands)) if place not in judged.proved] or range(len(commands))
    for place in missing:
        command = commands[place]
        if command.reach == Reach.DIRECT:
            yield _literal(command)


def _literal(command: SimpleCommand) -> str:
    """The rule that means this one argv; an empty text, which is no rule, where it is not known word by word."""
    words = [f"{one.name}{'+=' if one.appends else '='}{quoted(one.value.value)}" for one in command.assignments]
    whole: tuple[Word, ...] = command.whole
    known = all(word.is_constant for word in whole) and all(one.value.is_constant for one in command.assignments)
    return f"Bash({' '.join([*words, *(quoted(word.value) for word in whole)])})" if known and whole else ""
