"""AskUserQuestion: put a question to the person."""

from typing import Self

from pydantic import Field, model_validator

from activities.tool import Call, Tool, ToolInput
from workflows.contracts.errors import ToolError
from workflows.contracts.messages import Text
from workflows.contracts.permissions import Choice
from workflows.contracts.questions import Option, Question, Questions
from workflows.contracts.tools import Repeat, ToolOutcome


class OptionInput(ToolInput):
    label: str = Field(min_length=1, max_length=80, description="What the person chooses, in one to five words.")
    description: str = Field(default="", max_length=500, description="What choosing it means or leads to.")


class QuestionInput(ToolInput):
    question: str = Field(min_length=1, max_length=1_000, description="The whole question, ending in a question mark.")
    header: str = Field(default="", max_length=30, description="A very short label for it, such as: Database.")
    options: tuple[OptionInput, ...] = Field(
        min_length=2, max_length=4, description="What to choose from. Never add an Other: it is always there."
    )
    multiSelect: bool = Field(  # noqa: N815 - the field's name as models know it
        default=False, description="Whether several options may be chosen."
    )

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        labels = [option.label.strip().casefold() for option in self.options]
        if len(set(labels)) < len(labels):
            raise ValueError("two options have the same label")
        return self


class Input(ToolInput):
    questions: tuple[QuestionInput, ...] = Field(min_length=1, max_length=4, description="Asked together.")

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        asked = [each.question.strip() for each in self.questions]
        if len(set(asked)) < len(asked):
            raise ValueError("the same question is asked twice")
        return self


class AskUserQuestion(Tool[Input]):
    """Ask the person up to four questions, each with two to four options to choose from; they may always say
    something else instead. The call waits, however long, until they answer.

    - Ask where the answer changes what you do and you cannot find it out yourself: what they prefer, which of two
      readings they mean, what they know and the files do not tell.
    - Put the option that you recommend first and say so in its label. Say in each description what it leads to.
    - Ask for no permission to run a tool: the call itself does that. In plan mode ask for no approval of the plan:
      ExitPlanMode does that.
    - Where nobody attends the session, you get told at once: then decide yourself and say what you assumed.
    """

    name = "AskUserQuestion"
    input = Input
    needs_person = True
    is_read_only = True
    repeat = Repeat.SAFE
    timeout = 60

    def summary(self, given: Input) -> str:
        first, *more = given.questions
        return f"{' '.join(first.question.split())[:130]}{f' (and {len(more)} more)' if more else ''}"

    async def content(self, call: Call, given: Input) -> str:
        return _questions(given).model_dump_json()

    def choices(self, given: Input) -> tuple[Choice, ...]:
        return _questions(given).choices()

    async def run(self, call: Call, given: Input) -> ToolOutcome:
        asked, answer = _questions(given), call.answer
        if answer is None or len(answer.chosen) != len(asked.questions):
            raise ToolError("No answer of the person came with this call. Decide yourself and say what you assumed.")
        pairs = list(zip(asked.questions, answer.chosen, strict=True))
        lines = [f"- {question.question} {question.said(chosen)}" for question, chosen in pairs]
        return ToolOutcome(
            content=(Text(text="\n".join((f"The person ({answer.by or 'unnamed'}) answered:", *lines))),),
            data={"answers": {question.question: question.said(chosen) for question, chosen in pairs}},
        )


def _questions(given: Input) -> Questions:
    """The same as a person reads it."""
    return Questions(
        questions=tuple(
            Question(
                question=each.question,
                header=each.header,
                options=tuple(Option(label=one.label, description=one.description) for one in each.options),
                several=each.multiSelect,
            )
            for each in given.questions
        )
    )
