"""Caches of a workspace last while they are used, and are removed when they are not."""

import os
import time
from pathlib import Path

import pytest

from activities.safety.sandbox.caches import caches_of, forget_unused
from activities.stores.home import Home

DAY = 86_400.0


@pytest.fixture
def here(tmp_path: Path) -> Home:
    return Home(tmp_path)


def aged(folder: Path, days: float) -> Path:
    then = time.time() - days * DAY
    os.utime(folder, (then, then))
    return folder


def test_what_nobody_used_for_a_month_is_removed_read_only_folders_too(here: Home) -> None:
    assert forget_unused(here) == []
    used, unused = caches_of(here, Path("/a")), caches_of(here, Path("/b"))
    locked = unused / "go/mod"
    locked.mkdir(parents=True)
    (locked / "module.go").touch(0o444)
    locked.chmod(0o555)
    aged(used, 29)
    assert forget_unused(here) == []
    aged(unused, 31)
    assert forget_unused(here) == [unused]
    assert (used.is_dir(), unused.exists()) == (True, False)


def test_each_use_counts_and_each_workspace_has_its_own(here: Home) -> None:
    aged(caches_of(here, Path("/a")), 31)
    assert caches_of(here, Path("/a")) != caches_of(here, Path("/b"))
    assert forget_unused(here) == []


def test_what_is_no_cache_of_a_workspace_stays(here: Home, tmp_path: Path) -> None:
    servers, outside = here.caches / "servers", tmp_path / "outside"
    for folder in (servers, outside):
        folder.mkdir(parents=True)
        aged(folder, 99)
    (here.caches / "0123456789abcdef").symlink_to(outside)
    assert forget_unused(here) == []
    assert (servers.is_dir(), outside.is_dir()) == (True, True)
