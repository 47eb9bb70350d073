"""Vault: bytes locked with a key of the home."""

import stat
from pathlib import Path

import pytest

from activities.stores.home import Home
from activities.stores.home_keys import home_key
from activities.stores.vault import MAGIC, Vault, is_locked
from workflows.contracts.errors import UserError


@pytest.mark.parametrize("data", [b"", b"\0", b"password", bytes(range(256)) * 100])
def test_what_is_locked_is_unlocked_again(tmp_path: Path, data: bytes) -> None:
    locked = Vault(Home(tmp_path)).lock(data)
    assert is_locked(locked)
    assert Vault(Home(tmp_path)).unlock(locked) == data


def test_nothing_of_it_can_be_read_and_the_same_bytes_give_the_same_bytes(tmp_path: Path) -> None:
    vault = Vault(Home(tmp_path))
    locked = vault.lock(b"the old text of a file")
    assert b"text" not in locked
    assert vault.lock(b"the old text of a file") == locked


def test_the_key_is_the_persons_alone_and_made_once(tmp_path: Path) -> None:
    home = Home(tmp_path)
    Vault(home).lock(b"x")
    path = home.keys / "vault.key"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert home_key(home, "vault") == bytes.fromhex(path.read_text())
    assert home_key(home, "masks") != home_key(home, "vault")


def test_a_file_without_a_key_is_told(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.ensure()
    (home.keys / "vault.key").write_text("short")
    with pytest.raises(UserError, match="holds no key; restore it"):
        Vault(home).lock(b"x")


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda data: data[:-1] + bytes([data[-1] ^ 1]), "another key"),
        (lambda data: data[:5], "not encrypted by perdure"),
        (lambda data: MAGIC + b"\x02" + data[len(MAGIC) + 1 :], "newer perdure"),
    ],
)
def test_what_is_damaged_or_newer_is_told(tmp_path: Path, spoil: object, why: str) -> None:
    assert callable(spoil)
    vault = Vault(Home(tmp_path))
    with pytest.raises(UserError, match=why):
        vault.unlock(spoil(vault.lock(b"data")))


def test_another_home_cannot_read_it(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="another key"):
        Vault(Home(tmp_path / "b")).unlock(Vault(Home(tmp_path / "a")).lock(b"data"))
