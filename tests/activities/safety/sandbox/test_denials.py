"""What was refused is told with its path or host and the setting that allows it."""

from dataclasses import replace
from pathlib import Path

import pytest

from activities.safety.sandbox.denials import refused_hosts, refused_network, refused_paths
from activities.safety.sandbox.policy import Kind, Place, Policy

POLICY = Policy(
    "/home/dev/p",
    "/home/dev",
    "/s",
    (
        Place("/home/dev", Kind.HIDDEN),
        Place("/tmp", Kind.WRITE, source="/s"),
        Place("/home/dev/p", Kind.WRITE),
        Place("/home/dev/p/.perdure", Kind.STAND_IN),
        Place("/home/dev/p/.git/hooks", Kind.READ),
    ),
)


def told(output: str) -> str:
    return "\n".join(refused_paths(output.encode(), POLICY, "/home/dev/p"))


@pytest.mark.parametrize(
    "output",
    [
        "touch: cannot touch '/usr/x': Read-only file system",
        "bash: line 1: /usr/x: Read-only file system",
        "OSError: [Errno 30] Read-only file system: '/usr/x'",
        "Error: EROFS: read-only file system, open '/usr/x'",
        "tee: ../../../usr/x: Permission denied",
    ],
)
def test_a_path_outside_is_told_with_the_setting_that_allows_it(output: str) -> None:
    assert told(output) == (
        "[sandbox denial: /usr/x may not be changed by commands. A person may allow it: "
        '"sandbox": {"filesystem": {"allowWrite": ["/usr/x"]}}. '
        "Only what exists can be opened: make it first, or name its folder.]"
    )


@pytest.mark.timeout(20)
def test_a_path_behind_very_long_words_is_told() -> None:
    lines = "\n".join(f"{'a' * 20_000} {'.' * 20_000} permission denied: /opt/x/{number}" for number in range(8))
    assert "/opt/x/7 may not be changed" in told(lines)


def test_what_the_settings_open_and_is_not_there_is_told_as_that() -> None:
    policy = replace(POLICY, absent=("/srv/data",))
    (line,) = refused_paths(b"touch: cannot touch '/srv/data/x': Read-only file system", policy, "/")
    assert "open by the settings, but only what exists" in line


def test_a_hidden_path_names_both_settings() -> None:
    assert "allowRead" in told("touch: cannot touch '~/notes': Read-only file system")


@pytest.mark.parametrize("there", [True, False])
def test_a_hidden_path_that_is_not_seen_is_told_and_not_whether_it_is_there(tmp_path: Path, *, there: bool) -> None:
    if there:
        (tmp_path / "notes").touch()
    policy = replace(POLICY, places=(Place(str(tmp_path), Kind.HIDDEN),))
    output = f"cat: {tmp_path}/notes: No such file or directory".encode()
    (line,) = refused_paths(output, policy, "/")
    assert line.startswith(f"[sandbox denial: {tmp_path}/notes is hidden from commands, if it is there.")
    assert refused_paths(output, policy, "/", is_full=False) == []


def test_a_file_of_the_machines_tmp_is_told_to_be_elsewhere() -> None:
    said = told("bash: line 1: /tmp/other/x: No such file or directory")
    assert said.startswith("[sandbox: /tmp is the session's own here; what the machine has at /tmp/other/x")
    assert told("cat: x: No such file or directory\ncat: /home/dev/p/y: No such file or directory") == ""


@pytest.mark.parametrize("path", [".git/hooks/x", ".perdure/settings.json"])
def test_settings_and_hooks_have_no_exception(path: str) -> None:
    said = told(f"cannot create {path}: Read-only file system")
    assert "only a person changes it" in said
    assert "allowWrite" not in said


@pytest.mark.parametrize(
    "output", ["cat: src/x: Permission denied", "/usr/x: No such file or directory", "", "EPERM", "permission denied"]
)
def test_what_the_sandbox_did_not_refuse_is_not_told(output: str) -> None:
    assert told(output) == ""


@pytest.mark.parametrize(
    "output",
    [
        'Get "http://%2Fvar%2Frun%2Fdocker.sock/v1/x": dial unix /var/run/docker.sock: socket: operation not permitted',
        "connect unix /var/run/docker.sock: no such file or directory",
    ],
)
def test_a_socket_is_told_once_with_the_setting_of_sockets(output: str) -> None:
    policy = replace(POLICY, places=(*POLICY.places, Place("/var/run", Kind.HIDDEN)))
    (line,) = refused_paths(output.encode(), policy, "/home/dev/p")
    assert line.startswith("[sandbox denial: /var/run/docker.sock is a Unix socket, and they are closed.")
    assert '"sandbox": {"network": {"allowUnixSockets": ["/var/run/docker.sock"]}}' in line


def test_many_of_them_are_counted() -> None:
    lines = refused_paths(b"\n".join(b"/usr/%d: Read-only file system" % n for n in range(50)), POLICY, "/")
    assert len(lines) == 9
    assert "42 more" in lines[-1]


def test_a_host_is_told_once_with_its_setting() -> None:
    refused = {"host": "x.org", "port": 443, "why": "is not on the list of allowed hosts"}
    (line,) = refused_hosts([refused, {**refused, "port": 80}])
    assert line.startswith("[sandbox denial: x.org:443 is not on the list of allowed hosts.")
    assert '"sandbox": {"network": {"allowedDomains": ["x.org"]}}' in line


def test_an_address_has_no_exception() -> None:
    (line,) = refused_hosts([{"host": "1.2.3.4", "port": 443, "why": "is an address, and only names are on the list"}])
    assert "allow it" not in line


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ("curl: (6) Could not resolve host: x.org", "x.org is not reached directly"),
        ("Error: getaddrinfo ENOTFOUND registry.x.org", "registry.x.org is not reached directly"),
        ("urllib.error.URLError: <urlopen error [Errno 111] Connection refused>", "servers of this machine"),
        ("connect ECONNREFUSED 127.0.0.1:5432", "servers of this machine"),
        ("OSError: [Errno 101] Network is unreachable", "a host is not reached directly"),
        (
            "curl: (7) Failed to connect to 127.0.0.1 port 7233 after 0 ms: Couldn't connect to server",
            "servers of this",
        ),
        (
            "curl: (7) Failed to connect to localhost port 7233 after 0 ms: Could not connect to server",
            "servers of this",
        ),
        (
            "curl: (7) Failed to connect to x port 80 after 0 ms: Couldn't connect to server",
            "x is not reached directly",
        ),
    ],
)
def test_a_way_past_the_proxy_is_told(output: str, told: str) -> None:
    (line,) = refused_network(output.encode(), POLICY, has_network=True)
    assert told in line


def test_output_without_trouble_tells_nothing_of_the_network() -> None:
    assert refused_network(b"200 OK\n", POLICY, has_network=True) == []
    unreached = b"a.example cannot be reached: Name or service not known\n"  # the proxy's own words of an open host
    assert refused_network(unreached, POLICY, has_network=True) == []
