"""When xargs is looked through: names of files of the workspace, given to a program that only reads."""

import re

from activities.safety.bash import programs
from activities.safety.bash.names import named
from activities.safety.bash.options import parse
from activities.safety.bash.paths import is_inside, is_secret
from activities.safety.bash.reading import path_operands, readable
from activities.safety.bash.tables import READERS
from activities.safety.bash.view import Act, Refusal
from workflows.contracts.commands import UNKNOWN

_INNER = named("cat wc head tail grep ls stat basename dirname md5sum sha256sum du")
_FILTERS = {"sort", "head", "uniq"}
_KINDS = re.compile(
    r"(?:^|[^a-z])(?:env|pem|p.m|key|p12|pfx|jks|netrc|npmrc|pypirc|pgpass|id_[a-z0-9*?]*|ssh|aws)(?:[^a-z]|$)",
    re.IGNORECASE,
)


def refused(act: Act) -> Refusal | None:
    """Why this xargs is not proved to read only."""
    form = parse(act.values, programs.XARGS)
    if form.unknown:
        return Refusal("flag", f"xargs {form.unknown} is not looked through", form.unknown)
    stages = [act.view.acts[one] for one in act.command.upstream]
    places = [one.command.stage for one in stages]
    if not stages or places != list(range(len(stages))) or not _is_source(stages[0]) or act.command.redirections:
        return Refusal("wrapper", "xargs takes names from where they are not known to be files of the workspace")
    if not all(_only_filters(one) for one in stages[1:]):
        return Refusal("wrapper", "what stands before xargs may put other names in")
    inner = [one for one in act.below if one.command.parent == act.index]
    if len(inner) != 1 or inner[0].name not in _INNER or inner[0].command.wrappers:
        return Refusal("wrapper", "xargs runs a program that is not known to read only")
    marks = [value for name, value in form.options if name in {"-I", "--replace"}]
    return _inner_refused(inner[0], marks[-1] if marks else "")


def _inner_refused(command: Act, mark: str) -> Refusal | None:
    if command.values[0] != command.command.words[0].source:
        return Refusal("words", "the command word is not a plain name")
    if mark and any(mark in one and one != mark for one in command.values):
        return Refusal("path", f"{mark} becomes a part of another path")
    reader = READERS[command.name]
    values = [UNKNOWN if mark and one == mark else one for one in command.values]
    parsed = parse(values, reader.form)
    if parsed.unknown or any(UNKNOWN in value for _, value in parsed.options):
        return Refusal("flag", f"{command.name} {parsed.unknown} is not known to read only", parsed.unknown)
    if programs.judged(command.name, reader, parsed, []):
        return Refusal("flag", f"{command.name} is not known to read only here")
    operands = [values[one] for one in parsed.operands]
    return readable(command, [one for one in path_operands(reader, parsed, operands) if one != UNKNOWN])


def _only_filters(act: Act) -> bool:
    if act.name not in _FILTERS or any(not one.is_copy and one.operator == "<" for one in act.command.redirections):
        return False
    return not parse(act.values, READERS[act.name].form).operands


def _is_source(act: Act) -> bool:
    """Whether it lists files of the workspace, and names no secret one."""
    if any(_KINDS.search(one) or is_secret(path) for one, faces in act.named for path in faces):
        return False
    rooted = [path for one in act.operands if "/" in one for path in act.faces(one)]
    if any(not is_inside(path, act.view.setting) for path in rooted):
        return False
    values = act.values
    letters = "".join(one[1:] for one in values[1:] if re.fullmatch(r"-[A-Za-z0-9]+", one))
    match act.name:
        case "find" | "fd" | "fdfind":
            return True
        case "rg":
            return "l" in letters or bool({"--files", "--files-with-matches"} & set(values))
        case "grep" | "egrep" | "fgrep":
            return "l" in letters or "L" in letters or "--files-with-matches" in values
        case "git":
            return "ls-files" in values[1:3] or (values[1:2] == ["grep"] and "l" in letters)
    return False
