"""Files come back as they were: all of them or none, also when it dies half-way."""

import asyncio
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from activities.stores.digests import digest_of
from activities.stores.home import Home
from activities.stores.journal import seal
from activities.stores.objects import FolderStore, open_store
from activities.stores.vault import Vault
from worker.rewind import Changed, Rewinder, prepared
from workflows.contracts.errors import UserError
from workflows.core.rewind import FilePlan, FileStep


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.ensure()
    return home


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def store_of(home: Home) -> FolderStore:
    store = open_store(home.store_url({}))
    assert isinstance(store, FolderStore)
    return store


async def step(home: Home, path: Path, now: bytes | None, then: bytes | None, *, locked: bool = True) -> FileStep:
    """A file as the agent left it, and its old version in the store."""
    if now is not None:
        path.write_bytes(now)
    kept = ""
    if then is not None:
        kept = await store_of(home).put(Vault(home).lock(then) if locked else then)
    found, wanted = (digest_of(data) if data is not None else "" for data in (now, then))
    return FileStep(str(path), found, wanted, kept, 1)


async def rewind(home: Home, *steps: FileStep) -> list[Path]:
    rewinder = Rewinder(home, store_of(home), "s")
    with rewinder.alone():
        files = await prepared(home, store_of(home), FilePlan(steps))
        return await rewinder.restore(files, at="2026-01-01T00:00:00.000Z", by="me", n=9, to=3)


async def test_changed_files_come_back_and_made_ones_go(home: Home, work: Path) -> None:
    changed, made = work / "changed", work / "made"
    steps = (await step(home, changed, b"new\n", b"old\n"), await step(home, made, b"made\n", None))
    changed.chmod(0o750)
    await rewind(home, *steps)
    assert changed.read_bytes() == b"old\n"
    assert changed.stat().st_mode & 0o777 == 0o750
    assert not made.exists()
    assert list(work.iterdir()) == [changed]


async def test_a_folder_goes_with_the_last_file_that_it_was_made_for(home: Home, work: Path) -> None:
    (work / "new/deep").mkdir(parents=True)
    steps = (
        replace(await step(home, work / "new/deep/a", b"a", None), folders=2),
        await step(home, work / "new/b", b"b", None),
    )
    assert await rewind(home, *steps) == [work / "new/deep", work / "new"]
    assert list(work.iterdir()) == []


async def test_a_folder_that_holds_something_else_or_was_there_before_stays(home: Home, work: Path) -> None:
    for folder in ("there", "new"):
        (work / folder).mkdir()
    (work / "new/theirs").write_bytes(b"theirs")
    steps = (
        replace(await step(home, work / "new/a", b"a", None), folders=1),
        await step(home, work / "there/a", b"a", None),
    )
    assert await rewind(home, *steps) == []
    assert sorted(path.name for path in work.rglob("*")) == ["new", "theirs", "there"]


async def test_a_rewind_that_died_before_its_folders_went_is_finished_with_them(home: Home, work: Path) -> None:
    (work / "new").mkdir()
    row = {"path": str(work / "new/a"), "now": digest_of(b"a"), "then": "", "then_object": "", "folders": 1}
    row["now_object"] = await store_of(home).put(Vault(home).lock(b"a"))
    plan = {"id": "x", "at": "t", "by": "me", "n": 9, "to": 3, "files": [row]}
    (home.sessions / "s.rewinding").write_bytes(seal(plan))
    assert "finished" in await Rewinder(home, store_of(home), "s").finish()
    assert list(work.iterdir()) == []


async def test_an_old_version_that_was_kept_in_clear_is_restored_too(home: Home, work: Path) -> None:
    await rewind(home, await step(home, work / "f", b"new", b"old", locked=False))
    assert (work / "f").read_bytes() == b"old"


async def test_a_rewind_is_recorded_so_that_it_can_be_taken_back(home: Home, work: Path) -> None:
    await rewind(home, await step(home, work / "f", b"new", b"old"))
    (rewound,) = Rewinder(home, store_of(home), "s").rewinds()
    (change,) = rewound.files
    assert (rewound.by, rewound.n, rewound.to) == ("me", 9, 3)
    assert (change.before, change.after) == (digest_of(b"new"), digest_of(b"old"))
    await rewind(home, FileStep(change.path, change.after, change.before, change.before_object, 1))
    assert (work / "f").read_bytes() == b"new"


@pytest.mark.parametrize("spoil", ["changed", "gone", "link", "made"])
async def test_a_file_that_somebody_else_changed_stops_all_of_it(home: Home, work: Path, spoil: str) -> None:
    fine = await step(home, work / "fine", b"new", b"old")
    other = await step(home, work / "other", b"new", b"old")
    if spoil == "changed":
        (work / "other").write_bytes(b"theirs")
    elif spoil == "gone":
        (work / "other").unlink()
    elif spoil == "link":
        (work / "other").rename(work / "elsewhere")
        (work / "other").symlink_to(work / "elsewhere")
    else:
        other = FileStep(str(work / "other"), "", digest_of(b"old"), other.then_object, 1)
    before = (work / "other").read_bytes() if (work / "other").exists() else None
    with pytest.raises(Changed, match=f"Nothing was changed: .*{work}/other"):
        await rewind(home, fine, other)
    assert (work / "fine").read_bytes() == b"new"
    assert ((work / "other").read_bytes() if (work / "other").exists() else None) == before
    assert Rewinder(home, store_of(home), "s").rewinds() == []


async def test_an_old_version_that_is_lost_or_another_one_stops_all_of_it(home: Home, work: Path) -> None:
    good = await step(home, work / "good", b"new", b"old")
    wrong = await step(home, work / "wrong", b"new", b"old")
    other = await store_of(home).put(Vault(home).lock(b"another"))
    for name in (other, "0" * 64):
        with pytest.raises(Changed, match="Nothing was changed"):
            await rewind(home, good, FileStep(wrong.path, wrong.now, wrong.then, name, 1))
    assert (work / "good").read_bytes() == b"new"


_REWIND = """
import asyncio, sys
from pathlib import Path
from activities.stores.home import Home
from tests.worker.test_rewind import rewind, steps_of

async def main():
    home = Home(Path(sys.argv[1]))
    await rewind(home, *await steps_of(home, Path(sys.argv[2])))

asyncio.run(main())
"""

FILES = 150


async def steps_of(home: Home, work: Path) -> list[FileStep]:
    """Many files as the agent left them."""
    return [await step(home, work / f"f{n:03}", b"new %d" % n, b"old %d" % n) for n in range(FILES)]


async def _killed_between_two_files(home: Home, work: Path) -> None:
    """A rewind of many files whose process is killed once the first ones are restored."""
    process = subprocess.Popen([sys.executable, "-c", _REWIND, str(home.root), str(work)], cwd=Path.cwd())
    third = work / "f003"
    try:
        while not (third.exists() and third.read_bytes() == b"old 3"):
            assert process.poll() is None
            await asyncio.sleep(0.001)
        os.kill(process.pid, signal.SIGKILL)
    finally:
        process.wait(10)


def _restored(work: Path) -> int:
    return sum((work / f"f{n:03}").read_bytes() == b"old %d" % n for n in range(FILES))


@pytest.mark.journey
async def test_a_rewind_that_was_killed_between_two_files_is_finished_by_the_next(home: Home, work: Path) -> None:
    await _killed_between_two_files(home, work)
    assert 0 < _restored(work) < FILES
    rewinder = Rewinder(home, store_of(home), "s")
    with rewinder.alone():
        assert "finished now" in await rewinder.finish()
    assert _restored(work) == FILES
    assert len(list(work.iterdir())) == FILES
    assert len(rewinder.rewinds()) == 1
    assert await rewinder.finish() == ""


@pytest.mark.journey
async def test_it_is_taken_back_where_somebody_changed_a_file_meanwhile(home: Home, work: Path) -> None:
    await _killed_between_two_files(home, work)
    assert 0 < _restored(work) < FILES
    last = work / f"f{FILES - 1:03}"
    last.write_bytes(b"theirs")
    rewinder = Rewinder(home, store_of(home), "s")
    told = await rewinder.finish()
    assert "taken back" in told
    assert str(last) in told
    assert _restored(work) == 0
    assert all((work / f"f{n:03}").read_bytes() == b"new %d" % n for n in range(FILES - 1))
    assert last.read_bytes() == b"theirs"
    assert rewinder.rewinds() == []


async def test_a_record_that_was_written_before_a_death_is_not_written_again(home: Home, work: Path) -> None:
    rewinder = Rewinder(home, store_of(home), "s")
    files = await prepared(home, store_of(home), FilePlan((await step(home, work / "f", b"new", b"old"),)))
    plan = home.sessions / "s.rewinding"
    await rewinder.restore(files, at="t", by="me", n=9, to=3)
    (done,) = rewinder.rewinds()
    change = done.files[0]
    old = await store_of(home).put(Vault(home).lock(b"old"))
    row = {"path": change.path, "now": change.before, "then": change.after, "now_object": change.before_object}
    row["then_object"] = old
    plan.write_bytes(seal({"id": done.id, "at": "t", "by": "me", "n": 9, "to": 3, "files": [row]}))
    assert "finished" in await rewinder.finish()
    assert rewinder.rewinds() == [done]


async def test_two_rewinds_of_one_session_do_not_meet(home: Home) -> None:
    one, other = (Rewinder(home, store_of(home), "s") for _ in range(2))
    with one.alone(), pytest.raises(UserError, match="Another rewind"), other.alone():
        pass


async def test_a_damaged_journal_is_told(home: Home) -> None:
    (home.sessions / "s.rewinding").write_bytes(b"half")
    with pytest.raises(UserError, match="is damaged"):
        await Rewinder(home, store_of(home), "s").finish()
