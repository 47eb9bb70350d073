"""Tests of workflows/core/audit.py and its checks: entries in, steps and problems out."""

from collections.abc import Sequence

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from workflows.contracts.audit import CallStep, ExchangeStep, Line, PromptStep, Step
from workflows.contracts.digests import call_digest
from workflows.contracts.messages import Block, Image, Role, Text, ToolResult, ToolUse
from workflows.contracts.model import StopReason, Usage
from workflows.contracts.permissions import Answer, Decision, RefusedHosts, Verdict, answer_bytes
from workflows.contracts.tools import CallStatus, Effect
from workflows.contracts.transcript import Body, Entry, MessageBody, NoticeBody, OutcomeBody, Page, digest_of
from workflows.core.audit import seconds_between, short, steps_of, totals_of
from workflows.core.audit_checks import (
    check_calls,
    check_history,
    check_places,
    check_signatures,
    references,
)
from workflows.core.audit_histories import Mention, RunFacts, Taken
from workflows.core.pending import bodies
from workflows.core.refused_hosts import hosts_digest

AT = "2026-01-01T00:00:00.000Z"
KEY = Ed25519PrivateKey.generate()
OPENED = NoticeBody(what="session_opened", data={"public_key": KEY.public_key().public_bytes_raw().hex()})
ONE = ToolUse(id="same", name="Bash", input={"command": "make"})
TWO = ToolUse(id="same", name="Bash", input={"command": "ls"})


def chain(*given: Body) -> list[Line]:
    """These bodies as a chain of fewer than 16 entries."""
    lines: list[Line] = []
    for n, body in enumerate(given):
        entry = Entry(n=n, parent=lines[-1].digest if lines else "", page="", at=AT, body=body)
        lines.append(Line(n, digest_of(entry.encoded()), entry))
    return lines


def prompt(text: str = "go") -> MessageBody:
    return MessageBody(role=Role.USER, blocks=(Text(text=text),), turn=1, exchange=1)


def reply(*uses: ToolUse, exchange: int = 1, **fields: object) -> MessageBody:
    plain = MessageBody(
        role=Role.ASSISTANT,
        blocks=(Text(text="so"), *uses),
        turn=1,
        exchange=exchange,
        model="model-a",
        stop=StopReason.END_TURN,
    )
    return plain.model_copy(update=fields)


def outcome(use: ToolUse, place: int = 0, text: str = "done", **fields: object) -> OutcomeBody:
    plain = OutcomeBody(
        turn=1,
        exchange=1,
        place=place,
        tool=use.name,
        call=use.id,
        digest=call_digest(use.name, use.input),
        verdict=Verdict(decision=Decision.ALLOW, by="mode"),
        status=CallStatus.OK,
        content=(Text(text=text),) if text else (),
    )
    return plain.model_copy(update=fields)


def results(*blocks: Block) -> MessageBody:
    return MessageBody(role=Role.USER, blocks=blocks, turn=1, exchange=2)


def result(text: str, *, is_error: bool = False) -> ToolResult:
    return ToolResult(id="same", content=(Text(text=text),), is_error=is_error)


def told(lines: Sequence[Line]) -> list[str]:
    return [f"{problem.n}: {problem.text}" for problem in check_calls("s", lines)]


def steps(*given: Body) -> list[Step]:
    return steps_of("s", chain(*given), {})


def test_calls_that_share_one_id_are_told_apart_by_place() -> None:
    done = [outcome(ONE, 0, "made"), outcome(TWO, 1, "listed")]
    lines = chain(OPENED, prompt(), reply(ONE, TWO), *bodies(done), reply(exchange=2))
    assert told(lines) == []
    calls = [step for step in steps_of("s", lines, {}) if isinstance(step, CallStep)]
    assert [call.input for call in calls] == ['{"command":"make"}', '{"command":"ls"}']


@pytest.mark.parametrize(("crash", "seconds"), [("attached", 12.5), ("", 0.25)])
def test_a_command_that_was_found_again_took_as_long_as_it_ran(crash: str, seconds: float) -> None:
    ended = outcome(ONE, crash=crash, started=AT, ended="2026-01-01T00:00:00.250Z", data={"seconds": 12.5})
    (step,) = (one for one in steps(reply(ONE), ended) if isinstance(one, CallStep))
    assert step.seconds == seconds


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ([results(result("done"))], "is shown a result and has no outcome"),
        ([outcome(ONE)], "were never shown to the model"),
        ([], "has no outcome"),
        ([outcome(ONE), outcome(ONE), results(result("done"))], "has a second outcome"),
        ([outcome(ONE), results(result("done")), results(result("done"))], "are shown twice"),
        ([outcome(ONE), results(result("other"))], "is not its outcome"),
        ([outcome(ONE), results(result("done", is_error=True))], "is not its outcome"),
        ([outcome(ONE), results(result("done"), result("done"))], "not one a call in call order"),
        ([outcome(ONE, exchange=9), outcome(ONE), results(result("done"))], "is none of the newest reply's calls"),
        ([outcome(ONE, place=1), outcome(ONE), results(result("done"))], "is none of the newest reply's calls"),
        ([outcome(TWO), results(result("done"))], "is not the call that entry 2 holds"),
    ],
)
def test_a_call_has_one_outcome_and_one_result_that_equals_it(given: list[Body], why: str) -> None:
    found = told(chain(OPENED, prompt(), reply(ONE), *given, reply(exchange=2)))
    assert any(why in each for each in found)


def test_results_out_of_call_order_are_told() -> None:
    done = [outcome(ONE, 0, "made"), outcome(TWO, 1, "listed")]
    swapped = results(result("listed"), result("made"))
    assert len(told(chain(OPENED, prompt(), reply(ONE, TWO), *done, swapped))) == 2


def test_the_newest_reply_s_calls_may_still_run_until_the_session_is_closed() -> None:
    running: list[Body] = [OPENED, prompt(), reply(ONE)]
    assert told(chain(*running)) == []
    assert told(chain(*running, outcome(ONE))) == []
    assert told(chain(*running, NoticeBody(what="closed"))) != []


def test_nothing_is_said_of_calls_around_an_entry_that_cannot_be_read() -> None:
    lines = chain(OPENED, prompt(), reply(ONE), outcome(ONE), *bodies([outcome(ONE)])[1:], reply(exchange=2))
    lines[3] = Line(3, lines[3].digest, None, "damaged")
    assert told(lines) == []


def test_an_empty_result_may_be_shown_as_it_is_or_as_no_output() -> None:
    empty = outcome(ONE, text="")
    for shown in (ToolResult(id="same"), result("(no output)")):
        assert told(chain(OPENED, prompt(), reply(ONE), empty, results(shown), reply(exchange=2))) == []


def test_an_entry_that_names_another_parent_or_page_is_told() -> None:
    lines = chain(OPENED, prompt(), reply())
    assert list(check_places("s", lines)) == []
    entry = lines[1].entry
    assert entry is not None
    wrong = entry.model_copy(update={"parent": "f" * 64})
    problems = list(check_places("s", [lines[0], Line(1, lines[1].digest, wrong), lines[2]]))
    assert [(problem.n, problem.text[:24]) for problem in problems] == [(1, "it does not continue ent")]
    paged = entry.model_copy(update={"page": "f" * 64})
    problems = list(check_places("s", [lines[0], Line(1, lines[1].digest, paged), lines[2]]))
    assert [(problem.n, problem.digest) for problem in problems] == [(1, "f" * 64)]


def test_the_page_of_an_entry_has_to_list_the_chain() -> None:
    lines = chain(*[prompt(str(n)) for n in range(16)])
    page = Page(first=0, before="", digests=tuple(line.digest for line in lines))
    right = digest_of(page.encoded())
    entry = Entry(n=16, parent=lines[-1].digest, page=right, at=AT, body=prompt())
    assert list(check_places("s", [*lines, Line(16, digest_of(entry.encoded()), entry)])) == []
    without = entry.model_copy(update={"page": ""})
    assert len(list(check_places("s", [*lines, Line(16, "x", without)]))) == 1


def signed(key: Ed25519PrivateKey, **fields: object) -> Answer:
    plain = Answer(request="r", approval="1.0", digest=call_digest(ONE.name, ONE.input), allow=True, by="ada")
    plain = plain.model_copy(update=fields)
    return plain.model_copy(update={"signature": key.sign(answer_bytes("s", plain)).hex()})


@pytest.mark.parametrize(
    ("answer", "state", "why"),
    [
        (signed(KEY), "valid", ""),
        (signed(KEY).model_copy(update={"allow": False}), "invalid", "is invalid"),
        (signed(Ed25519PrivateKey.generate()), "invalid", "is invalid"),
        (signed(KEY).model_copy(update={"signature": ""}), "unsigned", "is unsigned"),
        (signed(KEY, approval="1.1"), "valid", "was given for another call"),
        (signed(KEY, digest="f" * 64), "valid", "was given for another call"),
        (None, "", "is missing"),
    ],
)
def test_a_person_s_answer_has_to_be_signed_for_exactly_this_call(answer: Answer | None, state: str, why: str) -> None:
    person = Verdict(decision=Decision.ALLOW, by="person")
    lines = chain(OPENED, prompt(), reply(ONE), outcome(ONE, verdict=person, answer=answer))
    problems = list(check_signatures("s", lines))
    assert [why in problem.text for problem in problems] == ([True] if why else [])
    (step,) = (step for step in steps_of("s", lines, {}) if isinstance(step, CallStep))
    assert step.signature == state


def about_hosts(session: str, call: str, *names: str) -> str:
    return hosts_digest(session, call, call_digest(ONE.name, ONE.input), names)


@pytest.mark.parametrize(
    ("digest", "changed", "why"),
    [
        (about_hosts("s", "1.0", "a.example"), {}, ""),
        (about_hosts("s", "1.0", "b.example"), {}, "was given for another call, or for other hosts"),
        (about_hosts("other", "1.0", "a.example"), {}, "was given for another call, or for other hosts"),
        (about_hosts("s", "1.1", "a.example"), {}, "was given for another call, or for other hosts"),
        (about_hosts("s", "1.0", "a.example"), {"allow": False}, "is invalid"),
    ],
)
def test_an_answer_about_hosts_has_to_be_signed_for_just_these(
    digest: str, changed: dict[str, object], why: str
) -> None:
    answer = signed(KEY, approval="1.0.hosts", digest=digest, content="c" * 64).model_copy(update=changed)
    asks = Verdict(decision=Decision.ASK, by="mode", rule="default")
    hosts = RefusedHosts(refused=("a.example", "b.example"), asked=("a.example",), verdict=asks, answer=answer)
    lines = chain(OPENED, prompt(), reply(ONE), outcome(ONE, hosts=hosts))
    problems = list(check_signatures("s", lines))
    assert [why in problem.text for problem in problems] == ([True] if why else [])
    (step,) = (step for step in steps_of("s", lines, {}) if isinstance(step, CallStep))
    assert (step.hosts["asked"], step.hosts["signer"], step.hosts["opened"]) == (["a.example"], "ada", [])
    entry = lines[-1].entry
    assert entry is not None
    assert ("c" * 64, "words answered") in [(each.digest, each.what) for each in references(entry)]


def test_a_key_that_history_does_not_know_is_told() -> None:
    lines = chain(OPENED, prompt())
    assert len(list(check_signatures("s", lines, [RunFacts(public_key="f" * 64)]))) == 1


def facts(*heads: str, **replies: Taken) -> RunFacts:
    mentions = [Mention(n, head, "ask_model", is_reply=True) for n, head in enumerate(heads, 1)]
    return RunFacts(mentions=mentions, replies={taken.head: taken for taken in replies.values()})


def taken(head: str, asked_at: str, stop: str = "max_tokens") -> Taken:
    usage = Usage(input=4, output=8)
    return Taken(5, AT, head, asked_at, 1, 1, 1, "w1", stop=stop, usage=usage, cost=16)


def test_heads_of_a_history_lie_in_the_chain_in_order() -> None:
    lines = chain(OPENED, prompt(), reply(), prompt(), reply(exchange=2))
    names = [line.digest for line in lines]
    assert list(check_history("s", 3, "h", facts(names[0], names[2], names[2], names[4]), lines)) == []
    back = list(check_history("s", 3, "h", facts(names[2], names[0]), lines))
    assert [problem.text for problem in back] == ["event 2 of the history goes back to entry 0 after entry 2"]
    strange = list(check_history("s", 3, "h", facts("f" * 64), lines))
    assert [(problem.n, "not in the chain" in problem.text) for problem in strange] == [(3, True)]


def test_a_reply_that_was_set_aside_is_billed_once_whether_an_entry_names_it_or_only_history() -> None:
    aside = Entry(n=2, parent="", page="", at=AT, body=reply(usage=Usage(input=1, output=2), cost=3))
    name = digest_of(aside.encoded())
    lines = chain(OPENED, prompt(), reply(usage=Usage(input=32, output=64), cost=128, discards=(name,)))
    for run in (RunFacts(), facts(name, lines[2].digest, a=taken(name, lines[0].digest))):
        totals = totals_of(steps_of("s", lines, {name: aside}, [run, run]))
        assert (totals.replies, totals.cost, totals.usage["input"]) == (2, 131, 33)
        assert list(check_history("s", 2, "h", run, lines)) == []
    unnamed = facts("e" * 64, a=taken("e" * 64, lines[1].digest))
    only_history = steps_of("s", lines, {name: aside}, [unnamed, unnamed])
    assert totals_of(only_history).cost == 131 + 16
    assert list(check_history("s", 2, "h", unnamed, lines)) == []


def test_a_reply_that_was_ended_on_the_way_is_told_as_unknown() -> None:
    lines = chain(OPENED, prompt(), NoticeBody(what="interrupted"))
    lost = Taken(7, AT, "", lines[0].digest, 1, 1, 1, "w1")
    found = steps_of("s", lines, {}, [RunFacts(lost=[lost]), RunFacts(lost=[lost])])
    asked = [step for step in found if isinstance(step, ExchangeStep)]
    assert [(step.state, step.usage, step.cost) for step in asked] == [("lost", None, None)]
    assert totals_of(found).unknown == 1


def test_a_discarded_reply_that_cannot_be_read_is_unknown_and_not_free() -> None:
    lines = chain(OPENED, prompt(), reply(usage=Usage(input=1), cost=1, discards=("d" * 64,)))
    found = steps_of("s", lines, {"d" * 64: "it is damaged"})
    assert totals_of(found).unknown == 1
    assert [step.text for step in found if isinstance(step, ExchangeStep)] == ["it is damaged", "so"]


def test_the_bill_is_split_by_model_and_counts_every_kind_of_token() -> None:
    powers = [Usage(**{name: 2 ** (5 * place + n) for n, name in enumerate(Usage.model_fields)}) for place in range(3)]
    given = [reply(exchange=n, usage=usage, cost=2**n, model=f"m{n % 2}") for n, usage in enumerate(powers)]
    totals = totals_of(steps(OPENED, *given, reply(exchange=3, usage=Usage(input=2**20))))
    assert totals.usage["input"] == 2**0 + 2**5 + 2**10 + 2**20
    assert totals.usage["cache_write_1h"] == 2**4 + 2**9 + 2**14
    assert (totals.cost, totals.unpriced) == (0b111, 1)
    assert {name: bill.cost for name, bill in totals.models.items()} == {"m0": 0b101, "m1": 0b010, "model-a": 0}


def test_who_said_what_is_told() -> None:
    hidden = MessageBody(role=Role.USER, blocks=(Text(text="go on"),), hidden=True)
    said = [step for step in steps(OPENED, prompt("fix\nit"), hidden) if isinstance(step, PromptStep)]
    assert [(step.by, step.text) for step in said] == [("person", "fix it"), ("perdure", "go on")]


def test_a_message_of_results_alone_is_no_prompt_and_one_with_a_prompt_is() -> None:
    done = outcome(ONE)
    silent = steps(OPENED, prompt(), reply(ONE), *bodies([done]))
    assert len([step for step in silent if isinstance(step, PromptStep)]) == 1
    both = steps(OPENED, prompt(), reply(ONE), *bodies([done], ["and now this"]))
    assert [step.text for step in both if isinstance(step, PromptStep)] == ["go", "and now this"]


def test_every_object_that_an_entry_names_is_referenced() -> None:
    picture = Image(media_type="image/png", digest="1" * 64, size=1)
    shown = results(ToolResult(id="t", content=(picture,)), picture.model_copy(update={"digest": "2" * 64}))
    effect = Effect(kind="write", path="a", before_object="3" * 64)
    given: list[Body] = [
        shown,
        outcome(ONE, content=(picture,), full="4" * 64, effects=(effect,)),
        reply(discards=("5" * 64,)),
        NoticeBody(what="archived_history", data={"history": "6" * 64, "settings": "7" * 64, "other": "9" * 64}),
    ]
    entries = [Entry(n=0, parent="", page="8" * 64, at=AT, body=body) for body in given]
    named = {reference.digest[0] for entry in entries for reference in references(entry)}
    assert named == set("12345678")


def test_long_texts_are_short_and_on_one_line() -> None:
    assert short("a\n b") == "a b"
    assert len(short("x" * 10_000)) == 200


def test_a_time_that_is_missing_is_no_zero() -> None:
    assert seconds_between("", AT) is None
    assert seconds_between(AT, "2026-01-01T00:00:01.500Z") == 1.5
