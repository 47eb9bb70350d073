"""The proof that a command only reads: program by program, flag by flag, path by path. What is not proved is asked."""

import re
from collections.abc import Iterator

from activities.safety.bash import git, programs, xargs
from activities.safety.bash.names import SHELL_STATE
from activities.safety.bash.options import parse
from activities.safety.bash.paths import is_inside
from activities.safety.bash.reader import Reader
from activities.safety.bash.reading import (
    is_near,
    is_pattern,
    is_quoted,
    path_operands,
    patterns_in,
    readable,
    unreadable,
)
from activities.safety.bash.tables import READERS, SAFE_ENVIRONMENT, SAFE_VARIABLES, VERSION_FLAGS
from activities.safety.bash.view import Act, Refusal, View
from workflows.contracts.commands import UNKNOWN, Place, Reach, Word

_PLACES = {
    Place.GROUP,
    Place.SUBSHELL,
    Place.NEGATION,
    Place.IF,
    Place.FOR,
    Place.SUBSTITUTION,
    Place.PROCESS_IN,
    Place.HEREDOC,
}
_TAKE_SUBSTITUTIONS = {"echo", "printf"}
_TAKE_PROCESSES = {"diff", "comm", "cat", "paste", "join", "wc"}
_LOOP_NAME = re.compile(r"[a-z_][a-z0-9_]*", re.ASCII)
_GLOB = re.compile(r"[*?\[]")
_ELSEWHERE = re.compile(r"(?:^|:)/|\.\.")
"""A locale, a zone or a terminal of another folder: `LANGUAGE=../../x` has a program take its messages from there."""
_KNOWN = r"\$\{#?(?:HOME|PWD|USER|SHELL|LANG|LOGNAME)"
_CUT = re.compile(
    rf"(?:[\w./:@%+=,-]|{_KNOWN}(?:##?|%%?)?[\w.*?/-]*\}})+"
    rf"|\"(?:[\w./:@%+=, -]|{_KNOWN}(?:(?:##?|%%?|//?|:-|:\+|\^\^?|,,?)[\w.*?/ -]*|:\d+(?::\d+)?)?\}})+\"",
    re.ASCII,
)
"""A known variable, cut or changed in a way that runs nothing: `${PWD##*/}`."""


def refusals(view: View) -> Iterator[tuple[Act, Refusal]]:
    """Each command that is not proved, and why; those that a proved xargs runs are proved with it."""
    covered: set[int] = set()
    for act in view.acts:
        if act.index in covered:
            continue
        refusal = refuse(act)
        if refusal is None and act.name == "xargs":
            covered.update(one.index for one in act.below)
        if refusal is not None:
            yield act, refusal


def script_refusal(view: View) -> str:
    """Why the composition as a whole is not followed."""
    script = view.script
    if script.problem:
        return script.problem
    if script.features:
        return f"it holds {', '.join(sorted(script.features))}, whose course is not followed"
    for loop in script.loops:
        if not _LOOP_NAME.fullmatch(loop.variable) or loop.variable.endswith("_proxy"):
            return f"its loop sets {loop.variable}"
        if any(
            UNKNOWN in word.value or word.may_split or word.expansions & {"command", "operator", "process-in"}
            for word in loop.items
        ):
            return "it loops over words that only the shell will know"
    if script.loops and any(act.command.parent < 0 and Place.SUBSTITUTION in act.command.places for act in view.acts):
        return "it loops over what another command prints"
    moves = any(act.name in {"cd", "pushd"} for act in view.acts)
    if moves and any(act.name == "git" for act in view.acts):
        return "git runs after cd: another folder's configuration would count"
    return ""


def refuse(act: Act) -> Refusal | None:
    """Why one command, taken by itself, is not proved to read only."""
    command = act.command
    if command.assignments and not command.words:
        return Refusal("environment", "it sets a variable of the shell")
    if command.reach != Reach.DIRECT:
        return Refusal("program", "another command runs it")
    if not set(command.places) <= _PLACES:
        return Refusal("place", "it stands where its course is not followed")
    bad = _environment(act) or _redirections(act)
    if bad:
        return bad
    if not command.words:
        return None
    if not command.is_plain and act.values[0] not in {"[", "[[", ":"}:
        return Refusal("words", "the command word is not a plain name")
    if act.values[0] != command.words[0].source or act.values[0] != act.values[0].lower():
        return Refusal("words", "the command word is not a plain name")
    return _vanished(act) or _words(act) or _program(act)


def _vanished(act: Act) -> Refusal | None:
    """A substitution that prints nothing leaves no word that could tell of it."""
    items = (*act.command.words, *(one.target for one in act.command.redirections))
    if act.name in _TAKE_SUBSTITUTIONS or any("command" in one.expansions for one in items):
        return None
    held = [act.view.acts[one].command.places[-1:] for one in act.view.held.get(act.index, ())]
    if (Place.SUBSTITUTION,) in held:
        return Refusal("substitution", f"{act.name} is given what another command prints")
    return None


def _environment(act: Act) -> Refusal | None:
    command = act.command
    for wrapper in command.wrappers:
        if not wrapper.is_transparent:
            return Refusal("wrapper", f"{wrapper.name} runs the rest in its own way")
    assignments = [*command.assignments, *(one for wrapper in command.wrappers for one in wrapper.assignments)]
    for one in assignments:
        safe = one.name in SAFE_ENVIRONMENT or re.fullmatch(r"LC_[A-Z]+", one.name)
        if _ELSEWHERE.search(one.value.value):
            return Refusal("environment", f"{one.name} may name files that the program loads")
        if not safe or not one.value.is_constant or one.value.is_free or one.appends or one.is_element:
            return Refusal("environment", f"{one.name} may change what the program does")
    return None


def _redirections(act: Act) -> Refusal | None:
    for one in act.command.redirections:
        if one.is_copy:
            continue
        if one.is_heredoc:
            if one.target.expansions & {"variable", "operator", "arithmetic"} and not _known(one.target):
                return Refusal("redirection", "its heredoc expands to what only the shell will know")
            if "command" in one.target.expansions and act.name not in {"cat", "echo"}:
                return Refusal("redirection", "its heredoc holds what another command prints")
            continue
        target = one.target
        if one.fd.startswith("{") or one.operator == "<>" or not target.is_constant:
            return Refusal("redirection", f"{one.operator} {target.source} is not a plain file to read")
        if one.operator == "<":
            if bad := unreadable(act, target.value):
                return bad
        elif target.value != "/dev/null" or one.operator not in {">", "&>"}:
            return Refusal("redirection", f"it writes to {target.value}")
    return None


def _known(word: Word) -> bool:
    return (
        not word.expansions & {"operator", "arithmetic"}
        and UNKNOWN not in word.value
        and set(word.variables) <= SAFE_VARIABLES
    )


def _words(act: Act) -> Refusal | None:
    known = SAFE_VARIABLES | {loop.variable for loop in act.view.script.loops}
    for place, word in enumerate(act.command.words[1:], 1):
        marks = word.expansions
        is_told = act.name == "echo" or (act.name == "printf" and place > 1)
        if is_told and "operator" in marks and _CUT.fullmatch(word.source):
            continue
        if marks & {"process-out", "arithmetic", "operator"}:
            return Refusal("substitution", f"{word.source} is only known to the shell")
        if "process-in" in marks:
            if act.name not in _TAKE_PROCESSES:
                return Refusal("substitution", f"{act.name} is given what another command prints")
            continue
        is_output = not marks.isdisjoint({"command", "text"})
        if is_output and not is_told:
            return Refusal("substitution", f"{word.source} could become a flag or a path")
        is_open = UNKNOWN in word.value or word.may_split
        if not set(word.variables) <= known or (is_open and not is_output and act.name != "xargs"):
            return Refusal("words", f"{word.source} is only known to the shell")
        patterns = patterns_in(act, word)
        if patterns and (bad := readable(act, patterns, is_listing=True) or _name_of_file(act, word, place)):
            return bad
    return None


def _name_of_file(act: Act, word: Word, place: int) -> Refusal | None:
    """Why the names of files that the shell puts in place of a word could be more than files to read."""
    if act.name in _TAKE_SUBSTITUTIONS and (act.name, place) != ("printf", 1):
        return None
    if act.name == "printf":
        return Refusal("words", f"a file that {word.source} names would be the format")
    # Whatever `--include=*.py` matches begins with `--include=`.
    if act.name in {"grep", "egrep", "fgrep"} and word.value.startswith(("--include=", "--exclude=")):
        return None
    if word.value.startswith("-"):
        return Refusal("words", f"{word.source} could become a flag")
    needs_folder = act.name in {"git", "tar", "jq"} or _reader_needs(act)
    if needs_folder and not re.match(r"[^*?\[]*/", word.value):
        return Refusal("words", f"{word.source} could become a flag: write ./{word.source}")
    return None


def _reader_needs(act: Act) -> bool:
    reader = READERS.get(act.name)
    return act.name == "find" or (reader is not None and reader.operands.startswith("!"))


def _program(act: Act) -> Refusal | None:  # noqa: PLR0911 - one case a program
    name, values = act.name, act.values
    if name == "xargs":
        return xargs.refused(act)
    if len(values) == 2 and values[1] in VERSION_FLAGS.get(name, ()):
        return None
    if name == "git":
        if not act.view.setting.is_git_trusted:
            return Refusal("program", "this repository's configuration may run programs")
        bad, paths = git.judged(values)
        if bad:
            return Refusal(
                "flag" if " -" in bad else "program", f"{bad} is not proved to read only", bad.rsplit(" ", 1)[-1]
            )
        return readable(act, paths, is_listing=True)
    special = programs.SPECIAL.get(name)
    if special is not None:
        text, paths = special(values)
        if text:
            return Refusal("flag", text, text.split(" ", 1)[0] if text.startswith("-") else "")
        return readable(act, paths)
    reader = READERS.get(name)
    if name in SHELL_STATE:
        return Refusal("environment", f"{name} changes the shell for what comes after")
    if reader is None:
        return Refusal("program", f"{name} is not known to read only")
    return _read(act, reader)


def _read(act: Act, reader: Reader) -> Refusal | None:
    if act.name == "echo":
        return readable(act, [])
    parsed = parse(act.values, reader.form)
    if parsed.unknown:
        return Refusal("flag", f"{act.name} {parsed.unknown} is not known to read only", parsed.unknown)
    operands = [act.values[one] for one in parsed.operands]
    words = [act.command.words[one] for one in parsed.operands]
    if len(operands) > reader.most or (
        reader.most == 1 and any(is_pattern(one) and not is_quoted(one) for one in words)
    ):
        return Refusal("flag", f"{act.name} writes to its second file")
    if reader.operands.removeprefix("!") in {"awk", "jq", "sed"} and words and patterns_in(act, words[0]):
        return Refusal("words", f"a file that {words[0].source} names would be the program")
    text = programs.judged(act.name, reader, parsed, operands)
    if text:
        return Refusal("secret" if "secret" in text else "flag", text)
    paths = [value for name, value in parsed.options if name in reader.paths]
    paths += path_operands(reader, parsed, operands)
    if act.name == "cd":
        inside = [path for one in operands for path in act.possible(one)]
        ok = (
            operands
            and inside
            and not operands[0].startswith(("-", "+"))
            and all(is_inside(path, act.view.setting) for path in inside)
        )
        return None if ok and not _GLOB.search(operands[0]) else Refusal("path", "it leaves the workspace")
    is_deep = parsed.has(*reader.recursive) or "always" in reader.recursive
    if is_deep and (far := next((one for one in paths if not is_near(act, one)), "")):
        return Refusal("path", f"{far} may hold secrets somewhere below it")
    return readable(act, paths, is_listing=reader.is_listing)
