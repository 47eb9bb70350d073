"""A path is inside only if it really is."""

import os
from pathlib import Path

import pytest

from activities.safety.paths import is_inside, located, named
from tests.fakes.world import make_call, make_world
from workflows.contracts.errors import ToolError


@pytest.mark.parametrize(
    ("path", "inside"),
    [
        ("work", True),
        ("work/a/b", True),
        ("work/../work/a", True),
        ("work/..", False),
        ("work2", False),
        ("work/out/x", False),
        ("work/in/x", True),
        ("work/out/../work/x", True),
        ("work/dangling", False),
    ],
)
def test_links_and_dots_are_followed_before_a_path_counts_as_inside(tmp_path: Path, path: str, inside: bool) -> None:
    (tmp_path / "work/deep").mkdir(parents=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "work/out").symlink_to(tmp_path / "other")
    (tmp_path / "work/in").symlink_to("deep")
    (tmp_path / "work/dangling").symlink_to(tmp_path / "not there")
    assert is_inside(tmp_path / path, tmp_path / "work") is inside


def test_the_workspace_may_itself_be_reached_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "real/a").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    assert is_inside(tmp_path / "real/a", tmp_path / "link")


@pytest.mark.parametrize("text", ["\ud83d", "~nobody-of-that-name/x", "a\0b", ""])
def test_naming_a_path_never_fails(tmp_path: Path, text: str) -> None:
    assert named(make_call(make_world(tmp_path), tmp_path), text).is_absolute()


def test_the_home_folder_is_out_of_reach_but_for_its_memory(tmp_path: Path) -> None:
    world = make_world(tmp_path)
    call = make_call(world, tmp_path / "work")
    assert located(call, str(world.home.memory / "x")) == world.home.memory / "x"
    for path in (world.home.root, world.home.keys / "x", world.home.memory / "../keys/x"):
        with pytest.raises(ToolError):
            located(call, str(path))


def test_a_link_whose_name_is_no_utf8_does_not_hide_where_it_leads(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / os.fsdecode(b"\xff")).symlink_to(tmp_path)
    call = make_call(make_world(tmp_path), tmp_path / "work")
    assert not is_inside(named(call, "\ufffd/secret"), call.workspace)
