"""Which settings files a session reads."""

from pathlib import Path

from activities.settings.places import Places, local_file, roots_of
from activities.stores.home import MANAGED_SETTINGS, Home
from workflows.contracts.permissions import Source


def test_ours_has_more_weight_than_the_one_people_have_already_and_the_folder_more_than_its_repository(
    tmp_path: Path,
) -> None:
    places = Places.from_environment(Home(tmp_path / "home"), {"HOME": "/u"}, (Path("/m/a"), Path("/m/b")))
    assert [str(place.path) for place in places.files(("/r/sub", "/r"))] == [
        "/m/a",
        "/m/b",
        "/r/sub/.perdure/settings.local.json",
        "/r/sub/.claude/settings.local.json",
        "/r/.perdure/settings.local.json",
        "/r/.claude/settings.local.json",
        "/r/sub/.perdure/settings.json",
        "/r/sub/.claude/settings.json",
        "/r/.perdure/settings.json",
        "/r/.claude/settings.json",
        "/r/sub/.mcp.json",
        "/r/.mcp.json",
        "/u/.config/perdure/settings.json",
        "/u/.claude/settings.json",
    ]


def test_no_environment_moves_managed_settings(tmp_path: Path) -> None:
    hostile = {"HOME": "/u", "PERDURE_MANAGED": "/x", "CLAUDE_CONFIG_DIR": "/x", "XDG_CONFIG_HOME": "/x"}
    assert Places.from_environment(Home(tmp_path), hostile).managed == MANAGED_SETTINGS


def test_the_persons_own_file_is_not_also_a_projects(tmp_path: Path) -> None:
    places = Places.from_environment(Home(tmp_path), {"HOME": "/u"}, ())
    own = [place for place in places.files(("/u",)) if place.path == Path("/u/.claude/settings.json")]
    assert [place.source for place in own] == [Source.USER]


def test_a_folder_below_a_repository_has_two_roots(tmp_path: Path) -> None:
    (tmp_path / "r/.git").mkdir(parents=True)
    below = tmp_path / "r/a/b"
    below.mkdir(parents=True)
    assert roots_of(below) == (str(below), str(tmp_path / "r"))
    assert roots_of(tmp_path / "r") == (str(tmp_path / "r"),)
    assert local_file(below) == tmp_path / "r/.perdure/settings.local.json"


def test_a_worktree_is_a_repository_of_its_own(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/.git").write_text("gitdir: elsewhere")
    assert roots_of(tmp_path / "tree") == (str(tmp_path / "tree"),)


def test_links_to_a_folder_lead_to_the_same_roots(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert roots_of(tmp_path / "link") == (str(tmp_path / "real"),)
