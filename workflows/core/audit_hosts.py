"""What an audit tells and checks of hosts that a command was refused."""

from pydantic import JsonValue

from workflows.contracts.ids import call_id, hosts_question
from workflows.contracts.permissions import RefusedHosts
from workflows.contracts.transcript import OutcomeBody
from workflows.core.refused_hosts import hosts_digest


def facts_of(hosts: RefusedHosts | None, signature: str) -> dict[str, JsonValue]:
    """The facts of a step; `signature` says how that of the person's answer stands."""
    if hosts is None:
        return {}
    answer = hosts.answer
    return {
        "refused": [*hosts.refused],
        "asked": [*hosts.asked],
        "opened": [*hosts.opened],
        "by": hosts.verdict.by,
        "rule": hosts.verdict.rule,
        "signer": answer.by if answer else "",
        "signature": signature,
    }


def is_for_these(session: str, bound: str, body: OutcomeBody) -> bool:
    """Whether the answer about hosts was given for just these, and this call; `bound` is the digest of its input."""
    hosts = body.hosts
    if hosts is None or hosts.answer is None:
        return True
    digest = hosts_digest(session, call_id(body.exchange, body.place), bound, hosts.asked)
    expected = (hosts_question(body.exchange, body.place), digest)
    return (hosts.answer.approval, hosts.answer.digest) == expected
