"""D01: a torn or odd last record does not lock a run out."""

import asyncio
import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cli.gateway import open_sessions
from cli.sender import Sender
from cli.signing import new_request
from tests.fakes.case_bench import Json, Play, Stage, audited, bash, of_kind, reply
from tests.fakes.leftovers import end_processes_of
from tests.fakes.waiting import eventually
from worker import engine
from worker.engine import Home
from workflows.contracts.session import Submit

pytestmark = pytest.mark.journey

TURNS = 6
Damage = Callable[[Path], None]


def cut(path: Path) -> None:
    """The last line ends in its middle."""
    path.write_bytes(path.read_bytes()[:-20])


def nul(path: Path) -> None:
    """The last line is only NUL bytes, as a power cut leaves them."""
    path.write_bytes(path.read_bytes() + b"\0" * 300)


def zeroed(path: Path) -> None:
    """The last whole line became NUL bytes."""
    *rows, last = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(rows) + b"\0" * len(last))


def without_ordinal(path: Path) -> None:
    """Every record lacks the number that this version writes, and the last has a field of another version."""
    rows = [json.loads(row) for row in path.read_bytes().splitlines()]
    plain = [{name: value for name, value in row.items() if name not in {"seq", "what", "at"}} for row in rows]
    plain[-1]["colour"] = {"of": "tomorrow"}
    path.write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in plain))


def blank(path: Path) -> None:
    """A blank line in the middle, and one of blanks."""
    rows = path.read_bytes().splitlines(keepends=True)
    half = len(rows) // 2
    path.write_bytes(b"".join([*rows[:half], b"\n", b"   \n", *rows[half:]]))


def repeated(path: Path) -> None:
    """The last record stands there three times."""
    rows = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*rows, rows[-1], rows[-1]]))


def garbage(path: Path) -> None:
    """A whole line that is no JSON object, and one that is no UTF-8."""
    path.write_bytes(path.read_bytes() + b"[1, 2]\n\xff\xfe{\n")


def gone(path: Path) -> None:
    """The file is gone."""
    path.unlink()


def names_nothing(path: Path) -> None:
    """The newest rows name what is gone; in the feed they are of a kind nobody knows."""
    row = {"session": path.name.split(".")[0], "head": "0" * 64, "at": "", "what": "closed", "kind": "of tomorrow"}
    path.write_bytes(path.read_bytes() + json.dumps(row).encode() + b"\n")


DAMAGES: dict[str, Damage] = {
    "cut": cut, "nul": nul, "zeroed": zeroed, "ordinal": without_ordinal, "blank": blank, "repeated": repeated,
    "garbage": garbage, "gone": gone, "nothing": names_nothing,
}  # fmt: skip
KEPT = ("cut", "nul", "zeroed")
"""What is torn is put aside, not thrown away, once somebody writes behind it."""


@pytest.fixture
def lone() -> Iterator[Home]:
    """A home whose engine may be stopped and started."""
    folder = Path(tempfile.mkdtemp(prefix="pd-", dir="/tmp"))
    home = Home(folder)
    engine.ensure_up(home)
    yield home
    engine.down(home)
    end_processes_of(folder)


async def six_turns(stage: Stage, sessions: list[str]) -> None:
    """The other five turns of every session."""
    line, sender = await open_sessions(stage.cli.home, {}), Sender(stage.cli.home)
    for session in sessions:
        for number in range(1, TURNS):
            kept = await sender.prompt(f"turn {number}", request := new_request())
            await line.submit(session, Submit(request=request, digest=kept.digest, title=kept.title))


def played(play: Play, home: Home, sessions: list[str]) -> Stage:
    """Sessions of six turns each, and an engine that is down."""
    stage = play(
        reply({"tool": "Read", "input": {"file_path": "effect"}}, bash("./effect one")), home=home, fallback="ok"
    )
    for session in sessions:
        stage.begin("--session-id", session, prompt="turn 0")
    asyncio.run(six_turns(stage, sessions))

    def done() -> bool:
        rows = stage.cli.json("ls", "--json")
        return all(row["state"] == "idle" for row in rows) and len(stage.asked()) >= (TURNS + 1) * len(sessions)

    eventually(done, 60, "six turns each")
    engine.down(home)
    return stage


def files(home: Home, session: str) -> list[Path]:
    """Every file of lines that is read to resume, list or audit the session."""
    found = [home.sessions / f"{session}.ndjson", home.journal / session / "seen.ndjson"]
    found += home.events.glob(f"{session}.*.ndjson")
    assert all(path.is_file() for path in found), found
    return found


def turns(lines: list[Json]) -> int:
    return sum(line["by"] == "person" for line in of_kind(lines, "prompt"))


def check_audit(stage: Stage, session: str, count: int) -> None:
    lines = audited(stage.cli, session)
    damaged = len(of_kind(lines, "damaged"))
    assert turns(lines) == count or (turns(lines) == count - 1 and damaged), (session, lines[-1])


@pytest.mark.timeout(200)
def test_sessions_whose_files_are_damaged_are_listed_audited_and_resumed(play: Play, lone: Home) -> None:
    sessions = [*DAMAGES, "whole"]
    stage = played(play, lone, sessions)
    for session, damage in DAMAGES.items():
        for path in files(lone, session):
            damage(path)
    for session in ("cut", "nothing"):
        # Without an engine; another file that is gone could not be known of.
        check_audit(stage, session, TURNS)
    engine.ensure_up(lone)
    assert {row["id"] for row in stage.cli.json("ls", "--json")} == set(sessions)
    for session in sessions:
        ran = stage.send(session, f"turn {TURNS}")
        assert (ran.code, ran.json.get("result")) == (0, "ok"), (session, ran)
    for session in sessions:
        check_audit(stage, session, TURNS + 1)
    for session in KEPT:
        for path in files(lone, session):
            if path.name != "seen.ndjson":
                assert path.with_name(path.name + ".damaged").is_file(), path
    assert stage.effects() == len(sessions)


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.chmod(0o600)
    path.write_bytes(bytes(data))


def object_file(home: Home, digest: str) -> Path:
    return next(path for path in home.objects.rglob("*") if path.is_file() and digest in str(path).replace("/", ""))


@pytest.mark.timeout(200)
def test_a_damaged_entry_record_or_state_is_named_and_leaves_the_rest_readable(play: Play, lone: Home) -> None:
    stage = played(play, lone, ["entry", "journal", "whole"])
    last = of_kind(audited(stage.cli, "entry"), "exchange")[-2]
    flip(object_file(lone, last["digest"]))
    for path in (lone.journal / "journal").glob("*/*"):
        if path.name in {"intent", "outcome"}:
            path.write_bytes(path.read_bytes()[:-9])
    for name in ("engine.json",):
        (lone.engine / name).write_bytes(b"\0" * 200)
    lines = audited(stage.cli, "entry")
    assert last["digest"] in [line["digest"] for line in of_kind(lines, "damaged")]
    assert turns(lines) >= TURNS - 1
    engine.ensure_up(lone)
    assert {row["id"] for row in stage.cli.json("ls", "--json")} == {"entry", "journal", "whole"}
    for session in ("journal", "whole"):
        assert stage.send(session, "again").code == 0
    refused = stage.send("entry", "again")
    assert refused.code == 1
    assert last["digest"] in refused.json["error"]
    assert stage.effects() == 3
