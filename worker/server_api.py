"""What the embedded server says of itself through its HTTP API; asked with the standard library, so it is quick."""

import http.client
import json
import socket
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from workflows.contracts.ids import ATTRIBUTES

NAMESPACE = "default"
RETENTION_DAYS = 90
DAY_S = 86_400


class ServerSilent(Exception):
    """No answer, or not one of Temporal's HTTP API."""


@dataclass(frozen=True, slots=True)
class Namespace:
    """How the namespace is set up on the running server."""

    retention_days: float
    search_attributes: frozenset[str]

    @property
    def keeps_long_enough(self) -> bool:
        """Whether closed runs stay as long as perdure promises; longer, by a person's wish, is fine."""
        return self.retention_days >= RETENTION_DAYS

    @property
    def is_searchable(self) -> bool:
        """Whether every search attribute of ours is known to the server."""
        return self.search_attributes >= ATTRIBUTES.keys()


def base_url(http_port: int) -> str:
    """Where the HTTP API answers, without a slash at the end."""
    return f"http://127.0.0.1:{http_port}/api/v1"


def is_serving(http_port: int, timeout_s: float = 2.0) -> bool:
    """Whether a Temporal server answers on that port."""
    try:
        return "serverVersion" in ask(http_port, "GET", "/system-info", timeout_s=timeout_s)
    except ServerSilent:
        return False


def read_namespace(http_port: int) -> Namespace:
    """The namespace as the server has it now; ServerSilent when it gives none."""
    return _namespace(ask(http_port, "GET", f"/namespaces/{NAMESPACE}"))


def set_retention(http_port: int, days: int = RETENTION_DAYS) -> Namespace:
    """Keep closed runs that long; gives the namespace as read back."""
    change = {"config": {"workflowExecutionRetentionTtl": f"{days * DAY_S}s"}}
    ask(http_port, "POST", f"/namespaces/{NAMESPACE}/update", change)
    return read_namespace(http_port)


def failing_sessions(http_port: int) -> tuple[str, ...]:
    """Ids of running workflows whose workflow tasks fail again and again, at most 20."""
    query = 'ExecutionStatus = "Running" AND TemporalReportedProblems IS NOT NULL'
    answer = ask(http_port, "GET", f"/namespaces/{NAMESPACE}/workflows?{urlencode({'query': query, 'pageSize': 20})}")
    return tuple(run["execution"]["workflowId"] for run in answer.get("executions", []))


def ask(
    http_port: int, method: str, path: str, body: object = None, timeout_s: float = 5.0
) -> dict[str, Any]:  # Any: JSON as the server gives it
    """One request to the HTTP API; ServerSilent when it is not answered with 200 and a JSON object."""
    connection = http.client.HTTPConnection("127.0.0.1", http_port, timeout=timeout_s)
    try:
        sent = None if body is None else json.dumps(body)
        connection.request(method, f"/api/v1{path}", sent, {"Content-Type": "application/json"})
        response = connection.getresponse()
        content = response.read()
        answer = json.loads(content)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise ServerSilent(f"no answer from port {http_port}: {error}") from error
    finally:
        connection.close()
    if response.status != http.client.OK or not isinstance(answer, dict):
        raise ServerSilent(f"{method} {path}: {response.status} {content[:200].decode(errors='replace')}")
    return answer


def is_free(port: int) -> bool:
    """Whether nobody listens on that port of loopback, by the rule that the server itself will meet."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
            probe.listen(1)
        except OSError:
            return False
    return True


def _namespace(answer: dict[str, Any]) -> Namespace:  # Any: as in ask
    try:
        config = answer["config"]
        seconds = float(config["workflowExecutionRetentionTtl"].removesuffix("s"))
        return Namespace(seconds / DAY_S, frozenset(config.get("customSearchAttributeAliases", {}).values()))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ServerSilent(f"no namespace in the answer: {error!r}") from error
