"""Validators 17 to 20: writes by redirection, what runs later, the network, and flags that run programs."""

import re
from collections.abc import Iterator

from activities.safety.bash.names import INTERPRETERS, NETWORK, PACKAGE_MANAGERS, is_shell, named
from activities.safety.bash.options import loose
from activities.safety.bash.paths import is_inside, runs_later
from activities.safety.bash.view import Act, View
from activities.safety.bash.writing import programmed, written
from workflows.contracts.commands import Place, Reason
from workflows.contracts.permissions import Decision

ASK = Decision.ASK


def redirection(view: View) -> Iterator[Reason]:
    """Output into files; outside the workspace it stays a question whatever the rules say."""
    for act in view.acts:
        for one, faces in act.outputs:
            if one.is_harmless and one.operator in {">", "&>"} and not one.fd.startswith("{"):
                continue
            outside = not faces or any(not is_inside(path, view.setting) for path in faces)
            text = f"it writes to {one.target.source or one.target.value}" + (
                ", outside the workspace" if outside else ""
            )
            yield act.finds(
                "redirection", ASK, text, sticky=outside, kind="redirect_traversal" if outside else "redirect_write"
            )
        if any("process-out" in word.expansions for word in act.command.words):
            yield act.finds("redirection", ASK, "it feeds another command through >( )", kind="redirect_write")


_GIT_RUNS = re.compile(
    r"(?:core\.(?:fsmonitor|pager|sshcommand|editor|hookspath|askpass|gitproxy|attributesfile"
    r"|alternaterefscommand|worktree)"
    r"|diff\..*|filter\..*|alias\..*|gpg\..*|credential\..*|include(?:if)?\..*|merge\..*|mergetool\..*"
    r"|difftool\..*|sequence\.editor"
    r"|pager\..*|uploadpack\..*|receive\..*|remote\..*\.(?:uploadpack|receivepack|vcs|proxy)|init\.templatedir"
    r"|browser\..*|man\..*"
    r"|web\.browser|sendemail\..*|trailer\..*|interactive\.difffilter|url\..*|http\..*proxy|safe\..*"
    r"|submodule\..*|protocol\..*|user\.signingkey)",
    re.IGNORECASE,
)
_SCHEDULERS = named("crontab at batch atd anacron launchctl systemd-run schtasks incron fcron")
_UNIT_CHANGES = named("enable link edit daemon-reload set-property add-wants preset reenable")
_INSTALLERS = named("pre-commit husky lefthook direnv update-rc.d chkconfig update-alternatives")
_INSTALLS = named("install add allow enable defaults on --set --install")


def persistence(view: View) -> Iterator[Reason]:
    """What is written where it runs later by itself."""
    for act in view.acts:
        values = list(written(act))
        if act.name in INTERPRETERS:
            values += programmed(act)
        hit = next((one for one in values for path in act.faces(one) if runs_later(path)), "")
        text = f"{hit} runs later by itself, or decides what does" if hit else _schedules(act)
        if text:
            yield act.finds("persistence", ASK, text, sticky=True, kind="persistence")


def _schedules(act: Act) -> str:
    name, given = act.name, act.arguments
    if name in _SCHEDULERS and not set(given) & {"-l", "list", "--version", "--help", "print"}:
        return f"{name} has something run later"
    if name == "systemctl" and _UNIT_CHANGES & set(given):
        return "it has a unit run later"
    if name == "git":
        if "config" in given and any(_GIT_RUNS.fullmatch(one.partition("=")[0]) for one in given):
            reads = {"--get", "--get-all", "--list", "-l", "--get-regexp"} & set(given)
            return "" if reads else "git would run a program whenever it is used"
        if {"--template", "--separate-git-dir"} & {one.partition("=")[0] for one in given}:
            return "git would take hooks or settings from elsewhere"
    if name in {"npm", "pnpm", "yarn"} and (
        {"set", "config"} & set(given[:2]) and {"set", "script", "set-script"} & set(given)
    ):
        return "its settings run later"
    if name in _INSTALLERS and _INSTALLS & set(given):
        return f"{name} has something run later"
    return ""


_PROGRAM_RUNNERS = named("npx pnpx bunx uvx pipx dlx corepack")
_GIT_REMOTE = named(
    "push fetch pull clone ls-remote remote submodule send-email archive bundle request-pull svn"
    " p4 lfs daemon http-push http-fetch fetch-pack send-pack upload-pack receive-pack upload-archive instaweb"
    " imap-send"
)


def network(view: View) -> Iterator[Reason]:
    """Connections; what comes from elsewhere into an interpreter stays a question whatever the rules say."""
    for act in view.acts:
        if _is_remote_code(act):
            text = "it runs code from elsewhere, unseen"
            yield act.finds(
                "network", ASK, text, sticky=True, kind="remote_code", hint="Download it, read it, then run the file."
            )
        elif any(one.target.value.startswith(("/dev/tcp/", "/dev/udp/")) for one in act.command.redirections):
            yield act.finds("network", ASK, "it opens a connection", kind="network")
        elif (
            act.name == "git"
            and act.operands
            and act.operands[0] in _GIT_REMOTE
            and act.arguments[:2] not in (["remote"], ["remote", "-v"], ["remote", "--verbose"])
        ):
            yield act.finds("network", ASK, f"git {act.operands[0]} may talk to a remote", kind="network")
        elif act.name == "getent" and {"hosts", "ahosts", "ahostsv4", "ahostsv6"} & set(act.arguments):
            yield act.finds("network", ASK, "the name would leave this machine", kind="network")
        elif act.name in NETWORK:
            yield act.finds(
                "network", ASK, f"{act.name} talks to other machines, or to a service that does", kind="network"
            )
        elif act.name in PACKAGE_MANAGERS and act.name not in INTERPRETERS:
            text = f"{act.name} runs what the folder's files say, and may fetch more"
            yield act.finds("network", ASK, text, kind="package_manager")


def _is_remote_code(act: Act) -> bool:
    fetches = NETWORK - {"openssl", "docker", "kubectl", "psql", "mysql", "redis-cli", "mail"}
    runs = (
        is_shell(act.name)
        or act.name in {"eval", "source", "."}
        or (act.name in INTERPRETERS and act.name not in {"awk", "gawk", "make"})
    )
    if (
        runs
        and any(one.name in fetches for one in act.upstream)
        and (not act.operands or act.operands[0] in {"-", "/dev/stdin"})
    ):
        return True
    inside = [one for one in act.below if {Place.SUBSTITUTION, Place.PROCESS_IN} & set(one.command.places)]
    if runs and any(one.name in fetches for one in inside):
        return True
    if act.name in _PROGRAM_RUNNERS and act.operands:
        return True
    given = act.arguments
    if act.name in {"go", "deno", "bun", "npm", "pnpm", "yarn", "pip", "uv", "cargo"}:
        urls = any(re.search(r"https?://|git\+|^git@|@latest$|^github:", one) for one in given)
        return urls or {"exec", "dlx", "create", "x"} & set(given[:1]) != set()
    return False


_EXEC_FLAGS = {
    "find": named("-exec -execdir -ok -okdir"),
    "fd": named("-x -X --exec --exec-batch"),
    "rg": named("--pre --hostname-bin -z --search-zip"),
    "tar": named(
        "-I --to-command --checkpoint-action --rsh-command --use-compress-program --info-script -F --new-volume-script"
    ),
    "man": named("-P -H --pager --html --browser -X --preprocessor"),
    "sort": named("--compress-program"),
    "git": named(
        "-c --config-env --exec-path --ext-diff --textconv -O --open-files-in-pager -p --paginate --upload-pack"
        " --receive-pack --exec -x"
    ),
    "ssh": named("-o -F"),
    "scp": named("-o -S"),
    "rsync": named("-e --rsh --rsync-path"),
    "zip": named("-T -TT --unzip-command"),
    "curl": named("--engine -K --config"),
    "gcc": named("-wrapper"),
    "g++": named("-wrapper"),
    "vim": named("-c --cmd -S"),
    "awk": named("-f -i -l --file --include --load"),
    "jq": named("-f -L --from-file"),
    "sed": named("-f --file"),
    "ip": named("-batch -b"),
    "less": named("-P"),
    "env": named("-S"),
    "gdb": named("-ex -x"),
    "make": named("-f --eval"),
    "ss": named("-D"),
}


def exec_flags(view: View) -> Iterator[Reason]:
    """Flags of readers that run programs, exact and abbreviated."""
    refused = {act.index for act, _ in view.refusals}
    for act in view.acts:
        if act.index not in refused:
            continue
        is_gnu = act.name in {"gtar", "gfind", "gsed", "gawk", "gsort"}
        flags = _EXEC_FLAGS.get(act.name.removeprefix("g") if is_gnu else act.name, ())
        front = _front_of(act)
        for name, _ in loose(act.values):
            if act.name == "git" and name in {"-c", "-p"} and name not in front:
                continue
            if any(_names(name, flag) for flag in flags):
                text = f"{name} has {act.name} run a program"
                yield act.finds("exec-flags", ASK, text, sticky=True, kind="exec_flag", flag=name)
                break


def _front_of(act: Act) -> list[str]:
    """The words before the verb."""
    verb = act.operands[0] if act.operands else ""
    return act.values[: act.values.index(verb)] if verb else act.values


def _names(given: str, flag: str) -> bool:
    if given == flag:
        return True
    if flag.startswith("--"):
        return len(given) > 4 and given.startswith("--") and flag.startswith(given)
    return (
        len(flag) == 2
        and re.fullmatch(rf"-[A-Za-z]*{re.escape(flag[1])}.*", given) is not None
        and not given.startswith("--")
        and given[1] == flag[1]
    )
