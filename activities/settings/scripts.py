"""Scripts of the workspace that its hooks run, and whether the person trusted what stands in them."""

import hashlib
import os
import re
import shlex
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import JsonValue

from activities.settings.places import OTHERS, OWN, roots_of
from activities.settings.trust import agreed
from activities.stores.home import Home
from workflows.contracts.extensions import HookRule, HookScript
from workflows.contracts.settings_files import FolderTrust, LoadedSettings, SettingsValue, ValueState
from workflows.contracts.transcript import canonical, digest_of
from workflows.core.settings_parse import FOLDER_SOURCES

_PROJECT = re.compile(r"\$(?:\{(?:CLAUDE|PERDURE)_PROJECT_DIR\}|(?:CLAUDE|PERDURE)_PROJECT_DIR\b)")
_READS_A_SCRIPT = re.compile(
    r"(?:ba|da|k|z|fi)?sh|\.|source|exec|env|nohup|timeout|python[\d.]*|pypy\d*|node|deno|bun|ruby|perl|php|pwsh|Rscript|lua"
)
_DEEPEST = 3
"""Levels of `bash -c 'sh -c …'` that are looked into."""


def with_scripts(loaded: LoadedSettings, signed: Mapping[str, frozenset[str] | None]) -> LoadedSettings:
    """The settings with each folder's scripts: trust in a folder is also trust in what stands in them now."""
    folders = tuple(_with_scripts(loaded, folder, signed.get(folder.root)) for folder in loaded.folders)
    return loaded.model_copy(update={"folders": folders})


def scripts_of(loaded: LoadedSettings, value: SettingsValue, rule: HookRule) -> tuple[HookScript, ...]:
    """The scripts that a hook runs, each with the digest that counts."""
    roots = {folder.root: folder for folder in loaded.folders}
    found = [
        next(each for each in roots[root].scripts if each.path == path)
        for root, path in _named((rule.command, *(rule.args or ())), tuple(roots))
    ]
    # A hook of the person's own is theirs: it counts with what its scripts hold when the session starts.
    is_folders = value.source in FOLDER_SOURCES
    return tuple(each if is_folders else each.model_copy(update={"digest": digest_now(each.path)}) for each in found)


def changed_script(home: Home, rule: HookRule, cwd: Path, project: Path) -> str:
    """Why the hook may not run there now; empty when each script of the workspace holds what the person trusted."""
    roots = tuple(dict.fromkeys((*roots_of(project), *(script.root for script in rule.scripts))))
    if not rule.scripts and not any(Path(rule.source).is_relative_to(root) for root in roots):
        return ""
    known = {script.path: script.digest for script in rule.scripts}
    # Where the session is now, a relative name may be another file than where it began.
    named = (path for _root, path in _named((rule.command, *(rule.args or ())), (str(cwd), *roots)))
    for path in dict.fromkeys((*known, *named)):
        now = digest_now(path)
        # What is not there refuses or fails by itself; what is there and no file, such as a pipe, may say anything.
        if now == known.get(path) if now else not os.path.lexists(path):
            continue
        if now and any(_grant(path, now) in (agreed(home, root) or ()) for root in roots):
            continue
        return (
            f"its script {path} is not as it was when you trusted it: look at it, then perdure trust "
            f"{shlex.quote(roots[0])}"
        )
    return ""


def digest_now(path: str) -> str:
    """SHA-256 of the script as it is; empty when it is none that can be read."""
    try:
        with open(path, "rb", opener=_at_once) as file:
            is_file = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            return hashlib.file_digest(file, "sha256").hexdigest() if is_file else ""
    except (OSError, ValueError):
        return ""


def _at_once(path: str, flags: int) -> int:
    # A pipe of that name would hang until somebody writes.
    return os.open(path, flags | os.O_NONBLOCK)


def exposed_scripts(loaded: LoadedSettings) -> tuple[str, ...]:
    """A line for each file of the folder that a hook runs and that an agent may write."""
    return tuple(
        f"{script.path} is run by a hook, and the agent may change it: the hook would fail then, until you trust the "
        f"folder again. Move it into {Path(folder.root, OWN, 'hooks')}"
        for folder in loaded.folders
        for script in folder.scripts
        if Path(script.path).relative_to(folder.root).parts[:1] not in {(OWN,), (OTHERS,)}
    )


def _with_scripts(loaded: LoadedSettings, folder: FolderTrust, signed: frozenset[str] | None) -> FolderTrust:
    grants, untrusted, scripts = set(folder.grants), list(folder.untrusted), {}
    for value in loaded.values:
        if not value.key.startswith("hooks.") or value.state == ValueState.IGNORED:
            continue
        for root, path in _of_group(value.value, tuple(each.root for each in loaded.folders)):
            if root != folder.root or path in scripts:
                continue
            digest = digest_now(path)
            grants.add(_grant(path, digest))
            is_trusted = _grant(path, digest) in (signed or ())
            scripts[path] = HookScript(path=path, root=root, digest=digest if is_trusted else "")
            if value.source in FOLDER_SOURCES and not is_trusted:
                untrusted.append(f"{value.key} as {os.path.relpath(path, root)} is now")
    named = tuple(dict.fromkeys(untrusted))
    return folder.model_copy(
        update={"grants": tuple(sorted(grants)), "untrusted": named, "scripts": tuple(scripts.values())}
    )


def _grant(path: str, digest: str) -> str:
    return digest_of(canonical(["script", path, digest]))


def _of_group(group: JsonValue, roots: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    handlers = group.get("hooks") if isinstance(group, dict) else None
    for handler in handlers if isinstance(handlers, list) else []:
        if isinstance(handler, dict):
            command, args = handler.get("command"), handler.get("args")
            given = args if isinstance(args, list) else []
            yield from _named([word for word in (command, *given) if isinstance(word, str)], roots)


def _named(texts: Sequence[str], roots: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Each script with the innermost folder that holds it."""
    words = list(_words(texts[0])) if len(texts) == 1 else [word for text in texts for word in _and_inside(text, 0)]
    yield from _scripts(words, roots)


def _words(command: str, depth: int = 0) -> Iterator[str]:
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:
        return
    for word in words:
        yield from _and_inside(word, depth)


def _and_inside(word: str, depth: int) -> Iterator[str]:
    yield word
    if depth < _DEEPEST and any(letter.isspace() for letter in word):
        yield ";"
        yield from _words(word, depth + 1)


def _scripts(words: Sequence[str], roots: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """The programs among the words, and the first file after a program that reads one."""
    is_program, reads = True, False
    for word in words:
        if word and set(word) <= set("();<>|&"):
            is_program, reads = True, False
            continue
        if word == "-m":
            reads = False
        found = _found(word, roots)
        if found and (is_program or reads or os.access(found[1], os.X_OK)):
            yield found
            reads = False
        elif _READS_A_SCRIPT.fullmatch(word.rpartition("/")[2]) and (is_program or reads):
            reads = True
        is_program = False


def _found(word: str, roots: tuple[str, ...]) -> tuple[str, str] | None:
    for base in roots:
        path = Path(os.path.normpath(Path(base, base.join(_PROJECT.split(word)))))
        holders = [root for root in roots if path.is_relative_to(root)]
        if holders and _is_file(path):
            return max(holders, key=len), str(path)
    return None


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False
