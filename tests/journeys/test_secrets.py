"""Secrets of many kinds, seeded into all that a session sees, stand in no byte of what is kept or sent."""

import base64
import json
import sqlite3
import string
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from activities.stores.vault import Vault, is_locked
from tests.fakes.case_bench import Json, Loop, bash, reply
from tests.fakes.command_line import Cli
from tests.fakes.stranger import home_for
from worker.engine import Home
from worker.rehearsal.scenario import Scenario
from worker.rehearsal.server import Rehearsal

pytestmark = [pytest.mark.journey, pytest.mark.timeout(300)]

_ALNUM = string.ascii_letters + string.digits
CANARY = "canary-that-is-no-secret"


def _word(chance: Random, length: int, letters: str = _ALNUM) -> str:
    return "".join(chance.choice(letters) for _ in range(length - 2)) + "B9"


def _seeds(chance: Random) -> dict[str, str]:
    """Secrets by kind."""
    token = ".".join(
        base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")
        for part in ({"alg": "HS256", "typ": "JWT"}, {"sub": _word(chance, 10)})
    )
    return {
        "aws_id": "AKIA" + _word(chance, 16, string.ascii_uppercase),
        "aws_secret": _word(chance, 40),
        "github": "ghp_" + _word(chance, 36),
        "gitlab": "glpat-" + _word(chance, 20),
        "slack": f"xoxb-{_word(chance, 12, string.digits)}-{_word(chance, 24)}",
        "stripe": "sk_live_" + _word(chance, 24),
        "google": "AIza" + _word(chance, 35),
        "jwt": f"{token}.{_word(chance, 43)}",
        "url": _word(chance, 14),
        "password": _word(chance, 12) + "!",
        "json": _word(chance, 16),
        "bearer": _word(chance, 40),
        "anthropic": "sk-ant-api03-" + _word(chance, 60),
        "environment": "plain-" + _word(chance, 20, string.ascii_lowercase),
        "key_line": _word(chance, 64),
        "error": "ghp_" + _word(chance, 36),
        "edited": "glpat-" + _word(chance, 20),
        "chunked": "ghp_" + _word(chance, 36),
    }


def _files(seeds: dict[str, str]) -> dict[str, str]:
    lines = "\n".join([seeds["key_line"]] * 4)
    return {
        "notes.txt": f"aws_access_key_id = {seeds['aws_id']}\naws_secret_access_key = {seeds['aws_secret']}\n",
        "key.txt": f"-----BEGIN RSA PRIVATE KEY-----\n{lines}\n-----END RSA PRIVATE KEY-----\n",
        "config.py": f'TOKEN = "{seeds["edited"]}"\nLEVEL = 1\n',
        "data.json": json.dumps({"db": {"password": seeds["json"]}, "slack": seeds["slack"]}),
        "slow.py": (
            "import sys, time\n"
            f"for piece in ({seeds['chunked'][:9]!r}, {seeds['chunked'][9:20]!r}, {seeds['chunked'][20:]!r}, '\\n'):\n"
            "    sys.stdout.write(piece); sys.stdout.flush(); time.sleep(0.4)\n"
            f"print('{CANARY}')\n"
        ),
        "fails.py": f"import sys\nsys.exit('cannot log in with {seeds['error']}')\n",
        "long.py": f"print('x' * 20_000)\nprint('stripe {seeds['stripe']}')\nprint('y ' * 20_000)\n",
    }


REPLIES: list[Json | str] = [
    reply({"tool": "Read", "input": {"file_path": "notes.txt"}}, {"tool": "Read", "input": {"file_path": "key.txt"}}),
    reply(bash("cat data.json key.txt"), bash("env")),
    reply(bash("python3 slow.py"), bash("python3 fails.py"), bash("python3 long.py")),
    reply({"tool": "Grep", "input": {"pattern": "TOKEN", "output_mode": "content"}}),
    reply({"tool": "Read", "input": {"file_path": "config.py"}}),
    reply({"tool": "Edit", "input": {"file_path": "config.py", "old_string": "LEVEL = 1", "new_string": "LEVEL = 2"}}),
    reply({"tool": "Read", "input": {"file_path": "nothing/here.txt"}}),
    "All done.",
]


@dataclass
class Seeded:
    """A session that has seen all seeds."""

    cli: Cli
    model: Rehearsal
    session: str
    seeds: dict[str, str]
    shown: str


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seeded]:
    seeds = _seeds(Random(5))
    loop, folder = Loop(), tmp_path_factory.mktemp("work")
    for name, text in _files(seeds).items():
        (folder / name).write_text(text)
    prompt = (
        f"{CANARY}: use {seeds['github']} and postgres://app:{seeds['url']}@db:5432/x, "
        f"password={seeds['password']} , -H 'Authorization: Bearer {seeds['bearer']}', google {seeds['google']}, "
        f"jwt {seeds['jwt']}, key {seeds['anthropic']}"
    )
    with home_for(is_up=False) as home, loop.model(Scenario.model_validate({"replies": REPLIES})) as model:
        keys = {
            "ANTHROPIC_BASE_URL": model.url,
            "ANTHROPIC_API_KEY": seeds["anthropic"],
            "DB_PASSWORD": seeds["environment"],
            "GITLAB_TOKEN": seeds["gitlab"],
        }
        cli = Cli(home, folder, keys)
        words = ("--permission-mode", "bypassPermissions", "--output-format", "json", "-p")
        ended = cli("run", *words, "--session-id", "seeded", prompt)
        assert ended.returncode == 0, ended.stderr + ended.stdout
        yield Seeded(cli, model, "seeded", seeds, ended.stdout + ended.stderr)
    loop.stop()


def _bytes_of(home: Home) -> Iterator[tuple[str, bytes]]:
    """Every file of the home but its keys; the engine's database also as its tables hold it."""
    for path in sorted(home.root.rglob("*")):
        if path.is_file() and not path.is_relative_to(home.keys):
            yield str(path.relative_to(home.root)), path.read_bytes()
    for path in home.engine.glob("*.db*"):
        if path.suffix == ".db":
            with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
                for line in database.iterdump():
                    yield f"{path.name} (dump)", line.encode("utf-8", "surrogateescape")


def _exported(seeded: Seeded, to: Path) -> Iterator[tuple[str, bytes]]:
    assert seeded.cli("audit", seeded.session, "--export", str(to)).returncode == 0
    with tarfile.open(to) as tar:
        for member in tar:
            file = tar.extractfile(member)
            yield f"export/{member.name}", file.read() if file else b""


def _forms(secret: str) -> tuple[bytes, ...]:
    """A secret as it stands in a text, in base64 at each place, and in hex, as a dump of a database has it."""
    data = secret.encode()
    forms = [data, data.hex().encode(), data.hex().upper().encode()]
    forms += [base64.b64encode(b"\0" * shift + data)[4:-4] for shift in range(3)]
    return tuple(forms)


def _hits(files: Iterator[tuple[str, bytes]], words: dict[str, str]) -> dict[str, list[str]]:
    forms = {kind: _forms(word) for kind, word in words.items()}
    found: dict[str, list[str]] = {}
    for name, data in files:
        for kind, looked in forms.items():
            if any(form in data for form in looked):
                found.setdefault(kind, []).append(name)
    return found


def test_no_byte_of_any_store_holds_a_seeded_secret(seeded: Seeded) -> None:
    assert _hits(_bytes_of(seeded.cli.home), seeded.seeds) == {}


def test_no_export_holds_one(seeded: Seeded, tmp_path: Path) -> None:
    assert _hits(_exported(seeded, tmp_path / "export.tar"), seeded.seeds) == {}


def test_none_was_sent_to_the_model(seeded: Seeded) -> None:
    sent = [request.body_bytes for request in seeded.model.requests]
    assert len(sent) >= len(REPLIES)
    assert _hits(iter([(str(number), body) for number, body in enumerate(sent)]), seeded.seeds) == {}


def test_none_was_shown(seeded: Seeded) -> None:
    asked = (("audit", "seeded"), ("audit", "seeded", "--json"), ("show", "seeded", "--json"), ("ls", "--json"))
    told = [seeded.cli(*words).stdout for words in asked]
    assert _hits(iter([("screen", "".join([*told, seeded.shown]).encode())]), seeded.seeds) == {}


def test_the_search_finds_what_is_there(seeded: Seeded, tmp_path: Path) -> None:
    """Else finding nothing would mean nothing."""
    (places,) = _hits(_bytes_of(seeded.cli.home), {"canary": CANARY}).values()
    folders = {name.partition("/")[0] for name in places}
    assert {"objects", "events", "engine"} <= folders
    assert _hits(_exported(seeded, tmp_path / "export.tar"), {"canary": CANARY})
    with_secret = seeded.cli.home.logs / "control"
    with_secret.write_text(base64.b64encode(b"xy" + seeded.seeds["github"].encode() + b"z").decode())
    try:
        assert _hits(_bytes_of(seeded.cli.home), seeded.seeds) == {"github": ["logs/control"]}
    finally:
        with_secret.unlink()


def test_the_model_saw_marks_and_the_rest_as_it_is(seeded: Seeded) -> None:
    sent = b"".join(request.body_bytes for request in seeded.model.requests).decode()
    for kind in ("github", "gitlab", "aws", "slack", "private-key", "password", "jwt", "bearer", "env"):
        assert f"[secret:{kind}:" in sent, kind
    assert "postgres://app:[secret:url-password:" in sent
    assert "cannot log in with [secret:github:" in sent


def test_the_file_was_changed_and_kept_its_secret(seeded: Seeded) -> None:
    text = (seeded.cli.folder / "config.py").read_text()
    assert text == f'TOKEN = "{seeded.seeds["edited"]}"\nLEVEL = 2\n'


def test_the_old_version_is_encrypted_and_can_be_read_with_the_homes_key(seeded: Seeded) -> None:
    objects = [path.read_bytes() for path in seeded.cli.home.objects.rglob("*") if path.is_file()]
    (locked,) = [data for data in objects if is_locked(data)]
    before = f'TOKEN = "{seeded.seeds["edited"]}"\nLEVEL = 1\n'.encode()
    assert Vault(seeded.cli.home).unlock(locked) == before
    assert before not in objects


def test_what_was_left_out_of_a_long_result_is_masked_too(seeded: Seeded) -> None:
    objects = [path.read_bytes() for path in seeded.cli.home.objects.rglob("*") if path.is_file()]
    assert any(data.startswith(b"xxx") and b"stripe [secret:stripe:" in data for data in objects)


def test_the_session_can_be_verified(seeded: Seeded) -> None:
    told = seeded.cli("audit", "seeded", "--verify")
    assert told.returncode == 0, told.stdout + told.stderr
