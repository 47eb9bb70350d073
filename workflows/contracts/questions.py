"""Questions: what the agent asks a person, as the person reads it; what of it the answer must choose from."""

from workflows.contracts.contract import Contract
from workflows.contracts.permissions import Choice, Chosen


class Option(Contract):
    """One thing to choose."""

    label: str
    description: str = ""


class Question(Contract):
    """One question."""

    question: str
    header: str = ""
    """One or two words for it."""
    options: tuple[Option, ...]
    several: bool = False
    """More than one option may be chosen."""

    def said(self, chosen: Chosen) -> str:
        """The answer in words."""
        labels = [self.options[number - 1].label for number in chosen.options]
        return ", ".join((*labels, f'"{chosen.text}"') if chosen.text else labels)


class Questions(Contract):
    """All questions of one call: what an approval's content holds."""

    questions: tuple[Question, ...]

    def choices(self) -> tuple[Choice, ...]:
        """What the session knows of them."""
        return tuple(Choice(options=len(each.options), several=each.several) for each in self.questions)
