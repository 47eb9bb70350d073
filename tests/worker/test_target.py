"""The server that is meant: the embedded one unless somebody named another."""

import sys
from pathlib import Path

import pytest

from activities.stores.home import Home
from worker.engine_state import EngineState, Ports, state_path, write_state
from worker.process_table import boot_id
from worker.target import named_server, resolve_address
from workflows.contracts.errors import EngineUnreachable, UsageError

PROFILES = """
[profile.default]
address = "first.example:7233"

[profile.cloud]
address = "cloud.example:7233"
namespace = "agents.abc"
api_key = "the-secret"

[profile.empty]
namespace = "agents.abc"
"""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.ensure()
    write_state(home, EngineState(ports=Ports(21001, 21002, 21003), boot_id=boot_id()))
    return home


@pytest.fixture
def nothing_set(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}


@pytest.fixture
def profiles(nothing_set: dict[str, str], tmp_path: Path) -> dict[str, str]:
    folder = tmp_path / "config" / "temporalio"
    if sys.platform == "darwin":
        folder = tmp_path / "Library" / "Application Support" / "temporalio"
    folder.mkdir(parents=True)
    (folder / "temporal.toml").write_text(PROFILES)
    return nothing_set


def test_the_embedded_engine_is_meant_when_nothing_is_named(home: Home, nothing_set: dict[str, str]) -> None:
    target = resolve_address(nothing_set, home)
    assert target.is_embedded
    assert (target.address, target.namespace) == ("127.0.0.1:21001", "default")
    assert target.http_url == "http://127.0.0.1:21002/api/v1"


def test_an_address_leads_elsewhere(home: Home, nothing_set: dict[str, str]) -> None:
    target = resolve_address(nothing_set | {"TEMPORAL_ADDRESS": "a.example:7", "TEMPORAL_NAMESPACE": "n"}, home)
    assert (target.address, target.namespace, target.source) == ("a.example:7", "n", "TEMPORAL_ADDRESS")
    assert (target.is_embedded, target.http_url, target.api_key) == (False, None, None)


def test_a_key_comes_with_tls_and_is_never_shown(home: Home, nothing_set: dict[str, str]) -> None:
    target = resolve_address(nothing_set | {"TEMPORAL_ADDRESS": "a.example:7", "TEMPORAL_API_KEY": "the-secret"}, home)
    assert target.api_key == "the-secret"
    assert target.tls
    assert "the-secret" not in repr(target)


def test_certificates_are_read(home: Home, nothing_set: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("authority")
    setting = {"TEMPORAL_ADDRESS": "a.example:7", "TEMPORAL_TLS_SERVER_CA_CERT_PATH": str(tmp_path / "ca.pem")}
    target = resolve_address(nothing_set | setting, home)
    assert target.tls is not None
    assert not isinstance(target.tls, bool)
    assert target.tls.server_root_ca_cert == b"authority"


def test_a_missing_certificate_is_one_line(home: Home, nothing_set: dict[str, str], tmp_path: Path) -> None:
    missing = str(tmp_path / "ca.pem")
    with pytest.raises(UsageError, match=r"ca\.pem"):
        resolve_address(
            nothing_set | {"TEMPORAL_ADDRESS": "a.example:7", "TEMPORAL_TLS_SERVER_CA_CERT_PATH": missing}, home
        )


def test_the_default_profile_leads_elsewhere(home: Home, profiles: dict[str, str]) -> None:
    target = resolve_address(profiles, home)
    assert (target.address, target.source) == ("first.example:7233", "client profile default")


def test_a_named_profile_is_taken_whole(home: Home, profiles: dict[str, str]) -> None:
    target = resolve_address(profiles | {"TEMPORAL_PROFILE": "cloud"}, home)
    assert (target.address, target.namespace, target.api_key) == ("cloud.example:7233", "agents.abc", "the-secret")
    assert target.tls


def test_the_embedded_worker_is_led_by_no_profile(home: Home, profiles: dict[str, str]) -> None:
    assert resolve_address(profiles | {"PERDURE_ENGINE": "embedded", "TEMPORAL_ADDRESS": "x:1"}, home).is_embedded


@pytest.mark.parametrize("profile", ["empty", "nowhere"])
def test_a_profile_that_leads_nowhere_is_one_line(profiles: dict[str, str], profile: str) -> None:
    with pytest.raises(UsageError, match=profile) as caught:
        named_server(profiles | {"TEMPORAL_PROFILE": profile})
    assert "\n" not in str(caught.value)


def test_profiles_that_cannot_be_read_are_one_line(nothing_set: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "broken.toml").write_text("[[[\n")
    with pytest.raises(UsageError, match=r"broken\.toml") as caught:
        named_server(nothing_set | {"TEMPORAL_CONFIG_FILE": str(tmp_path / "broken.toml")})
    assert "\n" not in str(caught.value)


def test_an_engine_that_never_ran_is_one_line(nothing_set: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(EngineUnreachable, match="perdure up"):
        resolve_address(nothing_set, Home(tmp_path / "none"))


def test_a_damaged_state_is_one_line(home: Home, nothing_set: dict[str, str]) -> None:
    state_path(home).write_bytes(b"\0" * 99)
    with pytest.raises(EngineUnreachable, match="perdure up"):
        resolve_address(nothing_set, home)
