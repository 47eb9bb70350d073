"""A line to the embedded server through its HTTP API: quick, for it needs nothing of Temporal's client."""

import asyncio
import base64
import http.client
import json
import time
from urllib.parse import quote, urlencode, urlsplit

from cli.line import SESSION_TYPE, AlreadyThere, Ended, Json, Late, Listed, NotThere, Refused, Silent, Start, as_listed

LIMIT_S = 10.0
_PAGE = 200
_STATUS = "WORKFLOW_EXECUTION_STATUS_"
_COMPLETED = "UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_COMPLETED"
_REJECT = "WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE"
_NO_WORKER = ("no poller", "context deadline exceeded", "query timed out")


class HttpLine:
    """A line to one server; `url` is such as `http://127.0.0.1:24001/api/v1`."""

    def __init__(self, url: str, namespace: str = "default") -> None:
        self._url = urlsplit(url)
        self._root = f"{self._url.path}/namespaces/{quote(namespace, safe='')}"

    async def start(self, start: Start) -> None:
        """Start it."""
        body: Json = {
            "workflowType": {"name": SESSION_TYPE},
            "taskQueue": {"name": start.queue},
            "input": [start.given],
            "requestId": start.request,
            "workflowIdReusePolicy": _REJECT,
            "memo": {"fields": start.memo},
        }
        if start.attributes:
            body["searchAttributes"] = {"indexedFields": start.attributes}
        await self._ask("POST", _workflow(start.workflow), body)

    async def update(self, workflow: str, name: str, request: str, given: Json, seconds: float) -> Json:
        """Have an update taken."""
        body = {
            "waitPolicy": {"lifecycleStage": _COMPLETED},
            "request": {"meta": {"updateId": request}, "input": {"name": name, "args": [given]}},
        }
        answer = await self._ask("POST", f"{_workflow(workflow)}/update/{name}", body, seconds)
        outcome = answer.get("outcome")
        if not outcome:
            raise Late(f"{name} was not taken yet")
        if "failure" in outcome:
            raise Refused(outcome["failure"].get("message", f"{name} was refused"))
        return _first(outcome.get("success"))

    async def query(self, workflow: str, name: str, seconds: float) -> Json:
        """Ask it."""
        answer = await self._ask("POST", f"{_workflow(workflow)}/query/{name}", {}, seconds)
        return _first(answer.get("queryResult"))

    async def describe(self, workflow: str) -> Listed:
        """Look at one."""
        answer = await self._ask("GET", _workflow(workflow))
        return _listed(answer["workflowExecutionInfo"])

    async def sessions(self, query: str, most: int) -> list[Listed]:
        """List them, page by page."""
        found: list[Listed] = []
        page = ""
        while len(found) < most:
            asked = {"query": query, "pageSize": min(_PAGE, most - len(found)), "nextPageToken": page}
            answer = await self._ask("GET", f"/workflows?{urlencode(asked)}")
            found += [_listed(run) for run in answer.get("executions", [])]
            page = answer.get("nextPageToken", "")
            if not page:
                break
        return found

    async def result(self, workflow: str, seconds: float) -> Json:
        """Wait for the newest run's last event, following each roll to the next run."""
        deadline = time.monotonic() + seconds
        run = ""
        while (left := deadline - time.monotonic()) > 0:
            event = await self._last_event(workflow, run, left)
            if rolled := event.get("workflowExecutionContinuedAsNewEventAttributes"):
                run = rolled["newExecutionRunId"]
            elif done := event.get("workflowExecutionCompletedEventAttributes"):
                return _first(done.get("result"))
            elif event:
                raise Refused(_why_ended(event))
        raise Late("it runs still")

    async def cancel(self, workflow: str, reason: str) -> None:
        """Ask for its end."""
        await self._ask("POST", f"{_workflow(workflow)}/cancel", {"reason": reason})

    async def attributes(self) -> frozenset[str]:
        """Ask the namespace."""
        answer = await self._ask("GET", "/search-attributes")
        return frozenset(answer.get("customAttributes", {}))

    async def _last_event(self, workflow: str, run: str, seconds: float) -> Json:
        asked = {"historyEventFilterType": "HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT", "waitNewEvent": "true"}
        if run:
            asked["execution.runId"] = run
        answer = await self._ask("GET", f"{_workflow(workflow)}/history?{urlencode(asked)}", None, seconds)
        events = answer.get("history", {}).get("events", [])
        return _first(events)

    async def _ask(self, method: str, path: str, body: Json | None = None, seconds: float = LIMIT_S) -> Json:
        status, answer = await asyncio.to_thread(self._exchange, method, path, body, seconds)
        if status == http.client.OK:
            return answer
        message = str(answer.get("message", f"HTTP {status}"))
        match status:
            case 404 if "already completed" in message:
                raise Ended(message)
            case 404:
                raise NotThere(message)
            case 409:
                raise AlreadyThere(message)
            case 400 if any(sign in message.lower() for sign in _NO_WORKER):
                raise Late(message)
            case 400:
                raise Refused(message)
            case 408 | 504:
                raise Late(message)
        raise Silent(message)

    def _exchange(self, method: str, path: str, body: Json | None, seconds: float) -> tuple[int, Json]:
        connection = http.client.HTTPConnection(self._url.netloc, timeout=seconds)
        try:
            sent = None if body is None else json.dumps(body)
            connection.request(method, f"{self._root}{path}", sent, {"Content-Type": "application/json"})
            response = connection.getresponse()
            answer = json.loads(response.read())
        except TimeoutError as error:
            raise Late(f"no answer within {seconds:.0f} s") from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise Silent(str(error) or type(error).__name__) from error
        finally:
            connection.close()
        if not isinstance(answer, dict):
            raise Silent("the answer is not one of Temporal's HTTP API")
        return response.status, answer


def _workflow(workflow: str) -> str:
    return f"/workflows/{quote(workflow, safe='')}"


def _first(payloads: object) -> Json:
    """The first of a list of payloads, as the API writes them for JSON content."""
    if isinstance(payloads, list) and payloads and isinstance(payloads[0], dict):
        return payloads[0]
    return {}


def _listed(info: Json) -> Listed:
    execution = info["execution"]
    fields = dict(info.get("memo", {}).get("fields", {}))
    for name, payload in info.get("searchAttributes", {}).get("indexedFields", {}).items():
        fields[name] = _decoded(payload)
    times = (info.get("startTime", ""), info.get("closeTime", ""))
    status = info.get("status", "").removeprefix(_STATUS)
    return as_listed(execution["workflowId"], execution["runId"], times, status, fields)


def _decoded(payload: object) -> object:
    if isinstance(payload, dict) and "data" in payload:
        return json.loads(base64.b64decode(payload["data"]))
    return payload


def _why_ended(event: Json) -> str:
    failed = event.get("workflowExecutionFailedEventAttributes", {}).get("failure", {})
    terminated = event.get("workflowExecutionTerminatedEventAttributes", {})
    word = event.get("eventType", "").removeprefix("EVENT_TYPE_WORKFLOW_EXECUTION_").lower().replace("_", " ")
    return _telling(failed) or " ".join(filter(None, (f"it was {word}", terminated.get("reason"))))


def _telling(failure: Json) -> str:
    """The message of the first failure that is the session's own: what stands around it only says where it was."""
    while "applicationFailureInfo" not in failure and isinstance(cause := failure.get("cause"), dict):
        failure = cause
    return str(failure.get("message", ""))
