"""Whose part of a chain an entry lies in, after a session was taken back."""

from workflows.contracts.audit import Line
from workflows.contracts.transcript import Body, Entry, NoticeBody
from workflows.core.audit import Era, eras_of, public_key_of


def lines(*bodies: Body) -> list[Line]:
    return [Line(n, f"{n:064}", Entry(n=n, parent="", page="", at="", body=body)) for n, body in enumerate(bodies)]


OPENED = NoticeBody(what="session_opened", data={"public_key": "k1"})
ENDED = NoticeBody(what="turn_ended", data={"turn": 1})


def rewound(older: str, key: str) -> NoticeBody:
    return NoticeBody(what="rewound", data={"public_key": key, "from": older})


def test_a_session_with_a_chain_of_its_own_has_one_era() -> None:
    chain = lines(OPENED, ENDED, ENDED)
    assert eras_of("s", chain) == [Era("s", "k1")] * 3
    assert public_key_of(chain) == "k1"


def test_what_stands_before_it_was_taken_back_is_the_older_sessions() -> None:
    chain = lines(OPENED, ENDED, rewound("older", "k2"), ENDED, rewound("newer", "k3"), ENDED)
    eras = eras_of("newest", chain)
    assert [era.session for era in eras] == ["older", "older", "newer", "newer", "newest", "newest"]
    assert [era.public_key for era in eras][1::2] == ["k1", "k2", "k3"]
    assert public_key_of(chain) == "k3"
