"""What a command may decide about calls without an engine, by the same functions that activities use."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import JsonValue

from activities.safety.bash.judge import judge
from activities.safety.bash.setting import Setting
from activities.safety.bash.syntax import parse
from activities.stores.home import Home
from workflows.contracts.errors import UsageError
from workflows.contracts.permissions import Decision, Mode, Policy, Verdict
from workflows.contracts.sandbox import SandboxSettings
from workflows.contracts.settings import SessionSettings
from workflows.core.rule_matching import covers_alone

if TYPE_CHECKING:  # a table of all tools takes its time to import
    from activities.tool_calls.asked import Standpoint

__all__ = [
    "Explained",
    "Setting",
    "check_tools",
    "corpus_setting",
    "explain",
    "judge_lines",
    "match_lines",
    "standpoint",
]

MOST_LINE = 1_000_000
"""Characters of a line that is read."""

_Row = Mapping[str, JsonValue]


@dataclass(frozen=True)
class Explained:
    """What would be decided about a call now, and by which rules."""

    verdict: Verdict
    policy: Policy
    mode: Mode
    if_trusted: Verdict | None = None
    """The allow that rules of the folder would give, did the person trust it; None where they change nothing."""


class _UnreadableLine(Exception):
    """A line that says nothing; the message tells why."""


def corpus_setting(cwd: str = "", home: str = "", user: str = "") -> Setting:
    """Where lines are judged: the set-up of the corpus, no files behind it, but for what is named."""
    usual = Setting()
    return Setting(
        workspace=str(Path(cwd).expanduser().absolute()) if cwd else usual.workspace,
        home=str(Path(home).expanduser().absolute()) if home else usual.home,
        user=user or usual.user,
        has_files=bool(cwd) and Path(cwd).expanduser().is_dir(),
    )


def judge_lines(lines: Iterable[bytes], setting: Setting) -> Iterator[tuple[str, bool]]:
    """For each `{"id","command"}` what the static layers say of it, as a line; and whether it could be read."""

    def judged(row: _Row) -> dict[str, JsonValue]:
        judgement = judge(_text(row, "command"), setting)
        reasons: list[JsonValue] = [
            {"validator": one.validator, "action": one.action.value, "text": one.text} for one in judgement.reasons
        ]
        return {"id": row.get("id"), "verdict": judgement.verdict.value, "reasons": reasons}

    yield from _each(lines, judged)


def match_lines(lines: Iterable[bytes], setting: Setting) -> Iterator[tuple[str, bool]]:
    """For each `{"id","rule","as","command"}` whether the rule matches, as a line; and whether it could be read."""

    def matched(row: _Row) -> dict[str, JsonValue]:
        rule, kind, command = _text(row, "rule"), _text(row, "as"), _text(row, "command")
        if kind not in set(Decision):
            raise _UnreadableLine(f'"as" is allow, ask or deny, not {kind!r}')
        match = covers_alone(rule, Decision(kind), parse(command, setting.known()))
        return {"id": row.get("id"), "match": match}

    yield from _each(lines, matched)


def _each(lines: Iterable[bytes], of: Callable[[_Row], dict[str, JsonValue]]) -> Iterator[tuple[str, bool]]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            told, is_read = of(_row(line)), True
        except (_UnreadableLine, RecursionError) as error:
            told, is_read = {"line": number, "error": f"line {number}: {error}"}, False
        yield json.dumps(told, ensure_ascii=True), is_read


def _row(line: bytes) -> _Row:
    if len(line) > MOST_LINE:
        raise _UnreadableLine(f"it has over {MOST_LINE:,} bytes")
    try:
        row = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise _UnreadableLine(f"it is no UTF-8 ({error.reason})") from error
    except ValueError as error:
        raise _UnreadableLine(f"it is no JSON ({error})") from error
    if not isinstance(row, dict):
        raise _UnreadableLine("it is no JSON object")
    return row


def _text(row: _Row, name: str) -> str:
    value = row.get(name)
    if not isinstance(value, str):
        raise _UnreadableLine(f'it has no text "{name}"')
    return value


def explain(tool: str, subject: str, mode: Mode | None, standpoint: "Standpoint") -> Explained:
    """What would be decided about this call now. UsageError for a tool that there is none of."""
    from activities.tool_calls.explained import explained, if_trusted

    verdict, policy, decided = explained(standpoint, tool, subject, mode)
    is_allowed = verdict.decision == Decision.ALLOW
    waiting = None if is_allowed else if_trusted(standpoint, tool, subject, decided)
    return Explained(verdict, policy, decided, waiting)


def check_tools(names: Iterable[str]) -> None:
    """UsageError for a name that no tool has."""
    from activities.tool_calls.registry import TOOLS

    known = sorted(tool.name for tool in TOOLS)
    if wrong := [name for name in names if name not in known]:
        raise UsageError(f"There is no tool {', '.join(wrong)}; there are {', '.join(known)}.", reason="no_tool")


def standpoint(
    folder: str, environment: Mapping[str, str] = os.environ, sandbox: SandboxSettings | None = None
) -> "Standpoint":
    """A session that would start in this folder now, with this sandbox, and with somebody to ask."""
    from activities.settings.places import Places
    from activities.tool_calls.asked import Standpoint

    real = Path(folder).resolve()
    places = Places.from_environment(Home.from_environment(environment), environment)
    settings = SessionSettings(sandbox=sandbox or SandboxSettings())
    return Standpoint(places, real, real, real, settings)
