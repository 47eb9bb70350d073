"""A scenario file says what to answer; a mistake in one is told with its line and field."""

from collections.abc import Callable
from pathlib import Path

import pytest

from worker.rehearsal.scenario import CallBlock, Reply, TextBlock, load_scenario
from workflows.contracts.errors import UsageError

Write = Callable[[str], Path]


def test_a_bare_text_stands_for_a_reply_and_a_bare_block_for_its_content(scenario_file: Write) -> None:
    scenario = load_scenario(scenario_file("replies:\n- hello\n- content: {tool: Read}\n"))
    assert scenario.replies == (
        (Reply(content=(TextBlock(text="hello"),)),),
        (Reply(content=(CallBlock(tool="Read"),)),),
    )


def test_json_is_read_as_well(tmp_path: Path) -> None:
    file = tmp_path / "scenario.json"
    file.write_text('{\n\t"replies": ["hi \\u00e9"]\n}')
    assert load_scenario(file).replies[0][0].content == (TextBlock(text="hi é"),)


@pytest.mark.parametrize("example", sorted(Path("docs/scenarios").glob("*.yaml")), ids=str)
def test_every_example_in_the_docs_can_be_read(example: Path) -> None:
    assert load_scenario(example).name


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "replies:\n- hi\n- content:\n  - tool: X\n    inputs: {}\n",
            r"line 5: replies\[1\].content\[0\].inputs: no such",
        ),
        ("replies:\n- hi\n- - content: [{tex: a}]\n", r"line 3: replies\[1\]\[0\].content\[0\]: a block has one of"),
        ("replies:\n- faults: [{status: 22}]\n", r"line 2: replies\[0\].faults\[0\].status: .*greater"),
        ("replies:\n- faults: [{statu: 500}]\n", r"line 2: replies\[0\].faults\[0\]: a fault has one of"),
        ("replies:\n- faults:\n  - cut: end\n    after_events: 1\n    after_blocks: 1\n", r"line 3: .*not both"),
        (
            "replies:\n- when: {last_matches: '('}\n",
            r"line 2: replies\[0\].when.last_matches: not a regular expression",
        ),
        ("replies: [hi\n", "not YAML"),
        ("replies: [hi]\nreplies: [ho]\n", "line 2: replies: given twice"),
        ("name: empty\n", "line 1: scenario: nothing to answer"),
        ("", "is empty"),
        ("- hi\n", "line 1: scenario: "),
        ("replies: 3\n", "line 1: replies"),
    ],
)
def test_a_mistake_is_told_with_file_line_and_field(scenario_file: Write, text: str, told: str) -> None:
    with pytest.raises(UsageError, match=rf"scenario.yaml.*{told}"):
        load_scenario(scenario_file(text))


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        load_scenario(tmp_path / "none.yaml")
