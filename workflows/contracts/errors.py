"""Every error of ours, drawn as one tree; FailureKind, the names that cross the boundary.

PerdureError
├── ToolError            for the model: becomes a tool result
├── StoreError           the object store cannot give what the chain names
│   ├── MissingObject
│   └── DamagedObject
├── ChainError           an entry does not fit where the chain names it
├── StepFailure          for the workflow: crosses as its FailureKind (ModelFailure in activities/model)
└── UserError            for the person: one line and an exit code
    ├── UsageError           2
    ├── DeniedError          3
    ├── EngineUnreachable    5
    └── KeyRefused           7
"""

import re
from enum import StrEnum


class ExitCode:
    """The contract of the command line's exit codes (README.md)."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    DENIED = 3
    LIMIT = 4
    ENGINE_UNREACHABLE = 5
    BUDGET = 6
    KEY_REFUSED = 7
    MODEL_UNREACHABLE = 8
    STILL_RUNNING = 9
    INTERRUPTED = 130
    TERMINATED = 143


class FailureKind(StrEnum):
    """Why an activity failed, as the workflow sees it: the `type` of the failure that crosses the boundary."""

    RATE_LIMITED = "rate_limited"
    OVERLOADED = "overloaded"
    SERVER = "server"
    TRANSPORT = "transport"
    STALLED = "stalled"
    TOO_LONG = "too_long"
    TOO_LARGE = "too_large"
    BAD_REQUEST = "bad_request"
    BAD_MEDIA = "bad_media"
    UNAUTHORIZED = "unauthorized"
    NO_KEY = "no_key"
    UNKNOWN_MODEL = "unknown_model"
    PAYLOAD_TOO_LARGE = "payload_too_large"
    STORE = "store"
    CHAIN = "chain"
    DISK_FULL = "disk_full"
    PERSON = "person"
    """Something on this machine that only a person can put right; the text says what."""
    BUG = "bug"


class PerdureError(Exception):
    """The root of the family."""


def reason_of(error: PerdureError) -> str:
    """The word that a program reads for an error: its own reason, else its kind, such as `engine_unreachable`."""
    own = getattr(error, "reason", "")
    name = "Failed" if type(error) is UserError else type(error).__name__.removesuffix("Error")
    return own or re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


class ToolError(PerdureError):
    """For the model: it becomes a tool result that says what to do instead."""


class StoreError(PerdureError):
    """The object store cannot give what the chain names."""

    def __init__(self, digest: str, message: str) -> None:
        super().__init__(message)
        self.digest = digest


class MissingObject(StoreError):
    """No object of that digest is in the store."""


class DamagedObject(StoreError):
    """The bytes under that digest have another digest."""


class ChainError(PerdureError):
    """An entry does not fit where the chain names it."""


class StepFailure(PerdureError):
    """For the workflow: a step that failed crosses the boundary as its kind, with what trying again can do."""

    def __init__(
        self, kind: FailureKind, message: str, retry_after: float | None = None, *, retryable: bool = False
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.retry_after = retry_after
        """Seconds until the next attempt; None for the engine's own back-off."""
        self.retryable = retryable


class UserError(PerdureError):
    """For the person: one line that says what to do, and an exit code."""

    exit_code = ExitCode.FAILED

    def __init__(self, message: str, exit_code: int | None = None, reason: str = "") -> None:
        super().__init__(message)
        if exit_code is not None:
            self.exit_code = exit_code
        self.reason = reason
        """A word for programs where the kind alone says too little."""


class UsageError(UserError):
    """The command was called in a way that cannot work."""

    exit_code = ExitCode.USAGE


class DeniedError(UserError):
    """A rule or a person said no."""

    exit_code = ExitCode.DENIED


class EngineUnreachable(UserError):
    """The Temporal server cannot be reached or started."""

    exit_code = ExitCode.ENGINE_UNREACHABLE


class KeyRefused(UserError):
    """No key, or the provider refused it."""

    exit_code = ExitCode.KEY_REFUSED
