"""What crosses a boundary arrives as it was sent, small, and readable by an older and a newer worker."""

import json

import pytest
from pydantic import ValidationError

from tests.workflows.contracts.samples import contracts, sample
from workflows.contracts.contract import Contract
from workflows.contracts.messages import Text
from workflows.contracts.session import SessionState

EVERY = pytest.mark.parametrize("contract", contracts(), ids=lambda each: each.__name__)


@EVERY
@pytest.mark.parametrize("is_full", [False, True])
def test_every_contract_comes_back_from_json_as_it_was(contract: type[Contract], is_full: bool) -> None:
    value = sample(contract, is_full=is_full)
    assert contract.model_validate_json(value.model_dump_json()) == value


@EVERY
def test_fields_that_hold_their_default_are_not_written(contract: type[Contract]) -> None:
    written = json.loads(sample(contract, is_full=False).model_dump_json())
    always = {name for name, field in contract.model_fields.items() if field.is_required() or field.default_factory}
    assert written.keys() - {"kind"} == always - {"kind"}


@EVERY
def test_a_field_of_a_newer_version_is_ignored(contract: type[Contract]) -> None:
    value = sample(contract, is_full=False)
    written = json.loads(value.model_dump_json())
    assert contract.model_validate({**written, "from_the_future": {"a": 1}}) == value


@pytest.mark.parametrize("contract", [each for each in contracts() if "kind" in each.model_fields])
def test_the_kind_of_a_union_is_always_written(contract: type[Contract]) -> None:
    value = sample(contract, is_full=False)
    assert json.loads(value.model_dump_json())["kind"] == getattr(value, "kind")  # noqa: B009 - of any contract


def test_a_value_cannot_be_changed() -> None:
    text = Text(text="a")
    with pytest.raises(ValidationError):
        text.text = "b"  # type: ignore[misc]  # what is tested


def test_an_untouched_state_is_almost_nothing() -> None:
    assert SessionState().model_dump_json() == "{}"
