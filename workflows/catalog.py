"""WORKFLOWS: every workflow class the worker registers."""

from workflows.session import SessionWorkflow
from workflows.shell_task import ShellTaskWorkflow

WORKFLOWS = (SessionWorkflow, ShellTaskWorkflow)
