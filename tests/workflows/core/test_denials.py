"""After three blocks in a row, or twenty in all, a person decides."""

from workflows.core.denials import counted


def test_a_row_is_ended_by_a_call_that_is_let_through_and_the_sum_is_not() -> None:
    assert counted([True, True, False, True, True]).limit == ""
    assert "3 calls in a row" in counted([True] * 3).limit
    assert counted([True, True, False] * 9 + [True]).limit == ""
    assert "20 calls of this session" in counted([True, True, False] * 10).limit
