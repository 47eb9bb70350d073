"""Tool: what every tool declares and does."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from pydantic import ConfigDict

from activities.stores.journal import CallRecord
from activities.stores.seen import SeenFiles
from activities.world import World
from workflows.contracts.contract import Contract
from workflows.contracts.permissions import Answer, Approval, Choice, Finding, Mode, SourcedRule, Verdict
from workflows.contracts.settings import SessionSettings
from workflows.contracts.tools import Repeat, ToolOutcome, ToolSpec
from workflows.core.path_rules import Keeper


class ToolInput(Contract):
    """What a tool takes; an unknown field is told to the model instead of being dropped."""

    model_config = ConfigDict(frozen=True, extra="forbid")


I = TypeVar("I", bound=ToolInput)  # noqa: E741 - the one input type of a tool


@dataclass(frozen=True)
class Call:
    """Where one tool call runs."""

    world: World
    session: str
    exchange: int
    place: int
    key: str
    """Effect key: session, exchange, place and digest of tool and input."""
    record: CallRecord
    """This call's folder in the effect journal."""
    workspace: Path
    """The session's folder, real path."""
    cwd: Path
    """Where a command starts; inside the workspace."""
    seen: SeenFiles
    """Files that this session has read, with their digests."""
    settings: SessionSettings
    attempt: int = 1
    is_repeat: bool = False
    """An earlier attempt wrote its intent and no outcome."""
    is_proved: bool = False
    """It runs because it was proved to read only: git is told to run nothing else."""
    verdict: Verdict | None = None
    """By which it runs."""
    leads: tuple[Path, ...] | None = None
    """Where its paths led, links followed, when it was decided about; it touches no other. None before that."""
    kept_back: tuple[tuple[SourcedRule, Keeper], ...] = ()
    """Of a command that nobody allowed by name: the rules that keep files from being read, ready for many paths."""
    mode: Mode = Mode.DEFAULT
    """The session's mode."""
    own_folder: Path | None = None
    """The folder that the session was started in, when it works in another one now."""
    approval: Approval | None = None
    """The question that a person answered, on the second pass."""
    answer: Answer | None = None
    """Their answer."""
    tasks: int = 0
    """Background tasks that the session has open."""
    once: bool = False
    """The session ends with this turn, and its tasks with it."""
    progress: Callable[[bytes, int], None] = lambda _newest, _size: None
    """Tell watchers the newest output and the number of bytes so far."""

    def path(self, text: str) -> Path:
        """The path that the model named: absolute, or relative to the workspace; `~` is the home folder."""
        return Path(self.workspace, Path(text).expanduser())


class Tool(ABC, Generic[I]):
    """One tool: a file in `activities/tools/`. Its docstring is what the model reads."""

    name: ClassVar[str]
    input: type[I]
    is_read_only: ClassVar[bool] = False
    may_run_beside_others: ClassVar[bool] = False
    by_default: ClassVar[bool] = True
    """In the pool of a session that names no tools; else only where it is named."""
    edits_files: ClassVar[bool] = False
    """Changes files that it names: what `acceptEdits` allows inside the workspace."""
    judged_as: ClassVar[str] = ""
    """Another tool whose rules and checks count for this one; empty for its own."""
    needs_person: ClassVar[bool] = False
    """Is a question to the person: no mode, rule or hook answers it for them."""
    repeat: ClassVar[Repeat] = Repeat.ONCE
    attaches: ClassVar[bool] = False
    """A repeated call finds its own running command again, so it may be run again."""
    result_limit: ClassVar[int] = 50_000
    """Characters of a result that the model is shown; the whole is stored."""
    timeout: ClassVar[int] = 600

    @abstractmethod
    async def run(self, call: Call, given: I) -> ToolOutcome:
        """Do it. Raises ToolError for what the model can mend."""

    def summary(self, given: I) -> str:
        """One line for person and screen: what it wants to do."""
        return self.name

    def paths(self, call: Call, given: I) -> tuple[Path, ...]:
        """Files and folders that it touches, as the model named them, absolute."""
        return ()

    def subject(self, call: Call, given: I) -> str:
        """What permission rules speak of: its command, the first of its paths, `domain:` and a host."""
        command = getattr(given, "command", None)
        if isinstance(command, str):
            return command
        paths = self.paths(call, given)
        return str(paths[0]) if paths else ""

    def findings(self, call: Call, given: I) -> tuple[Finding, ...]:
        """The tool's own check before permissions are decided."""
        return ()

    async def content(self, call: Call, given: I) -> str:
        """What a person must see whole before they answer: the plan, the questions as JSON. Raises ToolError."""
        return ""

    def choices(self, given: I) -> tuple[Choice, ...]:
        """What the person's answer must choose from; empty when they say yes or no."""
        return ()

    async def cancel(self, call: Call, given: I) -> bool:
        """End what runs so that `run` returns its partial result; False when the task may just be cancelled."""
        return False

    def spec(self) -> ToolSpec:
        """What model and workflow are told."""
        return ToolSpec(
            name=self.name,
            description=(type(self).__doc__ or "").strip(),
            input_schema=self.input.model_json_schema(),
            is_read_only=self.is_read_only,
            may_run_beside_others=self.may_run_beside_others,
            repeat=self.repeat,
            timeout=self.timeout,
            by_default=self.by_default,
        )


AnyTool = Tool[Any]  # Any: a table of tools holds tools of every input
"""A tool, whatever it takes."""
