"""Validator 12: an agent may not change its own guard, end itself, or act as the person."""

import functools
import re
from collections.abc import Iterator
from itertools import pairwise

from activities.safety.bash.names import CONTAINERS, INTERPRETERS, SHELLS, named
from activities.safety.bash.paths import is_own, is_own_key
from activities.safety.bash.view import Act, View, is_unknown
from activities.safety.bash.writing import CHANGES, programs_of, written
from workflows.contracts.commands import Reason
from workflows.contracts.permissions import Decision

DENY = Decision.DENY

_READERS = named(
    "ls cat head tail nl tac rev wc cut paste fold od hexdump xxd strings md5sum sha1sum sha256sum"
    " sha512sum b2sum cksum grep egrep fgrep rg fd sort uniq comm diff cmp jq stat file du test [ [[ echo printf"
    " realpath readlink basename dirname cd pushd tree less more bat column tar zip base64 type which df lsof for"
    " case seq sed awk gawk find git true false pwd perdure temporal zcat sleep expr export declare local typeset"
    " readonly unset set read man help"
)
_LISTS = named("find fd fdfind ls git grep rg tree du cat echo printf")
_GIT_READS = named("status log diff show add commit blame ls-files ls-tree grep cat-file check-ignore rev-parse")
_TEXTS = named("echo printf grep egrep fgrep rg true false : for case test [ [[ expr man help")
_KEEPERS = named("systemctl service launchctl pm2 supervisorctl")
_ENDERS = _KEEPERS | named("kill gdb lldb pkill killall skill fuser xkill")
_STOPS = named("stop restart kill disable mask reload delete remove unload bootout")
_VERBS = {
    "perdure": named("approve deny answer run send close up down cron permissions"),
    "temporal": named("workflow operator schedule batch activity task-queue"),
    "tctl": named("workflow wf namespace admin schedule"),
}
"""What only a person does, also inside of a container."""
_HARMLESS_ACTS = named("ls show status doctor audit approvals watch help")
_ENGINES = re.compile(
    r"perdure\S*|temporal(?:-server|ite)?|.*\bpython\S* .*-m (?:worker|cli)\b.*|.*(?:perdure|temporal).*|worker"
)


def self_protection(view: View) -> Iterator[Reason]:
    """The agent's own files, processes and the person's acts."""
    for act in view.acts:
        text = _person(act) or _touches(act) or _ends(act) or _engine(act) or _environment(act)
        if text:
            hint = "Ask the person to do it, outside the agent."
            yield act.finds("self-protection", DENY, text, hint=hint)


def _person(act: Act) -> str:
    if act.name == "perdure" or act.name.startswith("perdure"):
        verb = next((one for one, before in zip(act.arguments, act.values, strict=False) if _is_verb(one, before)), "")
        if act.name != "perdure" or (verb and verb not in _HARMLESS_ACTS):
            return f"`perdure {verb}` is a person's act, or starts another agent: only a person may do this"
    if act.name in {"temporal", "tctl", "temporal-server", "tdbg"}:
        harmless = set(act.arguments) <= {"--version", "-v", "--help", "-h", "help"}
        if act.arguments and not harmless:
            return f"{act.name} talks to the engine that runs this session"
    if act.name in CONTAINERS or act.name in {"kubectl", "oc", "docker-compose", "podman-compose"}:
        start = next((at for at, one in enumerate(act.arguments) if one in {"exec", "run"}), len(act.arguments))
        for one, after in pairwise(act.arguments[start + 1 :]):
            if after in _VERBS.get(one.rsplit("/", 1)[-1], ()):
                return f"`{one} {after}` in a container may reach this session: only a person may do this"
    modules = [after for one, after in zip(act.arguments, act.arguments[1:], strict=False) if one == "-m"]
    if act.name in {"python", "pypy", "uv", "uvx", "pipx"} and any(
        one.split(".")[0] in {"perdure", "worker"} for one in modules
    ):
        return "it starts a worker or the command line of the agent"
    if act.name in {"uvx", "pipx"} and "perdure" in act.arguments:
        return "it starts another agent: only a person may do this"
    return ""


def _is_verb(value: str, before: str) -> bool:
    return not value.startswith("-") and before != "--home"


def _touches(act: Act) -> str:
    setting = act.view.setting
    for value in written(act):
        if any(is_own(path, setting) for path in act.faces(value)):
            return (
                f"{value} belongs to the agent itself: its settings, rules, hooks and records are not its own to change"
            )
    if act.name in _TEXTS and not act.folder:
        return ""
    for value, faces in act.named:
        if any(is_own_key(path, setting) for path in faces):
            return f"{value} is in the folder of the person's keys"
        if any(is_own(path, setting) for path in faces) and not _only_reads(act):
            return f"{value} belongs to the agent itself and is not for {act.name} to change"
    if act.name in INTERPRETERS | {"find", "fd"} | SHELLS:
        return _programmed(act)
    if any(is_unknown(one) for one in act.values) and not _only_reads(act):
        for source in act.sources:
            hit = next((one for one, faces in source.named if any(is_own(path, setting) for path in faces)), "")
            if source.name in _LISTS and hit:
                return f"it would change what {source.name} finds in {hit}, which belongs to the agent itself"
    return ""


def _only_reads(act: Act) -> bool:
    given = act.arguments
    match act.name:
        case "git":
            return any(one in _GIT_READS for one in given) and not any(
                one in {"rm", "mv", "checkout", "restore"} for one in given
            )
        case "sed" | "awk" | "gawk":
            return not any(re.match(r"-\w*i|--in-?p", one) for one in given)
        case "find":
            return not any(one in {"-delete", "-exec", "-execdir", "-ok", "-fprint", "-fls"} for one in given)
        case "tar":
            extracts = any(re.match(r"-\w*x|--extract|--get", one) for one in given) or re.match(r"\w*x", given[0])
            return "--remove-files" not in given and not extracts
        case "sort":
            return not any(one.startswith(("-o", "--o")) for one in given)
        case "cp" | "rsync" | "install":
            return True
    return act.name in _READERS


def _programmed(act: Act) -> str:
    setting = act.view.setting
    names = [re.escape(name) for name in setting.own_names]
    own = re.compile("|".join([*names, r"(?:perdure|PERDURE_HOME\}?)['\"]?/+keys"]), re.IGNORECASE)
    for program in programs_of(act):
        if not own.search(program):
            continue
        if act.name in {"find", "fd"}:
            if any(one in {"-delete", "-exec", "-execdir", "-x", "-X"} for one in act.arguments):
                return "it would change the agent's own folder"
        elif act.name in INTERPRETERS and CHANGES.is_in(program):
            return "its program touches the agent's own folder"
    return ""


def _is_parent(act: Act) -> bool:
    """Whether it names the process above the shell."""
    words = act.command.words[1:]
    names = {name for word in words for name in word.variables}
    set_before = [one for other in act.view.acts[: act.index] for one in other.command.assignments if one.name in names]
    if "PPID" in names or any("PPID" in one.value.variables for one in set_before):
        return True
    return any(one.name == "ps" and any("ppid" in value for value in one.arguments) for one in act.sources)


def _finds_engine(act: Act) -> bool:
    """Whether what gives it a number looks for the agent, its engine or their files."""
    setting = act.view.setting
    read = [path for one in (act, *act.carriers) for _, faces in one.inputs for path in faces]
    if any(is_own(path, setting) for path in read):
        return True
    return any(
        _ENGINES.fullmatch(re.sub(r"[\[\]]", "", value))
        or (one.name in {"lsof", "fuser", "ss"} and _is_port(act, value))
        or any(is_own(path, setting) for path in one.faces(value))
        for one in act.sources
        for value in one.arguments
    )


def _is_port(act: Act, value: str) -> bool:
    return any(re.search(rf"(?<!\d){port}(?!\d)", value) for port in act.view.setting.ports)


def _ends(act: Act) -> str:
    if act.name not in _ENDERS:
        return ""
    if act.name in {"kill", "gdb", "lldb"}:
        if _is_parent(act):
            return "it would end the agent itself"
        is_told = any(map(is_unknown, act.arguments)) and _finds_engine(act)
        return "it would end the agent, its worker or its engine" if is_told else ""
    if act.name == "fuser":
        is_engine = any(str(port) in one for one in act.arguments for port in act.view.setting.ports)
        return "it would end the engine" if is_engine else ""
    if act.name in _KEEPERS and not _STOPS & set(act.arguments):
        return ""
    if any(_ENGINES.fullmatch(one) for one in act.operands):
        return "it would end the agent, its worker or its engine"
    return ""


@functools.lru_cache(maxsize=16)
def _near(ports: tuple[int, ...]) -> re.Pattern[str]:
    """One of these ports of this machine, however it is spelled."""
    numbers = "|".join(str(port) for port in ports)
    return re.compile(
        rf"(?:localhost|127(?:\.\d+){{1,3}}|\[?::1\]?|\[?::ffff:127\.0\.0\.1\]?|0\.0\.0\.0|0x7f\w*|2130706433|(?<![\w.])0|"
        rf"host\.docker\.internal|ip6-localhost)[\]'\",\s:/]+(?:{numbers})(?!\d)",
        re.IGNORECASE,
    )


def _engine(act: Act) -> str:
    if not act.view.setting.ports:
        return ""
    near = _near(act.view.setting.ports)
    targets = [one.target.value for one in act.command.redirections]
    is_text = act.name in _TEXTS | {"git", "find", "ls", "cat", "sort", "head", "sed", "jq"} and not act.outputs
    if (not is_text and near.search(" ".join(act.arguments))) or any(near.search(one) for one in targets):
        return "it talks to the engine that runs this session"
    return ""


def _environment(act: Act) -> str:
    names = [one.name for one in act.command.assignments]
    names += [one.name for wrapper in act.command.wrappers for one in wrapper.assignments]
    if act.name in {"export", "declare", "typeset", "unset", "readonly", "local", "read", "mapfile"}:
        names += [one.partition("=")[0] for one in act.arguments]
    hit = next((one for one in names if one.startswith("PERDURE_")), "")
    return f"{hit} decides how the agent and its sandbox work" if hit else ""
