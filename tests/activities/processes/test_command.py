"""What a command is asked to be, and how its end is read."""

import pytest

from activities.processes.command import CommandSpec, EndKind, end_from_status


def test_a_spec_shows_no_environment_when_it_is_printed() -> None:
    spec = CommandSpec(key="k", argv=("true",), cwd="/", environment={"TOKEN": "hidden"})
    assert "hidden" not in repr(spec)
    assert spec.as_record()["environment"] == {"TOKEN": "hidden", "PERDURE_CALL": "k"}


def test_a_later_runners_status_is_read_for_what_is_known() -> None:
    end = end_from_status({"reason": "exited", "exit_code": 3, "remaining": [7, "x"], "added_later": 1})
    assert (end.kind, end.exit_code, end.remaining) == (EndKind.EXITED, 3, (7,))


@pytest.mark.parametrize("status", [{}, {"reason": "odd"}, {"reason": None}])
def test_a_status_without_a_reason_is_a_value_error(status: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="EndKind"):
        end_from_status(status)
