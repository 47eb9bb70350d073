"""What would be decided about a call, by the functions that decide."""

from pathlib import Path

from activities.safety.paths import edit_findings, home_findings, real
from activities.settings.load import load_settings
from activities.tool import AnyTool
from activities.tool_calls.asked import Standpoint, host_of
from activities.tool_calls.registry import TOOLS, find
from workflows.contracts.errors import UsageError
from workflows.contracts.permissions import Decision, Mode, Policy, SourcedRule, Verdict
from workflows.contracts.settings_files import ValueState
from workflows.core.permission_rules import PATH_TOOLS
from workflows.core.permissions import decide, effective
from workflows.core.rule_matching import Asked
from workflows.core.tool_pool import server_verdict


def explained(
    standpoint: Standpoint, tool: str, subject: str, mode: Mode | None = None
) -> tuple[Verdict, Policy, Mode]:
    """The verdict on a call of this tool, the policy it comes from, and the mode that counts.

    `subject` is what rules speak of: a command, a path, a URL. UsageError for a tool that there is none of.
    """
    policy = standpoint.policy()
    chosen = effective(mode or policy.default_mode or Mode.DEFAULT, policy)
    return _verdict(standpoint, tool, subject, chosen, policy), policy, chosen


def if_trusted(standpoint: Standpoint, tool: str, subject: str, mode: Mode) -> Verdict | None:
    """The allow that rules of the folder would give, were it trusted as it is; None where they change nothing."""
    loaded = load_settings(standpoint.places, standpoint.folder, standpoint.settings.roots)
    waiting = [
        SourcedRule(text=str(one.value), action=Decision.ALLOW, source=one.source, file=one.file, root=one.root)
        for one in loaded.values
        if one.key == "permissions.allow" and one.state == ValueState.UNTRUSTED
    ]
    if not waiting:
        return None
    policy = standpoint.policy()
    policy = policy.model_copy(update={"rules": (*policy.rules, *waiting)})
    verdict = _verdict(standpoint, tool, subject, mode, policy)
    return verdict if verdict.decision == Decision.ALLOW and verdict.by == "rule" else None


def _verdict(standpoint: Standpoint, tool: str, subject: str, mode: Mode, policy: Policy) -> Verdict:
    known = find(tool)
    if known is not None and known.spec().server:
        return server_verdict(known.name, standpoint.settings, policy)
    asked = _asked(standpoint, tool, subject, policy)
    named = tuple(Path(path.path) for path in asked.paths)
    findings = (*home_findings(standpoint.places.home, named), *edit_findings(asked))
    return decide(asked, mode, policy, findings)


def _asked(standpoint: Standpoint, name: str, subject: str, policy: Policy) -> Asked:
    tool = find(name)
    if tool is None:
        if name.startswith("mcp__"):
            return Asked(tool=name, content=subject)
        names = ", ".join(sorted(one.name for one in TOOLS))
        raise UsageError(f"There is no tool {name!r}; there are {names}, and mcp__SERVER__TOOL.")
    paths = _paths(standpoint, tool, subject)
    return standpoint.asked(tool, _subject(tool, subject), paths, tuple(map(real, paths)), policy)


def _subject(tool: AnyTool, subject: str) -> str:
    return f"domain:{host_of(subject)}" if tool.name == "WebFetch" and host_of(subject) else subject


def _paths(standpoint: Standpoint, tool: AnyTool, subject: str) -> tuple[Path, ...]:
    if tool.name not in PATH_TOOLS:
        return ()
    return (Path(standpoint.workspace, Path(subject).expanduser()),)
