"""The bytes of an entry never change: its name, and every head after it, hang on them."""

import hashlib

import pytest

from workflows.contracts.messages import Image, RedactedThinking, Role, Text, Thinking, ToolResult, ToolUse
from workflows.contracts.model import StopReason, Usage
from workflows.contracts.permissions import Answer, Decision, Verdict
from workflows.contracts.tools import CallStatus, Effect
from workflows.contracts.transcript import Body, Entry, MessageBody, NoticeBody, OutcomeBody, Page, canonical, digest_of

AT = "2026-01-02T03:04:05.006Z"
PARENT, PAGE, SOME = "a" * 64, "b" * 64, "c" * 64

PROMPT = MessageBody(role=Role.USER, blocks=(Text(text='Grüße 👋 \\ " \u2028 /\x7f\x01'),), turn=1)
REPLY = MessageBody(
    role=Role.ASSISTANT,
    blocks=(
        Thinking(text="hm", signature="sig=="),
        RedactedThinking(data="x"),
        ToolUse(id="t1", name="Bash", input={"b": 1, "a": [None, True, 0.5]}),
        ToolUse(id="t2", name="Write", cut_off=True),
    ),
    turn=1,
    exchange=2,
    model="m",
    stop=StopReason.TOOL_USE,
    usage=Usage(input=3, output=4),
    cost=0,
    discards=(SOME,),
    attempt=1,
    started=AT,
    ended=AT,
)
RESULTS = MessageBody(
    role=Role.USER,
    blocks=(ToolResult(id="t1", content=(Image(media_type="image/png", digest=SOME, size=9),), is_error=True),),
)
OUTCOME = OutcomeBody(
    turn=1,
    exchange=2,
    place=0,
    tool="Bash",
    call="t1",
    digest=SOME,
    verdict=Verdict(decision=Decision.ALLOW, by="person", rule="k", text="yes"),
    answer=Answer(request="r", approval="2.0", digest=SOME, allow=True, by="me", signature="00"),
    status=CallStatus.OK,
    content=(Text(text="out"),),
    full=SOME,
    size=3,
    effects=(Effect(kind="write", path="/w/f", before=SOME, after=SOME, before_object=SOME),),
    data={"exit_code": 0},
    worker="w",
    started=AT,
    ended=AT,
)
NOTICE = NoticeBody(what="turn_ended", text="t", shown=True, data={"turn": 1})

GOLDEN = {
    "prompt": (
        '{"blocks":[{"kind":"text","text":"Grüße 👋 \\\\ \\" \u2028 /\x7f\\u0001"}],'
        '"kind":"message","role":"user","turn":1}'
    ),
    "reply": (
        '{"attempt":1,"blocks":[{"kind":"thinking","signature":"sig==","text":"hm"},{"data":"x","kind":"redac'
        'ted_thinking"},{"id":"t1","input":{"a":[null,true,0.5],"b":1},"kind":"tool_use","name":"Bash"},{"cut'
        '_off":true,"id":"t2","input":{},"kind":"tool_use","name":"Write"}],"cost":0,"discards":["ccccccccccc'
        'ccccccccccccccccccccccccccccccccccccccccccccccccccccc"],"ended":"2026-01-02T03:04:05.006Z","exchange'
        '":2,"kind":"message","model":"m","role":"assistant","started":"2026-01-02T03:04:05.006Z","stop":"too'
        'l_use","turn":1,"usage":{"input":3,"output":4}}'
    ),
    "results": (
        '{"blocks":[{"content":[{"digest":"cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc",'
        '"kind":"image","media_type":"image/png","size":9}],"id":"t1","is_error":true,"kind":"tool_result"}],'
        '"kind":"message","role":"user"}'
    ),
    "outcome": (
        '{"answer":{"allow":true,"approval":"2.0","by":"me","digest":"ccccccccccccccccccccccccccccccccccccccc'
        'ccccccccccccccccccccccccc","request":"r","signature":"00"},"call":"t1","content":[{"kind":"text","te'
        'xt":"out"}],"data":{"exit_code":0},"digest":"ccccccccccccccccccccccccccccccccccccccccccccccccccccccc'
        'ccccccccc","effects":[{"after":"cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc","b'
        'efore":"cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc","before_object":"ccccccccc'
        'ccccccccccccccccccccccccccccccccccccccccccccccccccccccc","kind":"write","path":"/w/f"}],"ended":"202'
        '6-01-02T03:04:05.006Z","exchange":2,"full":"cccccccccccccccccccccccccccccccccccccccccccccccccccccccc'
        'cccccccc","kind":"outcome","place":0,"size":3,"started":"2026-01-02T03:04:05.006Z","status":"ok","to'
        'ol":"Bash","turn":1,"verdict":{"by":"person","decision":"allow","rule":"k","text":"yes"},"worker":"w'
        '"}'
    ),
    "notice": ('{"data":{"turn":1},"kind":"notice","shown":true,"text":"t","what":"turn_ended"}'),
}


def written(body: Body) -> bytes:
    return Entry(n=5, parent=PARENT, page=PAGE, at=AT, body=body).encoded()


@pytest.mark.parametrize(
    ("name", "body"),
    [("prompt", PROMPT), ("reply", REPLY), ("results", RESULTS), ("outcome", OUTCOME), ("notice", NOTICE)],
)
def test_an_entry_of_each_kind_is_written_in_exactly_these_bytes(name: str, body: Body) -> None:
    head = f'{{"at":"{AT}","body":'.encode()
    tail = f',"n":5,"page":"{PAGE}","parent":"{PARENT}"}}'.encode()
    assert written(body) == head + GOLDEN[name].encode() + tail


@pytest.mark.parametrize("body", [PROMPT, REPLY, RESULTS, OUTCOME, NOTICE])
def test_an_entry_that_was_read_is_written_the_same_again(body: Body) -> None:
    assert Entry.model_validate_json(written(body)).encoded() == written(body)


def test_a_page_is_written_in_exactly_these_bytes() -> None:
    page = Page(first=128, before=PAGE, digests=(PARENT, SOME))
    assert page.encoded() == f'{{"before":"{PAGE}","digests":["{PARENT}","{SOME}"],"first":128}}'.encode()


def test_the_name_of_bytes_is_their_sha_256() -> None:
    assert digest_of(b"abc") == hashlib.sha256(b"abc").hexdigest()


def test_names_are_sorted_by_code_point_and_nothing_is_escaped_that_need_not_be() -> None:
    assert canonical({"é": 1, "Z": 2, "a": "ä\n", "😀": 3}) == '{"Z":2,"a":"ä\\n","é":1,"😀":3}'.encode()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800"])
def test_what_has_no_canonical_form_is_refused(value: float | str) -> None:
    with pytest.raises(ValueError):
        canonical({"a": value})
