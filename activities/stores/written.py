"""Settings files that perdure itself wrote into a workspace on a person's word, known again by what they hold."""

import os
from pathlib import Path

from activities.stores.files import make_folder, read_start, write_atomic
from activities.stores.home import Home
from workflows.contracts.transcript import digest_of

MOST_BYTES = 1_000_000
MOST_NOTED = 200
"""Newest writings of one file that are known."""

_ABSENT = "-"


def note_written(home: Home, path: Path, old: bytes | None, new: bytes) -> None:
    """Keep that this is about to take the place of the old content there; None where no file stood."""
    make_folder(home.trust)
    made = (digest_of(new), _ABSENT if old is None else digest_of(old))
    lines = "".join(f"{' '.join(pair)}\n" for pair in [*_noted(home, path), made][-MOST_NOTED:])
    write_atomic(_record(home, path), lines.encode("ascii"))


def is_written(home: Home, path: Path, before: str) -> bool:
    """Whether that file became what it is by our writings alone since it held `before`.

    `before` is the beginning of a digest, empty where no file stood.
    """
    try:
        now = digest_of(read_start(path, MOST_BYTES))
    except OSError:
        return False
    for new, old in reversed(_noted(home, path)):
        if new == now:
            if old.startswith(before or _ABSENT):
                return True
            now = old
    return False


def _noted(home: Home, path: Path) -> list[tuple[str, str]]:
    try:
        lines = _record(home, path).read_text(encoding="ascii").splitlines()
    except FileNotFoundError:
        return []
    pairs = (line.partition(" ") for line in lines)
    return [(new, old) for new, _, old in pairs]


def _record(home: Home, path: Path) -> Path:
    real = os.path.realpath(path.parent) / Path(path.name)
    return home.trust / f"{digest_of(os.fsencode(real))[:32]}.written"
