"""What a command tries in order to get out, tier by tier: refused, and told where the sandbox can see it."""

import errno
import os
import socket
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests.activities.safety.sandbox.cell import OF_PERSON, SECRET, Cell, cell, heard, listening
from tests.fakes.held import missing

pytestmark = [pytest.mark.journey, pytest.mark.timeout(120)]

DENIAL = "[sandbox denial: "


@pytest.fixture(scope="module", params=[1, 2], ids=["tier1", "tier2"])
def inside(request: pytest.FixtureRequest) -> Iterator[Cell]:
    if why := missing(request.param):
        pytest.skip(f"tier {request.param} cannot be shown here: {why}")
    with cell(request.param) as made:
        yield made


def python(text: str) -> str:
    return f"{sys.executable} -c '{text}'"


async def test_ordinary_work_is_done_and_nothing_is_told(inside: Cell) -> None:
    command = "git status --short && echo x > made && mktemp && echo $((1+1)) | cat && rm made && echo fine"
    said = await inside.text(command)
    assert "fine" in said
    assert DENIAL not in said


@pytest.mark.parametrize(
    "command",
    [
        "echo x > $OUT/f && echo ESCAPED",
        "ln -sfn $OUT link; echo x > link/f && echo ESCAPED",
        "ln $OUT/kept hard && echo x >> hard && echo ESCAPED",
        "mv $OUT/kept $OUT/moved && echo ESCAPED",
        "rm $OUT/kept && echo ESCAPED",
        "touch /perdure-was-here && echo ESCAPED",
        "echo x > ~/.bashrc && echo ESCAPED",
    ],
)
async def test_a_write_outside_is_refused_and_told(inside: Cell, command: str) -> None:
    said = await inside.text(command)
    assert "ESCAPED" not in said
    assert DENIAL in said
    assert "allowWrite" in said
    assert [path.name for path in inside.outside.iterdir()] == ["kept"]
    assert (inside.outside / "kept").read_text() == "kept\n"


async def test_a_mode_outside_is_not_changed(inside: Cell) -> None:
    if inside.tier == 2:
        pytest.skip("tier 2: Landlock does not see chmod")
    before = (inside.outside / "kept").stat().st_mode
    said = await inside.text("chmod 777 $OUT/kept && echo ESCAPED")
    assert "ESCAPED" not in said
    assert DENIAL in said
    assert (inside.outside / "kept").stat().st_mode == before


@pytest.mark.parametrize("name", [".git/info/attributes", ".git/modules/x/info/attributes"])
async def test_a_link_that_one_command_plants_shows_the_next_one_no_secret(inside: Cell, name: str) -> None:
    depth = "../" * (name.count("/") + 1)
    await inside.text(f"mkdir -p $(dirname {name}); touch .git/modules/x/HEAD; ln -sfn {depth}user/.ssh/id {name}")
    try:
        assert OF_PERSON not in await inside.text(f"cat {name} && echo ESCAPED")
    finally:
        (inside.workspace / name).unlink(missing_ok=True)


@pytest.mark.parametrize("path", ["~/.ssh/id", "$PERDURE_HOME/keys/person", "/etc/shadow"])
async def test_a_secret_is_not_read(inside: Cell, path: str) -> None:
    said = await inside.text(f"cat {path} && echo ESCAPED; ls {path}/..")
    assert "ESCAPED" not in said
    assert SECRET not in said
    assert OF_PERSON not in said


@pytest.mark.parametrize(
    ("command", "planted"),
    [
        ("echo x > .git/hooks/post-checkout", ".git/hooks/post-checkout"),
        ("printf '[core]\\n\\tfsmonitor = evil\\n' >> .git/config", ""),
        ("echo /evil > .git/commondir", ".git/commondir"),
        ("mv .git g && mkdir -p .git/hooks && echo x > .git/hooks/pre-commit", ".git/hooks/pre-commit"),
        ("mkdir -p .perdure; echo '{}' > .perdure/settings.json", ".perdure/settings.json"),
        ("mkdir -p .claude; echo '{}' > .claude/settings.json", ".claude/settings.json"),
        ("echo '{}' > .mcp.json", ".mcp.json"),
    ],
)
async def test_nothing_is_planted_for_a_later_git_or_agent(inside: Cell, command: str, planted: str) -> None:
    said = await inside.text(command)
    assert DENIAL in said
    assert not planted or not (inside.workspace / planted).exists()
    config = inside.workspace / ".git" / "config"
    assert not config.exists() or "evil" not in config.read_text()
    for name in (".perdure", ".claude"):
        assert not (inside.workspace / name).exists()
    if (inside.workspace / "g").exists():
        subprocess.run(["rm", "-rf", ".git"], cwd=inside.workspace, check=True)
        (inside.workspace / "g").rename(inside.workspace / ".git")
    if not config.exists():
        subprocess.run(["git", "init", "-q"], cwd=inside.workspace, check=True)


async def test_no_server_of_this_machine_is_reached(inside: Cell) -> None:
    with listening(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        said = await inside.text(
            f"(exec 3<>/dev/tcp/127.0.0.1/{port}) && echo ESCAPED; curl -sS http://127.0.0.1:{port}"
        )
        assert "ESCAPED" not in said
        assert DENIAL in said
        assert not heard(server)


async def test_the_engines_ports_stay_closed_even_where_a_person_allows_them(inside: Cell) -> None:
    if inside.tier == 2:
        pytest.skip("tier 2 has no network, and so no proxy that could be asked")
    with listening(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        (inside.world.home.engine / "engine.json").write_text(f'{{"ports": {{"grpc": {port}}}}}')
        allowed = inside.settings.network.model_copy(update={"allowed_domains": (f"localhost:{port}",)})
        command = f"curl -sS --noproxy '' -x http://127.0.0.1:39128 http://localhost:{port}/"
        told = await inside.run(command, network=allowed)
        assert "leads to this machine itself" in str(told.content)
        assert not heard(server)


async def test_udp_does_not_get_out(inside: Cell) -> None:
    with listening(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        text = f'import socket; socket.socket(2, 2).sendto(b"x", ("127.0.0.1", {port}))'
        await inside.text(python(text))
        assert not heard(server)


async def test_names_are_not_resolved_past_the_proxy(inside: Cell) -> None:
    said = await inside.text(python('import socket; print(socket.getaddrinfo("example.org", 53, type=2), "ESCAPED")'))
    assert "ESCAPED" not in said
    assert DENIAL in said


async def test_a_host_that_is_not_allowed_is_refused_at_once_and_told(inside: Cell) -> None:
    if inside.tier == 2:
        pytest.skip("tier 2 has no network, and so no proxy that could be asked")
    said = await inside.text("curl -sS -m 10 https://example.org/x; curl -sS -m 10 http://example.net:8080/")
    assert said.count(DENIAL) == 2
    assert '"allowedDomains": ["example.org"]' in said
    assert '"allowedDomains": ["example.net:8080"]' in said


@pytest.mark.parametrize("family", [16, 17, 40, 38], ids=["netlink", "packet", "vsock", "alg"])
async def test_other_kinds_of_sockets_are_not_made(inside: Cell, family: int) -> None:
    said = await inside.text(
        python(f'import socket; socket.socket({family}, 3 if {family} == 17 else 2); print("ESCAPED")')
    )
    assert "ESCAPED" not in said
    assert DENIAL in said


@pytest.mark.parametrize("is_abstract", [False, True], ids=["path", "abstract"])
async def test_unix_sockets_are_not_reached(inside: Cell, is_abstract: bool) -> None:
    path = f"\0perdure-{os.getpid()}" if is_abstract else str(inside.outside / "docker.sock")
    shown = path.replace("\0", "\\0")
    with listening(socket.AF_UNIX, socket.SOCK_STREAM, path) as server:
        said = await inside.text(python(f'import socket; socket.socket(1).connect("{shown}"); print("ESCAPED")'))
        assert "ESCAPED" not in said
        assert DENIAL in said
        assert not heard(server)
    if not is_abstract:
        (inside.outside / "docker.sock").unlink()


async def test_a_process_outside_is_neither_signalled_nor_read(inside: Cell) -> None:
    with subprocess.Popen(["sleep", "60"], env={"HELD": SECRET}) as other:
        command = f"kill -9 {other.pid} && echo ESCAPED; cat /proc/{other.pid}/environ; cat /proc/[0-9]*/environ"
        said = await inside.text(command)
        assert SECRET not in said
        assert "ESCAPED" not in said
        assert other.poll() is None
        other.kill()


CALLS = {
    "ptrace": (101, (0, 0, 0, 0)),
    "io_uring": (425, (1, 0, 0, 0)),
    "keyctl": (250, (0, -3, 0, 0)),
    "bpf": (321, (0, 0, 0, 0)),
    "perf": (298, (0, 0, -1, -1)),
    "userfaultfd": (323, (0, 0, 0, 0)),
    "mount": (165, (0, 0, 0, 0)),
    "process_vm_readv": (310, (1, 0, 0, 0)),
    "x32 getpid": (0x40000000 | 39, (0, 0, 0, 0)),
}
"""Numbers of x86_64."""


@pytest.mark.parametrize("name", CALLS)
async def test_calls_that_no_build_needs_are_refused(inside: Cell, name: str) -> None:
    if os.uname().machine != "x86_64":
        pytest.skip("the numbers are those of x86_64; the filter of aarch64 is read by an interpreter")
    number, words = CALLS[name]
    text = (
        "import ctypes; c = ctypes.CDLL(None, use_errno=True); "
        f"r = c.syscall({number}, {', '.join(map(str, words))}); print(r, ctypes.get_errno())"
    )
    refused = f"-1 {errno.ENOSYS if 'x32' in name else errno.EPERM}"
    bare = subprocess.run([sys.executable, "-c", text], capture_output=True, check=True, timeout=20)
    if bare.stdout.decode().split() == refused.split():
        pytest.skip(f"this kernel refuses {name} by itself")
    assert refused in await inside.text(python(text))


async def test_no_namespace_of_users_is_made_inside(inside: Cell) -> None:
    text = 'import ctypes; print(ctypes.CDLL(None).unshare(0x10000000) or "ESCAPED")'
    assert "ESCAPED" not in await inside.text(python(text) + "; unshare -U true && echo ESCAPED")


async def test_nothing_is_typed_into_a_terminal(inside: Cell) -> None:
    text = 'import fcntl, pty; fcntl.ioctl(pty.openpty()[1], 0x5412, b"x"); print("ESCAPED")'
    said = await inside.text(python(text))
    assert "ESCAPED" not in said
    assert "not permitted" in said or "Errno" in said


async def test_no_right_is_left_that_root_has(inside: Cell) -> None:
    if inside.tier == 2:
        pytest.skip("tier 2 has no namespace of users: rights stay, what they act on is closed")
    assert "CapEff:\t0000000000000000" in await inside.text("grep CapEff /proc/self/status")
