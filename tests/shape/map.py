"""Print the tree with captions: the first docstring line of every module (`make map`)."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("workflows", "activities", "worker", "cli", "tests")
WIDTH = 44
_OPENED = re.compile(r'"""(.+?)(?:"""|\n)')


def caption(source: str) -> str:
    """The first line of the docstring that a module opens with; empty without one."""
    opened = _OPENED.match(source)
    return opened[1] if opened else ""


def lines(root: Path = ROOT) -> Iterator[str]:
    """The tree line by line, a folder before what it holds."""
    for folder in FOLDERS:
        yield from _folder(root / folder, 0)


def _folder(folder: Path, depth: int) -> Iterator[str]:
    if not any(folder.rglob("*.py")):
        return
    yield f"{'  ' * depth}{folder.name}/"
    for path in sorted(folder.iterdir(), key=lambda path: (path.is_dir(), path.name)):
        if path.is_dir() and path.name != "__pycache__":
            yield from _folder(path, depth + 1)
        elif path.suffix == ".py" and path.stat().st_size:
            yield f"{'  ' * (depth + 1) + path.name:<{WIDTH}} {_caption(path)}".rstrip()


def _caption(path: Path) -> str:
    return caption(path.read_text(encoding="utf-8"))


if __name__ == "__main__":
    print("\n".join(lines()))
