"""Secrets in texts become marks, and nothing else changes."""

import base64
import hashlib
import json
import random
import re
import string
import subprocess
import uuid
from pathlib import Path

import pytest

from activities.stores.masking import MARK, Masker

_CHANCE = random.Random(11)
_ALNUM = string.ascii_letters + string.digits


def _any(length: int, letters: str = _ALNUM) -> str:
    return "".join(_CHANCE.choice(letters) for _ in range(length - 2)) + "A7"


def _part(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def _key_block() -> str:
    return "\n".join(_any(64, _ALNUM + "+/") for _ in range(6))


BLOCK = _key_block()
# What stands around a secret, with the secret as {}; and the secret.
SECRETS = {
    "AWS key id": ("id {} end", f"AKIA{_any(16, string.ascii_uppercase)}"),
    "AWS secret": ("aws_secret_access_key = {}\n", _any(40, _ALNUM + "/+")),
    "GitHub": ("token {}\n", f"ghp_{_any(36)}"),
    "GitHub, fine-grained": ("{}", f"github_pat_{_any(22)}_{_any(59)}"),
    "GitLab": ("remote {} here", f"glpat-{_any(20)}"),
    "Slack": ("{}", f"xoxb-{_any(12, string.digits)}-{_any(24)}"),
    "Slack hook": ("curl {}\n", f"https://hooks.slack.com/services/T{_any(9)}/B{_any(9)}/{_any(24)}"),
    "Stripe": ("{}", f"sk_live_{_any(24)}"),
    "Anthropic": ("export A={}\n", f"sk-ant-api03-{_any(93, _ALNUM + '_-')}"),
    "OpenAI": ("{}", f"sk-proj-{_any(48)}T3BlbkFJ{_any(40)}"),
    "Google": ("key={}&x", f"AIza{_any(35)}"),
    "Hugging Face": ("{}", f"hf_{_any(34)}"),
    "npm": ("{}", f"npm_{_any(36)}"),
    "PyPI": ("{}", f"pypi-AgEIcHlwaS5vcmc{_any(150)}"),
    "SendGrid": ("{}", f"SG.{_any(22)}.{_any(43)}"),
    "Telegram": ("bot{}/x", f"{_any(10, '123456789')[:8]}12:AA{_any(33)}"),
    "DigitalOcean": ("{}", f"dop_v1_{hashlib.sha256(b'x').hexdigest()}"),
    "JWT": ("Cookie: s={}; p", f"{_part({'alg': 'HS256'})}.{_part({'sub': '1'})}.{_any(43)}"),
    "bearer": ("Authorization: Bearer {}\n", _any(40)),
    "basic": ("-H 'Authorization: Basic {}'", base64.b64encode(b"me:tr0ub4dor").decode()),
    "password in a URL": ("postgres://app:{}@db:5432/x", _any(12)),
    "token in a URL": ("git clone https://{}@example.com/x.git", _any(24)),
    "private key": ("-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----\n", BLOCK),
    "private key in JSON": (
        '{{"key": "-----BEGIN PRIVATE KEY-----\\n{}\\n-----END PRIVATE KEY-----\\n"}}',
        BLOCK.replace("\n", "\\n"),
    ),
    "private key cut off": ("-----BEGIN EC PRIVATE KEY-----\n{}", BLOCK),
    "password=": ("use password={} now", "Tr0ub4dor!x"),
    "password word": ("password={}\n", "correcthorse"),
    "password in YAML": ("db:\n  password: {}\n  port: 5432\n", "s3cretsauce"),
    "password in JSON": ('{{"password": "{}"}}', "pa55phrase"),
    "password in JSON in JSON": ('{{\\"password\\": \\"{}\\"}}', "pa55phrase"),
    "variable": ("PATH=/bin\nDB_PASSWORD={}\nHOME=/root\n", "horsebattery9"),
    "variable with a name in it": ("DB_PASSWORD={}\n", "hunter2secretpw"),
    "declared variable": ('declare -x STRIPE_KEY="{}"\n', _any(24)),
    "flag": ("tool --password {} --verbose", "hunter2hunter2"),
    "query": ("GET /x?access_token={}&page=2", _any(24)),
    "code": ('client = Client(api_key="{}", retries=2)', _any(32)),
}


@pytest.fixture
def masker() -> Masker:
    return Masker(b"k" * 64)


@pytest.mark.parametrize("name", list(SECRETS))
def test_a_secret_is_masked_and_nothing_around_it(masker: Masker, name: str) -> None:
    around, secret = SECRETS[name]
    before, after = around.format("\0").split("\0")
    masked = masker.mask(around.format(secret))
    assert secret not in masked.text
    assert masked.text.startswith(before)
    assert masked.text.endswith(after)
    assert MARK.fullmatch(masked.text[len(before) : len(masked.text) - len(after)])
    assert [found.value for found in masked.found] == [secret]


@pytest.mark.parametrize("name", list(SECRETS))
def test_masking_twice_changes_nothing_more(masker: Masker, name: str) -> None:
    around, secret = SECRETS[name]
    once = masker.text(around.format(secret))
    assert masker.mask(once).text == once
    assert not masker.mask(once).found


def _digests() -> list[str]:
    data = b"some file"
    return [
        hashlib.sha1(data).hexdigest(),
        hashlib.sha256(data).hexdigest(),
        hashlib.sha512(data).hexdigest(),
        hashlib.md5(data).hexdigest(),
        str(uuid.UUID(int=2**127 + 7)),
        f"sha512-{base64.b64encode(hashlib.sha512(data).digest()).decode()}",
        f'"integrity": "sha512-{base64.b64encode(hashlib.sha512(data).digest()).decode()}"',
        f"    --hash=sha256:{hashlib.sha256(data).hexdigest()} \\",
        f"data:image/png;base64,{base64.b64encode(bytes(range(256))).decode()}",
        f"commit {hashlib.sha1(data).hexdigest()}\nAuthor: A <a@example.com>",
        "index 83db48f..bf2a9d1 100644",
    ]


_CODE = [
    "token = next_token(stream)",
    "password = getpass.getpass()",
    "def login(user: str, password: str) -> None:",
    "connect(user=user, password=password, token=self.token)",
    "password: str = Field(default='')",
    "max_tokens: 4096",
    'secret = os.environ["DB_SECRET"]',
    "PASSWORD=$DB_PASSWORD",
    "password: ${{ secrets.DB_PASSWORD }}",
    "api_key=<your-api-key>",
    "API_KEY=your-key-here",
    'print("Password: ")',
    '"-----BEGIN RSA PRIVATE KEY-----" in text',
    "if token == expected_token_1:",
    "self.access_key = access_key2",
    "the token: see https://example.com/tokens",
    "private_key: ed25519.Ed25519PrivateKey",
    "https://user:password@example.com/",
    "tokens_per_second = 1234567890",
    "key=lambda item: item.rank2",
    'sort_key: "name_of_column_2"',
]


@pytest.mark.parametrize("text", [*_digests(), *_CODE])
def test_what_is_no_secret_stays(masker: Masker, text: str) -> None:
    assert masker.mask(text).text == text


def test_equal_secrets_look_equal_and_others_do_not(masker: Masker) -> None:
    one, other = SECRETS["GitHub"][1], f"ghp_{_any(36)}"
    marks = MARK.findall(masker.text(f"{one} {other} {one}"))
    assert marks[0] == marks[2] != marks[1]
    assert MARK.findall(Masker(b"j" * 64).text(one)) != marks[:1]


def test_what_is_known_to_be_secret_is_masked_wherever_it_stands() -> None:
    masker = Masker(b"k", {"plainword": "env", "plain": "key"})
    assert re.sub(r"[0-9a-f]{4}\]", "]", masker.text("a plainword, xplainx")) == "a [secret:env:], x[secret:key:]x"
    assert masker.mask_known("aplainb") == f"a{masker.mark('key', 'plain')}b"


def test_bytes_that_are_no_text_stay(masker: Masker) -> None:
    secret = SECRETS["GitHub"][1].encode()
    assert masker.data(b"\xff\xfe\x00" + secret + b"\x80") == b"\xff\xfe\x00" + masker.data(secret) + b"\x80"


def test_in_json_a_text_is_judged_with_its_name(masker: Masker) -> None:
    told = masker.json({"db": {"password": "horse2battery"}, "rows": [1, None, "ok"], "sha": "a" * 40})
    assert isinstance(told, dict)
    assert "horse" not in json.dumps(told)
    assert (told["rows"], told["sha"]) == ([1, None, "ok"], "a" * 40)


def test_a_window_into_a_private_key_shows_nothing_of_it(masker: Masker) -> None:
    lines = BLOCK.splitlines()
    told = masker.text("\n".join((*lines[2:], "-----END RSA PRIVATE KEY-----", "done")))
    assert not any(line in told for line in lines)
    assert told.endswith("-----END RSA PRIVATE KEY-----\ndone")


def test_in_this_projects_own_files_next_to_nothing_is_taken_for_a_secret(masker: Masker) -> None:
    named = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.split()
    found = {}
    for name in named:
        path = Path(name)
        # Tests of masking, redaction and signing hold what looks like secrets on purpose.
        if path.parts[0] == "tests" or not path.is_file():
            continue
        if secrets := masker.mask(path.read_bytes().decode("utf-8", "replace")).found:
            found[name] = [(secret.kind, secret.value) for secret in secrets]
    assert found == {}


@pytest.mark.parametrize("before", [999_990, 999_999, 1_000_000, 1_000_005])
def test_a_secret_is_found_wherever_the_pieces_of_a_large_text_meet(masker: Masker, before: int) -> None:
    text = "İ\n" + "x" * (before - 3) + "\nDB_PASSWORD=hunter2-hunter2\n"
    assert "hunter2" not in masker.text(text)
