"""Validators 14 and 15: secrets read, and secrets sent away."""

import re
from collections.abc import Iterator
from itertools import pairwise

from activities.safety.bash import git
from activities.safety.bash.caseless import Caseless
from activities.safety.bash.names import INTERPRETERS, NETWORK, is_shell, named
from activities.safety.bash.paths import is_secret
from activities.safety.bash.view import Act, View
from activities.safety.bash.writing import programs_of
from workflows.contracts.commands import Reason
from workflows.contracts.permissions import Decision

DENY, ASK = Decision.DENY, Decision.ASK

_SECRET_VARIABLE = re.compile(
    r".*(?:TOKEN|SECRET|PASSW|PASSPHRASE|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|CREDENTIAL|AUTH|SESSION_ID|COOKIE).*"
    r"|(?:.*_)?(?:KEY|PAT|PWD|PASS|PW)|DATABASE_URL"
)
_NOT_SECRET = {"PWD", "OLDPWD", "SSH_AUTH_SOCK", "XAUTHORITY", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "AUTHOR"}
_TEXTS = named("echo printf true false : case for sleep expr help")
_NAMES_ONLY = named("ls stat du basename dirname realpath readlink echo printf find fd cd pushd for")
_LOGIN_FLAGS = named(
    "-i -F --identity --cert --key --cacert --capath -E --netrc-file --env-file --ssh-key"
    " --key-file --certificate --private-key --ca-certificate --client-key --client-certificate --kubeconfig"
    " --userconfig --tlscacert --tlscert --tlskey --pubkey --proxy-cert --proxy-key --exclude --ignore"
    " --exclude-from -C --config --ca --cert-key"
)
_PRINTS = re.compile(r"environ|\benv\b|ENV|getenv|process\.env|\$ENV|os\.Getenv|%ENV", re.ASCII)
_SOCKETS = re.compile(r"/dev/(?:tcp|udp)/")
_GIT_REMOTE = named("push fetch pull clone ls-remote remote archive submodule send-email request-pull")
_MANAGERS_SEND = re.compile(r"publish|upload|login|deploy|push|release")
_MANAGERS = named("npm pnpm yarn pip twine poetry cargo gem mvn gradle composer hatch uv flit bun")
_PROGRAM_SENDS = Caseless(
    r"https?://|urlopen|requests\.|urllib|http\.client|socket|fetch\(|axios|Net::HTTP|LWP|curl_"
    r"|file_get_contents\(['\"]http|smtp"
    r"|ftplib|paramiko|IO::Socket|net\.connect|dns[.'\"]|/inet/(?:tcp|udp)|gethostbyname|getaddrinfo|open-uri|XMLHttp|nslookup|httpx|aiohttp"
)


def secret_egress(view: View) -> Iterator[Reason]:
    """A secret and a way out in one command."""
    sinks = [act for act in view.acts if _sends(act)]
    if not sinks:
        return
    source = next(
        (
            found
            for act in view.acts
            # `gh auth token` alone shows a secret; it does not send it.
            if (found := _secret_of(act, for_egress=True))
            and not (sinks == [act] and act.name in NETWORK and _dumped(act))
        ),
        "",
    )
    source = source or next((found for act in sinks if (found := _handed(act))), "")
    source = source or next((f"${one}" for one in sorted(view.variables) if is_secret_name(one)), "")
    if source:
        where = sinks[0].name or "a socket"
        text = f"{source} would leave this machine: it is read where {where} sends"
        yield sinks[0].finds("secret-egress", DENY, text, hint="Let the person send it, or leave the secret out.")


_BATCHES = named("sftp ftp lftp ncftp tftp smbclient psftp telnet")
"""Programs that read from their input which files they send."""


def _handed(sink: Act) -> str:
    """A secret that a sink is told of by what runs it, or by what is written into it."""
    for act in (*sink.upstream, *sink.carriers):
        if act.name in {"find", "gfind", "bfs", "fd", "fdfind"}:
            for value in act.arguments:
                if any(is_secret(path) for path in act.faces(value)):
                    return value
    if sink.name in _BATCHES:
        return next((found for text in programs_of(sink) if (found := _mentioned(text))), "")
    if sink.name not in INTERPRETERS:
        return ""
    programs = list(programs_of(sink))
    if any(_WHOLE_ENVIRONMENT.search(one) for one in programs):
        return "the environment"
    taken = (name for one in programs for name in _TAKEN.findall(one))
    return next((f"${name}" for name in taken if is_secret_name(name)), "") or next(
        filter(None, map(_mentioned, programs)), ""
    )


_TAKEN = re.compile(
    r"(?:environ(?:\.get\(|\[)|getenv\(|process\.env[.\[]|ENV\[|ENV\.fetch\(|ENV\{|Deno\.env\.get\()\s?['\"]?(\w+)"
)


_WHOLE_ENVIRONMENT = re.compile(
    r"os\.environ(?!\s{0,9}(?:\[|\.get\b))|process\.env(?![.\[\w])|\bENV\.(?:to_|inspect|map|each)|%ENV|getenv\(\s{0,9}\)"
)


def is_secret_name(name: str) -> bool:
    """Whether a variable's name says that it holds a secret."""
    return name not in _NOT_SECRET and _SECRET_VARIABLE.fullmatch(name.upper()) is not None


def _sends(act: Act) -> bool:  # noqa: PLR0911 - one case a program
    if any(_SOCKETS.search(one.target.value) for one in act.command.redirections):
        return True
    name, given = act.name, act.arguments
    if any(_SOCKETS.search(one) for one in given) and name not in _TEXTS:
        return True
    if {"--version", "--help", "-V"} & set(given[:1]):
        return False
    if name == "git":
        return bool(_GIT_REMOTE & set(act.operands[:3]))
    if name == "openssl":
        return bool({"s_client", "s_server", "s_time"} & set(given))
    if name in _MANAGERS:
        return any(_MANAGERS_SEND.fullmatch(one) for one in given[:3])
    if name in INTERPRETERS and name not in {"make", "gmake"}:
        return any(_PROGRAM_SENDS.is_in(one) for one in programs_of(act) if len(one) > 8)
    if name == "logger":
        return any(one in {"-n", "-u"} or one.startswith(("--server", "-n")) for one in given)
    if name == "getent":
        return bool({"hosts", "ahosts"} & set(given))
    return name in NETWORK


def _secret_of(act: Act, *, for_egress: bool = False) -> str:
    """The secret that a command reads, named, or nothing."""
    if dumped := _dumped(act):
        return dumped
    for one, faces in act.inputs:
        if any(is_secret(path) for path in faces):
            return one.target.value
    if act.name in _TEXTS:
        return ""
    by_pattern = act.name not in _NAMES_ONLY and act.name != "git"
    skipped = data_of(act) | (_skipped(act) if for_egress or act.name in NETWORK else set())
    for value, faces in act.named:
        if value not in skipped and any(is_secret(path, by_pattern=by_pattern) for path in faces):
            return value
    if act.name == "git":
        for name in git.shown(act.values):
            if any(is_secret(path) for path in act.faces(name)):
                return name
    if act.name in NETWORK or is_shell(act.name) or act.name in INTERPRETERS:
        return next(
            (found for one in dict.fromkeys(act.arguments) if (found := _mentioned(one)) and one not in skipped),
            "",
        )
    return ""


_MENTIONED = re.compile(
    r"(?:\.env(?:\.(?!example\b)\w+)?|\.ssh/\w+|id_rsa|id_ed25519"
    r"|\.netrc|\.npmrc|\.aws/\w+"
    r"|\.git-credentials|\.pgpass|\.kube/config|\.gnupg/\w*|\.docker/config\.json)(?![\w-])|(?P<whole>/etc/shadow"
    r"|/proc/\w+/environ)"
)
_IN_FRONT = re.compile(r"(?<![\w.-])(?:~|\.{1,2}|/[\w./-]*+|[\w-]++)?/?\Z")
_LONGEST = 500


def _mentioned(text: str) -> str:
    """The first secret place that a text names, with the folders in front of it."""
    at = 0
    while found := _MENTIONED.search(text, at):
        if found["whole"]:
            return found[0]
        # Looked at from the name backwards: a search for any folders first takes too long on a text of slashes.
        if front := _IN_FRONT.search(text[max(found.start() - _LONGEST, 0) : found.start()]):
            return front[0] + found[0]
        at = found.start() + 1
    return ""


_TEXT_FIRST = named("grep egrep fgrep rg fd fdfind sed gsed awk gawk mawk nawk jq tr ggrep")
_GIVES_TEXT = {
    "git": named("--grep --author --committer -S -G"),
    **dict.fromkeys(("grep", "egrep", "fgrep", "rg"), named("-e --regexp")),
    **dict.fromkeys(("sed", "gsed"), named("-e --expression")),
    "find": named("-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname"),
}
_READS_TEXT = re.compile(
    r"-[A-Za-z]*[efL]|-e.+|-f.+|--(?:regexp|file|expression|from-file|rawfile|slurpfile|arg)(?:=.*)?"
)


def data_of(act: Act) -> set[str]:
    """Values that are patterns, programs or texts to compare, and no files."""
    name, values = act.name, act.values
    if name in {"[[", "[", "test"}:
        signs = {"=", "==", "!=", "=~", "<", ">", "-eq", "-ne", "-lt", "-gt", "-le", "-ge"}
        found = [one for at, one in enumerate(values) if signs & {*values[at - 1 : at], *values[at + 1 : at + 2]}]
    else:
        flags = _GIVES_TEXT.get(name, frozenset())
        found = [after for one, after in pairwise(values) if one in flags]
        found += [one.partition("=")[2] for one in values if one.partition("=")[0] in flags]
        if name == "rg":  # What it is told to leave out.
            found += [one.removeprefix("--glob=") for one in values if one.removeprefix("--glob=").startswith("!")]
        if name in _TEXT_FIRST and not any(_READS_TEXT.fullmatch(one) for one in values[1:]):
            found += act.operands[:1]
        if name == "git" and act.operands[:1] == ["grep"] and not any(_READS_TEXT.fullmatch(one) for one in values):
            found += act.operands[1:2]
    return {one for one in found if values.count(one) < 2}


_ADDRESS = re.compile(r"(?:https?|ftps?|wss?|git|ssh)://", re.IGNORECASE)


def _skipped(act: Act) -> set[str]:
    """Values of options that log in, or leave out, and addresses: what they name lies elsewhere."""
    found, values = set[str](), act.values
    for at, one in enumerate(values):
        name, sign, given = one.partition("=")
        if name in _LOGIN_FLAGS:
            found.add(given if sign else (values[at + 1] if at + 1 < len(values) else ""))
            found.add(one)
        elif _ADDRESS.match(one.removeprefix("--url=")):
            found |= {one, one.removeprefix("--url="), one.partition(":")[2]}
    return found


def _dumped(act: Act) -> str:  # noqa: PLR0911 - one case a program
    name, given = act.name, act.arguments
    if name == "env" and not act.operands:
        return "the environment"
    if name == "printenv":
        hit = [one for one in act.operands if is_secret_name(one)]
        return "" if act.operands and not hit else next(iter(hit), "the environment")
    if name in {"set", "export", "declare", "typeset", "readonly", "compgen"}:
        bare = not given or set(given) <= {"-p", "-x", "-px", "-xp", "-e", "-v"}
        return "the environment" if bare else ""
    if name == "ps" and any("environ" in one for one in given):
        return "the environment of other processes"
    if name == "ps" and any(_shows_environment(one, before) for before, one in pairwise(act.values)):
        return "the environment of other processes"
    if name in {"jq", "gojq", "yq"} and any(re.search(r"\benv\b|\$ENV|\$__prog|input_filename", one) for one in given):
        return "the environment"
    if name in {"awk", "gawk", "mawk", "nawk"} and any("ENVIRON" in one for one in given):
        return "the environment"
    if name in {"history", "fc"}:
        return "the shell's history"
    joined = " ".join(given)
    return next((what for program, pattern, what in _STORES if name == program and re.search(pattern, joined)), "")


def _shows_environment(option: str, before: str) -> bool:
    """`ps e` and `ps eww`, not `ps -e` and `ps -u eve`: without the dash the letter shows environments."""
    return re.fullmatch(r"[a-zA-Z]*e[a-zA-Z]*", option) is not None and not re.fullmatch(
        r"-[a-zA-Z]*[CuUGgptqsoO]", before
    )


_STORES = (
    ("gpg", r"--export-secret", "a private key"),
    ("gpg2", r"--export-secret", "a private key"),
    ("security", r"find-\w+-password|dump-keychain|export", "a password"),
    ("pass", r"^(?!ls|find|help|version).+", "a password"),
    ("secret-tool", r"lookup|search", "a password"),
    ("gh", r"auth token|auth status.*-t", "a token"),
    ("glab", r"auth token", "a token"),
    ("git", r"config .*(?:extraheader|token|passw|secret)", "a secret"),
    ("git", r"config (?:.* )?(?:--list|-l|list|--get-regexp)(?: |$)", "the configuration"),
    ("git", r"credential (?:fill|approve)|credential-\w+ get", "a password"),
    ("aws", r"configure (?:get|export)|sts get-session|secretsmanager get|ssm get-param.*decrypt", "a key"),
    ("gcloud", r"auth print-|secrets versions access", "a token"),
    ("az", r"account get-access-token|keyvault secret show", "a token"),
    ("kubectl", r"get secrets?|config view.*--raw", "a secret"),
    ("vault", r"kv get|read|token", "a secret"),
    ("op", r"read|item get|signin", "a password"),
    ("bw", r"get|list|unlock", "a password"),
    ("ssh-add", r"-L", "a key"),
    ("heroku", r"config|auth:token", "a secret"),
    ("npm", r"config get .*(?:token|auth)|token", "a token"),
    ("docker", r"inspect|compose config", "the environment"),
    ("systemctl", r"show-environment", "the environment"),
    ("strings", r"/proc/", "the environment"),
    ("doppler", r"secrets|run", "a secret"),
    ("sops", r"-d|decrypt", "a secret"),
    ("ansible-vault", r"view|decrypt", "a secret"),
)


def secret_read(view: View) -> Iterator[Reason]:
    """Secret places and dumps of the environment."""
    for act in view.acts:
        found = _secret_of(act)
        if not found and act.command.words and _prints(act):
            found = "the environment"
        if found:
            yield act.finds(
                "secret-read",
                ASK,
                f"{found} may hold a secret",
                sticky=True,
                kind="secret_read",
                hint="Name what is needed, not the whole.",
            )
    hit = next((one for one in sorted(view.variables) if is_secret_name(one)), "")
    if hit:
        yield Reason("secret-read", ASK, f"${hit} may hold a secret", sticky=True, kind="secret_read")


def _prints(act: Act) -> bool:
    return act.name in INTERPRETERS and any(_PRINTS.search(one) and "print" in one for one in act.arguments)
