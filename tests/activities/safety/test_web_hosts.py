"""A web request goes to an address that was checked, and to nothing of this machine or its network."""

import json
from pathlib import Path

import pytest

from activities.safety.web_hosts import checked_addresses, host_of, web_target
from workflows.contracts.errors import ToolError


@pytest.mark.parametrize(
    ("url", "sent"),
    [
        ("http://example.com", "https://example.com/"),
        ("http://Example.COM.:80/a?b=1#c", "https://example.com/a?b=1"),
        ("https://example.com:8443/a", "https://example.com:8443/a"),
        ("http://example.com:8080/", "https://example.com:8080/"),
        ("http://bücher.example/", "https://xn--bcher-kva.example/"),
        ("https://[2606:4700::1111]/x", "https://[2606:4700::1111]/x"),
    ],
)
def test_a_public_page_is_asked_for_by_https(url: str, sent: str) -> None:
    assert web_target(url).url == sent


@pytest.mark.parametrize("private", ["localhost", "LOCALHOST:8000"])
def test_a_host_that_the_person_allows_is_asked_as_the_url_says(private: str) -> None:
    assert web_target("http://localhost:8000/a", (private,)).url == "http://localhost:8000/a"


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("ftp://example.com/", "begins with https"),
        ("file:///etc/passwd", "begins with https"),
        ("example.com", "begins with https"),
        ("https://me:secret@example.com/", "user name or password"),
        ("https://example.com/a b", "blanks"),
        ("https://example.com:99999/", "Port out of range"),
        ("https://exa\nmple.com/", "blanks"),
        ("https://example.com/" + "a" * 3_000, "longer"),
        ("https://[::1", "no URL"),
    ],
)
def test_what_is_no_url_of_a_page_is_told(url: str, why: str) -> None:
    with pytest.raises(ToolError, match=why) as told:
        web_target(url)
    assert "secret" not in str(told.value)
    assert host_of(url) == ""


@pytest.mark.parametrize(
    "host",
    [
        "localhost", "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0.0.0.0", "[::1]", "[::]",
        "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b::a00:1]", "[2002:7f00:1::]", "10.0.0.1", "172.16.5.5",
        "192.168.1.1", "100.64.0.1", "169.254.169.254", "[fd00:ec2::254]", "[fe80::1]", "224.0.0.1",
        "255.255.255.255", "198.18.0.1", "[2001:0:1:2:3:4:5:6]",
        "[::127.0.0.1]", "[::ffff:0:7f00:1]", "[64:ff9b:1::1]", "[fec0::1]",
    ],
)  # fmt: skip
async def test_an_address_that_is_not_of_the_public_web_is_refused(host: str) -> None:
    with pytest.raises(ToolError, match="is not fetched: it leads"):
        await checked_addresses(web_target(f"http://{host}/"))


async def test_a_public_address_is_taken_as_it_is() -> None:
    assert await checked_addresses(web_target("https://1.1.1.1/")) == ("1.1.1.1",)


async def test_a_name_that_is_none_is_told() -> None:
    with pytest.raises(ToolError, match="is not found"):
        await checked_addresses(web_target("https://no-such-host.invalid/"))


async def test_an_allowed_host_of_this_machine_is_reached_but_not_our_own_server(tmp_path: Path) -> None:
    engine = tmp_path / "engine.json"
    engine.write_text(json.dumps({"ports": {"grpc": 7233, "ui": 8233}}))
    allowed = ("localhost",)
    assert await checked_addresses(web_target("http://localhost:8000/", allowed), engine)
    with pytest.raises(ToolError, match="belongs to perdure itself"):
        await checked_addresses(web_target("http://localhost:8233/", allowed), engine)
