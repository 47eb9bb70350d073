"""Entry, its kinds of body and their canonical bytes; Page, which lists entries."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from workflows.contracts.contract import Contract
from workflows.contracts.digests import canonical, digest_of
from workflows.contracts.directives import Directive
from workflows.contracts.extensions import HookRecord
from workflows.contracts.messages import Block, Role, Shown
from workflows.contracts.model import StopReason, Usage
from workflows.contracts.permissions import Answer, RefusedHosts, Verdict
from workflows.contracts.tools import CallStatus, Effect

__all__ = [
    "PAGE_EVERY",
    "PAGE_SPAN",
    "Body",
    "EditBody",
    "Entry",
    "MessageBody",
    "NoticeBody",
    "OutcomeBody",
    "Page",
    "canonical",
    "digest_of",
    "stamp",
]

PAGE_EVERY = 16
"""Entries from one page object to the next: a cold reader follows at most 15 parents one by one."""

PAGE_SPAN = 128
"""Digests a full page lists; each page names the last full page before it."""


def stamp(moment: datetime) -> str:
    """How a moment in UTC is written everywhere: ISO 8601 in milliseconds, with Z."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class MessageBody(Contract):
    """A message: a prompt, a reply, or the results of a reply's calls."""

    kind: Literal["message"] = "message"
    role: Role
    blocks: tuple[Block, ...]
    turn: int = 0
    exchange: int = 0
    hidden: bool = False
    """Written by perdure itself, not by the person."""
    model: str = ""
    stop: StopReason | None = None
    usage: Usage | None = None
    cost: int | None = None
    """Micro-dollars."""
    unknown: int = 0
    """Earlier attempts that may have been billed without a known usage."""
    discards: tuple[str, ...] = ()
    """Digests of replies that were paid for and set aside: cut off by the output cap, asked again with a higher one."""
    attempt: int = 0
    started: str = ""
    ended: str = ""


class OutcomeBody(Contract):
    """A tool call: who allowed it, what it did, what it gave."""

    kind: Literal["outcome"] = "outcome"
    turn: int = 0
    exchange: int
    place: int
    tool: str
    call: str
    """The model's own id of the call."""
    digest: str
    """SHA-256 of tool and input."""
    verdict: Verdict
    answer: Answer | None = None
    status: CallStatus
    content: tuple[Shown, ...] = ()
    is_error: bool = False
    full: str = ""
    size: int = 0
    effects: tuple[Effect, ...] = ()
    data: dict[str, JsonValue] = {}
    attempt: int = 1
    crash: str = ""
    """What a crash or an interrupt did to this step: found, attached, repeated, unknown; ended for one that was ended
    from outside, after an interrupt or a failure; empty when undisturbed."""
    worker: str = ""
    started: str = ""
    ended: str = ""
    directives: tuple[Directive, ...] = ()
    """What it asked of the workflow."""
    hooks: tuple[HookRecord, ...] = ()
    """Every hook that ran for it, in order."""
    cost: int = 0
    """Micro-dollars that models took beside the conversation: a classifier, hooks, the tool itself."""
    updated_input: dict[str, JsonValue] | None = None
    """What a hook put in the place of its input; the verdict and a person's answer are bound to this one."""
    hosts: RefusedHosts | None = None
    """Hosts that its command was refused and a person could open."""


class NoticeBody(Contract):
    """Something that is neither said nor done: opened, interrupted, turn ended, mode changed, history archived."""

    kind: Literal["notice"] = "notice"
    what: str
    text: str = ""
    shown: bool = False
    """The model is shown the text too."""
    data: dict[str, JsonValue] = {}


class EditBody(Contract):
    """What is shown otherwise from now on, decided once: the originals stay in the chain."""

    kind: Literal["edit"] = "edit"
    what: str
    """left_out: a note stands for pictures and documents that were shown before, or that the provider refused."""
    text: str = ""
    """Why, in one sentence for the person."""
    objects: tuple[str, ...] = ()
    """Digests of the pictures and documents."""
    note: str = ""
    """What the model reads in the place of each."""
    lasting: bool = False
    """Wherever they come again, too: the provider takes them never."""


Body = Annotated[MessageBody | OutcomeBody | NoticeBody | EditBody, Field(discriminator="kind")]


class Entry(Contract):
    """One line of the transcript. Its name is the SHA-256 of its canonical bytes."""

    n: int
    """Place in the chain, from 0."""
    parent: str
    """Digest of the entry before; empty for the first."""
    page: str
    """Digest of the newest page before this entry; empty in the first 16."""
    at: str
    """Time stamp from the workflow, ISO 8601 UTC."""
    body: Body

    def encoded(self) -> bytes:
        """Canonical bytes; fields that hold their default are left out, so a grown contract keeps old names."""
        return canonical(self.model_dump(mode="json"))


class Page(Contract):
    """Digests of the entries from the last full page on; a full one has 128."""

    first: int
    """Place of the first digest."""
    before: str
    """Digest of the full page before; empty for the first."""
    digests: tuple[str, ...]

    def encoded(self) -> bytes:
        """Canonical bytes."""
        return canonical(self.model_dump(mode="json"))
