"""TOOLS: every tool, in one tuple."""

from activities.tool import AnyTool
from activities.tools.ask_user import AskUserQuestion
from activities.tools.bash import Bash
from activities.tools.edit import Edit
from activities.tools.enter_plan import EnterPlanMode
from activities.tools.enter_worktree import EnterWorktree
from activities.tools.exit_plan import ExitPlanMode
from activities.tools.exit_worktree import ExitWorktree
from activities.tools.glob import Glob
from activities.tools.grep import Grep
from activities.tools.lsp import LSP
from activities.tools.monitor import Monitor
from activities.tools.multi_edit import MultiEdit
from activities.tools.notebook_edit import NotebookEdit
from activities.tools.read import Read
from activities.tools.task_output import TaskOutput
from activities.tools.task_stop import TaskStop
from activities.tools.todo_write import TodoWrite
from activities.tools.web_fetch import WebFetch
from activities.tools.web_search import WebSearch
from activities.tools.write import Write

TOOLS: tuple[AnyTool, ...] = (
    AskUserQuestion(),
    Bash(),
    Edit(),
    EnterPlanMode(),
    EnterWorktree(),
    ExitPlanMode(),
    ExitWorktree(),
    Glob(),
    Grep(),
    LSP(),
    Monitor(),
    MultiEdit(),
    NotebookEdit(),
    Read(),
    TaskOutput(),
    TaskStop(),
    TodoWrite(),
    WebFetch(),
    WebSearch(),
    Write(),
)
"""Sorted by name: the order in which the model sees them, part of the cached prefix."""


def find(name: str) -> AnyTool | None:
    """The tool of that name."""
    return next((tool for tool in TOOLS if tool.name == name), None)
