"""Answering: single keys -> a person's answer to the oldest open question."""

from collections.abc import Callable
from dataclasses import dataclass, field

from cli.display.permissions import questions_of
from cli.watch.questionnaire import Questionnaire
from workflows.contracts.events import ApprovalAsked
from workflows.contracts.permissions import Chosen, Mode
from workflows.core.intake import PLAN_TOOL


@dataclass(frozen=True)
class Reply:
    """What the person answered."""

    approval: str
    allow: bool
    chosen: tuple[Chosen, ...] = ()
    mode: Mode | None = None
    always: tuple[str, ...] = ()
    """The rules that are to be saved, as the person saw them."""


@dataclass
class Answering:
    """The open questions of a watched session, oldest first, and the keys that answer them."""

    say: Callable[[str], None]
    """Tells the person what a key did, where the screen does not show it."""
    open: list[tuple[ApprovalAsked, Questionnaire | None]] = field(default_factory=list)

    def asked(self, event: ApprovalAsked) -> None:
        """One more question."""
        if all(event.approval != each.approval for each, _ in self.open):
            questions = questions_of(event.content) if event.choices else ()
            self.open.append((event, Questionnaire(questions) if questions else None))

    def answered(self, approval: str) -> None:
        """It was answered, here or elsewhere."""
        self.open = [each for each in self.open if each[0].approval != approval]

    def press(self, key: str) -> Reply | None:
        """Take one key; the whole answer once it is one."""
        if not self.open:
            return None
        event, questionnaire = self.open[0]
        is_typing = questionnaire is not None and questionnaire.words is not None
        if key in {"n", "N"} and not is_typing:
            return self._replied(Reply(event.approval, allow=False))
        if questionnaire is not None:
            if told := questionnaire.press(key):
                self.say(told)
            done = questionnaire.is_done
            return (
                self._replied(Reply(event.approval, allow=True, chosen=tuple(questionnaire.answers))) if done else None
            )
        if event.choices:
            return None
        if key in {"a", "A"} and event.tool == PLAN_TOOL:
            return self._replied(Reply(event.approval, allow=True, mode=Mode.ACCEPT_EDITS))
        if key in {"a", "A"} and event.suggestions:
            return self._replied(Reply(event.approval, allow=True, always=event.suggestions))
        return self._replied(Reply(event.approval, allow=True)) if key in {"y", "Y"} else None

    def _replied(self, reply: Reply) -> Reply:
        self.open.pop(0)
        return reply
