"""What a person chose for a session: flags and environment become settings, or a line that says what is wrong."""

import math
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from workflows.contracts.errors import UsageError
from workflows.contracts.permissions import Mode, Rules, Unattended
from workflows.contracts.settings import DEFAULT_MODEL, MODEL_ALIASES, SessionSettings, Thresholds
from workflows.core.permission_rules import parse
from workflows.core.settings_keys import MODE_ALIASES

REHEARSAL = "rehearsal:"
MOST_FALLBACKS = 3
MOST_STDIN_BYTES = 10_000_000


@dataclass(frozen=True)
class Choices:
    """The flags of `perdure run`, as they were typed."""

    model: str = ""
    fallback_model: str = ""
    permission_mode: str = ""
    allowed_tools: tuple[str, ...] = ()
    disallowed_tools: tuple[str, ...] = ()
    tools: str = ""
    max_turns: int = 0
    max_budget_usd: float = 0.0
    max_retries: int = 0
    system_prompt: str = ""
    append_system_prompt: str = ""
    idle_seconds: float = 0.0
    unattended: str = ""
    detach: bool = False
    is_print: bool = False
    no_sandbox: bool = False
    add_dirs: tuple[str, ...] = ()

    def scenario(self, environment: Mapping[str, str]) -> Path | None:
        """The scenario file that `--model rehearsal:FILE` names; UsageError when it is not there."""
        model = self.named_model(environment)
        if not model.startswith(REHEARSAL):
            return None
        path = Path(model.removeprefix(REHEARSAL)).expanduser()
        if not path.is_file():
            raise UsageError(f"There is no scenario file {path}: --model rehearsal:FILE needs one.")
        return path.absolute()

    def named_model(self, environment: Mapping[str, str]) -> str:
        """The model as flag or environment name it, else the default one."""
        named = (self.model, environment.get("PERDURE_MODEL"), environment.get("ANTHROPIC_MODEL"))
        name = next((name for name in named if name), DEFAULT_MODEL)
        return MODEL_ALIASES.get(name, name)

    def is_model_named(self, environment: Mapping[str, str]) -> bool:
        """Whether flag or environment name a model."""
        return bool(self.model or environment.get("PERDURE_MODEL") or environment.get("ANTHROPIC_MODEL"))

    def settings(self, environment: Mapping[str, str], base_url: str = "") -> SessionSettings:
        """The settings of the session; UsageError for a choice that cannot be."""
        model = "rehearsal" if base_url else self.named_model(environment)
        chosen = SessionSettings(
            model=model,
            mode=self.mode(),
            rules=Rules(
                allow=_rules("--allowed-tools", self.allowed_tools),
                deny=_rules("--disallowed-tools", self.disallowed_tools),
            ),
            unattended=self.unattended_kind(),
            tools=tuple(split_words([self.tools])),
            system_prompt=self.system_prompt,
            append_system_prompt=self.append_system_prompt,
            base_url=base_url,
            added_folders=tuple(folder_of(name, "--add-dir names one that is there") for name in self.add_dirs),
        )
        if self.idle_seconds < 0 or not math.isfinite(self.idle_seconds):
            raise UsageError("--idle-seconds is a number of seconds above 0.")
        return chosen.model_copy(update={"idle_seconds": self.idle_seconds}) if self.idle_seconds else chosen

    def thresholds(self) -> Thresholds:
        """The limits of the session; UsageError for one that cannot be."""
        for flag, value in (
            ("--max-turns", self.max_turns), ("--max-budget-usd", self.max_budget_usd),
            ("--max-retries", self.max_retries),
        ):  # fmt: skip
            if value < 0:
                raise UsageError(f"{flag} cannot be below 0.")
            if not math.isfinite(value):
                raise UsageError(f"{flag} is a number; leave it out for no limit.")
        fallbacks = tuple(split_words([self.fallback_model]))
        if len(fallbacks) > MOST_FALLBACKS:
            raise UsageError(f"--fallback-model takes at most {MOST_FALLBACKS} models; {len(fallbacks)} are named.")
        limits = Thresholds(
            exchanges_per_turn=self.max_turns,
            budget=round(self.max_budget_usd * 1_000_000),
            fallback_models=fallbacks,
        )
        return limits.model_copy(update={"model_attempts": self.max_retries}) if self.max_retries else limits

    def mode(self) -> Mode:
        """The standing permission setting."""
        if not self.permission_mode:
            return Mode.DEFAULT
        if found := mode_named(self.permission_mode):
            return found
        raise UsageError(f"There is no permission mode {self.permission_mode!r}: choose one of {', '.join(Mode)}.")

    def unattended_kind(self) -> Unattended:
        """What happens to a question: somebody attends unless `--detach`, `--print` or `--unattended` was said."""
        if self.unattended not in {"", "deny", "wait"}:
            raise UsageError("--unattended is deny or wait.")
        if self.unattended:
            return Unattended(self.unattended)
        return Unattended.DENY if self.detach or self.is_print else Unattended.NO

    def gives_rights(self) -> bool:
        """Whether the session may do more than one that was started without flags."""
        return bool(self.allowed_tools or self.add_dirs or self.no_sandbox) or self.mode() in {
            Mode.ACCEPT_EDITS,
            Mode.AUTO,
            Mode.BYPASS,
        }


def mode_named(text: str) -> Mode | None:
    """The mode that a person means, in any case and by its other names; None for none."""
    return next((one for one in Mode if one.lower() == text.lower()), MODE_ALIASES.get(text.lower()))


def split_words(texts: Iterable[str]) -> list[str]:
    """The items of comma- or blank-separated lists; a bracket keeps its blanks: `Bash(git *),Edit`."""
    return [word for text in texts for word in _split(text)]


def _split(text: str) -> Iterator[str]:
    """Items up to a comma or blank outside of brackets; an escaped letter is no bracket."""
    item, depth, before = "", 0, ""
    for letter in text:
        if not depth and (letter == "," or letter.isspace()):
            if item:
                yield item
            item = before = ""
            continue
        depth += _turn(letter) if before != "\\" else 0
        item, before = item + letter, "" if before == "\\" else letter
    if item:
        yield item


def _turn(letter: str) -> int:
    return {"(": 1, ")": -1}.get(letter, 0)


def _rules(flag: str, texts: tuple[str, ...]) -> tuple[str, ...]:
    words = split_words(texts)
    if wrong := next((word for word in words if parse(word) is None or not _is_closed(word)), ""):
        why = "is no rule" if _is_closed(wrong) else "is no rule, its brackets do not match"
        raise UsageError(f"{flag}: {wrong!r} {why}; write Tool or Tool(what), such as Edit or 'Bash(git status)'.")
    return tuple(words)


def _is_closed(word: str) -> bool:
    """Whether each bracket is closed, so that no second rule hides in the first."""
    plain = re.sub(r"\\.", "", word)
    return plain.count("(") == plain.count(")")


def folder_of(cwd: str, hint: str = "--cwd names the one to work in") -> str:
    """The folder that is meant, absolute; UsageError with the hint when it cannot be worked in."""
    try:
        folder = Path(cwd).expanduser().absolute() if cwd else Path.cwd()
        if not folder.is_dir():
            raise UsageError(f"There is no folder {folder}: {hint}.", reason="no_folder")
    except OSError as error:
        if not cwd and isinstance(error, FileNotFoundError):
            raise UsageError(
                "The folder that you are in is gone: change to one that is there.", reason="no_folder"
            ) from error
        raise UsageError(f"The folder {cwd or '.'} cannot be used: {error.strerror}.", reason="no_folder") from error
    if not os.access(folder, os.R_OK | os.X_OK):
        raise UsageError(f"The folder {folder} cannot be read: permission denied.", reason="no_folder")
    return str(folder.resolve())


def prompt_of(words: Iterable[str] | None) -> str:
    """The prompt from the arguments, or from standard input when there are none or `-`."""
    text = " ".join(words or ())
    if text != "-" and words:
        return _said(text)
    if text != "-" and sys.stdin.isatty():
        raise UsageError('What is to be done? perdure run "…", or give the prompt on standard input.')
    data = sys.stdin.buffer.read(MOST_STDIN_BYTES + 1)
    if len(data) > MOST_STDIN_BYTES:
        raise UsageError("The prompt is over 10 MB; put it into a file instead.")
    return _said(data.decode("utf-8", "replace"))


def _said(prompt: str) -> str:
    if not prompt.strip():
        raise UsageError("The prompt is empty: say what is to be done.")
    return prompt


def detached_notice(session: str, chosen: SessionSettings) -> str:
    """What is told of a session that nobody attends, before it runs."""
    if chosen.unattended == Unattended.WAIT:
        return f"Session {session} goes on without you; questions wait: `perdure approvals` lists them."
    if chosen.mode == Mode.BYPASS:
        return f"Session {session} goes on without you; mode bypassPermissions allows what no rule forbids."
    allowed = f", except {', '.join(chosen.rules.allow)}" if chosen.rules.allow else ""
    return (
        f"Session {session} goes on without you: what mode {chosen.mode} would ask you about is denied{allowed}. "
        "--permission-mode, --allowed-tools and --unattended wait change that."
    )
