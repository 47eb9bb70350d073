"""What a session is given goes to the store whole; its title shows no secret."""

from pathlib import Path

import pytest

from activities.stores.home import Home
from activities.stores.objects import open_store
from cli.sender import Sender, title_of
from workflows.contracts.errors import UsageError
from workflows.contracts.settings import SessionSettings


async def test_a_prompt_is_kept_letter_by_letter(tmp_path: Path) -> None:
    home = Home(tmp_path)
    prompt = await Sender(home).prompt("räume auf\n\tjetzt", "r1")
    assert await open_store(home.store_url()).get(prompt.digest) == "räume auf\n\tjetzt".encode()
    assert (prompt.request, prompt.title) == ("r1", "räume auf jetzt")


async def test_settings_are_kept_as_the_worker_reads_them(tmp_path: Path) -> None:
    home = Home(tmp_path)
    given = SessionSettings(model="m", tools=("Read",))
    digest = await Sender(home).settings(given)
    assert SessionSettings.model_validate_json(await open_store(home.store_url()).get(digest)) == given


@pytest.mark.parametrize("text", ["", " \n\t", "x" * 10_000_001])
async def test_a_blank_or_huge_prompt_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError):
        await Sender(Home(tmp_path)).prompt(text, "r")


SECRET = "sk-ant-api03-" + "a1" * 20


async def test_a_secret_in_a_prompt_is_neither_kept_nor_in_its_title(tmp_path: Path) -> None:
    home = Home(tmp_path)
    sender = Sender(home)
    prompt = await sender.prompt(f"use {SECRET} and\nthen {'do it ' * 40}", "r")
    kept = (await open_store(home.store_url()).get(prompt.digest)).decode()
    assert SECRET not in kept
    assert kept.startswith("use [secret:anthropic:")
    assert kept.endswith(f"] and\nthen {'do it ' * 40}")
    assert len(prompt.title) <= 80
    assert "a1a1" not in prompt.title
    assert "anthropic" in sender.notice()


async def test_a_key_of_the_persons_environment_is_masked_whatever_it_looks_like(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "plainkey")
    home = Home(tmp_path)
    prompt = await Sender(home).prompt("the key is plainkey.", "r")
    assert b"plainkey" not in await open_store(home.store_url()).get(prompt.digest)


async def test_of_a_prompt_without_secrets_nothing_is_told(tmp_path: Path) -> None:
    sender = Sender(Home(tmp_path))
    await sender.prompt("count to three", "r")
    assert sender.notice() == ""


async def test_words_for_the_model_in_settings_are_masked(tmp_path: Path) -> None:
    home = Home(tmp_path)
    digest = await Sender(home).settings(SessionSettings(append_system_prompt=f"key {SECRET}"))
    assert SECRET.encode() not in await open_store(home.store_url()).get(digest)


def test_a_given_title_is_masked_too(tmp_path: Path) -> None:
    assert Sender(Home(tmp_path)).title(f"x {SECRET}").startswith("x [secret:")


def test_a_title_steers_no_terminal() -> None:
    assert "\x1b" not in title_of("\x1b[2Jgone")
