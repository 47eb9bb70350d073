"""Which host may be reached."""

import pytest

from activities.safety.sandbox.domains import address_refusal, is_named_with_port, refusal

ALLOWED = ("pypi.org", "*.example.com", "registry.lan:8443", "localhost:5000")


@pytest.mark.parametrize(
    ("host", "port"),
    [("pypi.org", 443), ("PyPI.org.", 80), ("a.b.example.com", 443), ("registry.lan", 8443), ("localhost", 5000)],
)
def test_a_listed_host_may_be_reached(host: str, port: int) -> None:
    assert refusal(host, port, ALLOWED, ()) == ""


@pytest.mark.parametrize(
    ("host", "port", "why"),
    [
        ("example.com", 443, "not on the list"),
        ("notexample.com", 443, "not on the list"),
        ("pypi.org.evil.net", 443, "not on the list"),
        ("pypi.org", 22, "not on port 22"),
        ("registry.lan", 443, "not on port 443"),
        ("93.184.216.34", 443, "an address"),
        ("2130706433", 80, "an address"),
        ("0x7f.1", 80, "an address"),
        ("::1", 80, "no host name"),
        ("pypi.org\0.evil.net", 443, "no host name"),
        ("pypi.org\n", 443, "no host name"),
        ("", 443, "no host name"),
        ("a" * 300 + ".example.com", 443, "no host name"),
        ("bad.example.com", 443, "denied"),
    ],
)
def test_every_other_one_may_not(host: str, port: int, why: str) -> None:
    assert why in refusal(host, port, ALLOWED, ("bad.example.com",))


def test_a_star_alone_opens_nothing() -> None:
    assert refusal("x.org", 443, ("*", "*.", ""), ())


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "0.0.0.0", "::ffff:127.0.0.1"])
def test_this_machine_is_reached_only_where_it_is_named(address: str) -> None:
    assert "this machine" in address_refusal(address, is_named=True, is_loopback_allowed=False)
    assert address_refusal(address, is_named=True, is_loopback_allowed=True) == ""


@pytest.mark.parametrize("address", ["10.0.0.1", "192.168.1.1", "fd00::1", "100.64.0.1", "::ffff:10.0.0.1"])
def test_a_private_network_is_reached_only_by_a_service_named_with_its_port(address: str) -> None:
    assert "private" in address_refusal(address, is_named=False, is_loopback_allowed=False)
    assert address_refusal(address, is_named=True, is_loopback_allowed=False) == ""


def test_link_local_addresses_are_never_reached() -> None:
    assert address_refusal("169.254.169.254", is_named=True, is_loopback_allowed=True)
    assert address_refusal("fe80::1%eth0", is_named=True, is_loopback_allowed=True)
    assert address_refusal("64:ff9b::a9fe:a9fe", is_named=True, is_loopback_allowed=True)


def test_an_address_behind_a_tunnel_is_not_reached() -> None:
    for address in ("64:ff9b::a00:1", "::a00:1", "::ffff:0:a00:1", "64:ff9b:1::808:808", "fec0::1", "192.0.0.8"):
        assert "private" in address_refusal(address, is_named=False, is_loopback_allowed=False)
    for address in ("::", "::1", "::7f00:1", "::ffff:0:7f00:1", "64:ff9b::7f00:1"):
        assert "itself" in address_refusal(address, is_named=True, is_loopback_allowed=False)
    assert "tunnel" in address_refusal("2001:0:1::1", is_named=True, is_loopback_allowed=True)


def test_a_service_is_named_by_host_and_port() -> None:
    assert is_named_with_port("Registry.lan", 8443, ALLOWED)
    assert not is_named_with_port("pypi.org", 443, ALLOWED)
