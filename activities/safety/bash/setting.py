"""Where a command is judged: folders, names and what stands behind them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Setting:
    """The world that a judgement supposes."""

    workspace: str = "/home/dev/project"
    home: str = "/home/dev"
    user: str = "dev"
    cwd: str = ""
    """Where the command starts; the workspace when empty."""
    own_names: tuple[str, ...] = (".perdure",)
    """Names of the agent's folders, wherever they are."""
    own_home: str = ""
    """The agent's data on this machine, absolute: PERDURE_HOME."""
    ports: tuple[int, ...] = (7233, 7234, 7235, 7236, 7239, 7243, 8233)
    """Ports of the engine."""
    has_files: bool = False
    """Whether paths are those of this machine: then links are followed."""
    is_git_trusted: bool = True
    """Whether no git configuration here runs programs or leads elsewhere: else git is never proved."""
    extra_folders: tuple[str, ...] = ()
    """Folders beside the workspace that count as inside, absolute."""

    @property
    def start(self) -> str:
        """The folder that the command starts in."""
        return self.cwd or self.workspace

    def known(self) -> dict[str, str]:
        """Variables whose values are known before the command runs."""
        return {
            "HOME": self.home,
            "PWD": self.start,
            "USER": self.user,
            "LOGNAME": self.user,
            "SHELL": "/bin/bash",
            "BASH": "/bin/bash",
            "0": "bash",
            "LANG": "C.UTF-8",
            "IFS": " \t\n",
            "?": "0",
            "~+": self.start,
            f"~{self.user}": self.home,
            "~root": "/root",
            **({"PERDURE_HOME": self.own_home} if self.own_home else {}),
        }
