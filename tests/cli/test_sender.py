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


def test_a_title_is_short_and_masks_what_looks_like_a_secret() -> None:
    secret = "sk-ant-api03-" + "a" * 40
    title = title_of(f"use {secret} and\nthen {'do it ' * 40}")
    assert len(title) <= 80
    assert "aaaa" not in title
    assert title.startswith("use *** and then do it")


def test_a_title_steers_no_terminal() -> None:
    assert "\x1b" not in title_of("\x1b[2Jgone")
