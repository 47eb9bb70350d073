"""What `run --output-format text|json` prints at the end, and which exit code says the same."""

import json
from dataclasses import dataclass

from pydantic import JsonValue

from cli.display.cells import decided_by, one_line, safe
from workflows.contracts.errors import ExitCode, UserError, reason_of
from workflows.contracts.messages import Role, Text, ToolUse
from workflows.contracts.session import Totals, TurnEnd
from workflows.contracts.tools import CallStatus
from workflows.contracts.transcript import Entry, MessageBody, OutcomeBody

EXIT_CODES: dict[TurnEnd, int] = {
    TurnEnd.DONE: ExitCode.DONE,
    TurnEnd.EMPTY: ExitCode.FAILED,
    TurnEnd.FAILED: ExitCode.FAILED,
    TurnEnd.DENIED: ExitCode.DENIED,
    TurnEnd.HOOK: ExitCode.DENIED,
    TurnEnd.EXCHANGES: ExitCode.LIMIT,
    TurnEnd.BUDGET: ExitCode.BUDGET,
    TurnEnd.UNAUTHORIZED: ExitCode.KEY_REFUSED,
    TurnEnd.REFUSED: ExitCode.KEY_REFUSED,
    TurnEnd.UNREACHABLE: ExitCode.MODEL_UNREACHABLE,
    TurnEnd.OVERLOADED: ExitCode.MODEL_UNREACHABLE,
    TurnEnd.OUTPUT_CAP: ExitCode.FAILED,
    TurnEnd.TOO_LONG: ExitCode.FAILED,
    TurnEnd.INTERRUPTED: ExitCode.INTERRUPTED,
}
_SUBTYPES = {
    TurnEnd.DONE: "success",
    TurnEnd.EXCHANGES: "error_max_turns",
    TurnEnd.BUDGET: "error_max_budget_usd",
}
FAILED = "error_during_execution"
_SAID = {
    TurnEnd.EMPTY: "the model gave an empty answer",
    TurnEnd.DENIED: "a call was denied; allow it by a rule, a mode or an approval",
    TurnEnd.HOOK: "a hook ended the turn",
    TurnEnd.EXCHANGES: "the limit of exchanges was reached (--max-turns)",
    TurnEnd.BUDGET: "the budget was used up (--max-budget-usd)",
    TurnEnd.INTERRUPTED: "the turn was interrupted",
}

Json = dict[str, JsonValue]


def exit_code_of(end: TurnEnd) -> int:
    """The exit code that stands for this end of a turn."""
    return EXIT_CODES[end]


@dataclass(frozen=True)
class Outcome:
    """How one run of the command ended, whatever ended it."""

    session: str = ""
    reason: str = TurnEnd.FAILED
    """A TurnEnd value, or the reason of the UserError that ended it."""
    exit_code: int = ExitCode.FAILED
    text: str = ""
    """The agent's final text."""
    error: str = ""
    totals: Totals = Totals()  # noqa: RUF009  frozen
    seconds: float = 0
    stop: str = ""
    """Why the newest reply ended, in the provider's words."""
    denials: tuple[Json, ...] = ()


def outcome_of(session: str, end: TurnEnd, error: str, totals: Totals, seconds: float) -> Outcome:
    """The outcome of a turn that ended, its text and denials still to be read from the chain."""
    said = "" if end == TurnEnd.DONE else error or _SAID.get(end, f"the turn ended: {end}")
    return Outcome(session, end, exit_code_of(end), error=said, totals=totals, seconds=seconds)


def outcome_of_error(error: UserError, session: str = "", seconds: float = 0) -> Outcome:
    """The outcome of a command that an error of the person's ended."""
    return Outcome(session, reason_of(error), error.exit_code, error=str(error), seconds=seconds)


def result_object(outcome: Outcome) -> Json:
    """The one result object, the same fields for every ending."""
    usage = outcome.totals.usage
    is_success = outcome.reason == TurnEnd.DONE
    is_unknown = outcome.totals.unpriced > 0
    return {
        "type": "result",
        "subtype": next((name for end, name in _SUBTYPES.items() if end == outcome.reason), FAILED),
        "is_error": not is_success,
        "reason": outcome.reason,
        "exit_code": outcome.exit_code,
        **({"result": outcome.text} if is_success else {"error": outcome.error}),
        **({"partial_text": outcome.text} if outcome.text and not is_success else {}),
        "session_id": outcome.session,
        "num_turns": outcome.totals.exchanges,
        "duration_ms": round(outcome.seconds * 1000),
        "total_cost_usd": None if is_unknown else outcome.totals.cost / 1_000_000,
        **({"cost_unknown": True, "known_cost_usd": outcome.totals.cost / 1_000_000} if is_unknown else {}),
        **({"billed_unknown": outcome.totals.unknown} if outcome.totals.unknown else {}),
        "usage": {
            "input_tokens": usage.input,
            "output_tokens": usage.output,
            "cache_read_input_tokens": usage.cache_read,
            "cache_creation_input_tokens": usage.cache_write,
            **({"server_tool_use": {"web_search_requests": usage.searches}} if usage.searches else {}),
        },
        "permission_denial_count": max(outcome.totals.denials, len(outcome.denials)),
        "permission_denials": list(outcome.denials),
        "stop_reason": outcome.stop or None,
    }


def json_line(value: Json) -> str:
    """One line of ASCII: nothing in it can steer a terminal or break a reader."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def final_text(entries: list[Entry], turn: int = 0) -> str:
    """The text of the newest reply, of that turn if one is given."""
    for entry in reversed(entries):
        body = entry.body
        if isinstance(body, MessageBody) and body.role == Role.ASSISTANT and turn in {0, body.turn}:
            return "".join(block.text for block in body.blocks if isinstance(block, Text))
    return ""


def stop_of(entries: list[Entry]) -> str:
    """Why the newest reply ended."""
    replies = (entry.body for entry in reversed(entries) if isinstance(entry.body, MessageBody))
    return next((str(body.stop) for body in replies if body.role == Role.ASSISTANT and body.stop), "")


def denials_of(entries: list[Entry]) -> tuple[Json, ...]:
    """Every call that was refused, with who or what refused it."""
    uses: dict[tuple[int, int], ToolUse] = {}
    denied: list[Json] = []
    for entry in entries:
        match entry.body:
            case MessageBody(role=Role.ASSISTANT, blocks=blocks, exchange=exchange):
                asked = [block for block in blocks if isinstance(block, ToolUse)]
                uses |= {(exchange, place): use for place, use in enumerate(asked)}
            case OutcomeBody(status=CallStatus.DENIED) as outcome:
                denied.append(_denial(outcome, uses.get((outcome.exchange, outcome.place))))
            case _:
                continue
    return tuple(denied)


def _denial(outcome: OutcomeBody, use: ToolUse | None) -> Json:
    return {
        "tool_name": outcome.tool,
        "tool_use_id": outcome.call,
        "tool_input": dict(use.input) if use else {},
        "by": outcome.verdict.by,
        "rule": outcome.verdict.rule,
        "reason": outcome.verdict.text,
    }


_MOST_DENIALS = 10
"""Refused calls that are told one by one where a person reads; the JSON names all."""
_LONGEST_INPUT = 120
_SUBJECTS = ("command", "file_path", "notebook_path", "path", "pattern", "url", "query")


def _denied_line(denial: Json) -> str:
    """One refused call: what it was to do, and who or what refused it by which rule."""
    what = one_line(_subject(denial["tool_input"]))
    short = what if len(what) <= _LONGEST_INPUT else f"{what[:_LONGEST_INPUT]}…"
    why = f": {denial['reason']}" if denial["reason"] not in {"", f"rule {denial['rule']}"} else ""
    return "  " + one_line(
        f"{denial['tool_name']} {short} - by {decided_by(str(denial['by']), str(denial['rule']))}{why}"
    )


def _subject(given: JsonValue) -> str:
    """What a call was about: a command, a file, an address; else the first text of its input."""
    texts = {name: text for name, text in given.items() if isinstance(text, str)} if isinstance(given, dict) else {}
    named = [texts[name] for name in _SUBJECTS if name in texts]
    return next(iter([*named, *texts.values()]), "")


_SPOKEN = {TurnEnd.DONE, TurnEnd.DENIED, TurnEnd.EXCHANGES, TurnEnd.BUDGET}
"""Endings whose last words are worth printing: the agent went as far as it was let; the exit code tells the rest."""


def text_lines(outcome: Outcome) -> tuple[str, str]:
    """What `--output-format text` prints: on stdout, and on stderr."""
    denials = outcome.totals.denials
    said = [f"{denials} {'call was' if denials == 1 else 'calls were'} denied."] if denials else []
    said += [_denied_line(denial) for denial in outcome.denials[:_MOST_DENIALS]]
    said += [f"perdure: {outcome.reason}: {outcome.error}"] if outcome.reason != TurnEnd.DONE else []
    text = safe(outcome.text)
    if text and not text.endswith("\n"):
        text += "\n"
    return text if outcome.reason in _SPOKEN else "", "".join(f"{safe(line)}\n" for line in said)
