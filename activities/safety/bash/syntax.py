"""A command's text to its normal form: two readings, one list of simple commands, the inner ones included."""

from collections.abc import Mapping

from activities.safety.bash.build import Builder
from activities.safety.bash.fallback import read_tokens
from activities.safety.bash.grammar import read_tree
from activities.safety.bash.level import follow
from activities.safety.bash.lexer import Lexer
from activities.safety.bash.raw import OVERRUN, Reading
from activities.safety.bash.scan import TOO_DEEP
from activities.safety.bash.work import LONGEST, MOST_TOKENS
from workflows.contracts.commands import Script

MOST_COMMANDS = 50

_UNCOMPARED = {"while", "case", "select", "function", "arithmetic"}


def parse(text: str, known: Mapping[str, str] | None = None) -> Script:
    """The normal form of a text; never raises. `known` holds variables whose values are known: HOME, PWD, `~name`."""
    builder = Builder(text, dict(known or {}), read, follow)
    builder.build()
    commands = tuple(builder.commands)
    problem = builder.problem
    is_cut = builder.is_cut or len(text) > LONGEST or sum(one.reach == "direct" for one in commands) > MOST_COMMANDS
    if not problem and is_cut:
        problem = f"it is longer or deeper than is analysed ({LONGEST:,} characters, {MOST_COMMANDS} commands)"
    return Script(
        text,
        commands,
        is_parsed=not builder.used_fallback,
        problem=problem,
        loops=tuple(builder.loops),
        functions=tuple(builder.functions),
        features=frozenset(builder.features),
        is_cut=is_cut,
    )


def read(text: str, *, is_short: bool) -> tuple[Reading, bool]:
    """The raw commands of a text, and whether the grammar's reading is trusted."""
    most = MOST_TOKENS * max(len(text), LONGEST) // LONGEST
    lexer = Lexer(text, most=most)
    try:
        lexer.read()
    except RecursionError:
        lexer.fails(TOO_DEEP)
    tokens = read_tokens(text, lexer)
    if lexer.count > most:
        tokens.problem = tokens.problem or f"it holds more than {most:,} words and signs"
        tokens.features.add(OVERRUN)
    if not is_short:
        tokens.problem = tokens.problem or f"it is longer than {LONGEST:,} characters"
    elif len(tokens.raws) > MOST_COMMANDS + 10 or sum(one.source == "(" for one in lexer.tokens) > MOST_COMMANDS:
        tokens.problem = tokens.problem or f"it holds more than {MOST_COMMANDS} commands"
    if tokens.problem == TOO_DEEP:
        tokens.features.add(OVERRUN)
    if tokens.problem:
        return tokens, False
    try:
        tree = read_tree(text, lexer.heredocs)
    except RecursionError:
        tokens.problem = TOO_DEEP
        return tokens, False
    problem = tree.problem
    is_comparable = tree.features.isdisjoint(_UNCOMPARED) and tokens.features.isdisjoint(_UNCOMPARED)
    if not problem and is_comparable and sorted(tree.cuts) != sorted(tokens.cuts):
        problem = "two readings of it find different words"
    if not problem:
        return tree, True
    # Neither reading is sure: the checks see what either of them finds.
    tokens.problem = problem
    tokens.features |= tree.features
    seen = {(raw.start, tuple(raw.words)) for raw in tokens.raws}
    tokens.raws.extend(raw for raw in tree.raws if (raw.start, tuple(raw.words)) not in seen and not raw.loop)
    return tokens, False
