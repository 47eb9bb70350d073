"""Workflow ids, queue and topic names: one builder each."""

import re
from datetime import timedelta

SHARED_QUEUE = "perdure"
"""Queue of workflows and of every activity that any worker may run."""

TASK_TIMEOUT = timedelta(seconds=5)
"""Most time of one workflow task, given at the start of a session: the death of a worker inside one is seen only so."""

SESSION_PREFIX = "session-"
_SESSION = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")


def host_queue(host: str) -> str:
    """Queue of the activities that need this host's files and processes."""
    return f"perdure-host-{host}"


def session_workflow(session: str) -> str:
    """Workflow id of a session."""
    return f"{SESSION_PREFIX}{session}"


def task_workflow(session: str, task: str) -> str:
    """Workflow id of a session's background task."""
    return f"task-{session}-{task}"


def session_of(workflow_id: str) -> str:
    """Session id of a workflow id; a bare session id is returned as it is."""
    return workflow_id.removeprefix(SESSION_PREFIX)


def is_session_id(text: str) -> bool:
    """Whether this can be a session's id: lower-case letters, digits and dashes, at most 63."""
    return _SESSION.fullmatch(text) is not None


def call_id(exchange: int, place: int) -> str:
    """Name of one tool call inside its session: exchange and place in the reply."""
    return f"{exchange}.{place}"


def hosts_question(exchange: int, place: int) -> str:
    """Name of the question about the hosts that a call's command was refused: it may have been asked about before."""
    return f"{call_id(exchange, place)}.hosts"


STATE_ATTRIBUTE = "PerdureState"
"""Keyword: running, waiting, idle or closed."""

FOLDER_ATTRIBUTE = "PerdureFolder"
"""Keyword: the session's folder."""

TITLE_ATTRIBUTE = "PerdureTitle"
"""Text: the session's title."""

COST_ATTRIBUTE = "PerdureCost"
"""Double: US dollars so far, as far as prices are known."""

ATTRIBUTES = {
    STATE_ATTRIBUTE: "Keyword",
    FOLDER_ATTRIBUTE: "Keyword",
    TITLE_ATTRIBUTE: "Text",
    COST_ATTRIBUTE: "Double",
}
"""Every search attribute of ours and its type, as the embedded server is given them."""
