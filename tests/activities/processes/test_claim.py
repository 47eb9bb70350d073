"""The claim: taken once, held as long as its taker lives."""

import os
from pathlib import Path

from activities.processes import claim
from activities.processes.tree import boot_id


def test_a_name_is_taken_once_and_tells_who_took_it(tmp_path: Path) -> None:
    first = claim.take(str(tmp_path), {"runner": 7})
    assert first is not None
    assert claim.take(str(tmp_path), {"runner": 8}) is None
    facts = claim.facts_of(str(tmp_path))
    assert (claim.number(facts, "runner"), facts["boot"]) == (7, boot_id())
    os.close(first)
    assert claim.take(str(tmp_path), {"runner": 9}) is None
    assert [path.name for path in tmp_path.iterdir()] == ["started"]


def test_a_claim_is_held_until_its_taker_lets_go(tmp_path: Path) -> None:
    folder = str(tmp_path)
    assert (claim.is_taken(folder), claim.is_held(folder)) == (False, False)
    descriptor = claim.take(folder, {})
    assert (claim.is_taken(folder), claim.is_held(folder)) == (True, True)
    os.close(descriptor or -1)
    assert (claim.is_taken(folder), claim.is_held(folder)) == (True, False)


def test_what_is_prevented_can_no_longer_be_taken(tmp_path: Path) -> None:
    assert claim.prevent(str(tmp_path))
    assert claim.take(str(tmp_path), {}) is None
    assert not claim.prevent(str(tmp_path))
    assert claim.facts_of(str(tmp_path))["prevented"] is True
