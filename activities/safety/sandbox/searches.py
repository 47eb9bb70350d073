"""Searches: files with secrets are hidden from a search through the workspace, since nobody was asked about them."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from activities.safety.bash.paths import is_secret
from activities.safety.bash.syntax import parse
from activities.safety.sandbox.git_kept import kept_by_git
from activities.safety.sandbox.git_places import is_folder
from activities.safety.sandbox.places import MOST_LOOKED_AT, NOT_ENTERED
from activities.safety.sandbox.policy import Kind, Policy, in_order
from activities.safety.sandbox.policy import Place as Hidden
from activities.safety.sandbox.remembered import remember, remembered
from workflows.contracts.commands import Place
from workflows.contracts.permissions import Verdict

_SEARCHERS = frozenset({"grep", "egrep", "fgrep", "rg", "ag", "ack"})
_BESIDE = frozenset({
    "head", "tail", "sort", "uniq", "wc", "cut", "tr", "nl", "column", "find", "ls", "echo", "printf", "true", "cd",
})  # fmt: skip
MOST_HIDDEN = 200
_NAMED = 5
_REMEMBERED = "secrets.json"


def is_search(command: str) -> bool:
    """Whether a command does nothing but search, and names no file with secrets itself: then a person was asked."""
    script = parse(command)
    names = {one.name for one in script.commands}
    if not script.is_parsed or not names & _SEARCHERS or not names <= _SEARCHERS | _BESIDE:
        return False
    words = [word for one in script.commands for word in one.argv[1:] if not word.startswith("-")]
    return not any(is_secret(word, by_pattern=False) for word in words)


def comes_across_more(verdict: Verdict | None, command: str) -> bool:
    """Whether a command that runs since it only reads may show files that it does not name."""
    if verdict is None or verdict.by != "proof":
        return False
    return any(
        one.name == "diff" or Place.RUN_BY in one.places or (one.name == "git" and _leaves_its_own(one.argv[1:]))
        for one in parse(command).commands
    )


def _leaves_its_own(words: Sequence[str]) -> bool:
    """Whether git looks at files that it does not keep; without a repository two names are enough for that."""
    operands = [word for word in words if not word.startswith("-")]
    return any(word.startswith(("--no-i", "--unt")) for word in words) or ("diff" in operands and len(operands) > 2)


def without_secrets(policy: Policy, session: Path | None = None, command: str = "") -> tuple[Policy, str]:
    """The policy that hides them too, and the line that says so; the same policy and no line when there are none.

    `session`: the folder of its sandbox, where is kept what was found before, so that nothing crowds it out. `command`:
    where it is git alone, it sees what git keeps itself, which would seem to be deleted.
    """
    found, is_whole = _secrets_in(policy.workspace, remembered(session, _REMEMBERED))
    remember(session, _REMEMBERED, [place.path for place in found])
    if found and command and all(one.name == "git" for one in parse(command).commands):
        is_kept = kept_by_git(policy.workspace)
        found = [place for place in found if not is_kept(place.path)]
    if not found and is_whole:
        return policy, ""
    names = [os.path.relpath(place.path, policy.workspace) for place in found]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    hidden = f"hidden from this search, since they hold secrets: {', '.join(names[:_NAMED])}{more}" if names else ""
    cut = "" if is_whole else "not the whole workspace was looked through for files with secrets"
    line = f"[sandbox: {'; '.join(part for part in (hidden, cut) if part)}]"
    return replace(policy, places=in_order((*policy.places, *found))), line


def _secrets_in(workspace: str, before: list[str]) -> tuple[list[Hidden], bool]:
    """The files and folders with secrets, and whether all was looked at; what was found before comes first."""
    found = [
        Hidden(path, Kind.HIDDEN, is_file=not is_folder(Path(path)))
        for path in before
        if path.startswith(f"{workspace}/") and os.path.lexists(path) and not Path(path).is_symlink()
    ]
    known, looked_at = set(before), 0
    for folder, folders, files in os.walk(workspace):
        looked_at += len(folders) + len(files)
        if looked_at > MOST_LOOKED_AT or len(found) >= MOST_HIDDEN:
            return found, False
        for name in (*folders, *files):
            path = Path(folder, name)
            if str(path) not in known and is_secret(str(path), by_pattern=False) and not path.is_symlink():
                found.append(Hidden(str(path), Kind.HIDDEN, is_file=name in files))
        hidden = {place.path for place in found}
        folders[:] = [name for name in folders if name not in NOT_ENTERED and f"{folder}/{name}" not in hidden]
    return found, True
