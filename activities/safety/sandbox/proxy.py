"""Proxy: a session's network namespace and the way out of it, in two processes of their own that outlive the worker.

    proxy    on the person's side: takes connections from inside, judges the host, dials out
    └── holder   keeps the namespace, with a loopback of its own; ends with the proxy

Started by `network.py` in a bare Python; it imports only the standard library.
"""

import fcntl
import json
import os
import signal
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from activities.processes.confine import called
from activities.processes.tree import boot_id, start_time
from activities.safety.sandbox.domains import address_refusal, is_named_with_port, refusal
from activities.safety.sandbox.opened_hosts import opened
from activities.safety.sandbox.relay import Refused, Wanted, http_request, join, socks_request
from activities.stores.engine_ports import engine_ports

HTTP_PORT, SOCKS_PORT = 39128, 39080
"""On the loopback of each session's own namespace."""

IDLE, TICK = 300.0, 2.0
"""Seconds without a command after which it ends; between two looks."""

DIAL = 15.0
MOST_CONNECTIONS = 400
"""At once; each takes two descriptors, of the 1,024 that a process usually may have. Others wait."""

NOTED_A_SECOND, MOST_NOTED = 100, 64 * 1024 * 1024
"""Refusals that are told, and bytes of all of them."""
_NEW_USER, _NEW_NET = 0x10000000, 0x40000000
_SET_FLAGS, _UP = 0x8914, 0x1
_PARENT_DEATH = 1


def main() -> None:
    """Start for the folder named on the command line; exit code 0 once it serves, else what failed on stderr."""
    folder = Path(sys.argv[1])
    ready, say = os.pipe()
    if os.fork():
        os.close(say)
        word = os.read(ready, 4096).decode(errors="replace")
        if word != "ok":
            sys.stderr.write(word or "the session's network died at its start")
        os._exit(word != "ok")
    os.setsid()
    try:
        asked = json.loads((folder / "asked.json").read_bytes())
        Proxy(folder, asked, sys.stdin.read()).serve(lambda: tell(say))
    except (OSError, ValueError) as error:
        os.write(say, str(error).encode()[:4000])
        os._exit(1)


def tell(say: int) -> None:
    """Say to the starter that the network serves."""
    os.write(say, b"ok")
    os.close(say)


def detach() -> None:
    """Let go of whoever started us."""
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)


def hold(channel: socket.socket) -> None:
    """The holder: make the namespace, listen in it, hand the listeners over, stay."""
    called("prctl", _PARENT_DEATH, signal.SIGKILL, 0, 0, 0)
    user, group = os.getuid(), os.getgid()
    called("unshare", _NEW_USER | _NEW_NET)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, _SET_FLAGS, struct.pack("16sH14x", b"lo", _UP))
    listeners = [socket.create_server(("127.0.0.1", port), backlog=128) for port in (HTTP_PORT, SOCKS_PORT)]
    socket.send_fds(channel, [b"ok"], [each.fileno() for each in listeners])
    for each in listeners:
        each.close()
    while True:
        signal.pause()


class Proxy:
    """Serves one session."""

    def __init__(self, folder: Path, asked: dict[str, Any], authorization: str) -> None:  # Any: JSON
        self.folder = folder
        self.allowed: list[str] = asked["allowed"]
        self.denied: list[str] = asked["denied"]
        self.opened = Path(asked["opened"])
        self.engine = Path(asked["engine"])
        self.upstream: list[str | int] | None = asked["upstream"]
        self.authorization = authorization
        self.asked = asked
        self.last_use = time.monotonic()
        self.lock = threading.Lock()
        self.room = threading.BoundedSemaphore(MOST_CONNECTIONS)
        self.noted = (0, 0)

    def serve(self, tell_ready: Callable[[], None]) -> None:
        """Until nobody needs it any more."""
        ours, theirs = socket.socketpair()
        holder = os.fork()
        if not holder:
            ours.close()
            detach()
            try:
                hold(theirs)
            except OSError as error:
                theirs.send(f"no network namespace: {error.strerror}".encode())
            os._exit(1)
        theirs.close()
        word, descriptors, *_ = socket.recv_fds(ours, 4096, 2)
        if word != b"ok":
            raise OSError(word.decode(errors="replace") or "no network namespace")
        for descriptor, ask in zip(descriptors, (http_request, socks_request), strict=True):
            threading.Thread(target=self.accept, args=(socket.socket(fileno=descriptor), ask), daemon=True).start()
        self.announce(holder)
        tell_ready()
        detach()
        self.until_idle(holder)

    def announce(self, holder: int) -> None:
        """Say in the journal who serves."""
        facts = {
            "pid": os.getpid(), "started": start_time(os.getpid()), "boot": boot_id(),
            "holder": holder, "holder_started": start_time(holder), "asked": self.asked,
        }  # fmt: skip
        private = self.folder / f"network.json.{os.getpid()}"
        private.write_text(json.dumps(facts))
        private.rename(self.folder / "network.json")

    def until_idle(self, holder: int) -> None:
        """Wait until no command holds the lease for a while, or the journal forgot us."""
        lease = os.open(self.folder / "lease", os.O_RDWR)
        while not os.waitpid(holder, os.WNOHANG)[0]:
            time.sleep(TICK)
            is_known = self.is_announced()
            try:
                fcntl.flock(lease, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self.last_use = time.monotonic()
                continue
            if not is_known or time.monotonic() - self.last_use > IDLE:
                # Held until the end: whoever waits for the lease finds no network and starts another.
                if is_known:
                    (self.folder / "network.json").unlink(missing_ok=True)
                break
            fcntl.flock(lease, fcntl.LOCK_UN)
        os._exit(0)

    def is_announced(self) -> bool:
        """Whether the journal still names us."""
        try:
            return bool(json.loads((self.folder / "network.json").read_bytes())["pid"] == os.getpid())
        except (OSError, ValueError, KeyError):
            return False

    def accept(self, listener: socket.socket, ask: Callable[[socket.socket], Wanted]) -> None:
        """One kind of connection, each in a thread of its own; what there is no room for waits."""
        while True:
            self.room.acquire()
            try:
                inside, _ = listener.accept()
                threading.Thread(target=self.connect, args=(inside, ask), daemon=True).start()
            except (OSError, RuntimeError):
                self.room.release()
                time.sleep(0.1)

    def connect(self, inside: socket.socket, ask: Callable[[socket.socket], Wanted]) -> None:
        """See one connection through."""
        try:
            self.judge(inside, ask)
        finally:
            self.room.release()

    def judge(self, inside: socket.socket, ask: Callable[[socket.socket], Wanted]) -> None:
        """Judge what one connection wants, and join it with the host."""
        with inside:
            try:
                wanted = ask(inside)
            except (OSError, ValueError):
                return
            inside.settimeout(DIAL)
            try:
                outside = self.dial(wanted.host, wanted.port)
            except Refused as refused:
                self.note(wanted, str(refused))
                wanted.refuse(inside, str(refused))
                return
            except (OSError, ValueError) as error:
                wanted.fail(inside, getattr(error, "strerror", None) or str(error))
                return
            with outside:
                join(inside, outside, wanted)

    def dial(self, host: str, port: int) -> socket.socket:
        """A connection to a host that may be reached. Raises Refused, or OSError."""
        why = refusal(host, port, self.allowed, self.denied)
        # What a person opens later counts at once, also for commands that run; it never leads into a private network.
        if why and refusal(host, port, [*self.allowed, *opened(self.opened)], self.denied):
            raise Refused(why)
        is_named = is_named_with_port(host, port, self.allowed)
        # The engine gives this session its orders: nothing inside reaches it.
        is_own = is_named and host.lower() == "localhost" and port not in engine_ports(self.engine)
        if self.upstream and not is_own:
            return self.dial_through(host, port)
        error: OSError | None = None
        for family, kind, protocol, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            if why := address_refusal(str(address[0]), is_named=is_named, is_loopback_allowed=is_own):
                raise Refused(why)
            outside = socket.socket(family, kind, protocol)
            outside.settimeout(DIAL)
            try:
                outside.connect(address)
            except OSError as failed:
                error = failed
                outside.close()
                continue
            return outside
        raise error or OSError(f"{host} has no address")

    def dial_through(self, host: str, port: int) -> socket.socket:
        """The same by the person's own proxy."""
        name, number, _ = self.upstream or ("", 0, "")
        outside = socket.create_connection((str(name), int(number)), DIAL)
        header = f"Proxy-Authorization: Basic {self.authorization}\r\n" if self.authorization else ""
        outside.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n{header}\r\n".encode())
        head = b""
        while b"\r\n\r\n" not in head and len(head) < 16384 and (more := outside.recv(1)):
            head += more
        if head.split(b" ")[1:2] != [b"200"]:
            outside.close()
            raise OSError(f"the proxy {name} refused: {head[:80].decode(errors='replace').splitlines()[:1]}")
        return outside

    def note(self, wanted: Wanted, why: str) -> None:
        """Tell what was refused, for the result of the command; not all of a flood."""
        now, line = time.time(), {"host": wanted.host[:300], "port": wanted.port, "why": why}
        with self.lock, (self.folder / "refused.ndjson").open("a") as file:
            self.noted = (int(now), self.noted[1] + 1 if self.noted[0] == int(now) else 1)
            if self.noted[1] <= NOTED_A_SECOND and file.tell() < MOST_NOTED:
                file.write(json.dumps({"at": now, **line}) + "\n")
