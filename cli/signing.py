"""Sign a person's acts."""

import getpass
import os
import secrets

from worker.engine import Home
from worker.hidden import hidden
from worker.person_key import public_key, signature
from workflows.contracts.permissions import Answer, Approval, Chosen, Mode, answer_bytes, signed_bytes
from workflows.contracts.session import Close, SetMode

__all__ = ["as_person", "new_request", "public_key", "signed_answer", "signed_close", "signed_mode"]


def new_request() -> str:
    """A request id: 16 hex digits of chance."""
    return secrets.token_hex(8)


def as_person() -> str:
    """Who acts, as the machine knows the person: `user@machine`."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())
    return f"{user}@{os.uname().nodename}"


def signed_answer(  # noqa: PLR0913 - all that a person may say with one answer
    home: Home,
    session: str,
    approval: Approval,
    *,
    allow: bool,
    text: str = "",
    chosen: tuple[Chosen, ...] = (),
    mode: Mode | None = None,
    always: bool = False,
) -> Answer:
    """An answer to exactly what the approval asks and shows."""
    answer = Answer(
        request=new_request(),
        approval=approval.id,
        digest=approval.digest,
        allow=allow,
        text=hidden(home, session, text),
        by=as_person(),
        content=approval.content,
        chosen=chosen,
        mode=mode,
        always=always,
    )
    return answer.model_copy(update={"signature": signature(home, answer_bytes(session, answer))})


def signed_close(home: Home, session: str, reason: str) -> Close:
    """An end of the session."""
    close = Close(request=new_request(), reason=hidden(home, session, reason), by=as_person())
    said = signed_bytes(session, "close", close.request, close.reason, close.by)
    return close.model_copy(update={"signature": signature(home, said)})


def signed_mode(home: Home, session: str, mode: Mode) -> SetMode:
    """Another standing permission setting."""
    change = SetMode(request=new_request(), mode=mode, by=as_person())
    said = signed_bytes(session, "set_mode", change.request, change.mode, change.by)
    return change.model_copy(update={"signature": signature(home, said)})
