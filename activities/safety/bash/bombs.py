"""Validator 9: copies of itself without end, and what fills the disk."""

import re
from collections.abc import Iterator
from itertools import islice

from activities.safety.bash.caseless import Caseless
from activities.safety.bash.names import AWKS, INTERPRETERS, named
from activities.safety.bash.view import Act, View
from activities.safety.bash.writing import programs_of
from workflows.contracts.commands import Place, Reason
from workflows.contracts.permissions import Decision

_TEXT = "it would start copies of itself, or fill the disk, without end"
_DEFINES = re.compile(r"\(\s{0,9}\)\s{0,9}[{(]([^})]{0,400})")
_NAME_BEFORE = re.compile(r"([^\s(){};|&<>'\"$]{1,40})\s{0,9}$")
_FUNCTION = re.compile(r"function\s{1,9}([^\s(){};|&]{1,40})\s{0,9}(?:\(\s{0,9}\)\s{0,9})?[{(]([^})]{0,400})")
_ZERO = re.compile(r"\$\{?0\}?['\"]?\s{0,9}[|&]\s{0,9}['\"]?(?:\./)?\$\{?0|\$\{?0\}?['\"]?\s{0,9}&(?!&)")
_ENDLESS = re.compile(
    r"(?:while\s+(?:true|:|!\s*false|sleep\s|\[\s*1\s*\]|\(\(\s*1\s*\)\)|\[\[\s*1\s*\]\])|until\s+(?:false|!\s*(?:true|:))"
    r"|for\s*\(\(\s*;\s*;\s*\)\))"
)
_LOOPS = r"(?:while\s{0,9}\(?\s{0,9}(?:1|true|!0)\b|for\s{0,9}\(\s{0,9};;\s{0,9}\)|\bloop\s{0,9}(?:\{|do\b)|iter\(int)"
_FORKS = Caseless(
    r"(?:while|loop|for\s*\(;;\)|until|do\b|1\s*while)[\s\S]{0,80}(?:\b|_)fork\b|\bfork\b[^\n]{0,30}\bwhile\b"
    r"|fork[^\n]{0,20}fork|os\.fork\(\)[^\n]{0,40}(?:while|for)"
    rf"|{_LOOPS}[\s\S]{{0,120}}?(?:os\.fork|spawn|Popen|exec|Thread|\w+\(\s{{0,9}}['\"][^'\"\n]{{0,80}}&\s{{0,9}}['\"])"
)
_WRITES = Caseless(
    rf"{_LOOPS}[\s\S]{{0,200}}?(?:\.write|>{{1,2}}\s{{0,9}}['\"]|open\s{{0,9}}\(?[^)]{{0,80}}['\"][wa>]"
    r"|(?:write|append)\w{0,20}\(|file_put_contents|print\s[A-Z]\w*\s)"
)
_RESTS = re.compile(r"break|sleep\(|return|exit|last\b|accept|recv|input\(|readline")
_HUGE = re.compile(r"(?:^|[=cln])\d+[TPEZY]i?B?$")
"""A size of terabytes and more."""
_SOURCES = frozenset({"/dev/zero", "/dev/urandom", "/dev/random", "/dev/full"})
_STREAMS = named(
    "cat gcat pv tr base64 base32 od xxd hexdump gzip bzip2 xz zstd lz4 openssl cut fold tee cp rev strings buffer"
    " mbuffer tac nl fmt expand paste socat"
) | AWKS | {"sed"}  # fmt: skip


def resource_bomb(view: View) -> Iterator[Reason]:
    """Fork bombs and endless fills."""
    for one in view.texts:
        if _pipes_itself(one) and not _is_data(view, one):
            yield Reason("resource-bomb", Decision.DENY, _TEXT)
            return
    loops = any(map(_ENDLESS.search, view.texts))
    hits = (act for act in view.acts if _multiplies(act, loops=loops) or _fills(act))
    hit = next(_recursive(view), None) or next(hits, None)
    if hit:
        yield hit.finds("resource-bomb", Decision.DENY, _TEXT)


def _pipes_itself(text: str) -> bool:
    """Whether a function feeds or forks itself."""
    if _ZERO.search(text):
        return True
    bodies = [(found[1], found[2]) for found in islice(_FUNCTION.finditer(text), 50)]
    for found in islice(_DEFINES.finditer(text), 50):
        name = _NAME_BEFORE.search(text[max(0, found.start() - 50) : found.start()])
        if name:
            bodies.append((name[1], found[1]))
    return any(re.search(rf"(?<![\w.-]){re.escape(name)}\s{{0,9}}(?:[|]|&(?!&))", body) for name, body in bodies)


def _is_data(view: View, text: str) -> bool:
    """Whether a text is only printed or searched for."""
    if text == view.script.text:
        return not _pipes_itself(re.sub(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"", "''", text))
    return all(
        act.name in {"echo", "printf", "grep", "rg", "egrep", "fgrep", "git"} for act in view.acts if text in act.values
    ) and not (view.names & {"bash", "sh", "eval", "source", "."})


def _recursive(view: View) -> Iterator[Act]:
    for name in {act.values[0] for act in view.acts if act.values}.intersection(view.script.functions):
        inside = [act for act in view.acts if Place.FUNCTION in act.command.places and act.values[:1] == [name]]
        if len(inside) > 1 or (inside and "background" in view.script.features):
            yield inside[0]


def _multiplies(act: Act, *, loops: bool) -> bool:
    """Whether it starts programs, or grows a file, in a loop that never ends; `loops` says that there is one."""
    view = act.view
    if act.name in INTERPRETERS:
        programs = list(programs_of(act))
        if any(_FORKS.is_in(one) or (_WRITES.is_in(one) and not _RESTS.search(one)) for one in programs):
            return True
    # The grammar reads `! while …` as a command of that name.
    is_misread = bool({"while", "until", "do"} & view.names)
    if not is_misread and (Place.LOOP not in act.command.places or "while" not in view.script.features):
        return False
    if not loops:
        return False
    given = [one for one, _ in act.outputs if not one.is_harmless]
    # What stands behind `done` is given to all that the loop holds, its condition too.
    whole = act.name in {"true", ":"} and bool(given)
    grows = (whole or any(one.operator in {">>", "&>>"} for one in given)) and "sleep" not in view.names
    forks = {"background-in-loop", "background" if is_misread else ""} & view.script.features
    return grows or (bool(forks) and "wait" not in view.names)


def _fills(act: Act) -> bool:
    """Whether a stream without end goes into a file."""
    if act.name in {"cp", "gcp", "ditto", "install"}:
        return bool(_SOURCES & set(act.operands[:-1])) and act.operands[-1:] != ["/dev/null"]
    if act.name in {"tail", "tac", "sort", "shuf"} and _SOURCES & {*act.operands, *_read(act)}:
        # They keep what they read until it ends.
        return not any(map(_is_limited, act.upstream))
    if act.name in {"fallocate", "dd", "head"} and any(_HUGE.search(one) for one in act.arguments):
        return act.name == "fallocate" or bool(act.outputs) or any(one.startswith("of=") for one in act.values)
    outputs = [path for _, faces in act.outputs for path in faces]
    outputs += act.operands if act.name in {"tee", "sponge"} else []
    if act.name in {"dd", "dcfldd", "gdd"}:
        outputs += [one[3:] for one in act.values if one.startswith("of=")]
    if not any(path for path in outputs if path != "/dev/null" and not path.startswith("/dev/fd/")):
        return False
    sources = [act, *act.upstream]
    return any(map(_is_endless, sources)) and not any(map(_is_limited, sources))


def _is_endless(act: Act) -> bool:
    if act.name == "yes" or (act.name == "seq" and "inf" in act.operands[-1:]):
        return True
    if act.name in {"dd", "dcfldd", "gdd"}:
        given = {one[3:] for one in act.values if one.startswith("if=")}
    elif act.name in _STREAMS:
        given = set(act.operands)
    else:
        return False
    return bool(_SOURCES & {*given, *_read(act)})


def _read(act: Act) -> set[str]:
    return {path for _, faces in act.inputs for path in faces}


def _is_limited(act: Act) -> bool:
    given = act.arguments
    if any(one.name == "timeout" for one in act.command.wrappers) or act.name in {"head", "read", "timeout"}:
        return True
    match act.name:
        case "dd" | "dcfldd" | "gdd":
            return any(one.startswith(("count=", "--help")) for one in given)
        case "od" | "xxd" | "hexdump":
            return any(re.match(r"-[A-Za-z]*[Nnl]|--(?:read-bytes|length|len)", one) for one in given)
        case "sed":
            return any(re.search(r"\d+q|/q|\bq$", one) for one in given)
        case "grep":
            return any(re.match(r"-[A-Za-z]*m|--max-count", one) for one in given)
    return act.name in AWKS and any("exit" in one for one in given)
