"""EVENTS: each hook event, what its matcher is held against, whether it guards, and why some are not raised."""

from dataclasses import dataclass

from workflows.contracts.extensions import HookEvent

COMMAND_SECONDS = 600.0
PROMPT_SECONDS = 30.0
MOST_SECONDS = 1_800.0
"""Most that a hook may ask for; an activity has an hour for a call and its hooks."""


@dataclass(frozen=True)
class EventFacts:
    """What holds for all hooks of one event."""

    target: str = ""
    """What a matcher is held against; empty when the event takes none."""
    guards: bool = False
    """A hook that fails refuses: what it was to judge does not happen."""
    is_tool: bool = False
    """About one tool call: `if` may be used."""
    plain_context: bool = False
    """Plain output is told to the model."""
    seconds: float = COMMAND_SECONDS
    """Limit where the hook names none."""
    most_seconds: float = MOST_SECONDS
    why_not: str = ""
    """Why perdure does not raise it; empty when it does."""


_TOOL = "tool name"
_LATER = "comes with {}"
_AGENTS = EventFacts(target="agent type", why_not=_LATER.format("subagents"))
_TEAM = EventFacts(why_not=_LATER.format("teams and tasks"))
_FROZEN = "settings and hooks are fixed when a session starts, so there is nothing to tell"
_MCP = EventFacts(target="server", why_not=_LATER.format("MCP servers"))

EVENTS: dict[str, EventFacts] = {
    HookEvent.SESSION_START: EventFacts("startup or fork", plain_context=True),
    HookEvent.USER_PROMPT_SUBMIT: EventFacts(guards=True, plain_context=True, seconds=30.0),
    HookEvent.PRE_TOOL_USE: EventFacts(_TOOL, guards=True, is_tool=True),
    HookEvent.PERMISSION_REQUEST: EventFacts(_TOOL, is_tool=True),
    HookEvent.PERMISSION_DENIED: EventFacts(_TOOL, is_tool=True),
    HookEvent.POST_TOOL_USE: EventFacts(_TOOL, is_tool=True),
    HookEvent.POST_TOOL_USE_FAILURE: EventFacts(_TOOL, is_tool=True),
    HookEvent.POST_TOOL_BATCH: EventFacts(guards=True),
    HookEvent.NOTIFICATION: EventFacts("permission_prompt", seconds=5.0, most_seconds=60.0),
    HookEvent.STOP: EventFacts(),
    HookEvent.STOP_FAILURE: EventFacts("how the turn ended"),
    HookEvent.SESSION_END: EventFacts("clear, logout or other", seconds=1.5, most_seconds=60.0),
    "Setup": EventFacts("init or maintenance", why_not="perdure has no set-up step"),
    "InstructionsLoaded": EventFacts("load reason", why_not=_LATER.format("project memory")),
    "UserPromptExpansion": EventFacts("command", plain_context=True, why_not=_LATER.format("skills and commands")),
    "MessageDisplay": EventFacts(why_not="watchers draw the feed by themselves and may be many, or none"),
    "SubagentStart": _AGENTS,
    "SubagentStop": _AGENTS,
    "TeammateIdle": _TEAM,
    "TaskCreated": _TEAM,
    "TaskCompleted": _TEAM,
    "ConfigChange": EventFacts("source", why_not=_FROZEN),
    "CwdChanged": EventFacts(why_not="a command's last folder is in its outcome; PostToolUse for Bash sees it"),
    "DirectoryAdded": EventFacts("how", why_not=_FROZEN),
    "FileChanged": EventFacts("file name", why_not="perdure watches no files between the agent's own acts"),
    "WorktreeCreate": EventFacts(why_not="perdure makes worktrees with git itself"),
    "WorktreeRemove": EventFacts(why_not="perdure removes worktrees with git itself"),
    "PreCompact": EventFacts("manual or auto", why_not=_LATER.format("compaction")),
    "PostCompact": EventFacts("manual or auto", why_not=_LATER.format("compaction")),
    "Elicitation": _MCP,
    "ElicitationResult": _MCP,
}
"""Every event that settings may name (spec 09 B)."""


def facts_of(event: str) -> EventFacts:
    """What holds for an event; of an unknown one that nobody raises it."""
    return EVENTS.get(event) or EventFacts(why_not="there is no such event")
