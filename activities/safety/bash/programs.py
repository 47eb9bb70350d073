"""What a table of flags cannot say: programs with a language of their own, and operands that act."""

import re
from collections.abc import Callable
from itertools import pairwise

from activities.safety.bash.options import Form, Parsed
from activities.safety.bash.reader import Reader
from activities.safety.bash.secrets import is_secret_name
from activities.safety.bash.tables import FIND, FIND_ALONE

XARGS = Form(
    short=frozenset("0r"),
    valued=frozenset("ndIL"),
    long=frozenset({"null", "no-run-if-empty"}),
    long_valued=frozenset({"max-args", "delimiter", "max-lines", "replace"}),
    stops=True,
)

_SIGNS = ((re.escape(sign), "" if sign == "/" else r"\\") for sign in "/#,%|!:@")
_PATTERNS = "|".join(rf"{front}{sign}(?:[^{sign}\\\n]|\\.)*{sign}I?" for sign, front in _SIGNS)
_ADDRESS = rf"(?:\d+|\$|{_PATTERNS}|\d+~\d+|\+\d+)"
_PRINTS = re.compile(
    rf"\s*+(?:{_ADDRESS}(?:\s*+,\s*+{_ADDRESS})?\s*+!?\s*+)?p?\s*+(?:;\s*+(?:{_ADDRESS}(?:\s*+,\s*+{_ADDRESS})?\s*+!?\s*+)?p\s*+)*;?\s*+"
)
_AWK_ACTS = re.compile(
    r"system|\\\n|\||>|getline|@|ENVIRON|ARGV|ARGC|PROCINFO|SYMTAB|FUNCTAB|/inet|\bclose\b|extension|\bfflush\b"
    r"|\bwhile\s*\(\s*[1-9\"!]|\bfor\s*\([^;)]*;\s*[1-9]?\s*;"
)
_JQ_ACTS = re.compile(
    r"\benv\b|\$ENV|input_filename|\$__|get_search_list"
    r"|(?<!\.)\b(?:import|include|modulemeta|repeat|(?:while|until)\s*\(|infinite|input_line|halt|halt_error|debug\s*\()"
)
"""A field, `.include`, is none of the builtins."""
_COUNTS = re.compile(r"%[-+ #0'I]*(?:\*|\d+)?(?:\.(?:\*|\d*))?[hlLjzt]*n")
"""The conversion of printf that sets a variable."""
_PAGE = re.compile(r"[A-Za-z0-9_][\w.+:-]*")
_NUMBER = re.compile(r"-?\d{1,9}(?:\.\d{1,9})?")
_PAUSE = re.compile(r"(?:\d{1,2}|1[01]\d|120)?(?:\.\d+)?s?|[12]m|0\.\d+m")
"""At most two minutes: the time that a command has."""

Judged = tuple[str, list[str]]
"""Why it is refused, and the paths that it reads."""


def judged(name: str, reader: Reader, parsed: Parsed, operands: list[str]) -> str:  # noqa: PLR0911 - one case a program
    """Why operands or combinations of flags of a known reader are refused."""
    match reader.operands.removeprefix("!"):
        case "none" if operands:
            return f"{name} sets what {operands[0]} names"
        case "date" if any(not one.startswith("+") for one in operands):
            return "date sets the clock"
        case "ps" if _may_show_environments(parsed) or any(
            not re.fullmatch(r"[A-DF-Za-df-z0-9,]+", one) for one in operands
        ):
            return "ps may show environments, and secrets in them"
        case "man" if not operands or any(not _PAGE.fullmatch(one) for one in operands):
            return "man is given more than a section and a page"
        case "variable" if not operands or any(is_secret_name(one) for one in operands):
            return "the environment may hold a secret"
        case "sleep" if not all(_PAUSE.fullmatch(one) for one in operands):
            return "its pause has no known end"
        case "sed":
            return _sed(parsed, operands)
        case "awk":
            return _awk(operands)
        case "jq" if not operands or _JQ_ACTS.search(operands[0]):
            return "its filter reads the environment or other files"
    return _combined(name, parsed, operands)


_PS_LETTERS = re.compile(r"[acefghj-pr-xACFGHL-OS-VXZ]+")
"""Letters that ps knows without a dash."""


def _may_show_environments(parsed: Parsed) -> bool:
    """`ps -auxe`, `ps -ex`: what it does not take with a dash, ps reads again as if there were none."""
    picked = [value for name, value in parsed.options if name in {"-u", "-U", "-g", "-G", "-t", "-s", "-p"}]
    flags = {name[1:] for name, _ in parsed.options if not name.startswith("--")}
    if "e" in flags and (flags & {"x", "v"} or {"H", "T"} <= flags):
        return True
    return "e" in flags.union(*picked) and any(_PS_LETTERS.fullmatch(one) and one != "root" for one in picked)


def _combined(name: str, parsed: Parsed, operands: list[str]) -> str:  # noqa: PLR0911 - one case a program
    match name:
        case "unzip" if not parsed.has("-l"):
            return "unzip writes files"
        case "gzip" if not parsed.has("-l", "--list"):
            return "gzip changes files"
        case "seq" if not all(_NUMBER.fullmatch(one) for one in operands):
            return "its sequence has no known end"
        case "shuf" if parsed.has("-r", "--repeat") and not parsed.has("-n", "--head-count"):
            return "shuf -r does not end"
        case "printf" if operands and _COUNTS.search(operands[0].replace("%%", "")):
            return "printf %n sets a variable"
        case "command" if not parsed.has("-v", "-V"):
            return "command runs the rest"
        case "fd" | "fdfind" if any(one.startswith("-") for one in operands):
            return "fd is given a flag late"
        case "base64" | "xxd" if any(one.startswith("+") for one in operands):
            return f"{name} {operands[0]} is not known to read only"
        case "strings" if any(one.startswith("@") for one in (*operands, *(value for _, value in parsed.options))):
            return "strings takes more options from a file"
    return ""


def _sed(parsed: Parsed, operands: list[str]) -> str:
    scripts = [value for option, value in parsed.options if option in {"-e", "--expression"}] or operands[:1]
    if not parsed.has("-n", "--quiet", "--silent"):
        return "sed is proved with -n only"
    if len(scripts) != 1 or not scripts[0].strip() or not _PRINTS.fullmatch(scripts[0]) or "p" not in scripts[0][-3:]:
        return "its script does more than print lines"
    return ""


def _awk(operands: list[str]) -> str:
    if not operands or _AWK_ACTS.search(operands[0]):
        return "its program runs, writes or reads more than its lines"
    return ""


def _find(values: list[str]) -> Judged:
    at, roots, paths = 1, list[str](), list[str]()
    while at < len(values) and values[at] in {"-H", "-L", "-P"}:
        at += 1
    while at < len(values) and not re.match(r"-.|[(!]$", values[at]):
        roots.append(values[at])
        at += 1
    while at < len(values):
        one = values[at]
        if one in FIND and at + 1 < len(values):
            if one in {"-newer", "-anewer", "-cnewer", "-samefile"}:
                paths.append(values[at + 1])
            at += 2
        elif one in FIND_ALONE:
            at += 1
        else:
            return f"{one} of find is not known to read only", []
    return "", [*(roots or ["."]), *paths]


def _tar(values: list[str]) -> Judged:
    first = values[1] if len(values) > 1 else ""
    if not re.fullmatch(r"-?(?=[a-zA-Z]*t)[tvzjJ]+f", first) or len(values) < 3:
        return "tar is proved with -t and a file only", []
    if ":" in values[2] or any(one.startswith("-") for one in values[2:]):
        return f"{values[2]} of tar is not known to read only", []
    return "", [values[2]]


_OBJECTS = re.compile(
    r"a|ad|addr|address|l|li|link|r|ro|route|n|neigh|neighbour|rule|ru|maddress|maddr|tunnel|token|tcp_metrics"
    r"|mroute|vrf|ntable"
)


def _ip(values: list[str]) -> Judged:
    rest = values[1:]
    while rest and re.fullmatch(
        r"-(?:4|6|0|br|brief|c|color(?:=\w+)?|o|oneline|s|stats|d|details|h|human|j|json|p|pretty|t|timestamp|a0)",
        rest[0],
    ):
        rest = rest[1:]
    if rest in (["-V"], ["-Version"], ["help"]):
        return "", []
    if not rest or not _OBJECTS.fullmatch(rest[0]):
        return "ip is proved for showing only", []
    # `ip link s` is set, `ip addr s` is show.
    shows = {"show", "list", "ls", "lst", "sh", *(["s"] if rest[0].startswith("a") else [])}
    if len(rest) > 1 and rest[1] not in shows:
        return f"ip {rest[1]} is not known to read only", []
    return ("ip is proved for showing only", []) if any(one.startswith("-") for one in rest) else ("", [])


def _test(values: list[str]) -> Judged:
    inside = values[1:]
    if values[0] == "[" and (not inside or inside[-1] != "]"):
        return "[ is never closed", []
    inside = inside[:-1] if values[0] == "[" else inside
    if any(one in {"-v", "-R"} for one in inside):
        return "-v and -R evaluate names", []
    if values[0] == "[[":
        numeric = {"-eq", "-ne", "-lt", "-le", "-gt", "-ge"}
        for at, one in enumerate(inside):
            if one in numeric and not all(re.fullmatch(r"-?\d+", side) for side in inside[max(at - 1, 0) : at + 2 : 2]):
                return "arithmetic evaluates names", []
    files = [after for one, after in pairwise(inside) if re.fullmatch(r"-[a-hkprsuwxLNOGS]|-nt|-ot|-ef", one)]
    return "", files + [one for one, after in pairwise(inside) if after in {"-nt", "-ot", "-ef"}]


SPECIAL: dict[str, Callable[[list[str]], Judged]] = {
    "find": _find,
    "gfind": _find,
    "tar": _tar,
    "ip": _ip,
    "test": _test,
    "[": _test,
    "[[": _test,
}
