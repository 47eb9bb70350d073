"""perdure sandbox and doctor: which tier works here, and what is refused."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.held import missing

PERDURE = [str(Path(sys.executable).parent / "perdure")]
pytestmark = [pytest.mark.journey, pytest.mark.skipif(bool(missing(2)), reason=f"no Landlock: {missing(2)}")]


@pytest.fixture
def work(home: Path, tmp_path: Path) -> Path:
    assert home.is_dir()
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def perdure(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PERDURE, *words], cwd=cwd, capture_output=True, text=True, check=False, timeout=80)


def test_it_says_which_tier_works(work: Path) -> None:
    assert perdure("sandbox", "--tier", "2", cwd=work).stdout == "tier 2, landlock\n"


def test_a_command_runs_with_its_own_flags_output_and_exit_code(work: Path) -> None:
    done = perdure("sandbox", "--tier", "2", "sh", "-c", "echo $0 $1; exit 7", "-x", "--help", cwd=work)
    assert (done.stdout, done.returncode) == ("-x --help\n", 7)
    assert done.stderr.startswith("[tier 2, landlock]\n")


def test_what_is_refused_is_told_beside_the_output(work: Path) -> None:
    done = perdure("sandbox", "echo in > f; echo x > /perdure-x", cwd=work)
    assert "[sandbox denial: /perdure-x" in done.stderr
    assert (work / "f").read_text() == "in\n"
    assert sorted(path.name for path in work.iterdir()) == ["f"]


def test_the_settings_of_the_folder_count(work: Path) -> None:
    outside = work.parent / "outside"
    outside.mkdir()
    (work / ".perdure").mkdir()
    settings = {"sandbox": {"filesystem": {"denyWrite": ["closed"]}}}
    (work / ".perdure" / "settings.json").write_text(json.dumps(settings))
    (work / "closed").mkdir()
    done = perdure("sandbox", "--tier", "1", "touch closed/x", cwd=work)
    assert done.returncode != 0
    assert not (work / "closed" / "x").exists()


def test_a_folder_that_is_not_there_is_told_in_one_line(work: Path) -> None:
    done = perdure("sandbox", "--cwd", "gone", "true", cwd=work)
    assert done.returncode == 2
    assert "There is no folder" in done.stderr


def test_what_a_rule_keeps_from_being_read_is_hidden(work: Path) -> None:
    (work / ".perdure").mkdir()
    (work / ".perdure" / "settings.json").write_text(json.dumps({"permissions": {"deny": ["Read(./private/**)"]}}))
    (work / "private").mkdir()
    for name in ("private/x", "open"):
        (work / name).write_text("needle\n")
    done = perdure("sandbox", "--tier", "1", "grep -rn needle .", cwd=work)
    assert done.stdout == "./open:1:needle\n"
    assert "hidden from this command: deny rule Read(./private/**)" in done.stderr


def test_doctor_tells_the_tier(work: Path) -> None:
    found = {one["name"]: one for one in json.loads(perdure("doctor", "--json", cwd=work).stdout)}
    assert "tier" in found["sandbox"]["text"]
