"""429, 529, stalls, disconnects, cut-off replies: what goes wrong before or inside a reply."""

from typing import Annotated, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from worker.rehearsal.conditions import Part
from worker.rehearsal.wire import Event

ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    502: "api_error",
    503: "api_error",
    504: "timeout_error",
    529: "overloaded_error",
}
MESSAGES = {
    400: "The request is not valid",
    401: "invalid x-api-key",
    403: "Your API key does not have permission to use the specified resource",
    404: "model: not found",
    413: "Request exceeds the maximum size",
    429: "This request would exceed your rate limit",
    500: "Internal server error",
    529: "Overloaded",
}


class StatusFault(Part):
    """An answer that is an error from the start."""

    status: int = Field(ge=400, le=599)
    message: str = ""
    error: str = ""
    """The provider's name for the error; by default the one that belongs to the status."""

    retry_after: float | None = None
    """Seconds, sent as a header."""

    times: int | Literal["always"] = 1

    @property
    def kind(self) -> str:
        """The provider's name for the error."""
        return self.error or ERROR_TYPES.get(self.status, "api_error")

    @property
    def text(self) -> str:
        """The message of the error."""
        return self.message or MESSAGES.get(self.status, self.kind)

    @property
    def headers(self) -> dict[str, str]:
        """What the error adds to the answer's headers."""
        return {} if self.retry_after is None else {"retry-after": f"{self.retry_after:g}"}


class TooLongFault(Part):
    """The refusal of a prompt longer than the window, whatever its real length."""

    too_long: int = Field(ge=1)
    """How many tokens the refusal says the prompt has."""

    maximum: int | None = None
    """The window it names; by default the server's."""

    times: int | Literal["always"] = 1

    def as_status(self, window: int) -> StatusFault:
        """The answer it becomes."""
        return StatusFault(status=400, message=too_long_message(self.too_long, self.maximum or window))


class CutFault(Part):
    """A reply that begins well: it ends early, breaks, falls silent, or turns into an error."""

    cut: Literal["end", "reset", "stall", "error"]
    """end: as if complete, but without message_stop; reset: the connection breaks; stall: silence for `seconds`, then
    the rest; error: an error event, then the end."""

    after_events: int | None = Field(default=None, ge=0)
    """How many events are sent before."""

    after_blocks: int | None = Field(default=None, ge=0)
    """How many content blocks are sent whole before; the default is none, but the start of the message."""

    seconds: float = Field(default=600.0, ge=0)
    error: str = "overloaded_error"
    message: str = "Overloaded"
    times: int | Literal["always"] = 1

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if self.after_events is not None and self.after_blocks is not None:
            raise ValueError("give after_events or after_blocks, not both")
        return self

    def place(self, events: list[Event]) -> int:
        """How many of a reply's events are sent before it happens."""
        if self.after_events is not None:
            return min(self.after_events, len(events))
        if not self.after_blocks:
            return 1
        ends = [number for number, event in enumerate(events, 1) if event.name == "content_block_stop"]
        return ends[min(self.after_blocks, len(ends)) - 1] if ends else 1

    def event(self, request_id: str) -> Event:
        """The error event of a stream that turns into one."""
        return Event("error", error_body(self.error, self.message, request_id))


def _kind(value: object) -> str | None:
    """Which kind of fault a piece of a file means, by its leading key."""
    for key in ("status", "too_long", "cut"):
        if key in value if isinstance(value, dict) else hasattr(value, key):
            return f"<{key}>"
    return None


Fault = Annotated[
    Annotated[StatusFault, Tag("<status>")]
    | Annotated[TooLongFault, Tag("<too_long>")]
    | Annotated[CutFault, Tag("<cut>")],
    Discriminator(
        _kind,
        custom_error_type="fault_kind",
        custom_error_message="a fault has one of the keys status, too_long, cut",
    ),
]


def too_long_message(tokens: int, maximum: int) -> str:
    """The provider's sentence for a prompt longer than the window."""
    return f"prompt is too long: {tokens} tokens > {maximum} maximum"


def error_body(kind: str, message: str, request_id: str) -> dict[str, object]:
    """The provider's form of an error."""
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": request_id}


def due(faults: tuple[StatusFault | TooLongFault | CutFault, ...], arrival: int) -> int | None:
    """Which of a reply's faults is played at its n-th arrival (from 0), by its place; None: the reply itself."""
    for place, fault in enumerate(faults):
        if fault.times == "always" or arrival < fault.times:
            return place
        arrival -= fault.times
    return None
