"""Git's writers: which commands write git's configuration by our own reading, and to which of them it is opened."""

from dataclasses import dataclass

from activities.safety.bash.git import FRONT
from activities.safety.bash.syntax import parse
from activities.safety.sandbox.named_hosts import is_allowed_by_name
from workflows.contracts.commands import Place, Reach, Script, SimpleCommand
from workflows.contracts.permissions import Verdict

_BESIDE = frozenset({
    "cd", "echo", "printf", "true", "false", ":", "test", "[", "pwd", "head", "tail", "cat", "grep", "wc", "sort",
    "uniq", "cut", "tr", "ls", "date",
})  # fmt: skip
"""Programs that may stand in the same command: they run nothing and write nothing."""
_VERBS = frozenset({
    "add", "branch", "checkout", "cherry-pick", "commit", "config", "describe", "diff", "fetch", "for-each-ref", "init",
    "log", "ls-files", "ls-remote", "ls-tree", "merge", "mv", "pull", "push", "remote", "reset", "restore", "rev-list",
    "rev-parse", "revert", "rm", "show", "sparse-checkout", "stash", "status", "submodule", "switch", "symbolic-ref",
    "tag", "worktree",
})  # fmt: skip
"""Of git: what runs no program that the command itself names."""
_RUN = ("--receive-pack", "--upload-pack", "--exec", "--ext-diff", "--textconv", "--template", "--separate-git-dir",
        "--output", "--reference")  # fmt: skip
_ASSIGNED = frozenset({
    "LANG", "LANGUAGE", "LC_ALL", "TZ", "GIT_TERMINAL_PROMPT", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE",
    "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GIT_COMMITTER_DATE",
})  # fmt: skip
_NOT_ONCE = frozenset({Place.BACKGROUND, Place.COPROC, Place.FUNCTION, Place.LOOP, Place.RUN_BY})

LONGEST = 4000
"""Characters of a command that is looked at: git alone needs no more."""
_ELSEWHERE = ("--global", "--system", "--file", "-f", "--blob")
_CHANGES = {"--add", "--unset", "--unset-all", "--replace-all", "--rename-section", "--remove-section"}
_REMOTES = {"add", "remove", "rm", "rename", "set-url", "set-branches"}
_SUBMODULES = {"add", "init", "deinit", "sync", "update", "set-url", "set-branch"}


@dataclass(frozen=True)
class Right:
    """What a command may do with the configuration of the workspace's own repository."""

    is_open: bool = False
    """It may write it."""
    may_lead: bool = False
    """A person allowed it word by word: also what sends elsewhere, or drops a guard, stays."""


NO_RIGHT = Right()


def right_of(verdict: Verdict | None, command: str) -> Right:
    """The right of a command that writes it: a person, or a rule that names it, allowed it.

    It holds nothing but commands of git and what prints, so that nothing else can use the moment.
    """
    if verdict is None or not is_allowed_by_name(verdict) or not _may_be(command):
        return NO_RIGHT
    script = parse(command)
    is_open = _is_git_alone(script) and any(_writes(*_verb(one)) for one in script.commands)
    is_one_rule = "*" not in verdict.rule and not verdict.text.startswith("rules ")
    return Right(is_open, is_open and (verdict.by == "person" or is_one_rule))


def needs_a_word(command: str) -> bool:
    """Whether a command is there to write git's configuration, so that it does nothing unless somebody allows it."""
    if not _may_be(command):
        return False
    script = parse(command)
    return _is_git_alone(script) and any(_is_made_for_it(*_verb(one)) for one in script.commands)


def _may_be(command: str) -> bool:
    return "git" in command and len(command) <= LONGEST


def _is_git_alone(script: Script) -> bool:
    if not script.is_parsed or script.problem or script.is_cut or script.functions:
        return False
    return all(_is_held(one) and (one.name in _BESIDE or _runs_git(one)) for one in script.commands)


def _is_held(one: SimpleCommand) -> bool:
    return (
        one.is_plain
        and one.reach == Reach.DIRECT
        and _NOT_ONCE.isdisjoint(one.places)
        and all(assigned.name in _ASSIGNED for assigned in one.assignments)
        and all(wrapper.is_transparent for wrapper in one.wrappers)
        and all(redirection.is_harmless for redirection in one.redirections)
    )


def _runs_git(one: SimpleCommand) -> bool:
    verb, rest = _verb(one)
    if verb not in _VERBS or (verb == "submodule" and not _SUBMODULES & set(rest[:1])):
        return False
    long = [word.partition("=")[0] for word in rest if word.startswith("--")]
    return not any(len(word) > len("--x") and name.startswith(word) for word in long for name in _RUN)


def _verb(one: SimpleCommand) -> tuple[str, list[str]]:
    """The verb of a git command and what follows it; no verb where an option before it may lead elsewhere."""
    words = list(one.argv[1:]) if one.name == "git" else []
    while words and words[0] in FRONT:
        del words[0]
    is_plain = bool(words) and one.words[len(one.words) - len(words)].is_plain
    return (words[0], words[1:]) if is_plain and not words[0].startswith("-") else ("", [])


def _is_made_for_it(verb: str, rest: list[str]) -> bool:
    options, operands = _told_apart(rest)
    match verb:
        case "config":
            is_set = len(operands) > 1 and not any(option.startswith(("--get", "-l", "--list")) for option in options)
            return not any(option in _ELSEWHERE for option in options) and (is_set or bool(options & _CHANGES))
        case "remote":
            return bool(_REMOTES & set(operands[:1]))
        case "branch":
            upstream = ("--set-upstream-to", "--unset-upstream", "--edit-description")
            return any(option in upstream or (option[:2] == "-u") for option in options)
    return False


def _writes(verb: str, rest: list[str]) -> bool:
    options, operands = _told_apart(rest)
    match verb:
        case "push":
            return "--set-upstream" in options or any(_has_letter(option, "u") for option in options)
        case "pull" | "fetch":
            return "--set-upstream" in options
        case "branch":
            return bool(options) or len(operands) > 1
        case "checkout" | "switch" | "init" | "sparse-checkout":
            return True
        case "submodule":
            return bool(_SUBMODULES & set(operands[:1]))
        case "worktree":
            return operands[:1] == ["add"]
    return _is_made_for_it(verb, rest)


def _has_letter(option: str, letter: str) -> bool:
    return option.startswith("-") and not option.startswith("--") and letter in option


def _told_apart(rest: list[str]) -> tuple[set[str], list[str]]:
    options = {word.partition("=")[0] for word in rest if word.startswith("-") and word != "-"}
    return options, [word for word in rest if not word.startswith("-")]
