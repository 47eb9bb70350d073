"""Where the hooks of one moment run: folder, environment, and how one of them ended."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from activities.hooks.protocol import Said
from activities.stores.environments import kept_environment, without_keys
from activities.stores.files import make_folder, write_atomic
from activities.world import World
from workflows.contracts.extensions import HookAnswer, HookKind, HookRule
from workflows.contracts.transcript import canonical
from workflows.core.hook_events import PROMPT_SECONDS, facts_of


def hook_folder(root: Path) -> Path:
    """Where the hooks of a call or moment keep their files, below its record."""
    return root / "hooks"


@dataclass(frozen=True)
class HookPlace:
    """One moment of one session: what its hooks share."""

    world: World
    session: str
    key: str
    """Key of the call or moment in the journal; each process of its hooks carries it."""
    root: Path
    """Folder of that call's record; hooks keep their files below it."""
    cwd: Path
    project: Path
    model: str = ""
    """The session's model, which a rehearsal's prompt hooks are asked of too."""
    base_url: str = ""
    """The session's endpoint; empty for the worker's own."""

    @property
    def folder(self) -> Path:
        """Where the hooks of this moment keep their files."""
        return hook_folder(self.root)

    def folder_of(self, rule: HookRule) -> Path:
        """Where one hook's files are: the same for each attempt."""
        written = canonical(rule.model_dump(mode="json"))
        return self.folder / f"{rule.event}-{hashlib.sha256(written).hexdigest()[:16]}"

    def mark(self, rule: HookRule, name: str) -> str:
        """Note on disk that the hook is asked now; `repeated` when an attempt before has noted it, else empty."""
        folder = self.folder_of(rule)
        if (folder / name).exists():
            return "repeated"
        make_folder(folder)
        write_atomic(folder / name, b"")
        return ""

    def variables(self) -> dict[str, str]:
        """The session's variables without keys of ours: what a header may name, what a command finds."""
        kept = kept_environment(self.world.home, self.session)
        return without_keys(self.world.environment) if kept is None else kept

    def environment(self, rule: HookRule) -> dict[str, str]:
        """What a command hook finds."""
        project = str(self.project)
        given = {
            "CLAUDE_PROJECT_DIR": project,
            "PERDURE_PROJECT_DIR": project,
            "PERDURE_SESSION_ID": self.session,
            "PERDURE_HOOK_EVENT": rule.event,
        }
        roots = {"CLAUDE_PLUGIN_ROOT": rule.root, "PERDURE_PLUGIN_ROOT": rule.root} if rule.root else {}
        return self.variables() | given | roots


@dataclass(frozen=True)
class Ended:
    """How one hook ended: what it said, or why it said nothing that counts."""

    said: Said | None = None
    failure: str = ""
    text: str = ""
    exit: int | None = None
    seconds: float = 0.0
    crash: str = ""
    answer: HookAnswer | None = None
    """Of a hook that is understood already."""
    cost: int = 0
    """Micro-dollars."""


def limit_of(rule: HookRule) -> float:
    """Seconds that the hook may take."""
    facts = facts_of(rule.event)
    usual = min(PROMPT_SECONDS, facts.seconds) if rule.kind == HookKind.PROMPT else facts.seconds
    return min(rule.timeout or usual, facts.most_seconds)
