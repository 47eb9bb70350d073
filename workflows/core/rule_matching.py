"""Which rule of a policy speaks of a call: of its command, its paths, its host, its name, its parameters."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from workflows.contracts.commands import Judgement, Script
from workflows.contracts.permissions import Decision, Policy, Source, SourcedRule
from workflows.core import bash_rules
from workflows.core.accepted_edits import Ground
from workflows.core.bash_patterns import patterns_of
from workflows.core.path_rules import Bases, NamedPath, allows_paths, forbids_paths
from workflows.core.paths_of_commands import Expand, absolute, read_by, written_by
from workflows.core.permission_rules import (
    EDITS,
    PATH_TOOLS,
    READS,
    Rule,
    fits,
    is_ignored,
    parameter_of,
    parse,
    speaks_of,
)

_SEARCHES = frozenset({"Grep", "Glob"})


def _same(path: str) -> str:
    return path


def _nothing(_pattern: str) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True)
class Asked:
    """One call, as far as permission depends on it."""

    tool: str
    content: str = ""
    """What rules speak of: the command, the path, the name of an agent or skill."""
    is_read_only: bool = False
    edits_files: bool = False
    is_inside: bool = True
    """All paths it names lie in the session's folders."""
    paths: tuple[NamedPath, ...] = ()
    judged: Judgement | None = None
    """Of a shell command: what the static layers say."""
    host: str = ""
    """Of a web request: where it goes."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """Top-level parameters of the call, as text."""
    bases: Bases = field(default_factory=lambda: Bases("/"))
    cwd: str = ""
    """Folder in which a command runs; the session's where it is empty."""
    folders: tuple[str, ...] = ()
    """Real paths of the session's folder and of those added to it."""
    real: Callable[[str], str] = _same
    """A path with every link followed."""
    expand: Expand = _nothing
    """The paths that an absolute pattern means."""
    is_plan_file: bool = False
    """It writes the plan of plan mode, and nothing else."""
    is_contained: bool = False
    """A command that runs in the sandbox, where the person's settings say that this is enough."""
    needs_person: bool = False
    """It is a question to the person by itself, whatever the mode."""

    @property
    def script(self) -> Script:
        """Of a shell command: its normal form; one that nobody has read matches no rule that allows."""
        return self.judged.script if self.judged else Script(self.content, is_parsed=False, is_cut=True)

    @cached_property
    def read_by_command(self) -> tuple[NamedPath, ...]:
        """Of a shell command: the paths that it names openly."""
        return self.really(read_by(self.script, self.ground.cwd, self.bases.home, self.expand))

    @cached_property
    def written_by_command(self) -> tuple[NamedPath, ...]:
        """Of a shell command: the files that it openly changes."""
        return self.really(written_by(self.script, self.ground.cwd, self.bases.home, self.expand))

    def really(self, paths: Iterable[str]) -> tuple[NamedPath, ...]:
        """The paths with where they lead, each once."""
        return tuple(NamedPath(path, self.real(path)) for path in dict.fromkeys(paths))

    @property
    def ground(self) -> Ground:
        """Where edits are accepted."""
        return Ground(self.cwd or self.bases.cwd, self.folders, self.real)


def first_forbidding(policy: Policy, asked: Asked, action: Decision) -> SourcedRule | None:
    """The first deny or ask rule that speaks of the call, in the order of the policy."""
    return next((rule for rule in policy.rules if rule.action == action and forbids(rule, asked)), None)


def forbids(sourced: SourcedRule, asked: Asked) -> bool:
    """Whether a deny or ask rule speaks of any part of the call."""
    rule = parse(sourced.text)
    if rule is None:
        return False
    if speaks_of(rule, asked.tool):
        return not rule.content or _forbids_content(rule, sourced.root, asked)
    if rule.tool == "Read" and asked.tool in EDITS and sourced.action == Decision.DENY:
        return not rule.content or forbids_paths(rule.content, asked.paths, asked.bases, sourced.root)
    return asked.tool == "Bash" and bool(rule.content) and _forbids_in_command(rule, sourced.root, asked)


def covers_alone(text: str, action: Decision, script: Script) -> bool:
    """Whether this one rule covers a whole command (allow), or speaks of any part of it (deny, ask)."""
    rule = parse(text)
    if rule is None or rule.tool != "Bash":
        return False
    if not rule.content:
        return True
    matches = bash_rules.covers_whole if action == Decision.ALLOW else bash_rules.forbids
    return matches(rule.content, script)


def speaks_of_call(text: str, asked: Asked) -> bool:
    """Whether a condition that is written as a rule speaks of any part of the call."""
    return forbids(SourcedRule(text=text, action=Decision.ASK, source=Source.SESSION), asked)


def _forbids_content(rule: Rule, root: str, asked: Asked) -> bool:
    named = parameter_of(rule.content)
    if named and named[0] in asked.parameters and not (asked.tool == "Bash" and named[1] == "*"):
        return fits(named[1], asked.parameters[named[0]])
    if asked.tool == "Bash":
        return bash_rules.forbids(rule.content, asked.script)
    if asked.tool in PATH_TOOLS:
        return forbids_paths(rule.content, _searched(asked), asked.bases, root)
    return _fits_name(rule, asked)


def _searched(asked: Asked) -> tuple[NamedPath, ...]:
    """The paths of a call; a search of a folder is one of what lies directly in it too."""
    if asked.tool not in _SEARCHES:
        return asked.paths
    below = (NamedPath(f"{one.path}/-", f"{one.real or one.path}/-") for one in asked.paths)
    return (*asked.paths, *below)


def _forbids_in_command(rule: Rule, root: str, asked: Asked) -> bool:
    """Whether a rule about paths speaks of a path that a command names openly."""
    if rule.tool == "Cd":
        return forbids_paths(
            rule.content, named_paths(bash_rules.targets_of_cd(asked.script), asked), asked.bases, root
        )
    if rule.tool == "Read":
        return forbids_paths(rule.content, asked.read_by_command, asked.bases, root)
    if rule.tool == "Edit":
        return forbids_paths(rule.content, asked.written_by_command, asked.bases, root)
    return False


def named_paths(texts: Iterable[str], asked: Asked) -> tuple[NamedPath, ...]:
    """Paths of a command's words, counted from its folder."""
    return asked.really(absolute(text, asked.ground.cwd, asked.bases.home) for text in texts)


def allowing(policy: Policy, asked: Asked) -> tuple[SourcedRule, ...]:
    """The allow rules that cover a call which is no command: one alone, or one for each name of its paths."""
    rules = [rule for rule in policy.rules if rule.action == Decision.ALLOW]
    alone = next((rule for rule in rules if allows(rule, asked)), None)
    if alone or not asked.paths:
        return (alone,) if alone else ()
    names = [replace(asked, paths=(NamedPath(one),)) for path in asked.paths for one in path.both]
    found = [next((rule for rule in rules if allows(rule, name)), None) for name in names]
    each = tuple(dict.fromkeys(rule for rule in found if rule))
    return each if None not in found else ()


def allows(sourced: SourcedRule, asked: Asked) -> bool:
    """Whether an allow rule covers a call which is no command."""
    rule = parse(sourced.text)
    if rule is None or is_ignored(rule, Decision.ALLOW):
        return False
    if not speaks_of(rule, asked.tool):
        is_implied = rule.tool == "Edit" and asked.tool in READS and bool(rule.content)
        return is_implied and allows_paths(rule.content, asked.paths, asked.bases, sourced.root)
    if not rule.content:
        return True
    if asked.tool in PATH_TOOLS:
        return allows_paths(rule.content, asked.paths, asked.bases, sourced.root)
    named = parameter_of(rule.content)
    if named and named[0] in asked.parameters:
        return False
    return _fits_name(rule, asked)


def _fits_name(rule: Rule, asked: Asked) -> bool:
    """Domains of web requests; names of agents and skills, with or without what follows them."""
    content = rule.content.strip()
    if asked.tool == "WebFetch":
        return content.startswith("domain:") and _fits_host(content.removeprefix("domain:").strip(), asked.host)
    pattern = patterns_of(content)
    return len(pattern) == 1 and pattern[0].fits(asked.content.split())


def _fits_host(wanted: str, host: str) -> bool:
    wanted, host = wanted.lower().rstrip("."), host.lower().rstrip(".")
    if not wanted or not host:
        return False
    if wanted == "*":
        return True
    if wanted.startswith("*."):
        return host.endswith(wanted[1:]) and host != wanted[2:]
    return host == wanted
