"""parse one rule, such as Bash(npm test:*), tell what is wrong with it, and what it speaks of."""

import re
from dataclasses import dataclass
from functools import lru_cache

from workflows.contracts.permissions import Decision
from workflows.core.bash_patterns import pattern_of
from workflows.core.path_rules import is_pattern

_RULE = re.compile(r"(?P<tool>mcp__[\w.*-]+|[A-Za-z_][A-Za-z0-9_]*)(?:\((?P<content>.*)\))?", re.DOTALL)
_PARAMETER = re.compile(r"(?P<name>[A-Za-z_]\w*):(?P<value>[^\s].*)", re.DOTALL)

EDITS = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})
READS = frozenset({"Read", "Grep", "Glob", "LSP"})
_COVERS = {"Edit": EDITS, "Read": READS}
"""Rules of one tool that count for others too (spec 06 §2)."""

PATH_TOOLS = EDITS | READS | {"Cd"}
_BY_ANOTHER = (EDITS | READS) - {"Edit", "Read"}
"""Tools whose paths are told by rules of Edit and Read."""
_GLUED = re.compile(r"[A-Za-z0-9_]\*$")


@dataclass(frozen=True)
class Rule:
    """A parsed rule: the tool, and what of it; empty for all."""

    tool: str
    content: str = ""

    @property
    def is_mcp(self) -> bool:
        """Whether it speaks of tools of an MCP server."""
        return self.tool.startswith("mcp__")


@lru_cache(maxsize=4096)
def parse(text: str) -> Rule | None:
    """The rule, or None for a text that is no rule."""
    found = _RULE.fullmatch(text.strip())
    if found is None or (found["content"] is not None and not found["content"].strip()):
        return None
    content = found["content"] or ""
    rule = Rule(found["tool"], "" if content.strip() == "*" else content)
    if rule.tool == "Bash" and rule.content and pattern_of(rule.content) is None:
        return None
    if rule.tool in PATH_TOOLS and rule.content and not is_pattern(rule.content):
        return None
    return None if rule.is_mcp and rule.tool.strip("_*") == "mcp" and rule.tool != "mcp__*" else rule


def speaks_of(rule: Rule, tool: str) -> bool:
    """Whether a rule's tool is this one, or covers it."""
    if not rule.is_mcp:
        return tool in _COVERS.get(rule.tool, {rule.tool})
    if "*" not in rule.tool:
        return tool == rule.tool or tool.startswith(f"{rule.tool}__")
    return re.fullmatch(re.escape(rule.tool).replace(r"\*", ".*"), tool, re.DOTALL) is not None


def parameter_of(content: str) -> tuple[str, str] | None:
    """Name and value of a rule such as `model:opus`; None for other texts. A star in the value is any text."""
    found = _PARAMETER.fullmatch(content.strip())
    return (found["name"], found["value"].strip()) if found else None


def fits(wanted: str, value: str) -> bool:
    """Whether a value is the wanted one; a star in it is any text, an escaped star a star."""
    pieces = [re.escape(piece.replace(r"\*", "*")) for piece in re.split(r"(?<!\\)\*", wanted)]
    return re.fullmatch(".*".join(pieces), value, re.DOTALL) is not None


def is_ignored(rule: Rule, action: Decision) -> bool:
    """Whether a rule is well formed and yet gives nothing: a path on a tool that Edit or Read speaks for, mcp__*."""
    if action != Decision.ALLOW:
        return False
    return (rule.tool in _BY_ANOTHER and bool(rule.content)) or rule.tool == "mcp__*"


_RUNNERS = frozenset({
    "sh", "bash", "zsh", "fish", "csh", "tcsh", "ksh", "dash", "cmd", "powershell", "pwsh", "env", "xargs", "nice",
    "stdbuf", "nohup", "timeout", "time", "sudo", "doas", "pkexec", "su", "eval", "exec", "source", "command", "ssh",
    "python", "python2", "python3", "node", "deno", "bun", "ruby", "perl", "php", "lua", "Rscript", "osascript",
    "npx", "bunx", "pnpx", "uvx", "pipx", "uv", "npm", "pnpm", "yarn", "watch", "setsid", "flock", "parallel", "tclsh",
})  # fmt: skip
"""Programs whose arguments are programs: a rule that leaves them free allows everything."""

_RUN_WORDS = frozenset({"-c", "-e", "-m", "-p", "--", "run", "exec", "dlx", "x", "tool", "start", "create", "init"})


def is_broad(text: str) -> bool:
    """Whether an allow rule would leave auto mode's small model nothing to see (spec 06 §6)."""
    rule = parse(text)
    if rule is None or rule.tool in {"Agent", "Monitor", "Task"}:
        return True
    if rule.tool != "Bash":
        return False
    pattern = pattern_of(rule.content) if rule.content else None
    if pattern is None or pattern.is_literal:
        return pattern is None
    base = pattern.head.rsplit("/", 1)[-1]
    is_runner = base in _RUNNERS or re.fullmatch(r"python[\d.]+", base) is not None
    fixed = pattern.words[1 : pattern.literals]
    return pattern.literals == 0 or (is_runner and (not fixed or (len(fixed) == 1 and fixed[0] in _RUN_WORDS)))


def problem(text: str, action: Decision) -> str:
    """What a person should know of a rule they wrote, in one sentence; empty when it is fine."""
    rule = parse(text)
    if rule is None:
        return f"{text!r} is no rule and matches nothing: write Tool or Tool(what), such as Edit or Bash(git status)"
    if rule.tool in _BY_ANOTHER and rule.content:
        other = "Edit" if rule.tool in EDITS else "Read"
        kept = "gives no rights" if action == Decision.ALLOW else f"counts for {rule.tool} only"
        return f"{text!r} {kept}: paths of {rule.tool} are told by {other}({rule.content})"
    if rule.tool == "mcp__*" and action == Decision.ALLOW:
        return f"{text!r} gives no rights: name the server, such as mcp__github"
    if rule.tool == "Bash" and _GLUED.search(rule.content):
        words = rule.content.rstrip("*")
        return f"{text!r} also matches other words that begin so; Bash({words} *) means {words!r} and its arguments"
    if rule.tool == "WebFetch" and rule.content and not rule.content.strip().startswith("domain:"):
        return f"{text!r} matches nothing: write WebFetch(domain:example.com)"
    return ""
