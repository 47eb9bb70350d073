"""Keys answer the oldest question that is open, each by what it takes."""

from cli.commands.answering import Answering, Reply
from workflows.contracts.events import ApprovalAsked
from workflows.contracts.permissions import Choice, Chosen, Mode
from workflows.contracts.questions import Option, Question, Questions

ASKED = Questions(questions=(Question(question="Which?", options=(Option(label="red"), Option(label="blue"))),))
COMMAND = ApprovalAsked(place=0, tool="Bash", approval="1.0", summary="make")
QUESTION = ApprovalAsked(
    place=1, tool="AskUserQuestion", approval="1.1", summary="Which?", content=ASKED.model_dump_json(),
    choices=(Choice(options=2),),
)  # fmt: skip
PLAN = ApprovalAsked(place=0, tool="ExitPlanMode", approval="2.0", summary="carry out this plan", content="1. do it")


def answering(*events: ApprovalAsked) -> Answering:
    made = Answering(lambda _text: None)
    for event in events:
        made.asked(event)
    return made


def test_y_and_n_answer_the_oldest_question() -> None:
    open_ones = answering(COMMAND, PLAN)
    assert open_ones.press("x") is None
    assert open_ones.press("y") == Reply("1.0", allow=True)
    assert open_ones.press("n") == Reply("2.0", allow=False)
    assert open_ones.press("y") is None


def test_a_number_chooses_and_y_says_nothing_where_options_are_offered() -> None:
    open_ones = answering(QUESTION)
    assert open_ones.press("y") is None
    assert open_ones.press("2") == Reply("1.1", allow=True, chosen=(Chosen(options=(2,)),))


def test_an_n_inside_own_words_declines_nothing() -> None:
    open_ones = answering(QUESTION)
    replies = [open_ones.press(key) for key in "onone\r"]
    assert replies == [None] * 5 + [Reply("1.1", allow=True, chosen=(Chosen(text="none"),))]


def test_a_accepts_edits_with_a_plan_and_nothing_with_anything_else() -> None:
    assert answering(PLAN).press("a") == Reply("2.0", allow=True, mode=Mode.ACCEPT_EDITS)
    assert answering(COMMAND).press("a") is None


def test_a_question_about_hosts_has_something_to_show_and_is_no_plan() -> None:
    offered = ("sandbox.network.allowedDomains far.example",)
    hosts = COMMAND.model_copy(update={"approval": "1.0.hosts", "content": "  far.example", "suggestions": offered})
    assert answering(hosts).press("a") == Reply("1.0.hosts", allow=True, always=offered)
    assert answering(hosts.model_copy(update={"suggestions": ()})).press("a") is None


def test_questions_that_cannot_be_read_can_only_be_declined_here() -> None:
    open_ones = answering(QUESTION.model_copy(update={"content": "{}x"}))
    assert [open_ones.press(key) for key in "1y"] == [None, None]
    assert open_ones.press("n") == Reply("1.1", allow=False)


def test_a_question_answered_elsewhere_is_answered_here_no_more() -> None:
    open_ones = answering(COMMAND)
    open_ones.asked(COMMAND)
    open_ones.answered("1.0")
    assert open_ones.press("y") is None


def test_a_allows_for_ever_where_it_was_shown_which_rules_that_saves() -> None:
    rules = ("Bash(make)", "Bash(make test)")
    offered = COMMAND.model_copy(update={"suggestions": rules})
    assert answering(offered).press("a") == Reply("1.0", allow=True, always=rules)
    assert answering(offered).press("y") == Reply("1.0", allow=True)
