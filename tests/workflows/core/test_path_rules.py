"""A path rule counts from one of four folders; a link needs both names to be allowed, and one to be denied."""

import pytest

from workflows.core.path_rules import Bases, NamedPath, allows_paths, forbids_paths, is_pattern, keeper, literal

BASES = Bases("/w", "/home/dev")


def allows(rule: str, path: str, real: str = "", root: str = "/r") -> bool:
    return allows_paths(rule, [NamedPath(path, real)], BASES, root)


def forbids(rule: str, path: str, real: str = "", root: str = "/r") -> bool:
    return forbids_paths(rule, [NamedPath(path, real)], BASES, root)


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ("src/**", "/w/src/a/b"),
        ("./src/**", "/w/src/a"),
        ("/src/**", "/r/src/a"),
        ("//etc/hosts", "/etc/hosts"),
        ("~/code/**", "/home/dev/code/x"),
        ("../other/*", "/other/f"),
        (".env", "/w/a/.env"),
        ("*.py", "/w/a/b.py"),
        ("docs", "/w/docs/a/b"),
        ("**", "/w/x"),
    ],
)
def test_a_rule_of_either_kind_speaks_of(rule: str, path: str) -> None:
    assert allows(rule, path)
    assert forbids(rule, path)


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ("./x", "/w/y/x"),
        ("//etc/hosts", "/w/etc/hosts"),
        ("/src/**", "/w/src/a"),
        ("src/*.py", "/w/src/a.pyc"),
        ("~/code/**", "/home/devil/code/x"),
        ("/**", "/root-evil/x"),
    ],
)
def test_a_rule_of_neither_kind_speaks_of(rule: str, path: str) -> None:
    assert not allows(rule, path)
    assert not forbids(rule, path)


@pytest.mark.parametrize(
    ("rule", "path"), [("src/**", "/w/lib/src/a"), (".env", "/home/dev/.env"), (".env", "/w/.ENV")]
)
def test_a_rule_that_denies_speaks_of_any_depth_place_and_case_where_one_that_allows_does_not(
    rule: str, path: str
) -> None:
    assert forbids(rule, path)
    assert not allows(rule, path)


def test_a_rule_without_a_root_of_its_own_counts_from_the_sessions_folder() -> None:
    assert allows("/src/**", "/w/src/a", root="")


def test_a_link_is_allowed_by_both_its_names_and_denied_by_either() -> None:
    assert allows("a", "/w/a", "/w/a")
    assert not allows("./link", "/w/link", "/w/target")
    assert not allows("./target", "/w/link", "/w/target")
    assert forbids("./link", "/w/link", "/w/target")
    assert forbids("./target", "/w/link", "/w/target")


def test_every_path_of_a_call_must_be_allowed_and_a_call_without_one_is_not() -> None:
    assert not allows_paths("a/**", [NamedPath("/w/a/x"), NamedPath("/w/b/x")], BASES)
    assert forbids_paths("a/**", [NamedPath("/w/b/x"), NamedPath("/w/a/x")], BASES)
    assert not allows_paths("**", [], BASES)


@pytest.mark.parametrize("path", ["/a/b*c[x]?.py", "/a/ !x", "/a/#b", "/a\\b", "/a b/c", "/ü/[!a]"])
def test_a_literal_rule_means_exactly_one_path(path: str) -> None:
    assert allows(literal(path), path)
    for other in (path.replace("*", "Z"), path.replace("?", "Z"), f"{path}x", path.replace("[", "")):
        assert other == path or not allows(literal(path), other)


@pytest.mark.parametrize("path", ["/a/x ", "relative", "/a\nb"])
def test_a_path_that_no_pattern_can_name_gets_no_rule(path: str) -> None:
    assert literal(path) == ""


def test_a_pattern_that_cannot_be_read_is_told_apart_and_matches_nothing() -> None:
    assert is_pattern("src/**")
    assert not is_pattern("x\\")
    assert not forbids("x\\", "/w/x")


@pytest.mark.parametrize(
    "content", [".env", "./x/**", "/x", "//etc/**", "~/.ssh/**", "~", "../up/*.py", "!a", "**", "."]
)
def test_a_rule_made_ready_for_many_paths_answers_like_one_asked_once(content: str) -> None:
    bases = Bases("/home/dev/Project", "/home/dev")
    paths = [
        "/home/dev/project/.env", "/home/dev/Project/x/y/Z.py", "/home/dev/Project/x", "/etc/passwd", "/etc",
        "/home/dev/.ssh/id", "/home/dev", "/home/dev/up/a.py", "/home/dev/up/b/a.py", "/", "/home/dev/Project",
        "/srv/a", "/srv/.ENV/b", "/srv/x",
    ]  # fmt: skip
    for root in ("", "/srv"):
        made = keeper(content, bases, root)
        told = {path: made.forbids(path) for path in paths}
        assert told == {path: forbids_paths(content, (NamedPath(path),), bases, root) for path in paths}
