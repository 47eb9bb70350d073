"""What must hold between the entries of a chain, its pages and its histories -> problems."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from workflows.contracts.audit import Line, Problem
from workflows.contracts.digests import call_digest
from workflows.contracts.messages import Block, Document, Image, Role, ToolResult, ToolUse, clean
from workflows.contracts.tools import Effect
from workflows.contracts.transcript import (
    PAGE_EVERY,
    PAGE_SPAN,
    Entry,
    MessageBody,
    NoticeBody,
    OutcomeBody,
    Page,
    digest_of,
)
from workflows.core.audit import eras_of, public_key_of, signature_of, tool_uses
from workflows.core.audit_histories import RunFacts
from workflows.core.audit_hosts import is_for_these
from workflows.core.pending import shown

FILE_VERSION = "file version"
HISTORY = "history"
SET_ASIDE = "reply set aside"
PAGE = "page"
_NOTICE_OBJECTS = ("settings", "context", "full", HISTORY)


@dataclass(frozen=True)
class Reference:
    """An object that an entry names."""

    digest: str
    what: str


def references(entry: Entry) -> Iterator[Reference]:
    """Every object that the entry names, but for the entry before it."""
    if entry.page:
        yield Reference(entry.page, PAGE)
    match entry.body:
        case MessageBody(blocks=blocks, discards=discards):
            yield from _images(blocks)
            yield from (Reference(digest, SET_ASIDE) for digest in discards)
        case OutcomeBody(content=content, full=full, effects=effects, answer=answer, hosts=hosts):
            yield from _images(content)
            for each in (answer, hosts.answer if hosts else None):
                if each is not None and each.content:
                    yield Reference(each.content, "words answered")
            if full:
                yield Reference(full, "whole result")
            yield from (Reference(each.before_object, _version(each)) for each in effects if each.before_object)
        case NoticeBody(data=data):
            for name in _NOTICE_OBJECTS:
                if isinstance(digest := data.get(name), str) and digest:
                    yield Reference(digest, name)


def _version(effect: Effect) -> str:
    """What a file held: in clear it has the file's own digest for a name, and never leaves the machine."""
    return FILE_VERSION if effect.before_object == effect.before else "encrypted file version"


def _images(blocks: Sequence[Block]) -> Iterator[Reference]:
    for block in blocks:
        if isinstance(block, Image | Document):
            yield Reference(block.digest, block.kind)
        elif isinstance(block, ToolResult):
            yield from _images(block.content)


def check_places(session: str, lines: Sequence[Line]) -> Iterator[Problem]:
    """Each entry names the one before it and the newest page before it, and that page lists the chain's entries."""
    pages = _Pages()
    before = ""
    for line in lines:
        if line.entry is None:
            if line.why:
                yield Problem(session, line.n, line.digest, line.why)
        elif line.entry.n != line.n or line.entry.parent != before:
            yield Problem(session, line.n, line.digest, f"it does not continue entry {line.n - 1} ({before})")
        elif pages.is_known and line.entry.page != pages.newest:
            yield Problem(session, line.n, line.entry.page, "its page does not list the entries before it")
        pages.add(line.digest)
        before = line.digest


@dataclass
class _Pages:
    """The page that the next entry has to name."""

    newest: str = ""
    is_known: bool = True
    _full: str = ""
    _first: int = 0
    _digests: list[str] = field(default_factory=list)

    def add(self, digest: str) -> None:
        self.is_known = self.is_known and bool(digest)
        self._digests.append(digest)
        if (self._first + len(self._digests)) % PAGE_EVERY:
            return
        self.newest = digest_of(Page(first=self._first, before=self._full, digests=tuple(self._digests)).encoded())
        if len(self._digests) == PAGE_SPAN:
            self._first += PAGE_SPAN
            self._full = self.newest
            self._digests = []


def check_calls(session: str, lines: Sequence[Line]) -> Iterator[Problem]:
    """Each call of a reply has one outcome and one shown result that equals it, results in call order.

    The calls of the newest reply may still be under way.
    """
    reply: _Reply | None = None
    for line in lines:
        if line.entry is None:
            # What it held is not known, so nothing can be said of the calls around it.
            reply = None
            continue
        match line.entry.body:
            case MessageBody(role=Role.ASSISTANT) as body:
                yield from reply.ended(session) if reply else ()
                reply = _Reply(line, body.exchange, tool_uses(body.blocks))
            case MessageBody() as body if reply:
                results = [block for block in body.blocks if isinstance(block, ToolResult)]
                yield from reply.shown(session, line, results) if results else ()
            case OutcomeBody() as body if reply:
                yield from reply.found(session, line, body)
            case NoticeBody(what="closed") if reply:
                yield from reply.ended(session)
                reply = None
            case _:
                pass


@dataclass
class _Reply:
    """A reply whose calls are being accounted for."""

    line: Line
    exchange: int
    uses: tuple[ToolUse, ...]
    outcomes: dict[int, OutcomeBody] = field(default_factory=dict)
    is_shown: bool = False

    def found(self, session: str, line: Line, body: OutcomeBody) -> Iterator[Problem]:
        where = f"call {body.exchange}.{body.place} ({body.tool})"
        if body.exchange != self.exchange or body.place >= len(self.uses):
            yield Problem(session, line.n, line.digest, f"{where} is none of the newest reply's calls")
            return
        if body.place in self.outcomes:
            yield Problem(session, line.n, line.digest, f"{where} has a second outcome")
        use = self.uses[body.place]
        if body.tool != clean(use.name) or body.call != use.id or body.digest != call_digest(use.name, use.input):
            yield Problem(session, line.n, line.digest, f"{where} is not the call that entry {self.line.n} holds")
        self.outcomes[body.place] = body

    def shown(self, session: str, line: Line, results: list[ToolResult]) -> Iterator[Problem]:
        if self.is_shown:
            yield Problem(session, line.n, line.digest, f"the results of exchange {self.exchange} are shown twice")
            return
        self.is_shown = True
        if [result.id for result in results] != [use.id for use in self.uses]:
            text = f"the results of exchange {self.exchange} are not one a call in call order"
            yield Problem(session, line.n, line.digest, text)
            return
        for place, result in enumerate(results):
            outcome = self.outcomes.get(place)
            if outcome is None:
                text = f"call {self.exchange}.{place} ({self.uses[place].name}) is shown a result and has no outcome"
                yield Problem(session, line.n, line.digest, text)
            elif result.content not in (outcome.content, shown(outcome).content) or outcome.is_error != result.is_error:
                text = f"the result shown of call {self.exchange}.{place} is not its outcome"
                yield Problem(session, line.n, line.digest, text)

    def ended(self, session: str) -> Iterator[Problem]:
        for place, use in enumerate(self.uses):
            if place not in self.outcomes and not self.is_shown:
                text = f"call {self.exchange}.{place} ({use.name}) has no outcome"
                yield Problem(session, self.line.n, self.line.digest, text)
        if self.uses and not self.is_shown:
            text = f"the results of exchange {self.exchange} were never shown to the model"
            yield Problem(session, self.line.n, self.line.digest, text)


def bound_digest(body: OutcomeBody) -> str:
    """What an answer is bound to: the input that a hook put in its place, where one did."""
    if body.updated_input is None:
        return body.digest
    return call_digest(body.tool, body.updated_input)


def check_signatures(session: str, lines: Sequence[Line], runs: Sequence[RunFacts] = ()) -> Iterator[Problem]:
    """Each answer of a person is signed by the session's key, for exactly the call that it allowed or denied."""
    key = public_key_of(lines)
    for run in runs:
        if key and run.public_key and run.public_key != key and run.session in {"", session}:
            yield Problem(session, lines[0].n, key, "its key is not the one that the engine's history names")
    for line, era in zip(lines, eras_of(session, lines), strict=True):
        if line.entry is None or not isinstance(line.entry.body, OutcomeBody):
            continue
        body = line.entry.body
        where = f"the answer to call {body.exchange}.{body.place}"
        state = signature_of(era, body.answer)
        if state in {"unsigned", "invalid"}:
            yield Problem(session, line.n, line.digest, f"{where} is {state}: no person of this session gave it")
        if body.answer and (body.answer.digest, body.answer.approval) != (
            bound_digest(body),
            f"{body.exchange}.{body.place}",
        ):
            yield Problem(session, line.n, line.digest, f"{where} was given for another call")
        if body.verdict.by == "person" and body.answer is None:
            yield Problem(session, line.n, line.digest, f"{where} is missing, though a person is said to have decided")
        if body.hosts is not None:
            where = f"the answer about hosts of call {body.exchange}.{body.place}"
            if (state := signature_of(era, body.hosts.answer)) in {"unsigned", "invalid"}:
                yield Problem(session, line.n, line.digest, f"{where} is {state}: no person of this session gave it")
            if not is_for_these(era.session, bound_digest(body), body):
                yield Problem(session, line.n, line.digest, f"{where} was given for another call, or for other hosts")


def check_history(session: str, n: int | None, digest: str, run: RunFacts, lines: Sequence[Line]) -> Iterator[Problem]:
    """Every head that the history names lies in the chain, in the history's order; replies set aside excepted."""
    places = {line.digest: line.n for line in lines}
    aside = {
        name
        for line in lines
        if line.entry and isinstance(line.entry.body, MessageBody)
        for name in line.entry.body.discards
    }
    own = next((era.session for line, era in zip(lines, eras_of(session, lines), strict=True) if line.n == n), session)
    if run.session and run.session != own:
        yield Problem(session, n, digest, f"the history is that of session {run.session}")
    if any(not line.digest for line in lines):
        # Places whose names are lost are told elsewhere; any head may be one of them.
        return
    newest = -1
    for mention in run.mentions:
        place = places.get(mention.digest)
        if place is None:
            taken = run.replies.get(mention.digest)
            if mention.is_reply and (mention.digest in aside or (taken and taken.was_cut_off)):
                continue
            text = f"event {mention.event} of the history names head {mention.digest}, which is not in the chain"
            yield Problem(session, n, digest or mention.digest, text)
        elif place < newest:
            text = f"event {mention.event} of the history goes back to entry {place} after entry {newest}"
            yield Problem(session, n, digest or mention.digest, text)
        else:
            newest = place
