"""The engine's ports are those that its file tells; a damaged file tells none."""

from pathlib import Path

import pytest

from activities.stores.engine_ports import engine_ports


def test_the_ports_are_those_of_the_file(tmp_path: Path) -> None:
    state = tmp_path / "engine.json"
    state.write_text('{"pid": 1, "ports": {"grpc": 7233, "ui": 8233, "http": "none"}}')
    assert engine_ports(state) == {7233, 8233}


@pytest.mark.parametrize("text", ["", "[]", "null", '{"ports": [7233]}', '{"ports": null}', "{}", "{"])
def test_a_damaged_file_tells_none(tmp_path: Path, text: str) -> None:
    state = tmp_path / "engine.json"
    state.write_text(text)
    assert engine_ports(state) == frozenset()


def test_a_file_that_is_not_there_tells_none(tmp_path: Path) -> None:
    assert engine_ports(tmp_path / "engine.json") == frozenset()
