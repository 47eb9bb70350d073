"""WebFetch shows a page as Markdown, follows nobody to another host, fetches no page twice in a quarter of an hour."""

import asyncio
import os
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from activities.model.client import AnthropicEndpoint
from activities.safety import web_pages
from activities.safety.web_hosts import WebTarget
from activities.safety.web_pages import Reach
from activities.stores.web_cache import SECONDS, WebCache, WebPage
from activities.tools.web_fetch import LONG, WebFetch
from activities.world import World
from tests.fakes.rig import played
from tests.fakes.web import Served, Site, site
from tests.fakes.world import make_call, make_world, text_of, use
from workflows.contracts.errors import ToolError
from workflows.contracts.settings import SessionSettings
from workflows.contracts.web import WebSettings

HTML = b"""<html><head><title>Title</title><style>p {}</style></head><body><nav><a href=/n>menu</a></nav>
<h1>Head</h1><p>Some <b>bold</b> <a href="../rel">words</a></p><script>alert(1)</script></body></html>"""


async def fetch(world: World, tmp_path: Path, url: str, **more: Any) -> Any:
    web = WebSettings(allow_private_hosts=more.pop("private", ("localhost",)), small_model=more.pop("small", ""))
    settings = SessionSettings(web=web, base_url=more.pop("base_url", ""))
    return await use(make_call(world, tmp_path / "work", "WebFetch", settings=settings), WebFetch(), url=url, **more)


async def test_a_page_is_shown_as_markdown_with_whole_links(world: World, tmp_path: Path) -> None:
    with site(a=Served(HTML)) as web:
        told = await fetch(world, tmp_path, web.url("/a#part"))
    text = text_of(told)
    assert "# Head" in text
    assert f"Some **bold** [words]({web.url('/rel')})" in text
    assert "alert" not in text
    assert "menu" not in text
    assert "never an instruction" in text
    assert (told.data["status"], told.data["url"]) == (200, web.url("/a"))
    assert web.paths() == ["/a"]


async def test_without_a_persons_word_nothing_of_this_machine_is_fetched(world: World, tmp_path: Path) -> None:
    with site(a=Served(HTML)) as web:
        for host in ("localhost", "127.0.0.1", "[::1]"):
            with pytest.raises(ToolError, match="is not fetched: it leads to this machine itself"):
                await fetch(world, tmp_path, web.url("/a", host), private=())
        assert web.asked == []


async def test_a_host_that_is_not_the_allowed_one_is_refused_also_from_the_cache(world: World, tmp_path: Path) -> None:
    with site(a=Served(HTML)) as web:
        await fetch(world, tmp_path, web.url("/a"))
        with pytest.raises(ToolError, match="is not fetched"):
            await fetch(world, tmp_path, web.url("/a"), private=())


async def test_a_redirect_on_the_same_host_is_followed(world: World, tmp_path: Path) -> None:
    with site(a=Served(status=302, location="/b?x=1"), b=Served(HTML)) as web:
        told = await fetch(world, tmp_path, web.url("/a"))
    assert told.data["url"] == web.url("/b?x=1")
    assert "# Head" in text_of(told)


@pytest.mark.parametrize("there", ["https://other.example/x", "//127.0.0.1:{port}/b", "http://localhost:1/b"])
async def test_a_redirect_to_another_host_is_told_and_not_followed(world: World, tmp_path: Path, there: str) -> None:
    with site(b=Served(HTML)) as web:
        web.pages["/a"] = Served(status=301, location=there.format(port=web.port))
        told = await fetch(world, tmp_path, web.url("/a"), private=("localhost", "127.0.0.1"))
    assert web.paths() == ["/a"]
    assert "which was not followed" in text_of(told)
    assert told.data["elsewhere"] in text_of(told)


async def test_a_redirect_to_another_host_that_is_no_public_one_is_refused_when_it_is_called(
    world: World, tmp_path: Path
) -> None:
    with site() as web:
        web.pages["/a"] = Served(status=302, location="http://169.254.169.254/latest/meta-data")
        told = await fetch(world, tmp_path, web.url("/a"))
        with pytest.raises(ToolError, match="link-local"):
            await fetch(world, tmp_path, str(told.data["elsewhere"]))


async def test_redirects_without_end_are_told(world: World, tmp_path: Path) -> None:
    with site(a=Served(status=302, location="/a")) as web:
        with pytest.raises(ToolError, match="more than 5 times"):
            await fetch(world, tmp_path, web.url("/a"))
        assert len(web.asked) == 6


async def test_a_name_is_looked_up_once_and_the_connection_goes_to_the_checked_address() -> None:
    with site(a=Served(status=302, location="/b"), b=Served(HTML)) as web:
        host = "moving.invalid"
        target = WebTarget(f"http://{host}:{web.port}/a", "http", host, web.port, "/a", is_private_allowed=True)
        page = await web_pages._followed(target, ("127.0.0.1",), Reach((host,)))
        assert page.url == f"http://{host}:{web.port}/b"
        assert [headers["host"] for _, headers in web.asked] == [f"{host}:{web.port}"] * 2


async def test_a_page_is_not_fetched_again_before_a_quarter_of_an_hour(world: World, tmp_path: Path) -> None:
    with site(a=Served(HTML)) as web:
        first = await fetch(world, tmp_path, web.url("/a"))
        assert await fetch(world, tmp_path, web.url("/a")) == first
        assert len(web.asked) == 1
        (kept,) = world.home.web.iterdir()
        old = kept.stat().st_mtime - SECONDS - 1
        os.utime(kept, (old, old))
        await fetch(world, tmp_path, web.url("/a"))
        assert len(web.asked) == 2


async def test_a_secret_of_a_page_is_kept_nowhere(world: World, tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2c3D4" * 4 + "e5F6"
    with site(a=Served(f"token = '{secret}'".encode(), "text/plain")) as web:
        told = await fetch(world, tmp_path, web.url("/a"))
    assert secret not in text_of(told)
    assert not any(secret.encode() in file.read_bytes() for file in world.home.web.iterdir())


@pytest.mark.journey
def test_the_cache_keeps_no_more_than_its_bounds(tmp_path: Path) -> None:
    cache = WebCache(tmp_path / "web")
    for number in range(9):
        cache.keep(f"p{number}", WebPage(url="u", status=200, media_type="", size=1, text="x" * 10_000_000))
    assert sum(file.stat().st_size for file in (tmp_path / "web").iterdir()) <= 64 * 1024 * 1024
    assert cache.find("p8") is not None
    assert cache.find("p0") is None


async def test_an_endless_page_is_cut_while_it_comes(world: World, tmp_path: Path) -> None:
    with site(a=Served(b"start ", "text/plain", endless=True)) as web:
        told = await asyncio.wait_for(fetch(world, tmp_path, web.url("/a")), 20)
        assert "cut after" in text_of(told)
        assert told.data["bytes"] == web_pages.MOST_BYTES
        assert web.sent < 6 * web_pages.MOST_BYTES


@pytest.mark.parametrize(
    ("body", "kind", "told"),
    [
        (b'{"a": 1}', "application/json", '{"a": 1}'),
        ("größe".encode("latin-1"), "text/plain; charset=ISO-8859-1", "größe"),
        ('<meta charset="windows-1252"><p>größe'.encode("latin-1"), "text/html", "größe"),
        ("<p>größe</p>".encode(), "text/html", "größe"),
        (b"plain words", "", "plain words"),
        (b"\x89PNG\r\n\x1a\n\0\0", "image/png", "It is image/png: not shown as text."),
        (b"%PDF-1.4", "application/pdf", "It is application/pdf: not shown as text."),
        (b"", "text/html", "nothing to read"),
        (b"<div>" * 50_000 + b"deep", "text/html", "200 , text/html"),
    ],
)
async def test_each_kind_of_answer_is_shown_or_named(
    world: World, tmp_path: Path, body: bytes, kind: str, told: str
) -> None:
    with site(a=Served(body, kind)) as web:
        text = text_of(await fetch(world, tmp_path, web.url("/a")))
    assert told.replace(" ,", ",") in text


async def test_an_error_of_the_server_is_told_as_one_and_not_kept(world: World, tmp_path: Path) -> None:
    with site() as web:
        told = await fetch(world, tmp_path, web.url("/missing"))
        await fetch(world, tmp_path, web.url("/missing"))
        assert len(web.asked) == 2
    assert told.is_error
    assert "404" in text_of(told)
    assert "nothing here" in text_of(told)


async def test_a_server_that_is_not_there_is_told(world: World, tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="cannot be fetched"):
        await fetch(world, tmp_path, "http://localhost:1/a")


def self_signed(folder: Path) -> ssl.SSLContext:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(1).not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    encoding, secret = serialization.Encoding.PEM, serialization.NoEncryption()
    (folder / "key").write_bytes(key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, secret))
    (folder / "cert").write_bytes(made.public_bytes(encoding))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert", folder / "key")
    return context


async def test_a_certificate_that_nobody_vouches_for_is_refused(world: World, tmp_path: Path) -> None:
    server = await asyncio.start_server(lambda _r, w: w.close(), "127.0.0.1", 0, ssl=self_signed(tmp_path))
    async with server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(ToolError, match=r"(?i)certificate"):
            await fetch(world, tmp_path, f"https://localhost:{port}/")


def long_page() -> Served:
    return Served(b"<p>" + b"many words " * (LONG // 8) + b"</p>")


async def asked(tmp_path: Path, web: Site, scenario: dict[str, Any], **more: Any) -> tuple[Any, list[Any]]:
    """A long page fetched with a prompt, and what the small model was asked."""
    async with played(scenario) as model:
        endpoint = AnthropicEndpoint({})
        world = make_world(tmp_path, model=endpoint)
        try:
            told = await fetch(
                world, tmp_path, web.url("/a"), prompt="how many?", base_url=model.url, **more
            )  # fmt: skip
        finally:
            await endpoint.close()
        return told, [request.body for request in model.requests]


async def test_a_prompt_about_a_long_page_is_answered_by_the_small_model_and_its_cost_is_told(tmp_path: Path) -> None:
    with site(a=long_page()) as web:
        told, bodies = await asked(tmp_path, web, {"fallback": "Very many."}, small="rehearsal-small")
    assert "Very many." in text_of(told)
    assert "many words many words" not in text_of(told)
    (body,) = bodies
    assert body["model"] == "rehearsal-small"
    assert "many words" in body["messages"][0]["content"][0]["text"]
    assert "tools" not in body
    assert told.data["asked"]["cost"] == told.cost > 0
    assert told.data["asked"]["usage"]["input"] > 1_000


async def test_without_a_small_model_the_page_itself_is_shown(tmp_path: Path) -> None:
    with site(a=long_page()) as web:
        told, bodies = await asked(tmp_path, web, {"fallback": "never"})
    assert bodies == []
    assert "many words many words" in text_of(told)


async def test_a_small_model_that_fails_leaves_the_page_and_a_note(tmp_path: Path) -> None:
    scenario = {"fallback": {"content": "x", "faults": [{"status": 529, "times": "always"}]}}
    with site(a=long_page()) as web:
        told, _ = await asked(tmp_path, web, scenario, small="rehearsal-small")
    assert "could not answer the prompt" in text_of(told)
    assert "many words many words" in text_of(told)
