"""What is written is registered: tools in one tuple, activities in one table."""

from collections import Counter
from typing import get_type_hints

from activities.catalog import bindings
from activities.model.call import ModelCalls
from activities.tool_calls.registry import TOOLS
from activities.world import World
from tests.shape.tree import modules
from workflows.contracts.activity_specs import SPECS
from workflows.contracts.tools import Repeat


def test_the_tools_folder_holds_the_registered_tools_and_nothing_else() -> None:
    files = {
        ".".join(module.with_suffix("").parts) for module in modules() if module.parts[:2] == ("activities", "tools")
    }
    assert files == {tool.__module__ for tool in TOOLS}


def test_each_tool_is_registered_once() -> None:
    assert [count for count in Counter(tool.__module__ for tool in TOOLS).values() if count > 1] == []


def test_each_spec_has_a_name_of_its_own() -> None:
    assert [name for name, count in Counter(spec.name for spec in SPECS).items() if count > 1] == []


def test_each_spec_is_bound_to_exactly_one_activity() -> None:
    assert Counter(binding.spec.name for binding in bindings(ModelCalls())) == Counter(spec.name for spec in SPECS)


def test_each_activity_takes_and_gives_what_its_spec_says() -> None:
    for binding in bindings(ModelCalls()):
        hints = get_type_hints(binding.function)
        gives = hints.pop("return")
        assert (list(hints.values()), gives) == ([World, binding.spec.takes], binding.spec.gives), binding.spec.name


def test_a_tool_that_may_run_beside_others_leaves_nothing_behind() -> None:
    beside = {tool.name: tool.repeat for tool in TOOLS if tool.may_run_beside_others}
    assert set(beside.values()) == {Repeat.SAFE}, "the workflow ends such a call without asking its host"
