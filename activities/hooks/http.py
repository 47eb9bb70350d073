"""An http hook: the input is posted as JSON, the body of the answer is read like a command's output."""

import asyncio
import re
import time
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from activities.hooks.place import Ended, HookPlace, limit_of
from activities.hooks.protocol import Said
from activities.hooks.snapshot import kept_headers
from activities.model.roots import trusted_roots
from workflows.contracts.extensions import HookRule

MOST_ANSWER = 1024 * 1024
"""Bytes of an answer; more is no answer."""

_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")


class BadHeader(Exception):
    """A header that cannot be filled in."""


async def run_http_hook(place: HookPlace, rule: HookRule, given: bytes) -> Ended:
    """Post the input. What an attempt that died has posted is posted again, with the same `Idempotency-Key`."""
    crash = await asyncio.to_thread(place.mark, rule, "posted")
    began = time.monotonic()
    if urlsplit(rule.url).scheme not in {"http", "https"}:
        return Ended(failure="missing", text=f"{rule.url!r} is no http address", crash=crash)
    try:
        headers = filled(rule, place.variables(), kept_headers(place.world.home, place.session))
        async with asyncio.timeout(limit_of(rule)):
            status, body = await _posted(rule.url, headers | {"Idempotency-Key": place.key}, given)
    except TimeoutError:
        ended = Ended(failure="timeout", text="it did not answer within its time")
    except BadHeader as error:
        ended = Ended(failure="unsupported", text=str(error))
    except OSError as error:
        ended = Ended(failure="unreachable", text=f"it cannot be reached: {error}")
    else:
        ended = _ended(status, body)
    return Ended(ended.said, ended.failure, ended.text, ended.exit, round(time.monotonic() - began, 3), crash)


def filled(rule: HookRule, variables: Mapping[str, str], kept: Sequence[str] = ()) -> dict[str, str]:
    """The headers with their variables. Raises BadHeader for one that may not be named, is not set, or is not here."""

    def value(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        if name not in rule.allowed_env:
            raise BadHeader(f"a header names ${name}, which is not in its allowedEnvVars")
        if name not in variables:
            raise BadHeader(f"a header names ${name}, which is not set for hooks (keys of perdure's own never are)")
        return variables[name]

    if any(header.kept > len(kept) for header in rule.headers):
        raise BadHeader("the values of its headers are not on this host any more; start a new session")
    texts = {header.name: kept[header.kept - 1] if header.kept else header.value for header in rule.headers}
    return {name: _VARIABLE.sub(value, text) for name, text in texts.items()}


async def _posted(url: str, headers: dict[str, str], given: bytes) -> tuple[int, bytes]:
    """Status and body. Raises OSError for whatever the network did."""
    import httpx2

    client = httpx2.AsyncClient(
        timeout=None,  # the caller keeps the time
        follow_redirects=False,
        trust_env=False,
        verify=trusted_roots(),
    )
    try:
        async with (
            client,
            client.stream("POST", url, content=given, headers={"Content-Type": "application/json"} | headers) as answer,
        ):
            body = b""
            async for piece in answer.aiter_bytes():
                body += piece
                if len(body) > MOST_ANSWER:
                    break
            return answer.status_code, body
    except (httpx2.HTTPError, httpx2.InvalidURL, ValueError) as error:
        raise OSError(str(error) or type(error).__name__) from error


def _ended(status: int, body: bytes) -> Ended:
    if 300 <= status < 400:
        return Ended(failure="status", text=f"it answered {status}; a redirect is not followed", exit=status)
    if not 200 <= status < 300:
        return Ended(failure="status", text=f"it answered with status {status}", exit=status)
    if len(body) > MOST_ANSWER:
        return Ended(failure="too_much", text=f"it answered more than {MOST_ANSWER:,} bytes", exit=status)
    return Ended(said=Said(stdout=body.decode("utf-8", "replace")), exit=status)
