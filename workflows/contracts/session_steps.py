"""What a session asks at its begin and of each run that ends: OpenRequest, ArchiveRequest, and what they give."""

from workflows.contracts.contract import Contract


class OpenRequest(Contract):
    """Fix the context of a session and write its first entry."""

    session: str
    cwd: str
    host: str
    settings: str
    at: str
    store: str = ""
    public_key: str = ""
    start: str = ""
    """Older head that the session goes on from; empty for a chain of its own."""
    start_of: str = ""
    """The session that wrote it."""


class Opened(Contract):
    """The context of a session, and the head after its first entry."""

    context: str
    head: str
    hooks: tuple[str, ...] = ()
    """Events, beside those of tool calls, that have hooks."""
    turns: int = 0
    """Turns in the chain that it goes on from; its own are numbered after them."""
    exchanges: int = 0
    """Exchanges there."""


class ArchiveRequest(Contract):
    """Put this run's history into the store and its digest into the chain."""

    session: str
    workflow_id: str
    run_id: str
    head: str
    at: str
    context: str = ""


class Archived(Contract):
    """The head after it, and the digest of the archived history."""

    head: str
    history: str
