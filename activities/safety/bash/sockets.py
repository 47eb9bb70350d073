"""Validators 6 and 13: hidden programs into an interpreter, and interpreters wired to a socket."""

import re
from collections.abc import Iterator
from itertools import islice

from activities.safety.bash.caseless import Caseless
from activities.safety.bash.names import DECODERS, INTERPRETERS, NETWORK, ROOT, STARTS_SHELL, family, is_shell, named
from activities.safety.bash.state import DECLARING
from activities.safety.bash.view import Act, View, is_unknown
from activities.safety.bash.writing import written
from workflows.contracts.commands import Place, Reason
from workflows.contracts.permissions import Decision

DENY = Decision.DENY

_SOCKET = re.compile(r"/dev/(?:tcp|udp)/")
_NETCATS = named("nc ncat netcat nc.openbsd nc.traditional socat telnet openssl pwncat rustcat websocat")
_TERMINALS = named("ttyd gotty wetty shellinaboxd shellinabox sshx upterm tmate teleconsole tty-share")
"""Programs that show a shell of this machine to whoever asks for it."""
_OPENS_SOCKET = Caseless(
    r"socket|fsockopen|stream_socket|TCPSocket|TCPServer|IO::Socket|Net::|net\.(?:connect|Socket|createServer"
    r"|createConnection)"
    r"|require\(['\"](?:node:)?net['\"]\)|/inet/(?:tcp|udp)|TcpClient|TCPClient|socketserver|asyncio\.open_connection"
    r"|Deno\.connect|Bun\.connect|luasocket|Socket\(|sockets\.tcp"
)
_STARTS = Caseless(
    r"\bexec|system|popen|spawn|dup2|\bpty\b|subprocess|/bin/\w*sh\b|\bsh\b|bash|child_process|proc_open"
    r"|shell_exec|passthru|cmd\.exe"
    r"|\biex\b|GetStream|Invoke-Expression|fdopen|getline|reopen|`|powershell|Process|execve|eval|os\.execute"
)
_DECODES = Caseless(
    r"b64decode|b32decode|b85decode|a85decode|unhexlify|fromhex|decompress|codecs|atob|base64|\bunpack\b|\bpack\b"
    r"|\bunpack1\b|MIME::Base64|gzinflate"
    r"|gzuncompress|\buncompress|\binflate|zlib|map\(chr|string\.char|frombase64|str_rot13|marshal|pickle|rot13|hex2bin|Buffer\.from|fromCharCode|chr\(|bytes\(\[|decode64"
)
_RUNS = re.compile(
    r"\bexec|\beval|system|popen|subprocess|spawn|compile\(|Function\(|instance_eval|\brun\(|__import__|assert\("
    r"|create_function|(?<![.\w])load(?:string)?\(|\biex\b|Invoke-Expression|\bsh\b|`|runpy",
)
_READS_DATA = named("m4 make gmake awk gawk mawk nawk")
"""Interpreters of which what they are given is data."""


def reverse_shell(view: View) -> Iterator[Reason]:
    """An interpreter whose input or output is a socket."""
    text = "it wires an interpreter to a socket: whoever is at the other end commands this machine"
    has_fifo = view.names & {"mkfifo", "mknod"}
    shells = [act for act in view.acts if is_shell(act.name)]
    if has_fifo and shells and view.names & NETWORK:
        yield shells[0].finds("reverse-shell", DENY, text)
        return
    for act in view.acts:
        if _is_wired(act, shells) or _executes(act) or _is_program(act):
            yield act.finds("reverse-shell", DENY, text)
            return


def _is_wired(act: Act, shells: list[Act]) -> bool:
    opens = any(_SOCKET.search(one.target.value) for one in act.command.redirections)
    if opens:
        later = [one for one in act.view.acts if one is not act]
        runs = any(
            is_shell(one.name) or one.name == "eval" or is_unknown(one.values[0] if one.values else "") for one in later
        )
        is_run = act.name == "eval" or is_unknown(act.values[0] if act.values else "")
        return is_shell(act.name) or is_run or (act.name == "exec" and runs)
    if any(_SOCKET.search(word.value) for word in act.command.words) and shells:
        return any(
            one is not act and (one in act.upstream or act in one.upstream or is_shell(act.name)) for one in shells
        )
    if act.name == "eval" or (act.values and is_unknown(act.values[0])):
        return any(map(_listens, act.sources))
    if is_shell(act.name) and (not act.operands or any(map(is_unknown, act.values))):
        fed = any(one.name == "coproc" for one in act.view.acts) or "coproc" in act.view.wrapped
        return any(map(_listens, act.sources)) or any(
            one.name in _NETCATS and (act in one.upstream or (fed and act.outputs)) for one in act.view.acts
        )
    return False


def _listens(act: Act) -> bool:
    """Whether what it reads or prints comes from a socket."""
    return act.name in _NETCATS or any(_SOCKET.search(one.target.value) for one, _ in act.inputs)


def _executes(act: Act) -> bool:
    if act.name in _TERMINALS:
        return not {"--version", "--help", "-h", "-V"} & set(act.arguments)
    if act.name == "ztcp":
        return any(is_shell(one.name) and one.outputs for one in act.view.acts)
    if act.name in {"telnetd", "in.telnetd", "utelnetd"}:
        return bool({"-l", "-E"} & set(act.arguments))
    if act.name not in _NETCATS:
        return act.name == "xterm" and any(re.search(r"\d+\.\d+\.\d+\.\d+:\d", one) for one in act.arguments)
    for at, one in enumerate(act.arguments):
        if re.fullmatch(r"-e/.*|-c/.*", one) and act.name not in {"openssl", "telnet"}:
            return True
        if re.fullmatch(r"-[a-zA-Z]*[ec]", one) and act.name not in {"openssl", "telnet"}:
            following = act.arguments[at + 1] if at + 1 < len(act.arguments) else ""
            if one.endswith("e") or not following.isdigit():
                return True
        if one.startswith(("--exec", "--sh-exec", "--lua-exec")) or re.search(
            r"(?:^|,|!!)(?:EXEC|SYSTEM|SHELL|CMD|SH-C)[:,]", one, re.IGNORECASE
        ):
            return True
    return False


def _is_program(act: Act) -> bool:
    if act.name not in INTERPRETERS and not is_shell(act.name):
        return False
    program = " ".join(act.arguments)
    texts = [one.target.value for one in act.command.redirections if one.is_heredoc]
    if act.name in INTERPRETERS | {"pwsh", "powershell"}:
        return any(_OPENS_SOCKET.is_in(one) and _STARTS.is_in(one) for one in (program, *texts))
    return False


def decoder_to_interpreter(view: View) -> Iterator[Reason]:
    """What was decoded, unpacked or put together reaches something that runs it; a remote script runs as root."""
    hidden = "its program is hidden: decoded or unpacked text goes straight into an interpreter"
    tainted, files = _tainted(view)
    fetched = _fetched(view) if view.names & NETWORK and view.names & ROOT | view.wrapped & ROOT else set[str]()
    for act in view.acts:
        if (
            (_reads_program(act) and act.name in {"xargs", "parallel"} and _has_decoder(act))
            or (_reads_program(act) and any(_decodes(one) or tainted & _variables(one) for one in act.upstream))
            or (_runs_words(act) and (_has_decoder(act) or tainted & _variables(act)))
            or (act.command.places[-1:] == (Place.RUN_BY,) and _is_given_decoded(act))
            or _is_hidden_program(act)
            or (files and _runs_file(act, files))
        ):
            yield act.finds("decoder-to-interpreter", DENY, hidden)
        elif _is_remote_root(act) or (fetched and act.is_root and _runs_file(act, fetched)):
            yield act.finds("decoder-to-interpreter", DENY, "a script from elsewhere would run as root, unseen")


def _variables(act: Act) -> set[str]:
    words = (*act.command.words, *(one.target for one in act.command.redirections))
    return {name for word in words for name in word.variables}


def _is_given_decoded(act: Act) -> bool:
    """Whether `find -exec sh -c "$(base64 -d p)"` gives a shell what was decoded."""
    is_given = is_shell(act.name) and any(map(is_unknown, act.values))
    return is_given and any(map(_has_decoder, islice(act.carriers, 1)))


def _reads_program(act: Act) -> bool:
    name = act.name
    if name in {"source", "."}:
        return bool(act.upstream)
    if name in {"xargs", "parallel"}:
        return any(is_shell(family(one.rsplit("/", 1)[-1])) or one == "eval" for one in act.arguments)
    if name in {"at", "batch", "crontab"}:
        return True
    if name in STARTS_SHELL:
        return set(act.operands) <= {"-"} or (
            name == "su" and not any(re.match("-c|--c", one) for one in act.arguments)
        )
    if not is_shell(name) and (name not in INTERPRETERS or name in _READS_DATA):
        return name == "read" and any(one.name == "eval" for one in act.view.acts)
    return not act.operands or act.operands[0] in {"-", "/dev/stdin"} or set(act.arguments) & {"-s"} != set()


def _runs_words(act: Act) -> bool:
    """Whether an argument, heredoc or here-string of it is a program."""
    if act.name in {"eval", "source", ".", "trap"} or is_shell(act.name):
        return True
    is_watched = any(one.name == "watch" for one in act.command.wrappers)
    return (
        act.name in INTERPRETERS - _READS_DATA
        or act.name in {"at", "batch", "crontab", "su", "ssh", "watch"}
        or is_watched
    )


def _has_decoder(act: Act) -> bool:
    """Whether a decoder stands in a substitution of its own words."""
    return any(
        _decodes(one)
        for one in act.below
        if any(place in one.command.places for place in (Place.SUBSTITUTION, Place.PROCESS_IN, Place.HEREDOC))
    ) and not (act.command.words and act.name in {"echo", "printf"})


def _decodes(act: Act) -> bool:
    """Whether it decodes or unpacks; asked of each command for each that reads from it."""
    if act.decodes is None:
        act.decodes = _is_decoder(act)
    return act.decodes


_BOTH_WAYS = named("base64 base32 gbase64 basenc gzip bzip2 xz zstd lz4 brotli gpg age lzma")
"""Programs that decode only where an option says so."""


def _is_decoder(act: Act) -> bool:  # noqa: PLR0911 - one case a program
    name, given = act.name, act.arguments
    letters = "".join(one[1:] for one in given if re.fullmatch(r"-[A-Za-z]+", one))
    match name:
        case _ if name in _BOTH_WAYS:
            return bool(set("dD") & set(letters)) or any(one.startswith(("--d", "--unc")) for one in given)
        case "openssl":
            return "-d" in given or "base64" in given or "-base64" in given or "enc" in given
        case "xxd":
            return "r" in letters or "-revert" in given
        case "printf" | "echo":
            source = act.command.words[1:]
            is_escaped = name == "printf" or "e" in letters
            return is_escaped and any(
                re.search(r"\\(?:x[0-9a-fA-F]|0?[0-7]{2,3}|u[0-9a-fA-F])", word.value) for word in source
            )
        case "iconv" | "od" | "hexdump" | "jq" | "yq" | "tac" | "openssl-enc" | "dd_rescue":
            return False
        case "tar" | "bsdtar":
            return (
                "O" in letters
                or "--to-stdout" in given
                or any(re.fullmatch(r"[xzvjJf]*O[xzvjJfO]*", one) for one in given[:1])
            )
        case "7z" | "unzip":
            return "-so" in given or "p" in letters
        case _ if name in INTERPRETERS:
            return any(_DECODES.is_in(one) for one in given)
    return name in DECODERS


def _tainted(view: View) -> tuple[set[str], set[str]]:
    """Variables and files that decoders fill."""
    variables, files = set[str](), set[str]()
    for act in view.acts:
        if act.command.assignments and not act.values and any(_decodes(one) for one in act.below):
            variables.update(one.name for one in act.command.assignments)
        if act.name in DECLARING and any(map(_decodes, act.below)):
            variables.update(one.partition("=")[0] for one in act.arguments)
        if act.name in {"read", "mapfile"} and any(_decodes(one) for one in (*act.upstream, *act.below)):
            variables.update(act.operands)
        if _decodes(act) or any(_decodes(one) for one in act.upstream):
            paths = [path for _, faces in act.outputs for path in faces if not path.startswith("/dev/")]
            paths += [path for one in written(act) for path in act.faces(one)]
            files.update(paths)
    return variables, files


def _runs_file(act: Act, files: set[str]) -> bool:
    if not act.values:
        return False
    if any(path in files for path in act.faces(act.values[0]) if "/" in act.values[0]):
        return True
    is_runner = (
        is_shell(act.name) or act.name in {"source", "."} or (act.name in INTERPRETERS and act.name not in _READS_DATA)
    )
    return is_runner and any(path in files for one in act.operands[:1] for path in act.faces(one))


_ENCODED = re.compile(r"-e(?:c|n\w*)?", re.IGNORECASE)
"""`-EncodedCommand`, as PowerShell lets it be shortened."""


def _is_hidden_program(act: Act) -> bool:
    if act.name in {"pwsh", "powershell"} and any(_ENCODED.fullmatch(one) for one in act.arguments[:-1]):
        return True
    if act.name not in INTERPRETERS | {"pwsh", "powershell"}:
        return False
    return any(_DECODES.is_in(one) and _RUNS.search(one) and re.search(r"[('\"]", one) for one in act.arguments)


def _is_remote_root(act: Act) -> bool:
    takes = act.name in STARTS_SHELL and (_reads_program(act) or act.name == "su")
    if not (is_shell(act.name) or act.name in INTERPRETERS or act.name in {"source", ".", "eval"} or takes):
        return False
    fetched = any(one.name in NETWORK for one in act.upstream) or any(
        one.name in NETWORK for one in act.below if one.command.places[-1:] != (Place.RUN_BY,)
    )
    return fetched and (act.is_root or (takes and act.name in ROOT))


def _fetched(view: View) -> set[str]:
    """Files that the text fetches from elsewhere."""
    found = set[str]()
    for act in view.acts:
        if act.name not in NETWORK:
            continue
        found.update(path for one in written(act) for path in act.faces(one))
        if act.name in {"wget", "wget2", "aria2c", "axel", "curl"}:
            names = [one.partition("?")[0].rsplit("/", 1)[-1] for one in act.operands if "/" in one]
            found.update(path for one in names if one for path in act.faces(one))
        if act.name in {"scp", "rsync", "sftp"}:
            found.update(path for one in act.operands[-1:] for path in act.faces(one))
    return found
