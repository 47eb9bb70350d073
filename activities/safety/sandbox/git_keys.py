"""Git's keys: which of them a command may change, and which make a later git run, read or send something."""

import re
from collections.abc import Mapping
from enum import IntEnum

Values = tuple[str, ...]
"""All values of one key, in order; one without `=` counts as `true`."""
Keys = Mapping[str, Values]
"""A configuration as git lists it: `section.subsection.name`, section and name in small letters."""


class Weight(IntEnum):
    """What a changed key may do."""

    HARMLESS = 0
    LEADS = 1
    """What is pushed or fetched goes another way, or a guard falls: only for who asked for just this."""
    CLOSED = 2
    """A later git may run, read or trust something else: for nobody but the person, outside."""


_PROGRAMS = {
    "core": {"fsmonitor", "pager", "sshcommand", "editor", "askpass", "hookspath", "gitproxy", "alternaterefscommand",
             "attributesfile", "worktree"},
    "diff": {"external", "command", "textconv"},
    "filter": {"clean", "smudge", "process"},
    "merge": {"driver"},
    "gpg": {"program", "defaultkeycommand"},
    "credential": {"helper"},
    "include": {"path"},
    "includeif": {"path"},
    "sequence": {"editor"},
    "interactive": {"difffilter"},
    "difftool": {"cmd", "path"},
    "mergetool": {"cmd", "path"},
    "browser": {"cmd", "path"},
    "man": {"cmd", "path"},
    "remote": {"uploadpack", "receivepack", "vcs", "proxy"},
    "uploadpack": {"packobjectshook"},
    "init": {"templatedir"},
    "sendemail": {"sendmailcmd", "smtpserver", "tocmd", "cccmd", "headercmd"},
    "trailer": {"cmd", "command"},
    "submodule": {"update"},
    "tar": {"command"},
    "ssh": {"variant"},
    "web": {"browser"},
}  # fmt: skip
"""Keys that name a program, a folder of programs, or a file with more such keys."""

_PROGRAMS_ANYWHERE = re.compile(
    r"fsmonitor|hookspath|pager|sshcommand|editor|askpass|gitproxy|command|textconv|external|clean|smudge|process"
    r"|driver|program|helper|path|uploadpack|receivepack|templatedir|proxycommand"
)
"""Names that mean the same in sections of other programs."""
_EVERY_KEY = {"pager"}
"""Sections of which each key may be a program."""
_NO_PROGRAM = {"", "true", "false", "yes", "no", "on", "off", "0", "1"}

_HARMLESS: dict[str, set[str]] = {
    "user": {"name", "email"},
    "author": {"name", "email"},
    "committer": {"name", "email"},
    "init": {"defaultbranch"},
    "pull": {"rebase", "ff"},
    "push": {"autosetupremote", "followtags"},
    "fetch": {"prune", "prunetags"},
    "merge": {"ff", "conflictstyle"},
    "rebase": {"autostash", "autosquash"},
    "rerere": {"enabled"},
    "core": {"autocrlf", "eol", "safecrlf", "filemode", "ignorecase", "precomposeunicode", "quotepath",
             "sparsecheckout", "sparsecheckoutcone"},
    "index": {"sparse"},
    "branch": {"rebase", "description", "gh-merge-base", "vscode-merge-base"},
    "submodule": {"active"},
    "extensions": {"worktreeconfig"},
    "lfs": {"repositoryformatversion"},
}  # fmt: skip
"""What they hold decides of this repository's own branches and texts alone."""
_ONE_OF = {
    "push.default": {"simple", "current", "upstream", "tracking", "nothing"},
    "core.logallrefupdates": {"true", "always"},
    "core.repositoryformatversion": {"0", "1"},
    "remote.tagopt": {"--tags", "--no-tags"},
    "remote.gh-resolved": {"base"},
    "submodule.update": {"checkout", "rebase", "merge", "none"},
}
_OF_A_NEW_ONE = {
    "core": {"bare", "symlinks"},
    "extensions": {"objectformat", "refstorage", "partialclone"},
    "remote": {"promisor", "partialclonefilter"},
}
"""What git itself writes besides into a repository that it makes."""

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]*")
_FAR = re.compile(
    r"(?:https?|ssh|git|ftps?)://(?:[^/@\s]*@)?[A-Za-z0-9\[]\S*|(?:[\w.-]+@)?[A-Za-z0-9][\w.-]*:(?!:|//)\S+"
)
"""Addresses on other machines."""
_RUN = re.compile(r"\s*(?:[A-Za-z0-9+.-]*::|-|[A-Za-z0-9+.-]+://(?:[^/]*@)?-)")
_FETCHED = re.compile(r"\^?\+?[^:\s]+|\+?refs/[^:\s]+:refs/(?:remotes|tags)/[^:\s]+")
_ODD = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


def parts(key: str) -> tuple[str, str, str]:
    """Section, subsection and name."""
    section, _, rest = key.partition(".")
    subsection, _, name = rest.rpartition(".")
    return section.lower(), subsection, name.lower()


def names_program(section: str, name: str, value: str) -> bool:
    """Whether git would run a key's value, or find programs or more such keys by it."""
    if section == "alias":
        return value.lstrip().startswith("!")
    if section in _EVERY_KEY or name in _PROGRAMS.get(section, ()):
        return value.lower() not in _NO_PROGRAM
    return False


def runs_something(key: str, values: Values) -> bool:
    """The same for a repository that git made in the workspace, and also what other programs would run."""
    section, _, name = parts(key)
    if section == "core" and name == "worktree":
        return False
    if section in {"include", "includeif"}:
        return True
    if name in {"url", "pushurl"} and any(_is_program_of(value) for value in values):
        return True
    if name == "update" and section == "submodule":
        return not set(values) <= _ONE_OF["submodule.update"]
    names_one = _PROGRAMS_ANYWHERE.fullmatch(name) is not None
    return any(
        value.lstrip().startswith("!")
        or names_program(section, name, value)
        or (names_one and value.lower() not in _NO_PROGRAM)
        for value in values
    )


def weight(key: str, was: Values, now: Values, after: Keys, *, is_new: bool) -> Weight:
    """What the change of one key weighs; `after` is the whole, `is_new` where there was no configuration before."""
    section, subsection, name = parts(key)
    if any(_ODD.search(value) or value.lstrip().startswith("!") for value in now):
        return Weight.CLOSED
    if section == "remote" and subsection:
        found = _of_remote(subsection, name, was, now)
    elif section == "submodule" and name == "url":
        found = _of_address(was if now else (), now)
    elif name in {"remote", "pushremote", "pushdefault"} and section in {"branch", "remote"}:
        found = Weight.HARMLESS if all(_is_known(value, after) for value in now) else Weight.LEADS
    elif section == "branch" and name == "merge":
        found = Weight.HARMLESS if all(value.startswith("refs/") for value in now) else Weight.CLOSED
    else:
        found = _of_list(section, subsection, name, now)
    if is_new and (found == Weight.LEADS or name in _OF_A_NEW_ONE.get(section, ())):
        return Weight.HARMLESS
    return found if now or found == Weight.HARMLESS else Weight.LEADS


def _of_remote(remote: str, name: str, was: Values, now: Values) -> Weight:
    if not _NAME.fullmatch(remote):
        return Weight.CLOSED
    if name == "url":
        return _of_address(was, now)
    if any(_is_program_of(value) for value in now if name == "pushurl"):
        return Weight.CLOSED
    if name in {"pushurl", "push", "mirror"}:
        return Weight.LEADS
    if name == "fetch":
        return Weight.HARMLESS if all(_FETCHED.fullmatch(value) for value in now) else Weight.LEADS
    if name in {"prune", "prunetags", "skipfetchall", "skipdefaultupdate"}:
        return Weight.HARMLESS
    return _of_list("remote", remote, name, now)


def _of_address(was: Values, now: Values) -> Weight:
    """Of the address of a remote: one more of another machine is what a command may name, another instead is not."""
    if any(_is_program_of(value) for value in now):
        return Weight.CLOSED
    is_far = all(_FAR.fullmatch(value) for value in now)
    return Weight.HARMLESS if is_far and not was and len(now) < 2 else Weight.LEADS


def _is_program_of(address: str) -> bool:
    """Whether an address is no place, but what a transport runs (`ext::sh -c …`), or an option for one."""
    return _RUN.match(address) is not None


def _is_known(remote: str, after: Keys) -> bool:
    return remote == "." or (_NAME.fullmatch(remote) is not None and f"remote.{remote}.url" in after)


def _of_list(section: str, subsection: str, name: str, now: Values) -> Weight:
    if (listed := _ONE_OF.get(f"{section}.{name}")) is not None:
        return Weight.HARMLESS if set(now) <= listed else Weight.CLOSED
    if section == "advice" and not subsection:
        return Weight.HARMLESS
    has_part = section in {"branch", "submodule"}
    if name in _HARMLESS.get(section, ()) and bool(subsection) == has_part:
        return Weight.HARMLESS if not any(value.startswith("-") for value in now) else Weight.CLOSED
    return Weight.CLOSED
