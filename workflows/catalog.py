"""WORKFLOWS: every workflow class the worker registers."""

from workflows.session import SessionWorkflow

WORKFLOWS = (SessionWorkflow,)
