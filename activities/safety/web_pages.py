"""Fetch one page of the web: from a checked address, with few redirects on the same host, cut while it comes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urldefrag, urljoin

from activities.model.roots import trusted_roots
from activities.safety.web_hosts import WebTarget, checked_addresses, web_target
from activities.stores.markdown import markdown_of, text_of_bytes
from activities.stores.web_cache import WebPage
from workflows.contracts.errors import ToolError
from workflows.contracts.messages import clean

if TYPE_CHECKING:
    import httpx2

MOST_BYTES = 10 * 1024 * 1024
REDIRECTS = 5
SECONDS = 60
CONNECT_SECONDS = 10.0
SILENT_SECONDS = 20.0

_AGENT = "perdure (an agent that fetches pages for a person)"
_HTML = frozenset({"text/html", "application/xhtml+xml"})
_TEXTS = frozenset({
    "application/json", "application/xml", "application/javascript", "application/x-javascript", "application/yaml",
    "application/x-yaml", "application/toml", "application/x-sh", "application/sql", "application/x-ndjson",
    "application/graphql", "application/rtf", "image/svg+xml",
})  # fmt: skip


@dataclass(frozen=True)
class Reach:
    """Which hosts may be reached beside those of the public web."""

    private: tuple[str, ...] = ()
    engine: Path | None = None
    """The file that tells the ports of perdure's own server."""


async def fetch_page(url: str, reach: Reach) -> WebPage:
    """What the URL gives. Raises ToolError for what cannot or may not be fetched."""
    target = web_target(url, reach.private)
    try:
        async with asyncio.timeout(SECONDS):
            addresses = await checked_addresses(target, reach.engine)
            return await _followed(target, addresses, reach)
    except TimeoutError:
        raise ToolError(f"{target.host} did not answer within {SECONDS} seconds.") from None


async def _followed(target: WebTarget, addresses: tuple[str, ...], reach: Reach) -> WebPage:
    for _ in range(REDIRECTS + 1):
        async with _answer(target, addresses) as response:
            if (there := _redirect(response, target)) is None:
                return await _page(response, target)
        onward = web_target(there, reach.private)
        if (onward.scheme, onward.host, onward.port) != (target.scheme, target.host, target.port):
            return WebPage(url=target.url, status=response.status_code, media_type="", size=0, elsewhere=onward.url)
        # The same host: its name is not looked up again, so nobody can move it in between.
        target = onward
    raise ToolError(f"{target.host} redirects more than {REDIRECTS} times. Nothing was shown.")


@asynccontextmanager
async def _answer(target: WebTarget, addresses: tuple[str, ...]) -> "AsyncIterator[httpx2.Response]":
    import httpx2

    limits = httpx2.Timeout(SILENT_SECONDS, connect=CONNECT_SECONDS)
    # No proxy of the environment: it would look the name up again, and go where it leads then.
    opened = httpx2.AsyncClient(trust_env=False, verify=trusted_roots(), timeout=limits, follow_redirects=False)
    async with opened as client:
        for place, address in enumerate(addresses):
            try:
                response = await client.send(_request(client, target, address), stream=True)
            except httpx2.ConnectError as error:
                if place + 1 < len(addresses):
                    continue
                raise _failed(target, error) from error
            except (httpx2.HTTPError, httpx2.StreamError) as error:
                raise _failed(target, error) from error
            try:
                yield response
            except (httpx2.HTTPError, httpx2.StreamError) as error:
                raise _failed(target, error) from error
            finally:
                await response.aclose()
            return


def _request(client: "httpx2.AsyncClient", target: WebTarget, address: str) -> "httpx2.Request":
    host = f"[{address}]" if ":" in address else address
    return client.build_request(
        "GET",
        f"{target.scheme}://{host}:{target.port}{target.path}",
        headers={
            "Host": target.authority,
            "User-Agent": _AGENT,
            "Accept": "text/markdown, text/html;q=0.9, text/plain;q=0.8, */*;q=0.5",
        },
        # The certificate must be the name's, whatever the address.
        extensions={"sni_hostname": target.host},
    )


def _failed(target: WebTarget, error: Exception) -> ToolError:
    why = clean(str(error))[:300] or type(error).__name__
    https = " Pages are fetched by https only." if target.scheme == "https" else ""
    return ToolError(f"{target.url[:300]} cannot be fetched: {why}.{https}")


def _redirect(response: "httpx2.Response", target: WebTarget) -> str | None:
    location = response.headers.get("location", "")
    if response.status_code not in {301, 302, 303, 307, 308} or not location:
        return None
    return urldefrag(urljoin(target.url, location)).url


async def _page(response: "httpx2.Response", target: WebTarget) -> WebPage:
    kind, charset = _kind(response.headers.get("content-type", ""))
    data, is_cut = await _taken(response)
    text = await asyncio.to_thread(_shown, data, kind, charset, target.url)
    return WebPage(
        url=target.url, status=response.status_code, media_type=kind, size=len(data), is_cut=is_cut, text=text
    )


async def _taken(response: "httpx2.Response") -> tuple[bytes, bool]:
    data = bytearray()
    async for piece in response.aiter_bytes():
        data += piece
        if len(data) > MOST_BYTES:
            return bytes(data[:MOST_BYTES]), True
    return bytes(data), False


def _kind(header: str) -> tuple[str, str]:
    """Media type and charset as the server says them."""
    kind, *parameters = header.split(";")
    named = dict(part.strip().lower().partition("=")[::2] for part in parameters)
    return kind.strip().lower(), named.get("charset", "").strip("\"' ")


def _shown(data: bytes, kind: str, charset: str, url: str) -> str:
    if kind in _HTML or (not kind and data.lstrip()[:1] == b"<"):
        try:
            return markdown_of(text_of_bytes(data, charset), url)
        except Exception as error:
            raise ToolError(f"{url[:300]} cannot be turned into Markdown: {clean(str(error))[:200]}.") from error
    is_text = kind.startswith("text/") or kind in _TEXTS or kind.endswith(("+json", "+xml"))
    if is_text or (not kind and b"\0" not in data[:4_096]):
        return clean(text_of_bytes(data, charset))
    return ""
