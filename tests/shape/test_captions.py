"""Every file says in one line what it is."""

from tests.shape.map import caption, lines
from tests.shape.tree import modules, text

CAPTION_LENGTH = 120


def test_a_module_opens_with_its_caption() -> None:
    assert [str(module) for module in modules() if not 0 < len(caption(text(module))) < CAPTION_LENGTH] == []


def test_the_map_shows_folders_and_captions() -> None:
    printed = list(lines())
    assert "workflows/" in printed
    assert any(line.lstrip().startswith("contract.py ") and "Contract" in line for line in printed)
