"""Names are made in one place, which costs nothing to import."""

import subprocess
import sys

import pytest

from activities.stores import digests as stored
from workflows.contracts import digests, transcript


def test_a_name_is_made_in_one_place() -> None:
    assert stored.digest_of is digests.digest_of is transcript.digest_of
    assert digests.digest_of(digests.canonical({"b": "é", "a": [1, None]})).startswith("e03c3c1e")


def test_no_float_that_is_no_number_has_a_name() -> None:
    with pytest.raises(ValueError, match="JSON"):
        digests.canonical({"a": float("nan")})


def test_it_is_had_without_pydantic() -> None:
    code = "import sys, workflows.contracts.digests; sys.exit('pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
