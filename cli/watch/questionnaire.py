"""Questionnaire: keys -> the answers to one call's questions, one after the other."""

from dataclasses import dataclass, field

from workflows.contracts.permissions import Chosen
from workflows.contracts.questions import Question

ENTER, BACK = ("\r", "\n"), ("\x7f", "\b")
MOST_LETTERS = 500


@dataclass
class Questionnaire:
    """The questions of one call, and what was answered so far."""

    questions: tuple[Question, ...]
    answers: list[Chosen] = field(default_factory=list)
    picked: list[int] = field(default_factory=list)
    """Options of the present question, where several may be chosen."""
    words: str | None = None
    """What is being typed instead; None while nothing is."""

    @property
    def is_done(self) -> bool:
        """Whether every question has its answer."""
        return len(self.answers) >= len(self.questions)

    def press(self, key: str) -> str:
        """Take one key; what the person is told of it, empty for nothing."""
        if self.is_done:
            return ""
        if self.words is not None:
            return self._typed(key)
        if key in {"o", "O"}:
            self.words = ""
            return "Type what you want to say; Enter ends it."
        question = self.questions[len(self.answers)]
        if key in ENTER:
            return self._answered(Chosen(options=tuple(sorted(self.picked)))) if self.picked else ""
        if not key.isdecimal() or not 1 <= int(key) <= len(question.options):
            return ""
        if not question.several:
            return self._answered(Chosen(options=(int(key),)))
        self.picked = (
            [*self.picked, int(key)] if int(key) not in self.picked else [n for n in self.picked if n != int(key)]
        )
        return f"Chosen: {question.said(Chosen(options=tuple(sorted(self.picked)))) or 'nothing'}. Enter confirms."

    def _typed(self, key: str) -> str:
        words = self.words or ""
        if key in ENTER:
            self.words = None
            return (
                self._answered(Chosen(options=tuple(sorted(self.picked)), text=words.strip())) if words.strip() else ""
            )
        if key in BACK:
            self.words = words[:-1]
        elif key.isprintable() and len(words) < MOST_LETTERS:
            self.words = words + key
        return ""

    def _answered(self, chosen: Chosen) -> str:
        question = self.questions[len(self.answers)]
        self.answers.append(chosen)
        self.picked = []
        more = "" if self.is_done else f" Next: {self.questions[len(self.answers)].question}"
        return f"{question.question} {question.said(chosen)}.{more}"
