"""Which rules of a person speak of a shell command, in its normal form."""

import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

from workflows.contracts.commands import UNKNOWN, Assignment, Place, Reach, Script, SimpleCommand, Word, Wrapper
from workflows.core.bash_patterns import STAR, Pattern, patterns_of

_SAFE_NAMES = frozenset({
    "LANG", "LANGUAGE", "TZ", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "COLUMNS", "LINES", "TERM", "CI", "NODE_ENV",
    "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE",
})  # fmt: skip
"""Variables whose assignment before a command changes nothing that matters (corpora README §3)."""

_GIT_VALUED = frozenset({
    "-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env", "--super-prefix",
    "--attr-source", "--list-cmds",
})  # fmt: skip
"""Options of git itself that take their value from the next word."""

_GLOB = re.compile(r"[*?\[\]]")


def is_safe_name(name: str) -> bool:
    """Whether an assignment of this variable before a command is overlooked by rules that allow."""
    return name in _SAFE_NAMES or name.startswith("LC_")


def covers_whole(content: str, script: Script) -> bool:
    """Whether an allow rule with this content covers the whole command by itself."""
    if is_text_of(content, script):
        return True
    found = covered(content, script)
    rest = (index for index in range(len(script.commands)) if index not in found)
    return bool(found) and all(is_constant_text(script, index) for index in rest)


def is_text_of(content: str, script: Script) -> bool:
    """Whether a rule without a star is the command letter by letter, operators and redirections included."""
    patterns = patterns_of(content)
    return bool(patterns) and content.strip() == script.text.strip() and all(p.is_literal for p in patterns)


def words_of(content: str) -> tuple[str, ...]:
    """The words that a rule spells out."""
    return tuple(word for pattern in patterns_of(content) for word in pattern.words if STAR not in word)


def covered(content: str, script: Script) -> frozenset[int]:
    """Indexes of the commands that an allow rule with this content covers; it never reaches past one of them."""
    patterns = patterns_of(content)
    if len(patterns) != 1 or not script.is_parsed or script.is_cut:
        return frozenset()
    pattern = patterns[0]
    found: set[int] = set()
    for index, command in enumerate(script.commands):
        is_run = command.reach != Reach.DIRECT and command.parent in found
        if (
            _covers(pattern, command, script)
            or _runs_covered(pattern, index, script)
            or (is_run and _speaks_for_inner(pattern, command, script))
        ):
            found.add(index)
    return frozenset(found)


def is_constant_text(script: Script, index: int) -> bool:
    """Whether a command is the `cat` of `$(cat <<'EOF' … EOF)`: no more than a way to write a text."""
    command = script.commands[index]
    return (
        command.argv == ("cat",)
        and command.is_plain
        and Place.SUBSTITUTION in command.places
        and not command.wrappers
        and not command.assignments
        and len(command.redirections) == 1
        and command.redirections[0].is_heredoc
        and command.redirections[0].target.is_constant
    )


def _covers(pattern: Pattern, command: SimpleCommand, script: Script) -> bool:
    if not command.words or command.name in script.functions or command.reach == Reach.DECODED:
        return False
    if not all(redirection.is_harmless for redirection in command.redirections):
        return False
    # `${x@P}` runs what its value holds.
    if any("operator" in word.expansions and "@P}" in word.source for word in command.words):
        return False
    return any(
        _names_program(pattern, words[assigned]) and pattern.fits([_shown(word) for word in words])
        for words, assigned in _allowable(pattern, command)
    )


def _allowable(pattern: Pattern, command: SimpleCommand) -> Iterator[tuple[tuple[Word, ...], int]]:
    """The ways in which an allow rule may name the command, and how many assignments each has in front."""
    is_clean = all(_is_harmless(one) for one in command.assignments)
    for first in range(len(command.wrappers) + 1):
        before, behind = command.wrappers[:first], command.wrappers[first:]
        if not is_clean or not all(_is_looked_through(wrapper) for wrapper in before):
            break
        if pattern.is_literal or all(_is_looked_through(wrapper) for wrapper in behind[1:]):
            named = (*(word for wrapper in behind for word in wrapper.words), *command.words)
            if not behind or pattern.head.startswith(behind[0].words[0].value):
                yield named, 0
    count = len(command.assignments)
    if count and pattern.literals >= count:
        assigned = tuple(_as_word(one) for one in command.assignments)
        if pattern.is_literal or not command.wrappers:
            yield (*assigned, *command.whole), count


def _as_word(assignment: Assignment) -> Word:
    operator = "+=" if assignment.appends else "="
    value = assignment.value
    return Word(
        source=f"{assignment.name}{operator}{value.source}",
        value=f"{assignment.name}{operator}{value.value}",
        is_plain=value.is_plain,
        may_split=False,
    )


def _names_program(pattern: Pattern, word: Word) -> bool:
    """Whether the command word is a bare literal, and a path only where the rule writes that path."""
    if not word.is_plain or UNKNOWN in word.value:
        return False
    if "/" not in word.value:
        return True
    named = pattern.words[0] if pattern.literals else ""
    if named:
        return word.value in pattern.words
    return "/" in pattern.head and ".." not in word.value.split("/")


def _is_harmless(assignment: Assignment) -> bool:
    return is_safe_name(assignment.name) and not assignment.is_element


def _is_looked_through(wrapper: Wrapper) -> bool:
    if wrapper.is_transparent:
        return all(_is_harmless(one) for one in wrapper.assignments)
    first = wrapper.words[0]
    is_bare_env = first.is_plain and first.value == "env" and len(wrapper.words) == 1 + len(wrapper.assignments)
    return is_bare_env and all(_is_harmless(one) for one in wrapper.assignments)


def _shown(word: Word) -> str:
    """A word as an allow rule sees it: what only the shell will know equals no literal."""
    value = word.value.replace("\0", "")
    return _GLOB.sub(UNKNOWN, value) if word.has_glob else value


def _runs_covered(pattern: Pattern, index: int, script: Script) -> bool:
    """Bare `xargs` before a command whose arguments the rule leaves free."""
    command = script.commands[index]
    if command.argv[:1] != ("xargs",) or not command.is_plain or command.wrappers or command.assignments:
        return False
    inner = [one for one in script.commands if one.parent == index and one.reach == Reach.INNER]
    given = command.argv[1:]
    is_bare = len(inner) == 1 and bool(given) and inner[0].argv[: len(given)] == given
    return (
        is_bare
        and pattern.leaves_arguments_free
        and all(redirection.is_harmless for redirection in command.redirections)
        and _covers(pattern, inner[0], script)
    )


def _speaks_for_inner(pattern: Pattern, command: SimpleCommand, script: Script) -> bool:
    """Whether a rule that covers a command covers what that one runs: its text stands in the rule, or is free."""
    carrier = script.commands[command.parent]
    is_given = carrier.upstream or any(redirection.is_heredoc for redirection in carrier.redirections)
    return pattern.leaves_arguments_free or (pattern.is_literal and not is_given)


def forbids(content: str, script: Script) -> bool:
    """Whether a deny or ask rule with this content speaks of any part of the command."""
    patterns = patterns_of(content, quoted_stars=True)
    if not patterns:
        return False
    at = 0
    for pattern in patterns:
        found = next((i for i in range(at, len(script.commands)) if _speaks_of(pattern, script.commands[i])), None)
        if found is None:
            return script.is_cut and all(_may_hold(pattern, script.text) for pattern in patterns)
        at = found + 1
    return True


def _speaks_of(pattern: Pattern, command: SimpleCommand) -> bool:
    return any(pattern.fits(words) for words in _spellings(pattern, command))


def _spellings(pattern: Pattern, command: SimpleCommand) -> Iterator[list[str]]:
    """All ways to read a command that a rule which forbids must know."""
    for first in range(len(command.wrappers) + 1):
        words = (*(word for wrapper in command.wrappers[first:] for word in wrapper.words), *command.words)
        if not words:
            continue
        rest = [word.value.replace("\0", "") for word in words[1:]]
        for name in _names(pattern, words[0]):
            yield [name, *rest]
            if name == "git":
                yield ["git", *_without_git_options(rest)]
    if command.assignments and "=" in pattern.head:
        assigned = [_as_word(one).value for one in command.assignments]
        yield [*assigned, *(word.value for word in command.whole)]
        yield assigned


def _names(pattern: Pattern, word: Word) -> Iterable[str]:
    """A command word as written, by its base name, as the rule's own path, and as what its stars may stand for."""
    value = word.value
    base = value.rsplit("/", 1)[-1]
    names = {value, base}
    wanted = pattern.words[0]
    if "/" in wanted and f"/{value.removeprefix('./')}".endswith(f"/{wanted.removeprefix('./')}"):
        names.add(wanted)
    if word.has_glob and fnmatchcase(wanted, base):
        names.add(wanted)
    return names


def _without_git_options(words: Sequence[str]) -> list[str]:
    """What follows git's own options."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in _GIT_VALUED else 1
    return list(words[at:])


def _may_hold(pattern: Pattern, text: str) -> bool:
    """Of a command too long to be read whole: whether all that the rule names stands somewhere in it."""
    return all(piece in text for word in pattern.words for piece in word.split(STAR))


def targets_of_cd(script: Script) -> tuple[str, ...]:
    """Folders that the command changes into, as far as they are known."""
    return tuple(
        command.argv[-1]
        for command in script.commands
        if command.name in {"cd", "pushd"} and len(command.words) > 1 and command.words[-1].is_constant
    )
