"""Notebooks (.ipynb): cells and their outputs as one text, with the pictures they hold."""

import base64
import binascii
import json
from dataclasses import dataclass, field

NOTEBOOK_BYTES = 20 * 1024 * 1024
"""Bytes above which a notebook is only a text file."""
OUTPUT_CHARACTERS = 10_000
"""Characters of one output that are shown."""
PICTURES = 5
"""Most pictures taken from one notebook."""


@dataclass
class Notebook:
    """A notebook as it is shown."""

    lines: list[str] = field(default_factory=list)
    pictures: list[tuple[str, bytes]] = field(default_factory=list)
    """Media type and bytes."""


def parse_notebook(data: bytes) -> Notebook | None:
    """The cells of a notebook; None when the bytes are none."""
    try:
        raw = json.loads(data)
    except (ValueError, RecursionError):
        return None
    cells = raw.get("cells") if isinstance(raw, dict) else None
    if not isinstance(cells, list):
        return None
    shown = Notebook()
    for number, cell in enumerate(cells, 1):
        if isinstance(cell, dict):
            _show_cell(shown, number, cell)
    return shown


def _show_cell(shown: Notebook, number: int, cell: dict[str, object]) -> None:
    name = f" id={cell['id']}" if "id" in cell else ""
    shown.lines += [
        f"[cell {number}: {cell.get('cell_type', 'unknown')}{name}]",
        *_text(cell.get("source")).split("\n"),
    ]
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else []:
        if isinstance(output, dict):
            _show_output(shown, number, output)


def _show_output(shown: Notebook, number: int, output: dict[str, object]) -> None:
    kind = output.get("output_type", "output")
    data = output.get("data")
    parts = data if isinstance(data, dict) else {}
    text = _text(output.get("text")) or _text(parts.get("text/plain"))
    if kind == "error":
        trace = output.get("traceback")
        lines = trace if isinstance(trace, list) else []
        text = "\n".join([f"{output.get('ename', '')}: {output.get('evalue', '')}", *map(str, lines)])
    if len(text) > OUTPUT_CHARACTERS:
        text = f"{text[:OUTPUT_CHARACTERS]}\n[{len(text) - OUTPUT_CHARACTERS:,} more characters of this output]"
    shown.lines += [f"[output of cell {number}: {kind}]", *(text.removesuffix("\n").split("\n") if text else [])]
    for media_type in ("image/png", "image/jpeg"):
        if media_type in parts:
            _add_picture(shown, media_type, _text(parts[media_type]))


def _add_picture(shown: Notebook, media_type: str, encoded: str) -> None:
    if len(shown.pictures) >= PICTURES:
        shown.lines.append("[a picture that is not shown: at most five are]")
        return
    try:
        shown.pictures.append((media_type, base64.b64decode(encoded)))
        shown.lines.append(f"[picture {len(shown.pictures)}, below]")
    except (binascii.Error, ValueError):
        shown.lines.append("[a damaged picture]")


def _text(value: object) -> str:
    """Notebooks keep a text in one piece or as a list of lines."""
    if isinstance(value, list):
        return "".join(str(part) for part in value)
    return value if isinstance(value, str) else ""
