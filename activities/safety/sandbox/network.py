"""Network: find or start the session's network namespace with its proxy, read what it refused, end it."""

import base64
import errno
import fcntl
import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from activities.processes import tree
from activities.processes.command import inherited_environment
from activities.processes.spawn import ROOT
from activities.safety.sandbox import opened_hosts
from activities.safety.sandbox.policy import Policy
from activities.safety.sandbox.proxy import HTTP_PORT, SOCKS_PORT
from activities.stores.home import Home

Record = dict[str, Any]  # Any: JSON that the proxy or we wrote
"""What stands in one of its files."""

USUAL = "network"
"""Folder of a session's own network, in that of its sandbox."""
_OTHERS = "networks"

START_LIMIT = 30.0
_NEW_USER, _NEW_NET = 0x10000000, 0x40000000
_LAUNCH = "import sys; sys.path.append(sys.argv.pop(1)); from activities.safety.sandbox import proxy; proxy.main()"
_LOCAL = "localhost,127.0.0.1,::1"


@dataclass(frozen=True)
class Network:
    """A session's network, as its commands enter it."""

    folder: Path
    holder: int

    @property
    def namespaces(self) -> tuple[tuple[str, int], ...]:
        """What the runner enters, in this order."""
        return ((f"/proc/{self.holder}/ns/user", _NEW_USER), (f"/proc/{self.holder}/ns/net", _NEW_NET))

    @property
    def lease(self) -> str:
        """What the runner holds."""
        return str(self.folder / "lease")


def proxy_environment() -> dict[str, str]:
    """How programs find the way out."""
    http, socks = f"http://127.0.0.1:{HTTP_PORT}", f"socks5h://127.0.0.1:{SOCKS_PORT}"
    named = {"HTTP_PROXY": http, "HTTPS_PROXY": http, "ALL_PROXY": socks, "NO_PROXY": _LOCAL}
    return named | {name.lower(): value for name, value in named.items()} | {"NODE_USE_ENV_PROXY": "1"}


@contextmanager
def network(folder: Path, asked: Record, home: Path, authorization: str = "") -> Iterator[Network]:
    """The session's network for as long as the block runs; a runner that starts meanwhile keeps it for longer.

    `authorization` is for the person's own proxy; it is told to ours and written nowhere.
    Raises OSError when it cannot be made.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    lease = os.open(folder / "lease", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lease, fcntl.LOCK_SH)
        with _starting(folder):
            found = find(folder, asked)
            if found is None:
                _start(folder, asked, home, authorization)
                found = find(folder, asked)
        if found is None:
            raise OSError(errno.EIO, "the session's network died at its start")
        yield found
    finally:
        os.close(lease)


def of_hosts(sandbox: Path, hosts: Sequence[str]) -> Path:
    """The folder of a session's network for commands to which just these hosts are open, beside those of all."""
    return sandbox / _OTHERS / hashlib.sha256("\n".join(hosts).encode()).hexdigest()[:16]


def all_of(sandbox: Path) -> list[Path]:
    """The folders of all networks that a session had."""
    return [sandbox / USUAL, *sandbox.glob(f"{_OTHERS}/*")]


def find(folder: Path, asked: Record | None = None) -> Network | None:
    """The network that serves there; None when none does, or one for other hosts."""
    facts = _facts(folder)
    is_alive = all(
        tree.is_same(int(facts.get(name, 0)), int(facts.get(f"{before}started", 0)))
        for name, before in (("pid", ""), ("holder", "holder_"))
    )
    if not is_alive or facts.get("boot") != tree.boot_id() or (asked is not None and facts.get("asked") != dict(asked)):
        return None
    return Network(folder, int(facts["holder"]))


def _facts(folder: Path) -> Record:
    try:
        facts = json.loads((folder / "network.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return facts if isinstance(facts, dict) else {}


@contextmanager
def _starting(folder: Path) -> Iterator[None]:
    with (folder / "starting").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _start(folder: Path, asked: Record, home: Path, authorization: str) -> None:
    (folder / "asked.json").write_text(json.dumps(dict(asked)))
    try:
        starter = subprocess.run(
            [sys.executable, "-I", "-S", "-X", "utf8", "-c", _LAUNCH, ROOT, str(folder)],
            input=authorization.encode(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd="/",
            env=inherited_environment() | {"PERDURE_HOME": str(home)},
            start_new_session=True,
            timeout=START_LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise TimeoutError(errno.ETIMEDOUT, "the session's network takes too long to start") from error
    if starter.returncode:
        said = starter.stderr.decode("utf-8", "replace").strip().splitlines()
        raise OSError(errno.EIO, said[-1] if said else "the session's network died at its start")


def end(folder: Path) -> None:
    """End the network that serves there, if one does."""
    facts = _facts(folder)
    pid, started = int(facts.get("pid", 0)), int(facts.get("started", 0))
    if facts.get("boot") == tree.boot_id() and tree.is_same(pid, started):
        os.kill(pid, signal.SIGKILL)
        (folder / "network.json").unlink(missing_ok=True)


def end_idle(folder: Path) -> None:
    """End the network that serves there, unless a command uses it."""
    try:
        lease = os.open(folder / "lease", os.O_RDWR)
    except OSError:
        return
    try:
        # Whoever wants it meanwhile waits for the lease, finds none and starts another.
        fcntl.flock(lease, fcntl.LOCK_EX | fcntl.LOCK_NB)
        end(folder)
    except BlockingIOError:
        return
    finally:
        os.close(lease)


def noted(folder: Path) -> int:
    """Bytes of what was refused so far."""
    try:
        return (folder / "refused.ndjson").stat().st_size
    except OSError:
        return 0


def refused_since(folder: Path, place: int) -> list[Record]:
    """What was refused after that place: host, port and why."""
    try:
        with (folder / "refused.ndjson").open("rb") as file:
            file.seek(place)
            lines = file.read(262_144).splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def asked(policy: Policy, home: Home, environment: Mapping[str, str], sandbox: Path) -> Record:
    """What the proxy of a session whose sandbox has this folder is asked to be."""
    return {
        "allowed": list(policy.domains),
        "denied": list(policy.denied_domains),
        "opened": str(opened_hosts.path_in(sandbox)),
        "engine": str(home.engine / "engine.json"),
        "upstream": upstream_of(environment)[0],
    }


def upstream_of(environment: Mapping[str, str]) -> tuple[list[str | int] | None, str]:
    """Host and port of the person's own proxy, with a name for its credentials; and these."""
    named = next((environment[name] for name in ("HTTPS_PROXY", "https_proxy") if environment.get(name)), "")
    parts = urlsplit(named if "://" in named else f"http://{named}")
    if not named or parts.scheme != "http" or not parts.hostname:
        return None, ""
    given = f"{unquote(parts.username)}:{unquote(parts.password or '')}" if parts.username else ""
    authorization = base64.b64encode(given.encode()).decode()
    return [parts.hostname, parts.port or 80, hashlib.sha256(given.encode()).hexdigest()[:16]], authorization
