"""Tests of activities/stores/home.py."""

import subprocess
import sys
from pathlib import Path

import pytest

from activities.stores.home import FOLDERS, Home
from workflows.contracts.errors import UserError

ASK_HOST = (
    "import sys, pathlib; from activities.stores.home import Home; print(Home(pathlib.Path(sys.argv[1])).host().id)"
)


@pytest.mark.parametrize(
    ("env", "root"),
    [
        ({"HOME": "/h", "PERDURE_HOME": "/p", "XDG_DATA_HOME": "/x"}, "/p"),
        ({"HOME": "/h", "PERDURE_HOME": "~/p"}, "/h/p"),
        ({"HOME": "/h", "XDG_DATA_HOME": "/x"}, "/x/perdure"),
        ({"HOME": "/h", "XDG_DATA_HOME": "relative"}, "/h/.local/share/perdure"),
        ({"HOME": "/h", "PERDURE_HOME": "", "XDG_DATA_HOME": ""}, "/h/.local/share/perdure"),
    ],
)
def test_the_home_is_where_the_environment_says(env: dict[str, str], root: str) -> None:
    assert Home.from_environment(env).root == Path(root)


def test_every_folder_is_made_and_closed_to_others(tmp_path: Path) -> None:
    home = Home(tmp_path / "deep" / "home")
    home.ensure()
    home.keys.chmod(0o755)
    home.ensure()
    made = [home.root, *(home.root / name for name in FOLDERS)]
    assert [path.stat().st_mode & 0o777 for path in made] == [0o700] * len(made)
    assert list(home.engine.iterdir()) == []


def test_a_file_where_the_home_belongs_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "home").touch()
    with pytest.raises(UserError, match="a file is where a folder belongs; move that file away") as caught:
        Home(tmp_path / "home").ensure()
    assert "\n" not in str(caught.value)


def test_a_home_where_nothing_can_be_made_is_told_in_one_line() -> None:
    # In /proc nobody may create a folder, root neither.
    with pytest.raises(UserError, match="/proc/perdure cannot be used: ") as caught:
        Home(Path("/proc/perdure")).ensure()
    assert "\n" not in str(caught.value)


@pytest.mark.journey
def test_ten_processes_agree_on_the_id_of_a_new_host(tmp_path: Path) -> None:
    askers = [
        subprocess.Popen([sys.executable, "-c", ASK_HOST, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        for _ in range(10)
    ]
    ids = {asker.communicate(timeout=60)[0] for asker in askers}
    assert len(ids) == 1
    assert ids == {Home(tmp_path).host().id + "\n"}


def test_a_host_file_without_an_id_is_refused_and_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "host").write_bytes(b"\0" * 17)
    with pytest.raises(UserError, match="holds no host id"):
        Home(tmp_path).host()
    assert (tmp_path / "host").read_bytes() == b"\0" * 17


def test_the_store_is_the_home_s_folder_unless_named(tmp_path: Path) -> None:
    home = Home(tmp_path / "a home")
    assert home.store_url({}) == f"file://{tmp_path}/a%20home/objects"
    assert home.store_url({"PERDURE_STORE": "s3://bucket/x"}) == "s3://bucket/x"
    assert home.store_url({"PERDURE_STORE": "/srv/o"}) == "file:///srv/o"


def test_no_heavy_library_is_loaded_with_stores_and_feed() -> None:
    source = (
        "import sys, activities.stores.objects, activities.stores.home, activities.events\n"
        "heavy = {'temporalio', 'anthropic', 'rich', 'pydantic', 'obstore', 'inotify_simple'} & set(sys.modules)\n"
        "sys.exit(' '.join(sorted(heavy)) or None)"
    )
    subprocess.run([sys.executable, "-c", source], check=True, timeout=60)
