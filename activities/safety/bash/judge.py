"""What the static layers say of a command: 23 validators and the proof, the strictest wins."""

from collections.abc import Callable, Iterator

from activities.safety.bash import bombs, characters, destruction, effects, own, proof, secrets, shape, sockets, system
from activities.safety.bash.raw import OVERRUN
from activities.safety.bash.setting import Setting
from activities.safety.bash.syntax import parse
from activities.safety.bash.view import Row, View
from workflows.contracts.commands import Judgement, Reason, Script
from workflows.contracts.permissions import Decision


def _root_destruction(view: View) -> Iterator[Reason]:
    yield from destruction.root_destruction(view)
    yield from destruction.through_input(view)


def _by_cause(*causes: str) -> Callable[[View], Iterator[Reason]]:
    """The part of the proof that one validator answers for."""

    def check(view: View) -> Iterator[Reason]:
        for act, refusal in view.refusals:
            if refusal.cause in causes:
                yield act.finds(
                    _VALIDATOR[refusal.cause], Decision.ASK, refusal.text, kind=_KIND[refusal.cause], flag=refusal.flag
                )

    return check


_VALIDATOR = {
    "path": "path-scope",
    "secret": "secret-read",
    "redirection": "redirection",
    "flag": "write-flags",
    "program": "write-flags",
    "environment": "environment",
    "wrapper": "environment",
    "words": "dynamic-args",
    "substitution": "dynamic-args",
    "place": "dynamic-args",
}
_KIND = {
    "path": "outside_read",
    "secret": "secret_read",
    "redirection": "redirect_write",
    "flag": "write_flag",
    "program": "program",
    "environment": "shell_state",
    "wrapper": "wrapper",
    "words": "opaque_args",
    "substitution": "opaque_args",
    "place": "opaque_args",
}


def _dynamic(view: View) -> Iterator[Reason]:
    yield from _by_cause("words", "substitution", "place")(view)
    text = proof.script_refusal(view)
    if text and text != view.script.problem:
        yield Reason("dynamic-args", Decision.ASK, text, kind="opaque_args")


ROWS: tuple[Row, ...] = (
    Row("control-chars", characters.control_characters, "deny"),
    Row("invisible-chars", characters.invisible_characters, "ask*"),
    Row("parse-integrity", shape.parse_integrity, "ask*"),
    Row("command-word", shape.command_word, "ask*"),
    Row("deobfuscate", shape.deobfuscate, "ask"),
    Row("decoder-to-interpreter", sockets.decoder_to_interpreter, "deny"),
    Row("root-destruction", _root_destruction, "deny"),
    Row("device-write", destruction.device_write, "deny"),
    Row("resource-bomb", bombs.resource_bomb, "deny"),
    Row("system-state", system.system_state, "deny"),
    Row("privilege-takeover", system.privilege_takeover, "deny"),
    Row("self-protection", own.self_protection, "deny"),
    Row("reverse-shell", sockets.reverse_shell, "deny"),
    Row("secret-egress", secrets.secret_egress, "deny"),
    Row("secret-read", secrets.secret_read, "ask*"),
    Row("path-scope", _by_cause("path", "secret"), "ask"),
    Row("redirection", effects.redirection, "ask*"),
    Row("persistence", effects.persistence, "ask*"),
    Row("network", effects.network, "ask*"),
    Row("exec-flags", effects.exec_flags, "ask*"),
    Row("write-flags", _by_cause("flag", "program"), "ask"),
    Row("environment", _by_cause("environment", "wrapper", "redirection"), "ask"),
    Row("dynamic-args", _dynamic, "ask"),
)
"""The validators, in the order of the policy; all of them always run."""

_DENYING = tuple(row for row in ROWS if row.action == "deny" or row.id == "parse-integrity")
_FAULT = "fault"
_STRICTNESS = {Decision.DENY: 0, Decision.ASK: 1, Decision.ALLOW: 2}


def judge(text: str, setting: Setting | None = None) -> Judgement:
    """The verdict on a command and why; never raises. Allow means: proved to read only."""
    setting = setting or Setting()
    try:
        script = parse(text, setting.known())
    except Exception as error:  # noqa: BLE001 - what cannot be read is not run
        return _unread(text, error)
    view = View(script, setting)
    reasons: list[Reason] = []
    # More than can be looked at is refused whatever it asks for: only what else denies it is still worth telling.
    is_overrun = OVERRUN in script.features
    try:
        view.refusals = [] if is_overrun else list(proof.refusals(view))
    except Exception as error:  # noqa: BLE001 - the checks go on without the proof
        reasons.append(_fault("the proof", error))
    for row in _DENYING if is_overrun else ROWS:
        try:
            reasons.extend(row.check(view))
        except Exception as error:  # noqa: BLE001 - a fault in one check leaves the others
            reasons.append(_fault(row.id, error))
    refused = {act.index for act, _ in view.refusals}
    reasons = _ordered(reasons)
    verdict = reasons[0].action if reasons else Decision.ALLOW
    is_sound = verdict != Decision.DENY and not any(one.kind == _FAULT for one in reasons)
    proved = frozenset(range(len(script.commands))) - refused if is_sound else frozenset[int]()
    return Judgement(verdict, tuple(reasons), script, proved)


def _fault(where: str, error: Exception) -> Reason:
    """A fault of ours must not run a command unasked."""
    text = f"it could not be analysed by {where} ({type(error).__name__})"
    return Reason("parse-integrity", Decision.ASK, text, sticky=True, kind=_FAULT)


def _unread(text: str, error: Exception) -> Judgement:
    """No check has seen the command: it is refused."""
    told = f"it could not be analysed ({type(error).__name__})"
    reason = Reason("parse-integrity", Decision.DENY, told, kind=_FAULT, hint="Write it in another way.")
    return Judgement(Decision.DENY, (reason,), Script(text, problem=told))


def _ordered(reasons: list[Reason]) -> list[Reason]:
    seen: dict[tuple[str, str], Reason] = {}
    for reason in sorted(reasons, key=lambda one: (_STRICTNESS[one.action], not one.sticky)):
        seen.setdefault((reason.validator, reason.text), reason)
    return list(seen.values())
