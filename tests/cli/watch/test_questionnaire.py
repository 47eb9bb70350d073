"""Keys answer questions one after the other."""

from cli.watch.questionnaire import Questionnaire
from workflows.contracts.permissions import Chosen
from workflows.contracts.questions import Option, Question

ONE = Question(question="Which?", options=(Option(label="red"), Option(label="blue")))
SEVERAL = Question(
    question="What for?", options=(Option(label="a"), Option(label="b"), Option(label="c")), several=True
)


def pressed(keys: str, *questions: Question) -> tuple[Questionnaire, str]:
    asked = Questionnaire(questions)
    told = [asked.press(key) for key in keys]
    return asked, told[-1]


def test_a_number_answers_a_question_that_takes_one_option() -> None:
    asked, told = pressed("2", ONE)
    assert (asked.is_done, asked.answers) == (True, [Chosen(options=(2,))])
    assert told == "Which? blue."


def test_numbers_pick_and_unpick_until_enter_where_several_may_be_chosen() -> None:
    asked, told = pressed("3122", SEVERAL)
    assert (asked.is_done, told) == (False, "Chosen: a, c. Enter confirms.")
    asked.press("\r")
    assert asked.answers == [Chosen(options=(1, 3))]


def test_enter_alone_and_a_number_that_is_no_option_answer_nothing() -> None:
    assert pressed("\r07x", ONE)[0].answers == []


def test_own_words_end_with_enter_and_can_be_mended() -> None:
    asked, told = pressed("ogrexy\x7f\x7fen 1\r", ONE)
    assert asked.answers == [Chosen(text="green 1")]
    assert told == 'Which? "green 1".'


def test_the_next_question_is_told_and_all_must_be_answered() -> None:
    asked, told = pressed("1", ONE, SEVERAL)
    assert (asked.is_done, told) == (False, "Which? red. Next: What for?")
    for key in "2\n":
        asked.press(key)
    assert asked.answers == [Chosen(options=(1,)), Chosen(options=(2,))]
