"""The profile for macOS, line by line."""

from activities.safety.sandbox.policy import Kind, Place, Policy
from activities.safety.sandbox.seatbelt import arguments, profile

POLICY = Policy(
    "/Users/dev/p",
    "/Users/dev",
    "/s",
    (
        Place("/Users/dev", Kind.HIDDEN),
        Place("/tmp", Kind.WRITE, source="/s"),
        Place("/Users/dev/.pyenv", Kind.READ),
        Place("/Users/dev/p", Kind.WRITE),
        Place("/Users/dev/p/.perdure", Kind.STAND_IN),
        Place("/Users/dev/p/.env", Kind.HIDDEN, is_file=True),
    ),
)
GOLDEN = """\
(deny file-read* file-write* (subpath (param "PLACE_0")))
(allow file-read* file-write* (subpath (param "PLACE_1")))
(allow file-read* (subpath (param "PLACE_2")))
(deny file-write* (subpath (param "PLACE_2")))
(allow file-read* file-write* (subpath (param "PLACE_3")))
(deny file-write* (subpath (param "PLACE_4")))
(deny file-read* file-write* (literal (param "PLACE_5")))
(deny file-write* (subpath (param "KEPT_0")))
"""


def test_it_begins_closed_and_opens_place_after_place() -> None:
    text, named = profile(POLICY, (39128,))
    assert text.startswith("(version 1)\n(deny default)\n")
    assert "(allow default)" not in text
    assert GOLDEN in text
    assert text.endswith(
        '(deny file-write-unlink (literal (param "GIT")))\n(allow network-outbound (remote ip "localhost:39128"))\n'
    )
    assert (named["PLACE_0"], named["PLACE_1"], named["GIT"]) == ("/Users/dev", "/s", "/Users/dev/p/.git")


def test_control_files_of_git_and_start_up_files_are_never_written() -> None:
    _text, named = profile(POLICY)
    kept = {value for name, value in named.items() if name.startswith("KEPT_")}
    assert {"/Users/dev/p/.git/hooks", "/Users/dev/p/.git/commondir", "/Users/dev/.zshrc"} <= kept


def test_certificates_and_sockets_are_asked_of_the_system_only_on_request() -> None:
    assert "trustd" not in profile(POLICY)[0]
    assert "trustd" in profile(POLICY, has_trust=True)[0]
    assert "unix-socket" not in profile(POLICY)[0]


def test_paths_are_parameters_so_that_no_name_becomes_a_rule() -> None:
    evil = '/x") (allow default) ("'
    text, named = profile(Policy(evil, "/u", "/s", (Place(evil, Kind.WRITE),)))
    assert evil not in text
    assert arguments(text, named)[:3] == ("/usr/bin/sandbox-exec", "-p", text)
    assert f"PLACE_0={evil}" in arguments(text, named)
