"""Validators 3 to 5: what cannot be read with certainty, and command words that say something else than they show."""

import re
from collections.abc import Iterator

from activities.safety.bash.names import named
from activities.safety.bash.raw import OVERRUN
from activities.safety.bash.view import Act, View
from workflows.contracts.commands import Place, Reach, Reason
from workflows.contracts.permissions import Decision

ASK = Decision.ASK

_FOREIGN = named(
    "noglob nocorrect zmodload emulate autoload print vared zparseopts zstyle zle bindkey compdef"
    " sched sysopen sysread syswrite sysseek ztcp zsocket zpty zselect zf_rm zf_mv zf_ln zf_mkdir zf_chmod zf_chown"
    " zf_rmdir zf_sync zformat whence where rehash setopt unsetopt foreach repeat end fpath limit unlimit chdir"
    " setenv funced begin switch"
)
_PATH_OF = re.compile(r"=[^\W\d]")
"""`=ls` is the path of ls to zsh."""


def parse_integrity(view: View) -> Iterator[Reason]:
    """What the grammar does not take, two readings of, other shells' syntax, too much of it."""
    script = view.script
    if OVERRUN in script.features:
        text = "it holds more, or nests deeper, than can be looked at"
        hint = "Split it into smaller commands."
        yield Reason("parse-integrity", Decision.DENY, text, kind="volume", hint=hint)
    elif script.problem:
        kind = "volume" if script.is_cut and script.is_parsed else "unparsable"
        yield Reason(
            "parse-integrity",
            ASK,
            script.problem,
            sticky=True,
            kind=kind,
            hint="Write it in plain bash, in smaller parts.",
        )
    for act in view.acts:
        foreign = act.values[0] if act.name in _FOREIGN else ""
        foreign = foreign or next((one.source for one in act.command.words if _PATH_OF.match(one.source)), "")
        if foreign:
            text = f"{foreign} is another shell's syntax"
            yield act.finds("parse-integrity", ASK, text, sticky=True, kind="unparsable")


def command_word(view: View) -> Iterator[Reason]:
    """Command words that are quoted, expanded, patterns or paths, and definitions that shadow a command."""
    for act in view.acts:
        word = act.command.words[0] if act.command.words else None
        if word is None or act.command.reach == Reach.DECODED or act.values[0] in {"[", "[[", "((", ":"}:
            continue
        whole = (act.command.whole or (word,))[0]
        if not word.is_plain or not whole.is_plain or word.has_glob:
            text = f"the command word {word.source or word.value!a} is not written plainly"
            yield act.finds(
                "command-word", ASK, text, sticky=True, kind="opaque_command", hint="Name the program plainly."
            )
        elif "/" in word.value or "/" in whole.value:
            yield act.finds("command-word", ASK, f"{word.value} is a program by its path", kind="interpreter")
    for name in view.script.functions:
        text = f"it defines {name}, which may stand for another command"
        yield Reason("command-word", ASK, text, sticky=True, kind="opaque_command")


def deobfuscate(view: View) -> Iterator[Reason]:
    """Commands that only decoding shows."""
    refused = {act.index for act, _ in view.refusals}
    hidden = [
        act
        for act in view.acts
        if act.command.reach == Reach.DECODED and any(one.index in refused for one in act.carriers)
    ]
    if hidden:
        text = f"only decoding shows that it runs {_shown(hidden[0])}"
        yield hidden[0].finds("deobfuscate", ASK, text, hint="Write the command itself.")
    for act in view.acts:
        is_run = act.command.reach == Reach.INNER and Place.RUN_BY in act.command.places[-1:]
        if is_run and next(act.carriers).name != "xargs":
            text = f"{next(act.carriers).name} runs another command: {_shown(act)}"
            yield act.finds("deobfuscate", ASK, text)
            return


def _shown(act: Act) -> str:
    return ascii(" ".join(act.values)[:80])
