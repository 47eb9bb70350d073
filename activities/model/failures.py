"""API error -> FailureKind: what a failed request means, in one line, and when to ask again."""

import random
import re
import ssl
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from workflows.contracts.errors import FailureKind, PerdureError, StepFailure

FIRST_DELAY = 0.5
LONGEST_DELAY = 32.0
LONGEST_WISH = 3600.0
"""Seconds that a provider may make a session wait at once: a wrong clock there must not stop it for days."""
JITTER = 0.25
MESSAGE_LENGTH = 1_000

_AGAIN = frozenset(
    {
        FailureKind.RATE_LIMITED,
        FailureKind.OVERLOADED,
        FailureKind.SERVER,
        FailureKind.TRANSPORT,
        FailureKind.STALLED,
    }
)
_BY_TYPE = {
    "rate_limit_error": FailureKind.RATE_LIMITED,
    "overloaded_error": FailureKind.OVERLOADED,
    "api_error": FailureKind.SERVER,
    "timeout_error": FailureKind.SERVER,
    "authentication_error": FailureKind.UNAUTHORIZED,
    "permission_error": FailureKind.UNAUTHORIZED,
    "not_found_error": FailureKind.UNKNOWN_MODEL,
    "request_too_large": FailureKind.TOO_LARGE,
}
_BY_STATUS = {
    401: FailureKind.UNAUTHORIZED,
    403: FailureKind.UNAUTHORIZED,
    408: FailureKind.SERVER,
    409: FailureKind.SERVER,
    413: FailureKind.TOO_LARGE,
    425: FailureKind.SERVER,
    429: FailureKind.RATE_LIMITED,
    529: FailureKind.OVERLOADED,
}
_NEVER_AGAIN = frozenset({501, 505})
_TOO_LONG = re.compile(
    r"prompt is too long|exceeds? (the )?(context|model'?s? context)|input length and `?max_tokens`? exceed"
    r"|context (length|window|limit)",
    re.IGNORECASE,
)
_MEDIA = re.compile(r"\b(image|images|pdf|pdfs|document|media_type|base64)\b", re.IGNORECASE)
_SPENT = re.compile(r"spend[_ ]limit|credit balance|billing", re.IGNORECASE)
_KEY = re.compile(r"\b(sk-ant-|Bearer\s+)[\w.+/=~-]{6,}")
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL|CUSTOM_HEADERS")


class ModelFailure(StepFailure):
    """A model call that gave no reply; crosses to the workflow as its kind."""

    def __init__(
        self, kind: FailureKind, message: str, retry_after: float | None = None, *, retryable: bool | None = None
    ) -> None:
        again = kind in _AGAIN if retryable is None else retryable
        super().__init__(kind, message[:MESSAGE_LENGTH], retry_after, retryable=again)


def masked(text: str, environment: Mapping[str, str]) -> str:
    """The same text without keys: neither those of the environment nor what looks like one."""
    secrets = (value for name, value in environment.items() if _SECRET_NAME.search(name.upper()) and len(value) >= 6)
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "***")
    return _KEY.sub(r"\1***", text)


def backoff(attempt: int) -> float:
    """Seconds to wait after that attempt (from 1): 0.5, doubled each time, at most 32, ± 25 %."""
    delay = min(LONGEST_DELAY, FIRST_DELAY * 2.0 ** min(attempt - 1, 16))
    return delay * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311 - spreads retries, guards nothing


def failure_of(error: BaseException) -> ModelFailure | None:
    """What an error of the SDK, its HTTP layer or the socket means; None for an error of ours."""
    if isinstance(error, PerdureError):
        return error if isinstance(error, ModelFailure) else None
    import anthropic
    import httpx2

    if isinstance(error, anthropic.APIStatusError):
        return _status_failure(error.status_code, error.body, dict(error.response.headers), str(error))
    if isinstance(error, anthropic.AnthropicError | httpx2.HTTPError | httpx2.StreamError | OSError | TimeoutError):
        return _transport_failure(error)
    if isinstance(error, httpx2.InvalidURL):
        return ModelFailure(
            FailureKind.BAD_REQUEST, f"the base URL cannot be used: {error}; correct ANTHROPIC_BASE_URL"
        )
    return None


def event_failure(event: Mapping[str, Any]) -> ModelFailure:  # Any: the provider's JSON
    """What an `error` event inside a stream means."""
    # The status said 200; the name of the error says what it is.
    return _status_failure(500, event, {}, "")


def _status_failure(
    status: int,
    body: object,
    headers: Mapping[str, str],
    text: str,
) -> ModelFailure:
    name, message = _told(body)
    kind = _kind(status, name, message or text)
    again = kind in _AGAIN and status not in _NEVER_AGAIN and not (status == 429 and _SPENT.search(f"{body}"))
    if (wish := headers.get("x-should-retry")) in {"true", "false"}:
        again = wish == "true"
    said = message or text or "no reason given"
    where = "" if message else f"answer {status}: "
    wait = retry_after(headers)
    if wait is not None and wait > LONGEST_WISH:
        said = f"{said[: MESSAGE_LENGTH // 2]} (it asks to wait {wait / 3600:.1f} h; tried again after an hour)"
        wait = LONGEST_WISH
    return ModelFailure(kind, f"{where}{said}", wait, retryable=again)


def _told(body: object) -> tuple[str, str]:
    """Name and sentence of the provider's error object, empty where it has none."""
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return "", ""
    return str(error.get("type") or ""), str(error.get("message") or "")


def _kind(status: int, name: str, message: str) -> FailureKind:
    if status == 400 or name in {"invalid_request_error", "billing_error"}:
        return _refusal(message)
    if status == 404 and name != "not_found_error":
        return FailureKind.BAD_REQUEST
    found = _BY_TYPE.get(name) or _BY_STATUS.get(status)
    if found is not None:
        return found
    return FailureKind.SERVER if status >= 500 else FailureKind.BAD_REQUEST


def _refusal(message: str) -> FailureKind:
    if _TOO_LONG.search(message):
        return FailureKind.TOO_LONG
    return FailureKind.BAD_MEDIA if _MEDIA.search(message) else FailureKind.BAD_REQUEST


def _transport_failure(error: BaseException) -> ModelFailure:
    chain = list(_causes(error))
    reasons = [f"{cause}" for cause in chain if f"{cause}" and f"{cause}" != "Connection error."]
    why = reasons[-1] if reasons else type(error).__name__
    request = getattr(error, "_request", None) or getattr(error, "request", None)
    host = f" at {request.url.host}" if request is not None and request.url.host else ""
    is_certificate = any(isinstance(cause, ssl.SSLCertVerificationError) for cause in chain)
    return ModelFailure(
        FailureKind.TRANSPORT,
        f"no connection to the model{host} ({why}): check the network, and ANTHROPIC_BASE_URL if it is set",
        retryable=not is_certificate,
    )


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    seen = 0
    while error is not None and seen < 10:
        yield error
        error, seen = error.__cause__ or error.__context__, seen + 1


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the server asks to wait; None when it does not say."""
    given = headers.get("retry-after-ms")
    if given is not None and (milliseconds := _number(given)) is not None:
        return milliseconds / 1000
    given = headers.get("retry-after")
    if given is None:
        return None
    if (seconds := _number(given)) is not None:
        return seconds
    try:
        return max(0.0, (parsedate_to_datetime(given) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return None


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None
