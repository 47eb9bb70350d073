"""Places that every sandbox knows: tool folders to see, secrets to hide, folders of the agent's own settings."""

import os
from collections.abc import Mapping
from pathlib import Path

SEEN_AT_HOME = (
    ".gitconfig", ".config/git/config", ".config/git/ignore", ".config/git/attributes", ".gitignore_global",
    ".local/bin", ".local/lib", ".local/pipx", ".local/share/pipx", ".local/share/uv", ".local/share/mise",
    ".local/share/fnm", ".local/share/pnpm", ".local/share/virtualenvs", ".virtualenvs", ".pyenv", ".rbenv", ".rvm",
    ".nvm", ".fnm", ".volta", ".asdf", ".sdkman", ".goenv", ".jenv", ".rustup", ".cargo/bin", ".cargo/env",
    ".cargo/config.toml", ".bun/bin", ".deno/bin", ".npm-global", ".yarn/bin", ".dotnet", ".juliaup", ".ghcup",
    ".conda", "miniconda3", "miniforge3", "anaconda3", "go/bin", "sdk", ".tool-versions", ".terminfo",
)  # fmt: skip
"""Tools, and what they need to start; read-only, below the home folder."""

SECRET_AT_HOME = (
    ".ssh", ".gnupg", ".aws", ".kube", ".docker", ".azure", ".config/gcloud", ".config/gh", ".netrc", ".npmrc",
    ".pypirc", ".pgpass", ".git-credentials", ".config/git/credentials", ".cargo/credentials",
    ".cargo/credentials.toml", ".config/perdure", ".bash_history", ".zsh_history", ".python_history", ".psql_history",
    ".mysql_history", ".claude", ".claude.json", ".perdure", ".password-store", ".local/share/keyrings", ".mozilla",
    ".config/google-chrome", ".config/chromium", ".thunderbird",
)  # fmt: skip
"""Hidden also where the workspace is the home folder or holds it."""

STARTS_AT_HOME = (
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin",
    ".config/fish", ".config/autostart", ".config/systemd", ".gitconfig", ".config/git", ".vimrc", ".config/nvim",
)  # fmt: skip
"""Run for the person later; read-only where the workspace holds the home folder."""

SECRET_FILES = ("/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/sudoers.d")
SECRET_PATTERNS = (("/etc/ssh", "ssh_host_*_key"),)

OWN_FOLDERS = (".perdure", ".claude")
"""Settings of agents in a workspace; where they are absent, an empty one stands in for them while a command runs."""

OWN_FILES = (".mcp.json",)

NOT_ENTERED, MOST_LOOKED_AT = frozenset({".git", "node_modules", ".venv"}), 20_000
"""Folders of too many files to look at before each command, hardly ever a person's; and how many are looked at."""

TOOL_VARIABLES = (
    "VIRTUAL_ENV", "CONDA_PREFIX", "PYENV_ROOT", "NVM_DIR", "RUSTUP_HOME", "GOROOT", "JAVA_HOME", "VOLTA_HOME",
    "BUN_INSTALL", "DENO_INSTALL", "ASDF_DIR", "SDKMAN_DIR", "MISE_DATA_DIR", "UV_PYTHON_INSTALL_DIR",
    "DOTNET_ROOT", "NODE_PATH",
)  # fmt: skip
"""Variables that name a folder of tools."""


def tool_folders(environment: Mapping[str, str], hidden: tuple[Path, ...]) -> list[Path]:
    """Folders of tools that the environment names and that lie in hidden places; never the hidden place itself."""
    named = [environment[name] for name in TOOL_VARIABLES if environment.get(name, "").startswith("/")]
    named += [entry for entry in environment.get("PATH", "").split(os.pathsep) if entry.startswith("/")]
    real = {Path(os.path.realpath(entry)) for entry in named}
    below = [path for path in real if _is_below(path, hidden) and path.is_dir()]
    # `bin` of a virtual environment needs what stands beside it; any other folder is seen alone.
    beside = [path.parent if path.name == "bin" and _is_prefix(path.parent) else path for path in below]
    return sorted({path for path in beside if _is_below(path, hidden)})


def _is_below(path: Path, hidden: tuple[Path, ...]) -> bool:
    name, places = f"{path}/", [f"{place}/" for place in hidden]
    return not any(place.startswith(name) for place in places) and any(name.startswith(place) for place in places)


def _is_prefix(folder: Path) -> bool:
    return any((folder / mark).exists() for mark in ("pyvenv.cfg", "lib", "conda-meta", "share/man"))


def secret_files() -> list[Path]:
    """Files of the system that hold secrets, as far as the person may read them: commands have no more rights."""
    found = [Path(name) for name in SECRET_FILES]
    for folder, pattern in SECRET_PATTERNS:
        found += sorted(Path(folder).glob(pattern))
    return [path for path in found if os.access(path, os.R_OK)]
