"""Every file says in one line what it is."""

import ast

from tests.shape.map import lines
from tests.shape.tree import modules, syntax

CAPTION_LENGTH = 120


def test_a_module_opens_with_its_caption() -> None:
    captions = {module: (ast.get_docstring(syntax(module)) or "").partition("\n")[0] for module in modules()}
    assert [str(module) for module, caption in captions.items() if not 0 < len(caption) < CAPTION_LENGTH] == []


def test_the_map_shows_folders_and_captions() -> None:
    printed = list(lines())
    assert "workflows/" in printed
    assert any(line.lstrip().startswith("contract.py ") and "Contract" in line for line in printed)
