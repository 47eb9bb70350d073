"""The footer says what holds the commands."""

import pytest

from cli.display.status import status_rows
from cli.display.theme import Theme
from cli.watch import Screen, reduce
from workflows.contracts.events import SessionOpened


@pytest.mark.parametrize(("held", "shown"), [("full", "sandbox full"), ("none", "sandbox none"), ("", "")])
def test_the_sandbox_is_always_to_be_seen(held: str, shown: str) -> None:
    event = SessionOpened(session="s1", cwd="/w", model="m", mode="default", sandbox=held)
    (row,) = status_rows(reduce(Screen(), event), 0.0, 300, Theme(colour=False))
    assert shown in row
    assert ("sandbox" in row) == bool(held)
