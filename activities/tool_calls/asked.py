"""What permission depends on of one call: its command as analysed, its paths with their links followed, its rules."""

import getpass
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from glob import iglob
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit

from activities.safety.bash.judge import judge
from activities.safety.bash.setting import Setting
from activities.safety.git_trust import is_git_trusted
from activities.safety.paths import is_plan, leads_of, real
from activities.safety.sandbox.hold import is_contained
from activities.safety.session_rules import session_rules
from activities.settings.places import Places, places_of
from activities.settings.policy import current_policy
from activities.stores.engine_ports import engine_ports
from activities.tool import AnyTool, Call, ToolInput
from workflows.contracts.permissions import Policy
from workflows.contracts.settings import SessionSettings
from workflows.contracts.transcript import canonical, digest_of
from workflows.core.path_rules import Bases, NamedPath
from workflows.core.rule_matching import Asked

_MOST_TEXT = 1_000
"""Characters of a parameter that a rule may speak of."""
_MOST_PATHS = 5_000
"""Paths of one pattern that are compared with rules."""
_NOT_PARAMETERS = {"command", "description", "url", "file_path", "path"}
"""What rules speak of in other ways."""


@dataclass(frozen=True)
class Standpoint:
    """From where a call is looked at: the same for who decides and for who explains."""

    places: Places
    workspace: Path
    """The session's folder now, real path."""
    cwd: Path
    """Where a command starts."""
    folder: Path
    """The folder whose settings count."""
    settings: SessionSettings = field(default_factory=SessionSettings)
    session: str = ""

    @classmethod
    def of(cls, call: Call) -> "Standpoint":
        """Where a call stands."""
        folder = call.own_folder or call.workspace
        return cls(places_of(call.world), call.workspace, call.cwd, folder, call.settings, call.session)

    def policy(self) -> Policy:
        """All rules that count now: those of the settings, and what the person allowed in this session."""
        policy = current_policy(self.places, self.folder, self.settings)
        given = session_rules(self.places.home, self.session) if self.session else ()
        if not given or policy.only_managed:
            return policy
        policy = policy.model_copy(update={"rules": (*policy.rules, *given), "digest": ""})
        return policy.model_copy(update={"digest": digest_of(canonical(policy.model_dump(mode="json")))})

    def folders(self, policy: Policy) -> tuple[Path, ...]:
        """The session's folder, and those that were added to it."""
        return (self.workspace, *map(Path, policy.additional_directories))

    def setting(self, policy: Policy) -> Setting:
        """What the analysis of a command supposes."""
        return Setting(
            workspace=str(self.workspace),
            home=str(self.places.user),
            user=_user(),
            cwd=str(self.cwd),
            own_home=str(self.places.home.root),
            ports=tuple(sorted(engine_ports(self.places.home.engine / "engine.json") | set(Setting().ports))),
            has_files=True,
            is_git_trusted=is_git_trusted(self.cwd),
            extra_folders=policy.additional_directories,
        )

    def asked(self, tool: AnyTool, subject: str, paths: Sequence[Path], leads: Sequence[Path], policy: Policy) -> Asked:
        """A call of this tool with this subject and these paths, which lead there, as the pure decision sees it."""
        folders, name = tuple(map(real, self.folders(policy))), tool.judged_as or tool.name
        return Asked(
            tool=name,
            content=subject,
            is_read_only=tool.is_read_only,
            edits_files=tool.edits_files,
            is_inside=all(any(lead.is_relative_to(folder) for folder in folders) for lead in leads),
            paths=tuple(NamedPath(os.path.normpath(path), str(lead)) for path, lead in zip(paths, leads, strict=True)),
            judged=judge(subject, self.setting(policy)) if name == "Bash" else None,
            host=host_of(subject) if tool.name == "WebFetch" else "",
            bases=Bases(str(self.workspace), str(self.places.user)),
            cwd=str(self.cwd),
            folders=tuple(map(str, folders)),
            real=lambda path: str(real(Path(path))),
            expand=_expanded,
            needs_person=tool.needs_person,
            is_contained=name == "Bash" and is_contained(self.places.home, self.settings.sandbox, subject),
        )


def asked_of(call: Call, tool: AnyTool, given: ToolInput, policy: Policy) -> Asked:
    """The call as the pure decision sees it."""
    paths = tool.paths(call, given)
    leads = leads_of(call, paths)
    asked = Standpoint.of(call).asked(tool, tool.subject(call, given), paths, leads, policy)
    is_plan_file = bool(paths) and all(is_plan(call, path) for path in leads)
    is_held = asked.is_contained and not getattr(given, "dangerouslyDisableSandbox", False)
    return replace(
        asked,
        parameters=dict(_parameters(given)),
        is_inside=asked.is_inside or is_plan_file,
        is_plan_file=is_plan_file,
        is_contained=is_held,
    )


def policy_of(call: Call) -> Policy:
    """All rules that count for this call now."""
    return Standpoint.of(call).policy()


def host_of(subject: str) -> str:
    """The host of a subject such as `domain:example.com`, or of a URL."""
    if subject.startswith("domain:"):
        return subject.removeprefix("domain:")
    try:
        return urlsplit(subject).hostname or ""
    except ValueError:
        return ""


def _parameters(given: ToolInput) -> Iterator[tuple[str, str]]:
    for name, value in given.model_dump(mode="json").items():
        if name not in _NOT_PARAMETERS and isinstance(value, str | int | float | bool):
            text = str(value).lower() if isinstance(value, bool) else str(value)
            yield name, text[:_MOST_TEXT]


def _expanded(pattern: str) -> tuple[str, ...]:
    """The paths that a shell would put in the place of this absolute pattern."""
    try:
        return tuple(islice(iglob(pattern), _MOST_PATHS))  # noqa: PTH207 - as a shell does, `**` is a star
    except (OSError, ValueError):
        return ()


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""
