"""What the runner needs of json, signal and ctypes, without the 20 ms that importing them costs at each start."""

import _ctypes
import _json
import sys

PR_SET_CHILD_SUBREAPER = 36


class _Grammar:
    """Plain JSON, as `json.loads` reads it."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


_scan = _json.make_scanner(_Grammar)  # type: ignore[arg-type]  # it asks only for these attributes


def parse_json(text: str) -> dict[str, object]:
    """The object that a text holds; ValueError when it holds anything else."""
    try:
        value, end = _scan(text.strip(), 0)
    except StopIteration:
        raise ValueError("not JSON") from None
    if not isinstance(value, dict) or end != len(text.strip()):
        raise ValueError("not one JSON object")
    return value


def dump_json(value: object) -> str:
    """A value of plain types as JSON in ASCII; bytes that are no UTF-8 stay as escaped surrogates."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return _json.encode_basestring_ascii(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{dump_json(name)}: {dump_json(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(dump_json, value)) + "]"
    raise TypeError(f"{type(value)} has no place in a record")


def become_subreaper() -> bool:
    """From now on orphans below this process become its children; false where the system has no such thing (macOS)."""
    if sys.platform != "linux":
        return False
    prctl = _ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl")  # type: ignore[arg-type]  # None is this program itself
    return bool(_ctypes.call_function(prctl, (PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)) == 0)
