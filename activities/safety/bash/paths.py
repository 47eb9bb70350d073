"""What a path stands for: inside or outside, secret, the agent's own, run later, an account, a device, the system."""

import functools
import os
import posixpath
import re
from fnmatch import translate

from activities.safety.bash.setting import Setting
from workflows.contracts.commands import UNKNOWN

_GLOB = re.compile(r"[*?\[]")

_READABLE = re.compile(r"/(?:usr|bin|sbin|lib[^/]*|opt|etc|tmp|sys|var/log)(?:/.*)?|/dev/null", re.DOTALL)
_READABLE_PROC = re.compile(r"/proc/(?:cpuinfo|meminfo|version|loadavg|uptime|mounts|filesystems)")

_SECRET_NAME = re.compile(
    r"\.env[^/]*|[^/]*\.(?:pem|key|p12|pfx|jks|keystore|ppk|kdbx|kdb|ovpn)|id_[^/]*|[._]netrc|\.npmrc|\.pypirc"
    r"|\.pgpass|\.my\.cnf|\.git-credentials|\.htpasswd|\.vault-token|\.dockercfg|\.s3cfg|\.boto|\.terraformrc"
    r"|\.ssh|\.gnupg|\.aws|\.kube|\.docker|\.azure|\.password-store|\.?credentials(?:\.(?:json|ya?ml|toml|ini|db))?|\.?[a-z]*_history"
    r"|\.history|\.lesshst|\.viminfo|\.mylogin\.cnf|\.secrets?|\.netrc\.gpg",
)
_SECRET_PATH = re.compile(
    r"/\.config/(?:gcloud|gh|hub|rclone|op|doctl|configstore)(?:/|$)|/etc/g?shadow-?$|/etc/sudoers|/etc/ssl/private"
    r"|/etc/ssh/[^/]*_key$|/proc/[^/]+/(?:task/[^/]+/)?(?:environ|mem|root|cwd|fd|auxv|maps|cmdline)(?:/|$)|/proc/kcore"
    r"|/\.mozilla/|/\.config/(?:google-chrome|chromium)|/library/keychains|/\.local/share/keyrings|/etc/krb5\.keytab"
    r"|/etc/(?:networkmanager/system-connections|wpa_supplicant|kubernetes|rancher|letsencrypt|wireguard|openvpn|docker/key)"
    r"|/etc/(?:mysql/debian\.cnf|ppp/\w+-secrets|samba/\w*passwd|krb5\.keytab|security/opasswd|master\.passwd)"
    r"|/run/secrets(?:/|$)|/var/run/secrets(?:/|$)",
)
_SECRET_END = re.compile(r".*\.(?:pem|key|p12|pfx|jks|ppk|kdbx)")
_SECRET_SAMPLES = (
    ".env", ".env.local", ".env.production", "server.key", "prod.pem", "a.p12", "id_rsa", "id_ed25519", ".netrc",
    ".npmrc", ".pypirc", ".pgpass", ".git-credentials", ".ssh", ".gnupg", ".aws", ".kube", ".docker", ".azure",
    ".bash_history", ".zsh_history", ".python_history", "..",
)  # fmt: skip

_SECRET_IN_ETC = ("shadow", "gshadow", "shadow-", "gshadow-", "sudoers")
_SECRET_FOLDERS = (".ssh", ".gnupg", ".aws", ".kube", ".docker", ".azure", "..")

_DEVICE = re.compile(
    r"/dev/(?:[shvx]v?d[a-z]+\d*|nvme\d.*|mmcblk\d.*|r?disk\d.*|mapper/.+|md\d.*|md/.+|dm-\d+|loop\d.*|sr\d"
    r"|fd\d+|nbd\d.*"
    r"|z?ram\d.*|dasd.*|mtd.*|mem|kmem|port|kcore|disk/.+|block/.+|bsg/.+|sg\d+|ada\d.*|vg[^/]*/.+|nvram|"
    r"(?:[shv]d|nvme|disk|r?disk)[*?\[].*)|\\\\\.\\physicaldrive\d+|//\./physicaldrive\d+",
    re.DOTALL,
)
_ACCOUNT = re.compile(
    r"/(?:private/)?etc/(?:(?:passwd|g?shadow|group|subuid|subgid)-?|sudoers(?:\.d)?(?:/.*)?|doas\.conf|ld\.so\.preload"
    r"|pam\.(?:d|conf)(?:/.*)?|security/.*|polkit-1/.*|nsswitch\.conf|master\.passwd|login\.defs|ssh/.*)",
)
_SYSTEM_TOP = (
    "/bin", "/boot", "/dev", "/etc", "/home", "/opt", "/proc", "/root", "/run", "/sbin", "/srv", "/sys", "/usr", "/var",
    "/mnt", "/media", "/system", "/library", "/applications", "/users", "/private", "/volumes", "/windows", "/nix",
    "/snap",
    "/cores", "/network", "/efi", "/data", "/c", "/d", "/cygdrive",
)  # fmt: skip
_SYSTEM = re.compile(
    r"/lib[^/]*|/(?:usr|var)/(?:bin|sbin|lib[^/]*|share|include|libexec|local|local/(?:bin|sbin|lib)|games|src"
    r"|log|spool|www"
    r"|mail|db|run|opt)|/(?:etc|bin|sbin|boot|sys|dev|proc|lib[^/]*|usr/(?:bin|sbin|lib[^/]*)|system|library"
    r"|windows|efi)"
    r"/.+|/(?:mnt|c|cygdrive|volumes|users|media)/[^/]+|[a-z]:[\\/]*(?:windows.*|users.*|\*)?|/home/[^/]+"
    r"|/var/lib/[^/]+|/(?:mnt|cygdrive)/[a-z]/(?:users|windows|program files)[^/]*"
    r"|/private/(?:etc|var)(?:/.*)?",
)

_START_UP = re.compile(
    r"\.(?:bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zshenv|zprofile|zlogin|zlogout|kshrc"
    r"|cshrc|tcshrc|login|logout|inputrc|xinitrc|xprofile|xsession|xsessionrc|pam_environment|vimrc|exrc|nanorc"
    r"|emacs|screenrc"
    r"|tmux\.conf|gdbinit|lldbinit|pythonrc|irbrc|pryrc|rprofile|gitconfig|gitmodules|envrc|direnvrc|npmrc|yarnrc.*"
    r"|pnpmfile\.cjs|pypirc|condarc|bazelrc|ripgreprc|mcp\.json|claude\.json|pre-commit-config\.ya?ml|gitlab-ci\.ya?ml"
    r"|travis\.yml|drone\.ya?ml|cirrus\.yml|appveyor\.yml|lefthook.*|husky|vscode|idea|claude|cursor|codex"
    r"|gemini|windsurf"
    r"|cline|roo|continue|aider.*|zed|fleet|cargo|yarn|mvn|gradle|devcontainer|circleci|buildkite|git-templates?"
    r"|githooks"
    r"|mise\.toml|tool-versions|clinerules|cursorrules|windsurfrules|opencode|goose.*)",
)
_LATER = re.compile(
    r"/\.git/(?:hooks|config|config\.worktree|commondir|info|modules|objects/info|worktrees|packed-refs"
    r"|head)(?:/|$)|/\.git$"
    r"|/\.config/(?:git|fish|systemd|autostart|environment\.d|nvim|pip|zsh|mise|direnv|containers"
    r"|plasma-workspace)(?:/|$)"
    r"|/\.github/(?:workflows|actions|copilot)|/etc/(?:cron|profile|bash|zsh|environment|rc\.local|init\.d|systemd|xdg"
    r"|ld\.so\.conf|anacrontab|inittab|rc\d?\.d|udev|skel|logrotate|gitconfig|pip\.conf|npmrc|apt/|yum|hosts"
    r"|resolv\.conf)"
    r"|/var/spool/(?:cron|at)|/(?:usr/)?lib/systemd|/library/launch(?:agents|daemons)|/\.local/share/(?:systemd"
    r"|applications)"
    r"|/(?:sitecustomize|usercustomize|conftest)\.py$|\.pth$|/pyvenv\.cfg$|/package\.json$|/lefthook\.ya?ml$"
    r"|/jenkinsfile$"
    r"|/azure-pipelines\.ya?ml$|/bitbucket-pipelines\.ya?ml$|/pip\.conf$|/\.local/bin(?:/|$)|/\.venv/|/venv/"
    r"|/bin/activate"
    r"|/claude\.md$|/agents\.md$|/gemini\.md$|/\.git-rewrite|/\.ipython/|/\.jupyter/|/\.r?profile$|/tasks\.json$",
)
_HOOKS = re.compile(r"/(?:hooks|refs|objects)/(?:pre|post|commit|update|prepare|applypatch)[^/]*$")


def normal(path: str) -> str:
    """An absolute path without `.`, `..` and doubled slashes."""
    return "/" + posixpath.normpath(path).lstrip("/") if path.startswith("/") else posixpath.normpath(path)


def is_under(path: str, folder: str) -> bool:
    """Whether a path is a folder or below it, by whole components."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


@functools.lru_cache(maxsize=8192)
def joined(value: str, folder: str, setting: Setting) -> str | None:
    """The path that a value names, as it is written, or nothing where only the shell will know it."""
    if UNKNOWN in folder or value.startswith(UNKNOWN):
        return value if value.startswith("/") else None
    here = posixpath.join(setting.start, folder) if folder else setting.start
    return posixpath.join(here, value)


def absolute(value: str, folder: str, setting: Setting) -> str | None:
    """The path that a value names, without `..`; unknown parts stay marked."""
    path = joined(value, folder, setting)
    return None if path is None else normal(path)


def faces(path: str, setting: Setting) -> tuple[str, ...]:
    """A path as it reads, and as it is once links are followed: `link/..` is the parent of what the link names."""
    lexical = normal(path)
    if not setting.has_files or UNKNOWN in path:
        return (lexical,)
    head = _GLOB.split(path, maxsplit=1)[0]
    tail = path[len(head) :]
    if tail:
        head, _, rest = head.rpartition("/")
        tail = rest + tail
    try:
        real = os.path.realpath(head or "/")
    except (OSError, ValueError):
        return (lexical,)
    other = normal(posixpath.join(real, tail)) if tail else real
    return (lexical,) if other == lexical else (lexical, other)


@functools.lru_cache(maxsize=8192)
def is_secret(path: str, *, by_pattern: bool = True) -> bool:
    """Whether a path is a secret place, or a pattern that may be one."""
    low = path.lower()
    if _SECRET_PATH.search(low):
        return True
    parts = [part for part in low.split("/") if part]
    for at, part in enumerate(parts):
        if _GLOB.search(part):
            if by_pattern and _may_be_secret(part, is_folder=at < len(parts) - 1):
                return True
        elif _SECRET_NAME.fullmatch(part) and part != ".env.example":
            return True
    return by_pattern and bool(_GLOB.search(low)) and any(_may_match(low, f"/etc/{name}") for name in _SECRET_IN_ETC)


@functools.lru_cache(maxsize=4096)
def _may_be_secret(part: str, *, is_folder: bool) -> bool:
    part = re.sub(r"\[([^\]!^])\]", r"\1", part)
    tail = re.split(r"[*?\]]", part)[-1]
    if (_SECRET_END.fullmatch(tail) and not is_folder) or (not _GLOB.search(part) and _SECRET_NAME.fullmatch(part)):
        return True
    pattern = _compiled(part)
    made = [f".env{tail[at:]}" for at in range(min(len(tail), 12) + 1)] if part.startswith((".", "[.")) else []
    if part.startswith("i") and not is_folder:
        made += [f"id_{tail}", f"id_x{tail}"]
    samples = (*(_SECRET_FOLDERS if is_folder else _SECRET_SAMPLES), *made)
    return any(_shown(part, name) and pattern.fullmatch(name) for name in samples)


def _shown(part: str, name: str) -> bool:
    return not name.startswith(".") or part.startswith((".", "[."))


_WIDE = re.compile(r"\[[!^]?\]?[^\]]*\]|\*")
"""Parts of a pattern that may match one character, or none."""
_NOTHING = re.compile(r"(?!)")


@functools.lru_cache(maxsize=4096)
def _compiled(part: str) -> re.Pattern[str]:
    # Longer than every name that is asked for: a text with brackets, such as JSON.
    if len(part) > 200 and len(_WIDE.sub("", part)) > 100:
        return _NOTHING
    if part.count("*") > 8 or len(part) > 200:
        return re.compile(".*", re.DOTALL)
    try:
        return re.compile(translate(part.replace("[^", "[!")))
    except re.error:
        return re.compile(".*", re.DOTALL)


def _may_match(pattern: str, path: str) -> bool:
    parts, wanted = pattern.split("/"), path.split("/")
    return len(parts) == len(wanted) and all(
        _compiled(one).fullmatch(other) is not None for one, other in zip(parts, wanted, strict=True)
    )


def is_readable(path: str, setting: Setting) -> bool:
    """Whether a path is a place that may be read without asking."""
    low = path.lower()
    return is_inside(path, setting) or _READABLE.fullmatch(low) is not None or _READABLE_PROC.fullmatch(low) is not None


def is_inside(path: str, setting: Setting) -> bool:
    """Whether a path is in the workspace."""
    return any(is_under(path, folder) for folder in (setting.workspace, *setting.extra_folders))


@functools.lru_cache(maxsize=8192)
def is_own(path: str, setting: Setting) -> bool:
    """Whether a path is the agent's own: settings, rules, hooks, data."""
    low = path.lower()
    if setting.own_home and is_under(low, setting.own_home.lower()):
        return True
    if "/.config/perdure" in low or "/.local/share/perdure" in low:
        return True
    parts = low.split("/")
    for name in setting.own_names:
        if name.lower() in parts:
            return True
        if any(part[:1] in ".[" and _GLOB.search(part) and _compiled(part).fullmatch(name.lower()) for part in parts):
            return True
    return False


def is_own_key(path: str, setting: Setting) -> bool:
    """Whether a path is in the folder of the person's keys."""
    return is_own(path, setting) and "keys" in path.lower().split("/")


def is_device(path: str) -> bool:
    """Whether a path is a block device or the machine's memory."""
    return _DEVICE.fullmatch(path.lower()) is not None


@functools.lru_cache(maxsize=8192)
def is_account(path: str, setting: Setting) -> bool:
    """Whether writing a path changes who may log in."""
    low = path.lower()
    if _ACCOUNT.fullmatch(low) or (_GLOB.search(low) and _may_match(low, "/etc/passwd")):
        return True
    if "/.ssh/" in low + "/":
        return (is_under(path, setting.home) and not is_inside(path, setting)) or low.startswith(
            ("/root/", "/home/", "/users/")
        )
    return False


@functools.lru_cache(maxsize=8192)
def runs_later(path: str) -> bool:
    """Whether what is written to a path is run by itself some time."""
    low = path.lower()
    return (
        _LATER.search(low) is not None
        or _HOOKS.search(low) is not None
        or any(_START_UP.fullmatch(part) for part in low.split("/") if part.startswith("."))
        or low.startswith("/etc/")
    )


def trimmed(path: str) -> str:
    """The folder whose whole content a pattern names: `/usr/*` is `/usr`."""
    while True:
        head, _, last = path.rpartition("/")
        if path in {"", "/"} or not re.fullmatch(r"[*?.!\[\]^{},@()+]*[*?\]][*?.!\[\]^{},@()+]*", last):
            return path or "/"
        path = head or "/"


@functools.lru_cache(maxsize=8192)
def is_critical(path: str, setting: Setting) -> bool:
    """Whether losing a path wrecks the system, the home, or more than the workspace."""
    path = trimmed(normal(path.replace(UNKNOWN, "")))
    low = path.lower()
    if low == "/" or low.rstrip("/") in _SYSTEM_TOP or _SYSTEM.fullmatch(low):
        return not is_under(path, setting.workspace) or path == "/"
    if _GLOB.search(low) and low.count("/") == 1:
        return True
    return path == setting.home or (is_under(setting.workspace, path) and path != setting.workspace)
