"""Mode, Rule, Finding, Verdict, Approval."""

from enum import StrEnum

from workflows.contracts.contract import Contract


class Mode(StrEnum):
    """The standing permission setting of a session."""

    DEFAULT = "default"
    ACCEPT_EDITS = "acceptEdits"
    PLAN = "plan"
    DONT_ASK = "dontAsk"
    BYPASS = "bypassPermissions"


class Unattended(StrEnum):
    """What happens to an *ask* when nobody attends."""

    NO = ""
    """Somebody attends: wait for an answer."""
    DENY = "deny"
    WAIT = "wait"


class Decision(StrEnum):
    """Allow, ask or deny."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class Rules(Contract):
    """A person's rules: `Tool`, `Tool(exact path)` or `Bash(pattern)`; deny before ask before allow."""

    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


class Finding(Contract):
    """What a safety check saw in a call."""

    check: str
    """Name of the check."""
    action: Decision
    text: str
    """One sentence for the person and the model."""


class Verdict(Contract):
    """Allow, ask or deny, and who or what decided."""

    decision: Decision
    by: str
    """mode | rule | finding | unattended | person | tool."""
    rule: str = ""
    """The mode, rule or check that decided; of a person the key's fingerprint."""
    text: str = ""
    """Why, in one sentence."""


class Approval(Contract):
    """An open question to a person, kept in the session's state."""

    id: str
    """`exchange.place` of the call."""
    tool: str
    summary: str
    """What it wants to do, at most 160 characters, secrets masked."""
    digest: str
    """SHA-256 of tool and input: an answer counts for exactly this."""
    found: str
    """Digest of what the first pass found; the second pass starts from it."""
    asked_at: str
    reason: str = ""
    """Why it is asked, at most 120 characters."""


class Answer(Contract):
    """A person's signed answer to one approval."""

    request: str
    """Request id, made by the CLI; a repeat with the same id counts once."""
    approval: str
    digest: str
    """The approval's digest, as the person saw it."""
    allow: bool
    text: str = ""
    """Said to the model when denied; at most 1 KB."""
    by: str = ""
    """Who answered, as the CLI knows the person."""
    signature: str = ""
    """Ed25519 over `signed_bytes`, hex."""


def signed_bytes(session: str, act: str, *parts: str) -> bytes:
    """What a person's act is signed over: session, act and its parts, each with its length before it."""
    return b"".join(f"{len(part.encode())}:".encode() + part.encode() for part in (session, act, *parts))


def answer_bytes(session: str, answer: Answer) -> bytes:
    """What an answer's signature covers."""
    return signed_bytes(
        session, "answer", answer.request, answer.approval, answer.digest, str(answer.allow), answer.text, answer.by
    )
