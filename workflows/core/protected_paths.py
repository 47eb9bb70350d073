"""Files that run something later, or rule the agent itself: no mode lets an edit of them pass in silence."""

import posixpath

_FOLDERS = (
    ".git", ".config/git", ".vscode", ".idea", ".husky", ".cargo", ".devcontainer", ".yarn", ".mvn", ".claude",
    ".cursor", ".github/workflows", ".gitlab/ci", ".circleci", ".config/systemd", ".config/autostart",
    ".config/fish", ".ssh", ".pre-commit-hooks", ".githooks", ".buildkite", ".codex", ".gemini", ".windsurf", ".cline",
    ".local/share/systemd", "library/launchagents", "library/launchdaemons",
)  # fmt: skip
_FILES = frozenset({
    ".gitconfig", ".gitmodules", ".gitattributes", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout",
    ".bash_aliases", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc",
    ".tcshrc", ".login", ".inputrc", ".xprofile", ".xinitrc", ".npmrc", ".pypirc", ".yarnrc", ".yarnrc.yml",
    ".yarnrc.yaml", ".pnp.cjs", ".pnp.loader.mjs", ".pnpmfile.cjs", ".bunfig.toml", "bunfig.toml", ".bazelrc",
    ".bazeliskrc", ".envrc", ".mcp.json", ".claude.json", ".ripgreprc", ".pre-commit-config.yaml", "lefthook.yml",
    "lefthook.yaml", ".lefthook.yml", ".lefthookrc", ".overcommit.yml", ".gitlab-ci.yml", "sitecustomize.py",
    "usercustomize.py", ".tmux.conf", ".vimrc", ".netrc", ".travis.yml", ".drone.yml", "appveyor.yml",
    "azure-pipelines.yml", "bitbucket-pipelines.yml", "jenkinsfile", ".direnvrc", ".condarc", ".screenrc", ".exrc",
    ".gdbinit", ".xsession", ".xsessionrc",
})  # fmt: skip
_SYSTEMS = (
    "/etc/cron", "/etc/anacrontab", "/etc/systemd/", "/etc/init.d/", "/etc/rc", "/etc/profile", "/etc/bash", "/etc/zsh",
    "/etc/environment", "/etc/xdg/autostart/", "/etc/udev/", "/etc/ld.so.conf", "/etc/gitconfig", "/etc/skel/",
    "/var/spool/cron/", "/var/spool/at/", "/usr/lib/systemd/", "/lib/systemd/",
)  # fmt: skip
"""How paths begin whose files the machine itself runs."""
_ENDINGS = (".pth",)
_WORKTREES = "worktrees"
_OWN = (".perdure", ".config/perdure")


def protected(path: str) -> str:
    """What makes this absolute path a protected one, compared in lower case on every platform; empty for none."""
    path = posixpath.normpath(path).lower()
    if system := next((start for start in _SYSTEMS if path.startswith(start)), ""):
        return system.rstrip("/")
    parts = path.strip("/").split("/")
    for folder in _FOLDERS:
        names = folder.split("/")
        if _holds(parts, names) and not (folder == ".claude" and _is_worktree(parts, names)):
            return folder
    name = parts[-1]
    return name if name in _FILES or name.endswith(_ENDINGS) else ""


def own(path: str) -> str:
    """Which of the agent's own folders holds this path; empty for none. Work trees in it are ordinary folders."""
    parts = posixpath.normpath(path).lower().strip("/").split("/")
    found = (folder for folder in _OWN if _holds(parts, folder.split("/")))
    return next((folder for folder in found if not _is_worktree(parts, folder.split("/"))), "")


def _holds(parts: list[str], names: list[str]) -> bool:
    return any(parts[at : at + len(names)] == names for at in range(len(parts)))


def _is_worktree(parts: list[str], names: list[str]) -> bool:
    """Whether each such folder in the path is only passed on the way to a work tree in it."""
    places = [at + len(names) for at in range(len(parts)) if parts[at : at + len(names)] == names]
    return all(parts[at : at + 1] == [_WORKTREES] and len(parts) > at + 2 for at in places)
