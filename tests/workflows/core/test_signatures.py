"""An act counts only with a signature by the session's key over exactly that act."""

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from workflows.contracts.permissions import Answer, answer_bytes, signed_bytes
from workflows.core.signatures import is_signed

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC = KEY.public_key().public_bytes_raw().hex()
ANSWER = Answer(request="r", approval="1.0", digest="d" * 64, allow=False, text="no", by="me")
SIGNATURE = KEY.sign(answer_bytes("s1", ANSWER)).hex()


def test_a_persons_signature_is_known() -> None:
    assert is_signed(PUBLIC, answer_bytes("s1", ANSWER), SIGNATURE)


@pytest.mark.parametrize(
    "changed",
    [{"allow": True}, {"text": "yes"}, {"digest": "e" * 64}, {"approval": "1.1"}, {"request": "q"}, {"by": "you"}],
)
def test_no_part_of_a_signed_answer_can_be_changed(changed: dict[str, object]) -> None:
    assert not is_signed(PUBLIC, answer_bytes("s1", ANSWER.model_copy(update=changed)), SIGNATURE)


def test_an_answer_counts_in_its_own_session_only() -> None:
    assert not is_signed(PUBLIC, answer_bytes("s2", ANSWER), SIGNATURE)


def test_another_key_signs_nothing() -> None:
    other = Ed25519PrivateKey.generate()
    assert not is_signed(PUBLIC, answer_bytes("s1", ANSWER), other.sign(answer_bytes("s1", ANSWER)).hex())


@pytest.mark.parametrize("signature", ["", "00", "zz" * 64, "ä", "00" * 64])
def test_what_is_no_signature_is_refused_without_an_error(signature: str) -> None:
    assert not is_signed(PUBLIC, b"x", signature)
    assert not is_signed(signature, b"x", SIGNATURE)


def test_parts_of_an_act_cannot_run_into_each_other() -> None:
    assert signed_bytes("s", "close", "ab", "c") != signed_bytes("s", "close", "a", "bc")
    assert signed_bytes("s", "close", "a") != signed_bytes("s", "close", "a", "")
