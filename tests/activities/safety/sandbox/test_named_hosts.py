"""What a command that was allowed by name is opened to: the hosts that it names to be reached, and no others."""

import pytest

from activities.safety.sandbox.named_hosts import hosts_to_open, still_closed
from workflows.contracts.permissions import Decision, Verdict

BY_PERSON = Verdict(decision=Decision.ALLOW, by="person", rule="root@vm")


@pytest.mark.parametrize(
    ("command", "hosts"),
    [
        ("curl http://a.example/x", ("a.example",)),
        ("curl -sSfL https://a.example/$NAME | jq .", ("a.example",)),
        ("wget -qO- https://A.example:443/x?y=https://b.example", ("a.example",)),
        ("curl a.example/x && curl -o file.txt b.example:8080", ("a.example", "b.example:8080")),
        ("git clone https://me@a.example/x.git", ("a.example",)),
        ("pip install git+https://a.example/x.git", ("a.example",)),
        ("sh -c 'curl https://a.example'", ("a.example",)),
        ("curl -H https://b.example -d c.example --referer https://d.example https://a.example", ("a.example",)),
        ("curl -x http://b.example:3128 https://a.example", ("a.example",)),
        ("curl https://a.example@b.example/", ("b.example",)),
        ("curl http://localhost:3000 http://x.localhost", ()),
        ("curl https://a.example$X https://$HOST/ $URL", ()),
        ("curl 'https://a.example\\@b.example/'", ()),
        ("curl https://*.example/ 'https://{a,b}.example/'", ()),
        ("echo https://a.example; python x.py https://b.example", ()),
        ("curl notes.txt -o", ("notes.txt",)),
        ("git push", ()),
        ("curl 'https://a.example", ()),
    ],
)
def test_hosts_are_those_that_a_program_of_the_network_is_told_to_reach(command: str, hosts: tuple[str, ...]) -> None:
    assert hosts_to_open(BY_PERSON, command) == hosts


@pytest.mark.parametrize(
    ("by", "rule", "is_open"),
    [
        ("person", "root@vm", True),
        ("rule", "Bash(curl *)", True),
        ("rule", "Bash(curl https://a.example/*)", True),
        ("rule", "Bash", False),
        ("rule", "Bash(*)", False),
        ("mode", "bypassPermissions", False),
        ("sandbox", "", False),
        ("hook", "guard.sh", False),
        ("classifier", "", False),
    ],
)
def test_only_a_persons_answer_or_a_rule_that_names_the_program_opens_them(by: str, rule: str, is_open: bool) -> None:
    verdict = Verdict(decision=Decision.ALLOW, by=by, rule=rule)
    assert hosts_to_open(verdict, "curl https://a.example") == (("a.example",) if is_open else ())


def test_nothing_is_opened_to_a_command_that_was_denied_or_of_which_nobody_decided() -> None:
    assert hosts_to_open(BY_PERSON.model_copy(update={"decision": Decision.DENY}), "curl https://a.example") == ()
    assert hosts_to_open(None, "curl https://a.example") == ()


def test_what_is_denied_open_anyhow_or_no_name_stays_as_it_is() -> None:
    named = ("open.example", "denied.example", "127.0.0.1:80", "10.0.0.1", "new.example", "new.example:8443")
    assert still_closed(named, ("open.example",), ("*.denied.example", "denied.example")) == (
        "new.example",
        "new.example:8443",
    )
