"""perdure answer: a person's answer to what a session's agent asks them."""

import asyncio
import sys
from typing import Annotated

import typer

from cli.commands.approvals import Question as Number
from cli.commands.approvals import chosen_of, found_session
from cli.commands.sessions import Session
from cli.display.cells import one_line
from cli.display.permissions import choice_lines, questions_of
from cli.person import check_person
from cli.reader import Reader
from cli.sessions import Sessions
from cli.signing import signed_answer
from worker.engine import Home
from workflows.contracts.errors import UsageError
from workflows.contracts.permissions import Approval, Chosen
from workflows.contracts.questions import Question

OTHER = "other"


def answer(
    session: Session,
    approval: Number = "",
    choose: Annotated[
        list[str] | None,
        typer.Option("--choose", "-c", help="Number or label of an option, or `other`; once for each question."),
    ] = None,
    text: Annotated[
        list[str] | None, typer.Option("--text", "-t", help="Your own words, where you chose `other`; at most 1 KB.")
    ] = None,
) -> None:
    """Answer what a session's agent asks you; signed, and for exactly what was shown."""
    check_person("perdure answer")
    name, questions, chosen = asyncio.run(_answered(session, approval, tuple(choose or ()), tuple(text or ())))
    for question, one in zip(questions, chosen, strict=True):
        print(f"Answered in {name}: {one_line(question.question)} {one_line(question.said(one))}")


async def _answered(
    word: str, number: str, choose: tuple[str, ...], text: tuple[str, ...]
) -> tuple[str, tuple[Question, ...], tuple[Chosen, ...]]:
    home = Home.from_environment()
    name, sessions, found = await found_session(home, word)
    (asked,) = chosen_of(name, tuple(one for one in found if one.choices) or found, number, everything=False)
    if not asked.choices:
        raise UsageError(f"Question {asked.id} of session {name} is a yes or no: perdure approve or perdure deny.")
    questions = questions_of(await Reader(home).text_of(asked.content))
    if len(questions) != len(asked.choices):
        raise UsageError(f"Question {asked.id} of session {name} cannot be read here; perdure deny {name} declines it.")
    chosen = _chosen(questions, choose, text) if choose or text else _dialogue(questions)
    await _send(sessions, home, name, asked, chosen)
    return name, questions, chosen


async def _send(sessions: Sessions, home: Home, name: str, asked: Approval, chosen: tuple[Chosen, ...]) -> None:
    await sessions.answer(name, signed_answer(home, name, asked, allow=True, chosen=chosen))


def _chosen(questions: tuple[Question, ...], choose: tuple[str, ...], text: tuple[str, ...]) -> tuple[Chosen, ...]:
    """The answers as the flags give them; UsageError when they do not fit the questions."""
    picks = choose or (OTHER,) * len(text)
    if len(picks) != len(questions):
        asked = f"There are {len(questions)} questions" if len(questions) > 1 else "There is 1 question"
        given = f"{len(picks)} answer{'s' if len(picks) > 1 else ''}"
        raise UsageError(f"{asked} and {given}: --choose once for each.")
    words = list(text)
    answers = tuple(_one(question, pick, words) for question, pick in zip(questions, picks, strict=True))
    if words:
        raise UsageError("There are more texts than `--choose other`: say --choose other for each of them.")
    return answers


def _one(question: Question, pick: str, words: list[str]) -> Chosen:
    if pick.strip().casefold() == OTHER:
        if not words:
            raise UsageError("`--choose other` takes your own words: add --text.")
        return Chosen(text=words.pop(0))
    labels = [option.label.strip().casefold() for option in question.options]
    whole = pick.strip().casefold()
    parts = [whole] if whole in labels else [part.strip() for part in whole.split(",") if part.strip()]
    numbers = []
    for part in parts:
        if part in labels:
            numbers.append(labels.index(part) + 1)
        elif part.isdecimal() and 1 <= int(part) <= len(labels):
            numbers.append(int(part))
        else:
            options = ", ".join(f"{n} {option.label}" for n, option in enumerate(question.options, 1))
            raise UsageError(f"{question.question} has no option {part!r}: choose of {options}, or other.")
    if len(numbers) > 1 and not question.several:
        raise UsageError(f"{question.question} takes one option, not {len(numbers)}.")
    return Chosen(options=tuple(sorted(set(numbers))))


def _dialogue(questions: tuple[Question, ...]) -> tuple[Chosen, ...]:
    """Ask in the terminal, one question after the other."""
    if not sys.stdin.isatty():
        each = f" for each of the {len(questions)} questions" if len(questions) > 1 else ""
        raise UsageError(f"What is the answer? Say --choose{each}, or --text.")
    answers = []
    for question in questions:
        for line in choice_lines(f'{{"questions": [{question.model_dump_json()}]}}'):
            print(line)
        answers.append(_asked(question))
    return tuple(answers)


def _asked(question: Question) -> Chosen:
    while True:
        said = typer.prompt("A number, or your own words").strip()
        try:
            return _one(question, said, [])
        except UsageError:
            if not all(part.strip().isdecimal() for part in said.split(",")):
                return Chosen(text=said)
            print(f"There are options 1 to {len(question.options)}.")
