"""Git's configuration after a command: what is harmless stays and is told, anything else is put back as it was."""

import base64
import hashlib
import json
import os
import secrets
import stat
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from activities.safety.git import git_program
from activities.safety.sandbox import git_keys
from activities.safety.sandbox.git_found import repositories
from activities.safety.sandbox.git_keys import Keys, Weight
from activities.safety.sandbox.git_places import configurations, control_files, repository_of
from activities.safety.sandbox.git_writers import Right
from activities.safety.sandbox.quarantine import move, opened_up
from activities.stores.files import make_folder, read_start, write_atomic
from activities.stores.home import Home
from activities.stores.vault import Vault

Standing = str
"""What stands at a path: `=` and its text, `@` and where it leads, `#` and a print of what is too large; else empty."""

LARGEST = 1_048_576
MOST_TOLD = 12
_CONFIGURATIONS = ("config", "config.worktree")
_PATIENCE_S, _TRIES = 2.0, 5
_TEXT = "latin-1"


Record = Mapping[str, Any]  # Any: JSON of our own


def keep(home: Home, workspace: Path, right: Right, others: Sequence[Record] = ()) -> Record:
    """What is to stand there after a command, and its right, as plain JSON; addresses may hold passwords.

    `others`: the records of commands after which nobody has looked yet. What one of them may not leave is not taken for
    the person's.
    """
    before = take(workspace)
    for other in others:
        before |= _unasked(before, other)
    held = Vault(home).lock(json.dumps({path: text for path, text in before.items() if text}).encode("ascii"))
    where = {"home": str(home.root), "workspace": str(workspace)}
    return {**where, "before": base64.b64encode(held).decode("ascii"), "right": asdict(right)}


def settle_kept(record: Record, quarantine: Path, call: str) -> list[str]:
    """`settle` with what `keep` gave."""
    return settle(Path(record["workspace"]), _before(record), quarantine, call, Right(**record["right"]))


def _before(record: Record) -> dict[str, Standing]:
    held: dict[str, Standing] = json.loads(Vault(Home(Path(record["home"]))).unlock(base64.b64decode(record["before"])))
    return held


def _unasked(now: Mapping[str, Standing], record: Record) -> dict[str, Standing]:
    """What stood before another command in those that hold now what it may not leave."""
    before, workspace, own = _before(record), Path(record["workspace"]), _own(Path(record["workspace"]))
    return {
        name: before.get(name, "")
        for name in dict.fromkeys((*now, *before))
        if name in before or Path(name).is_relative_to(workspace)
        if _One(
            Path(name), workspace, before.get(name, ""), Right(**record["right"]), is_own=Path(name) in own
        ).refused(now.get(name, ""))
    }


def take(workspace: Path) -> dict[str, Standing]:
    """What stands in each configuration, to be put back."""
    return {str(path): standing for path in _files(workspace) if (standing := _standing(path))}


def settle(workspace: Path, before: Mapping[str, Standing], quarantine: Path, call: str, right: Right) -> list[str]:
    """Put back what no command may set, and tell of that and of what stays. May be repeated, by another worker too.

    `call`: a name of the command's own, by which is found again what it left in the quarantine. What changed in a
    configuration that was closed to it is another hand's: what of that is harmless is not told.
    """
    kept = sorted(quarantine.glob(f"{_print(call)}-*")) if quarantine.is_dir() else []
    own = _own(workspace)
    lines: list[str] = []
    for path in dict.fromkeys((*map(Path, before), *_files(workspace))):
        if _is_where_it_was(path, workspace):
            one = _One(path, workspace, before.get(str(path), ""), right, is_own=path in own)
            lines += one.told_before(kept, call)
            lines += one.settled(quarantine, call)
    return list(dict.fromkeys(lines))


def _own(workspace: Path) -> set[Path]:
    """The configurations of the workspace's own repository."""
    repository = repository_of(workspace)
    return set(configurations(repository)) if repository else set()


def _files(workspace: Path) -> list[Path]:
    found: list[Path] = []
    for repository in repositories(workspace):
        found += [path for path in control_files(repository) if path.name in _CONFIGURATIONS]
        found += configurations(repository)
    return list(dict.fromkeys(found))


def _is_where_it_was(path: Path, workspace: Path) -> bool:
    """Whether its folder is there and no link that a command made leads to it."""
    inside = path.parent.is_relative_to(workspace)
    expected = Path(os.path.realpath(workspace), path.parent.relative_to(workspace)) if inside else path.parent
    return path.parent.is_dir() and Path(os.path.realpath(path.parent)) == expected


def _standing(path: Path) -> Standing:
    try:
        facts = path.lstat()
        if stat.S_ISLNK(facts.st_mode):
            return f"@{path.readlink()}"
        held = read_start(path, LARGEST + 1) if stat.S_ISREG(facts.st_mode) else b""
    except OSError:
        return ""
    if stat.S_ISREG(facts.st_mode) and len(held) <= LARGEST:
        return f"={held.decode(_TEXT)}"
    # The last moment cannot be set back by whoever writes the file.
    return f"#{facts.st_mode}-{facts.st_ino}-{facts.st_size}-{facts.st_mtime_ns}-{facts.st_ctime_ns}"


@dataclass(frozen=True)
class _One:
    """One configuration after a command."""

    path: Path
    workspace: Path
    was: Standing
    right: Right
    is_own: bool
    """Of the workspace's own repository, not of one below it or of a submodule."""

    def settled(self, quarantine: Path, call: str) -> list[str]:
        """What is told of it, now that it holds nothing that no command may set."""
        for _ in range(_TRIES):
            now = _standing(self.path)
            if not (refused := self.refused(now)):
                return self.stays(now) if self.is_own and self.right.is_open else []
            kept = quarantine / f"{_kept_as(self.path, call)}{_print(now)}"
            if self.is_put_back(now, kept):
                return [self.denial(refused, kept if now else None)]
        return [f"[sandbox denial: {self.path} changes all the time: a person must look at it]"]

    def told_before(self, kept: list[Path], call: str) -> list[str]:
        """The lines of an attempt that ended before it could tell them."""
        mine = [each for each in kept if each.name.startswith(_kept_as(self.path, call))]
        return [self.denial(self.refused(_standing(each)), each) for each in mine]

    def refused(self, standing: Standing) -> dict[str, Weight]:
        """The keys for which it may not stay; something in brackets where it is not about a key."""
        if standing == self.was:
            return {}
        was, now = _keys(self.was, self.workspace), _keys(standing, self.workspace)
        if now is None:
            return {"(no file that git can read)": Weight.CLOSED}
        changed = _changed(was or {}, now)
        if not self.is_own or self.was[:1] == "#":
            return {key: Weight.CLOSED for key in changed if key in now and self.runs(key, now)}
        most = Weight.LEADS if self.right.may_lead else Weight.HARMLESS
        is_new = not self.was and self.path.name == "config"
        found = {
            key: git_keys.weight(key, (was or {}).get(key, ()), now.get(key, ()), now, is_new=is_new) for key in changed
        }
        return {key: weight for key, weight in found.items() if weight > most}

    def runs(self, key: str, now: Keys) -> bool:
        """Whether a key of a repository that is not the person's own leads out of the workspace, or to a program."""
        if git_keys.parts(key)[::2] == ("core", "worktree"):
            return any(not _is_inside(self.path.parent / value, self.workspace) for value in now[key])
        return git_keys.runs_something(key, now[key])

    def is_put_back(self, now: Standing, kept: Path) -> bool:
        """Keep what stands there, and put the old one in its place; not when somebody changed it meanwhile."""
        with _locked(self.path) as way:
            if _standing(self.path) != now:
                return False
            make_folder(kept.parent)
            if now[:1] == "=":
                write_atomic(kept, now[1:].encode(_TEXT))
            if self.was[:1] == "=":
                way.write_bytes(self.was[1:].encode(_TEXT))
                way.chmod(_rights(self.path))
            if now[:1] in {"@", "#"}:
                move(self.path, kept)
            if self.was[:1] == "=":
                way.replace(self.path)
            else:
                self.path.unlink(missing_ok=True)
                if self.was[:1] == "@":
                    self.path.symlink_to(self.was[1:])
        return True

    def denial(self, refused: dict[str, Weight], kept: Path | None) -> str:
        """The line for what did not stay."""
        leads = all(weight == Weight.LEADS for weight in refused.values())
        who = "stays only where a person allows just this command" if leads else "is for a person to set"
        done = "put back as it was" if self.was[:1] in {"=", "@"} else "taken away"
        held = f"; what it held is at {kept}" if kept else ""
        return f"[sandbox denial: {self.path} was {done}: {_few([*refused])} {who}{held}]"

    def stays(self, standing: Standing) -> list[str]:
        """A line for what is new in it; of a repository that was not there before nobody asks."""
        if standing == self.was or (not self.was and self.path.name == "config"):
            return []
        was, now = _keys(self.was, self.workspace) or {}, _keys(standing, self.workspace) or {}
        changed = _changed(was, now)
        has, lacks = [key for key in changed if key in now], [key for key in changed if key not in now]
        told = [f"now has {_few(has)}"] if has else []
        told += [f"no longer has {_few(lacks)}"] if lacks else []
        is_inside = self.path.is_relative_to(self.workspace)
        name = self.path.relative_to(self.workspace) if is_inside else self.path
        return [f"[sandbox: {name} {' and '.join(told)}]"] if told else []


def _is_inside(path: Path, workspace: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(workspace))


def _changed(was: Keys, now: Keys) -> list[str]:
    return [key for key in dict.fromkeys((*was, *now)) if was.get(key) != now.get(key)]


def _keys(standing: Standing, workspace: Path) -> dict[str, tuple[str, ...]] | None:
    """All keys, as git itself reads them, files that it includes left out; None for what is no configuration."""
    if not standing:
        return {}
    if standing[0] != "=":
        return None
    program = git_program(os.environ, workspace)
    if not program:
        return None
    words = [program, "config", "--file", "-", "--no-includes", "--list", "-z"]
    calm = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CEILING_DIRECTORIES": "/", "LC_ALL": "C"}
    try:
        read = subprocess.run(
            words, input=standing[1:].encode(_TEXT), cwd="/", env=calm, capture_output=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if read.returncode:
        return None
    found: dict[str, tuple[str, ...]] = {}
    for entry in read.stdout.decode(_TEXT).split("\0")[:-1]:
        key, sign, value = entry.partition("\n")
        found[key] = (*found.get(key, ()), value if sign else "true")
    return found


def _rights(path: Path) -> int:
    """Those of the file that was there, as far as they let nobody else write."""
    try:
        return 0o600 | (path.lstat().st_mode & 0o044)
    except OSError:
        return 0o600


@contextmanager
def _locked(path: Path) -> Iterator[Path]:
    """Git's own lock on a file, so that no git writes it meanwhile; one that a killed git left is gone around."""
    lock, until = path.with_name(f"{path.name}.lock"), time.monotonic() + _PATIENCE_S
    while True:
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600))
            break
        except PermissionError:
            if time.monotonic() > until:
                raise
            opened_up(path.parent)
            time.sleep(0.05)
        except FileExistsError:
            if time.monotonic() > until:
                lock = path.with_name(f"{path.name}.{secrets.token_hex(8)}.lock")
            time.sleep(0.05)
    try:
        yield lock
    finally:
        with suppress(FileNotFoundError):
            lock.unlink()


def _kept_as(path: Path, call: str) -> str:
    return f"{_print(call)}-{_print(str(path))}-"


def _print(text: str) -> str:
    return hashlib.sha256(os.fsencode(text)).hexdigest()[:12]


def _few(keys: list[str]) -> str:
    more = f" and {len(keys) - MOST_TOLD} more" if len(keys) > MOST_TOLD else ""
    shown = [key if key.isprintable() and len(key) <= 120 else ascii(key)[:120] for key in keys[:MOST_TOLD]]
    return f"{', '.join(shown)}{more}"
