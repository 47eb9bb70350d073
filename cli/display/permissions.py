"""Open questions to the person, and how to answer them."""

from collections.abc import Iterator

from pydantic import ValidationError

from cli.display.cells import fit, one_line, wrap
from cli.display.theme import Theme
from cli.watch import Question
from workflows.contracts.questions import Question as Asked
from workflows.contracts.questions import Questions

SHOWN_ROWS = 3


def question_rows(question: Question, session: str, width: int, theme: Theme) -> list[str]:
    """What the agent wants to do or to know, why it is asked, and what answers it."""
    if question.has_choices:
        rows = [row for line in choice_lines(question.content) for row in wrap(line, width)]
        answer = f"  a number chooses, o says something else, n declines; elsewhere: perdure answer {session}"
        return [theme.paint("ask", row) for row in [*rows, *wrap(f"{answer} {question.approval}", width)]]
    why = f" ({one_line(question.reason)})" if question.reason else ""
    wants = wrap(f"? {one_line(question.tool)} wants: {one_line(question.summary)}{why}", width)
    rows = wants[:SHOWN_ROWS]
    if len(wants) > SHOWN_ROWS:
        rows[-1] = fit(f"{rows[-1]}…", width)
    edits = ", a allows and accepts edits" if question.is_plan else ""
    if question.suggestions and not question.is_plan:
        edits = ", a allows it always"
        saves = f"  always saves: {', '.join(map(one_line, question.suggestions))}"
        rows += wrap(saves, width)
    answer = f"  y allows{edits}, n denies; elsewhere: perdure approve {session} {question.approval}"
    return [theme.paint("ask", row) for row in [*rows, *wrap(answer, width)]]


def questions_of(content: str) -> tuple[Asked, ...]:
    """The questions that an approval's content holds; none when it cannot be read."""
    try:
        return Questions.model_validate_json(content).questions
    except ValidationError:
        return ()


def choice_lines(content: str) -> Iterator[str]:
    """Each question with its numbered options, as lines that cannot steer a terminal."""
    asked = questions_of(content)
    if not asked:
        yield "? the questions cannot be shown here: perdure approvals shows them"
    for each in asked:
        header = f"[{one_line(each.header)}] " if each.header else ""
        yield f"? {header}{one_line(each.question)}{' (several may be chosen)' if each.several else ''}"
        for number, option in enumerate(each.options, 1):
            means = f": {one_line(option.description)}" if option.description else ""
            yield f"    {number}  {one_line(option.label)}{means}"
