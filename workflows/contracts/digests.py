"""Canonical bytes and their SHA-256: how everything is named. Nothing is imported for it but the standard library."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import JsonValue


def canonical(value: JsonValue) -> bytes:
    """The one byte form of a JSON value: keys sorted by code point, no blanks, UTF-8 unescaped, no NaN."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8")


def call_digest(tool: str, given: JsonValue) -> str:
    """SHA-256 of a tool's name and its input: what a verdict and a person's answer are bound to."""
    return digest_of(canonical({"tool": tool, "input": given}))


def digest_of(data: bytes) -> str:
    """SHA-256 of the bytes, in lower-case hex."""
    return hashlib.sha256(data).hexdigest()
