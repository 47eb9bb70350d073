"""Open questions to the person, and how to answer them."""

from cli.display.cells import fit, one_line, wrap
from cli.display.theme import Theme
from cli.watch import Question

SHOWN_ROWS = 3


def question_rows(question: Question, session: str, width: int, theme: Theme) -> list[str]:
    """What the agent wants to do, why it is asked, and the command that answers."""
    why = f" ({one_line(question.reason)})" if question.reason else ""
    wants = wrap(f"? {one_line(question.tool)} wants: {one_line(question.summary)}{why}", width)
    rows = wants[:SHOWN_ROWS]
    if len(wants) > SHOWN_ROWS:
        rows[-1] = fit(f"{rows[-1]}…", width)
    answer = wrap(f"  y allows, n denies; elsewhere: perdure approve {session} {question.approval}", width)
    return [theme.paint("ask", row) for row in [*rows, *answer]]
