"""The caches that commands of one workspace share: marked when they are used, removed when long nobody did."""

import hashlib
import os
import re
import shutil
import time
from contextlib import suppress
from pathlib import Path

from activities.stores.home import Home

KEPT = 30 * 86_400.0
"""Seconds after which a cache that nobody used is removed: what is in it can be fetched again."""

_NAME = re.compile(r"[0-9a-f]{16}")


def caches_of(home: Home, workspace: Path) -> Path:
    """The folder of the workspace's caches, made and marked as used now."""
    folder = home.caches / hashlib.sha256(os.fsencode(workspace)).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.utime(folder)
    return folder


def forget_unused(home: Home, kept: float = KEPT) -> list[Path]:
    """Remove the caches that were not used for so many seconds; those that are gone."""
    oldest = time.time() - kept
    folders = [folder for folder in _entries(home.caches) if _NAME.fullmatch(folder.name)]
    unused = [folder for folder in folders if folder.stat().st_mtime <= oldest]
    for folder in unused:
        _remove(folder)
    return [folder for folder in unused if not folder.exists()]


def _entries(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.is_dir() and not path.is_symlink()] if folder.is_dir() else []


def _remove(folder: Path) -> None:
    # Go keeps its modules read-only, and what stands in such a folder cannot be removed.
    for path, _folders, _files in os.walk(folder):
        with suppress(OSError):
            Path(path).chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)
