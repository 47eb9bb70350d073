"""Tests of worker/audit.py: what is right is verified, and each kind of damage is found, by docs/verify.py too."""

import random
import re
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

from activities.stores.export import ExportStore
from activities.stores.objects import FolderStore
from activities.transcript import Transcript
from tests.fakes.recorded import SESSION, Recorded, full_session
from worker.audit import Report, audit, export
from worker.audit_sources import Source, export_source
from workflows.contracts.audit import CallStep, DamagedStep, ExchangeStep
from workflows.contracts.errors import UserError
from workflows.contracts.messages import ToolUse
from workflows.contracts.model import Usage
from workflows.contracts.transcript import NoticeBody
from workflows.core.audit_checks import references

VERIFIER = Path(__file__).parents[2] / "docs" / "verify.py"
KINDS = (
    "entry",
    "page",
    "image",
    "whole result",
    "words answered",
    "file version",
    "reply set aside",
    "history",
    "settings",
    "context",
)


def source(store: FolderStore, *heads: str) -> Source:
    return Source(SESSION, store, heads)


async def verified(store: FolderStore, *heads: str) -> Report:
    return await audit(source(store, *heads), verify=True)


def independent(*arguments: str | Path) -> tuple[int, str]:
    """Exit code and output of the verifier that knows nothing of ours."""
    command = [sys.executable, "-I", str(VERIFIER), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.stderr == ""
    return done.returncode, done.stdout


async def objects_of(store: FolderStore, head: str) -> dict[str, list[tuple[int, str]]]:
    """Each kind of object: the first entry that names it, and its digest."""
    found: dict[str, list[tuple[int, str]]] = {kind: [] for kind in KINDS}
    seen: set[str] = set()
    for link in await Transcript(store).read(head):
        found["entry"].append((link.entry.n, link.digest))
        for reference in references(link.entry):
            if reference.digest not in seen:
                found[reference.what].append((link.entry.n, reference.digest))
            seen.add(reference.digest)
    return found


def flip(store: FolderStore, digest: str) -> None:
    path = store.folder / digest[:2] / digest[2:]
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


async def test_a_whole_session_is_verified_by_both_verifiers(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    recorded = await full_session(store)
    report = await verified(store, recorded.head)
    assert report.problems == []
    assert report.verification is not None
    assert report.verification.histories == 1
    code, told = independent(tmp_path, recorded.head)
    assert code == 0
    counts = [int(number) for number in re.findall(r"\d+", told)]
    assert counts == [report.verification.entries, report.verification.objects - report.verification.entries]


@pytest.mark.journey
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("harm", ["flipped", "missing", "emptied"])
async def test_harm_to_any_object_is_found_by_both_and_the_entry_is_named(tmp_path: Path, kind: str, harm: str) -> None:
    store = FolderStore(tmp_path)
    recorded = await full_session(store)
    objects = (await objects_of(store, recorded.head))[kind]
    n, digest = objects[len(objects) // 2]
    path = tmp_path / digest[:2] / digest[2:]
    match harm:
        case "flipped":
            flip(store, digest)
        case "missing":
            path.unlink()
        case _:
            path.write_bytes(b"")
    report = await verified(store, recorded.head)
    assert [(problem.n, problem.digest) for problem in report.problems] == [(n, digest)]
    assert SESSION in report.problems[0].line
    assert f"entry {n}" in report.problems[0].line
    assert digest in report.problems[0].line
    code, told = independent(tmp_path, recorded.head)
    assert code == 1
    assert f"bad entry {n}: {kind} {digest}" in told


@pytest.mark.journey
async def test_a_flipped_byte_of_every_object_is_found(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    recorded = await full_session(store)
    for kind, objects in (await objects_of(store, recorded.head)).items():
        for n, digest in objects:
            path = tmp_path / digest[:2] / digest[2:]
            whole = path.read_bytes()
            flip(store, digest)
            if digest != recorded.head:
                report = await verified(store, recorded.head)
                # Entries that only this one names are told besides, without a digest.
                named = [(problem.n, problem.digest) for problem in report.problems if problem.digest]
                assert named == [(n, digest)], kind
            else:
                with pytest.raises(UserError, match=digest):
                    await verified(store, recorded.head)
            path.write_bytes(whole)


async def test_what_is_around_a_damaged_entry_can_still_be_read(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    recorded = await full_session(store)
    names = await Transcript(store).digests(recorded.head)
    flip(store, names[20])
    report = await verified(store, recorded.head)
    damaged = [step for step in report.steps if isinstance(step, DamagedStep)]
    assert [(step.n, step.digest) for step in damaged] == [(20, names[20])]
    assert {step.n for step in report.steps} >= {0, 19, 21, len(names) - 1}


async def test_entries_that_nothing_names_any_more_are_told_once_unless_another_head_names_one(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    recorded = Recorded(store)
    heads = [await recorded.append(NoticeBody(what="test", text=str(number))) for number in range(12)]
    flip(store, heads[9])
    alone = await verified(store, heads[11])
    assert [(problem.n, problem.digest) for problem in alone.problems] == [(0, ""), (9, heads[9])]
    assert "entries 0 to 8 cannot be found" in alone.problems[0].line
    helped = await verified(store, heads[11], heads[8])
    assert [(problem.n, problem.digest) for problem in helped.problems] == [(9, heads[9])]


async def test_a_damaged_head_falls_back_to_an_older_one_and_is_told(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    recorded = await full_session(store)
    names = await Transcript(store).digests(recorded.head)
    flip(store, recorded.head)
    report = await verified(store, recorded.head, names[-3])
    assert report.head == names[-3]
    assert [(problem.n, problem.digest) for problem in report.problems] == [(None, recorded.head)]
    with pytest.raises(UserError, match=recorded.head) as caught:
        await verified(store, recorded.head)
    assert "\n" not in str(caught.value)


async def test_a_session_that_nobody_knows_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is kept here: it is another's, or ended before its first entry"):
        await verified(FolderStore(tmp_path))


async def test_totals_are_the_sums_of_the_lines_and_unknown_is_not_zero(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    recorded = await full_session(store)
    report = await audit(source(store, recorded.head), verify=False)
    asked = [step for step in report.steps if isinstance(step, ExchangeStep)]
    assert report.totals.usage["input"] == 1 + 4 + 128 + 10 * 1024 + 1
    assert report.totals.usage["cache_read"] == 16
    assert report.totals.cost == 3 + 64 + 512 + 10 * 4096 + 1
    assert report.totals.cost == sum(step.cost or 0 for step in asked)
    assert [step.state for step in asked].count("set aside") == 1
    # One reply without usage, and one earlier attempt of it.
    assert report.totals.unknown == 2
    assert (report.totals.denials, report.totals.prompts) == (1, 1)


async def test_history_tells_which_worker_and_event_took_a_reply(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    recorded = await full_session(store)
    report = await audit(source(store, recorded.head), verify=False)
    asked = [step for step in report.steps if isinstance(step, ExchangeStep)]
    assert {step.worker for step in asked} == {"w1@here"}
    assert all(step.event for step in asked)


async def test_the_signer_of_an_answer_is_named_and_the_signature_checked(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    recorded = await full_session(store)
    calls = [step for step in (await verified(store, recorded.head)).steps if isinstance(step, CallStep)]
    asked = [step for step in calls if step.signature]
    assert [(step.signer, step.signature, step.crash) for step in asked] == [("ada", "valid", "attached")]


async def test_a_live_history_is_held_against_the_chain(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    recorded = Recorded(store)
    await recorded.open()
    await recorded.ask(prompt="hello", usage=Usage(input=1), cost=1)
    whole = source(store).with_engine(recorded.head, [recorded.history()])
    assert (await audit(whole, verify=True)).problems == []
    recorded.scheduled("ask_model", {"head": "f" * 64})
    wrong = source(store).with_engine(whole.heads[0], [recorded.history()])
    problems = (await audit(wrong, verify=True)).problems
    assert len(problems) == 1
    assert f"names head {'f' * 64}, which is not in the chain" in problems[0].line


async def test_an_export_reads_like_the_session_and_holds_no_old_file(tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "objects")
    recorded = await full_session(store)
    exported = await export(source(store, recorded.head), tmp_path / "session.perdure")
    assert (exported.problems, exported.left_out) == ([], 1)
    assert b"SECRET" not in (tmp_path / "session.perdure").read_bytes()
    assert (tmp_path / "session.perdure").stat().st_mode & 0o777 == 0o600
    whole = await verified(store, recorded.head)
    read = await audit(await export_source(tmp_path / "session.perdure"), verify=True)
    assert (read.problems, read.steps, read.totals) == ([], whole.steps, whole.totals)
    assert any("1 earlier versions of files are left out" in note for note in read.notes)
    with tarfile.open(tmp_path / "session.perdure") as tar:
        tar.extractall(tmp_path / "there", filter="data")
    assert independent(tmp_path / "there")[0] == 0


async def test_the_same_session_gives_the_same_export_and_keeps_a_live_history(tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "objects")
    recorded = Recorded(store)
    await recorded.open()
    await recorded.ask(prompt="hello", usage=Usage(input=1), cost=1)
    live = source(store).with_engine(recorded.head, [recorded.history()])
    await export(live, tmp_path / "a")
    await export(live, tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    report = await audit(await export_source(tmp_path / "a"), verify=True)
    assert report.problems == []
    assert report.verification is not None
    assert report.verification.histories == 1


async def is_found(path: Path) -> bool:
    """Whether the audit of an export says that something is wrong."""
    try:
        return bool((await audit(await export_source(path), verify=True)).problems)
    except UserError:
        return True


async def test_any_flipped_byte_of_an_export_is_found(tmp_path: Path, chance: random.Random) -> None:
    store = FolderStore(tmp_path / "objects")
    recorded = await full_session(store)
    await export(source(store, recorded.head), tmp_path / "whole")
    data = (tmp_path / "whole").read_bytes()
    with tarfile.open(tmp_path / "whole") as tar:
        places = [member.offset_data + chance.randrange(member.size) for member in tar]
        names = [member.offset + chance.randrange(100) for member in tar]
    for place in [*chance.sample(places, 12), *chance.sample(names, 6)]:
        flipped = bytearray(data)
        flipped[place] ^= 1
        (tmp_path / "flipped").write_bytes(flipped)
        assert await is_found(tmp_path / "flipped"), place


@pytest.mark.parametrize("data", [b"", b"no tar", b"\0" * 10240])
async def test_a_file_that_is_no_export_is_told_in_one_line(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "file").write_bytes(data)
    with pytest.raises(UserError, match="cannot be read as an export"):
        ExportStore(tmp_path / "file")


async def test_an_export_of_a_damaged_session_holds_what_is_left_and_says_what_is_not(tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "objects")
    recorded = await full_session(store)
    (n, digest), *_ = (await objects_of(store, recorded.head))["whole result"]
    flip(store, digest)
    exported = await export(source(store, recorded.head), tmp_path / "file")
    assert [(problem.n, problem.digest) for problem in exported.problems] == [(n, digest)]
    report = await audit(await export_source(tmp_path / "file"), verify=True)
    assert [(problem.n, problem.digest) for problem in report.problems] == [(n, digest)]


def test_the_independent_verifier_is_short_and_imports_nothing_of_ours() -> None:
    text = VERIFIER.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 60
    imported = re.findall(r"^(?:import|from) (.*)$", text, re.MULTILINE)
    assert {name.strip() for line in imported for name in line.split(",")} <= set(sys.stdlib_module_names)


@pytest.mark.parametrize("words", [(), ("--help",), (str(VERIFIER),)])
def test_the_verifier_says_how_it_is_called(words: tuple[str, ...], tmp_path: Path) -> None:
    command = [sys.executable, "-I", str(VERIFIER), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, cwd=tmp_path)
    assert (done.returncode, done.stdout, "verify.py UNPACKED_EXPORT" in done.stderr) == (1, "", True)
    assert "Traceback" not in done.stderr


@pytest.mark.journey
async def test_a_thousand_exchanges_are_verified_in_ten_seconds(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    recorded = Recorded(store)
    await recorded.open()
    for number in range(1000):
        use = ToolUse(id="t", name="Bash", input={"command": f"echo {number}"})
        await recorded.ask(use, usage=Usage(input=1, output=1), cost=1)
        recorded.ran(use, text=f"{number} " + "x" * 4096)
    await recorded.archive()
    started = time.perf_counter()
    report = await verified(store, recorded.head)
    seconds = time.perf_counter() - started
    assert report.problems == []
    print(f"{seconds:.1f} s")
    assert seconds < 10
