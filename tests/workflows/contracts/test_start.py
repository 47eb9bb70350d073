"""A start of a session that is none is told apart from a checkpoint that a newer worker wrote."""

import json

import pytest
from pydantic import ValidationError

from tests.workflows.core.states import DIGEST
from workflows.contracts.session import SessionInput, SessionState, UnreadableStart

START = {"session": "s1", "cwd": "/w", "host": "h", "store": "s", "settings": DIGEST, "public_key": "55"}


def read(**changed: object) -> SessionInput:
    """As the engine's converter reads it."""
    return SessionInput.model_validate_json(json.dumps({**START, **changed}))


def test_a_start_is_read() -> None:
    assert read().session == "s1"
    assert read(state={"turns": 3}).state == SessionState(turns=3)


@pytest.mark.parametrize("changed", [{"session": 7}, {"mode": "newer"}, {"thresholds": "none"}])
def test_a_start_that_cannot_be_read_names_its_field(changed: dict[str, object]) -> None:
    with pytest.raises(UnreadableStart, match=next(iter(changed))):
        read(**changed)


@pytest.mark.parametrize("data", ["[]", "null", '"text"', "{}"])
def test_what_is_no_start_at_all_is_told_too(data: str) -> None:
    with pytest.raises(UnreadableStart):
        SessionInput.model_validate_json(data)


def test_a_checkpoint_with_a_newer_word_is_left_for_a_newer_worker() -> None:
    with pytest.raises(ValidationError):
        read(state={"turns": 3, "mode": "newer"})
