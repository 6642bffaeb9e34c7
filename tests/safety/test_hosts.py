"""
Which hosts are reached, and that no spelling of an address gets around it.
"""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.safety.hosts import AllowedHosts, check_url, unreachable

PUBLIC = [
    "https://docs.python.org/3/library/ipaddress.html",
    "HTTP://Example.COM",
    "https://example.com.",
    "https://example.com:8443/a?b=c#d",
    "https://xn--mnchen-3ya.de/",
    "http://8.8.8.8/",
    "https://[2606:4700:4700::1111]/",
    "https://[::ffff:8.8.8.8]/",
    "https://[64:ff9b::808:808]/",
    "https://a_b.example.com/@handle/x:y",
    "https://example.com?q=http://localhost/",
    "https://localhost.example.com/",
    "https://internal.example.com/",
    "https://0x7f.example.com/",
    "https://127.0.0.1.example.com/",
    "https://example.com/%00%20caf\u00e9",
]


@pytest.mark.parametrize("url", PUBLIC)
def test_a_public_host_is_reached(url):
    """The rest of the address does not matter."""
    assert check_url(url) is None


MALFORMED = [
    "",
    "example.com",
    "//example.com/",
    "file:///etc/passwd",
    "ftp://example.com/",
    "gopher://example.com/",
    "javascript:alert(1)",
    "data:text/plain,x",
    "http:example.com",
    "http:/example.com",
    "http:///example.com",
    "http://",
    "http://:80/",
    "http://./",
    "http://?x",
    "https+unix://x/",
    "http://user@example.com/",
    "http://user:word@example.com/",
    "http://@example.com/",
    "http://example.com@127.0.0.1/",
    "http://example.com%40127.0.0.1/",
    "http://exa mple.com/",
    " http://example.com/",
    "http://example.com/\n",
    "http://example.com/a\tb",
    "http://example.com\x00.evil.com/",
    "http://example.com\\@127.0.0.1/",
    "http:\\\\127.0.0.1\\",
    "http://example.com/\u202e",
    "http://example.com:/",
    "http://example.com:0/",
    "http://example.com:65536/",
    "http://example.com:8o/",
    "http://example.com:+80/",
    "http://example.com:\u0668\u0660/",
    "http://example.com:80:80/",
    "http://[::1",
    "http://[::1]x/",
    "http://[::1]:x/",
    "http://[]/",
    "http://[v1.x]/",
    "http://[::g]/",
    "http://::1/",
    "http://example..com/",
    "http://.example.com/",
    "http://example.com../",
    "http://ex%61mple.com/",
    "http://ex!ample.com/",
    f"http://{'a' * 64}.com/",
    f"http://{'a.' * 130}com/",
    f"http://example.com/{'x' * 9000}",
    "http://m\u00fcnchen.de/",
    "http://exa\u00admple.com/",
    "http://\u24d4xample.com/",
    "http://ex\u0430mple.com/",
    "http://\ud800.com/",
    f"http://{'ü' * 64}.de/",
]


@pytest.mark.parametrize("url", MALFORMED, ids=lambda url: ascii(url)[:40])
def test_an_address_that_readers_could_disagree_on_is_refused(url):
    """There is one plain way to write an address, and the reason is short."""
    finding = check_url(url)
    assert finding.word == "deny"
    assert (finding.by, finding.source) == ("check `host`", "check")
    assert len(finding.reason) < 500


def test_the_refusal_of_a_host_with_other_letters_has_its_ascii_form():
    assert "xn--mnchen-3ya.de" in check_url("http://m\u00fcnchen.de/").reason


def test_a_password_is_not_repeated():
    """A message goes to the model and to logs."""
    assert "hunter2" not in check_url("https://me:hunter2@example.com/").reason


def spellings(address: str) -> list[str]:
    """Return every way that some program reads as this IPv4 address."""
    number = int(ipaddress.IPv4Address(address))
    a, b, c, d = ipaddress.IPv4Address(address).packed
    low16, low24 = c << 8 | d, b << 16 | c << 8 | d
    fullwidth = str.maketrans("0123456789.", "０１２３４５６７８９．")
    groups = f"{number >> 16:x}:{number & 0xFFFF:x}"
    inverted = f"{(number >> 16) ^ 0xFFFF:x}:{(number & 0xFFFF) ^ 0xFFFF:x}"
    return [
        address,
        f"{address}.",
        f"{address}:80",
        f"{number}",
        f"{number}.",
        f"0{number:o}",
        f"0x{number:x}",
        f"0X{number:X}",
        f"0x{number:016x}",
        f"{a}.{b}.{low16}",
        f"{a}.{low24}",
        f"0{a:o}.0{b:o}.0{c:o}.0{d:o}",
        f"000{a:o}.{b}.{c}.{d}",
        f"0x{a:x}.0x{b:x}.0x{c:x}.0x{d:x}",
        f"0x{a:x}.{low24}",
        f"{a}.0x{b:x}.0{c:o}.{d}",
        f"{a:03d}.{b:03d}.{c:03d}.{d:03d}",
        f"{a + 256}.{b}.{c}.{d}",
        address.translate(fullwidth),
        address.replace(".", "\u3002"),
        address.replace(".", "\uff61"),
        address.replace(".", "%2e"),
        "".join(f"%{ord(character):02x}" for character in address),
        address.replace("1", "\u2460"),
        f"{address}%00.example.com",
        f"[::ffff:{address}]",
        f"[::ffff:{groups}]",
        f"[0:0:0:0:0:ffff:{groups}]",
        f"[::FFFF:{groups}]:8080",
        f"[::{address}]",
        f"[::ffff:0:{groups}]",
        f"[64:ff9b::{groups}]",
        f"[64:ff9b:1::{groups}]",
        f"[2002:{groups}::]",
        f"[2002:{groups}::1]",
        f"[2001:0:{groups}::1]",
        f"[2001:0:808:808::{inverted}]",
        f"[2001:470::5efe:{groups}]",
        f"[2001:470::200:5efe:{groups}]",
        f"[::ffff:{address}%25eth0]",
        f"[::ffff:{address}%eth0]",
        f"[fe80::1%25{address}]",
    ]


PRIVATE = ["127.0.0.1", "10.1.2.3", "192.168.0.1"]
NEVER = ["169.254.169.254", "100.100.100.200", "0.0.0.0"]


@pytest.mark.one_case_in(4)
@pytest.mark.parametrize(
    "host", [spelling for address in PRIVATE + NEVER for spelling in spellings(address)], ids=ascii
)
def test_every_spelling_of_a_private_address_is_refused(host):
    """Decimal, octal, hexadecimal, short, full-width, encoded, or packed into IPv6."""
    assert check_url(f"http://{host}/").word == "deny"
    assert check_url(f"https://{host}").word == "deny"


@pytest.mark.parametrize(
    ("host", "reason"),
    [
        ("169.254.169.254", "metadata"),
        ("169.254.170.2", "metadata"),
        ("[fd00:ec2::254]", "metadata"),
        ("100.100.100.200", "metadata"),
        ("168.63.129.16", "metadata"),
        ("metadata.google.internal", "metadata"),
        ("METADATA.google.internal.", "metadata"),
        ("metadata", "metadata"),
        ("169.254.1.1", "link-local"),
        ("[fe80::1]", "link-local"),
        ("224.0.0.1", "multicast"),
        ("[ff02::1]", "multicast"),
        ("0.0.0.0", "unspecified"),
        ("0.1.2.3", "unspecified"),
        ("[::]", "unspecified"),
        ("240.0.0.1", "reserved"),
        ("255.255.255.255", "reserved"),
        ("192.0.0.8", "reserved"),
        ("[4000::1]", "reserved"),
        ("[::2]", "reserved"),
        ("[::127.0.0.1]", "reserved"),
        ("[2002:a9fe:a9fe::1]", "metadata"),
    ],
)
def test_a_host_that_is_never_reached_cannot_be_allowed(host, reason):
    assert reason in check_url(f"http://{host}/").reason
    with pytest.raises(ValueError, match="cannot be allowed"):
        AllowedHosts([host])


@pytest.mark.parametrize(
    ("host", "words"),
    [
        ("127.0.0.1", "loopback"),
        ("127.255.255.254", "loopback"),
        ("[::1]", "loopback"),
        ("[::ffff:127.0.0.1]", "loopback"),
        ("10.0.0.1", "private"),
        ("172.16.0.1", "private"),
        ("172.31.255.255", "private"),
        ("192.168.1.1", "private"),
        ("100.64.0.1", "private"),
        ("[fc00::1]", "private"),
        ("[fdab::1]", "private"),
        ("[fec0::1]", "private"),
        ("[64:ff9b:1::1]", "private"),
        ("192.0.2.1", "examples"),
        ("198.18.0.1", "examples"),
        ("[2001:db8::1]", "examples"),
        ("localhost", "private network"),
        ("LOCALHOST.", "private network"),
        ("app.localhost", "private network"),
        ("printer.local", "private network"),
        ("db.internal", "private network"),
        ("nas.lan", "private network"),
        ("router.home.arpa", "private network"),
        ("127.0.0.1.nip.io", "private network"),
        ("localtest.me", "private network"),
        ("intranet", "private network"),
        ("db", "private network"),
    ],
)
def test_a_private_host_is_reached_only_if_allowed(host, words):
    """The reason names the option."""
    reason = check_url(f"http://{host}/").reason
    assert words in reason
    assert "allowed_hosts" in reason
    assert check_url(f"http://{host}/", AllowedHosts([host])) is None


@pytest.mark.parametrize(
    "address", ["172.15.0.1", "172.32.0.1", "100.128.0.1", "11.0.0.1", "126.255.255.255", "2606::1"]
)
def test_neighbours_of_private_networks_are_public(address):
    """The borders are where they should be."""
    assert unreachable(ipaddress.ip_address(address)) is None


@pytest.mark.parametrize(
    ("allowed", "url", "is_reached"),
    [
        ("localhost", "http://localhost:9999/", True),
        ("localhost:8080", "http://LOCALHOST:8080/", True),
        ("localhost:8080", "http://localhost/", False),
        ("localhost:80", "http://localhost/", True),
        ("localhost:443", "https://localhost/", True),
        ("localhost:80", "https://localhost/", False),
        ("localhost", "http://app.localhost/", False),
        ("localhost", "http://127.0.0.1/", False),
        ("127.0.0.1", "http://127.1/", False),
        ("127.0.0.1", "http://[::ffff:127.0.0.1]/", False),
        ("::1", "http://[::1]/", True),
        ("[0:0::1]:80", "http://[::1]/", True),
        ("*.corp.internal", "http://db.corp.internal/", True),
        ("*.corp.internal:8080", "http://db.corp.internal:8080/", True),
        ("*.corp.internal", "http://a.db.corp.internal/", False),
        ("*.corp.internal", "http://corp.internal/", False),
        ("*.google.internal", "http://metadata.google.internal/", False),
        ("localhost", "ftp://localhost/", False),
        ("localhost", "http://me@localhost/", False),
    ],
)
def test_an_allowed_host_matches_that_host_and_port(allowed, url, is_reached):
    """Without a port it matches every port. A star is one whole label."""
    assert (check_url(url, AllowedHosts([allowed])) is None) is is_reached


@pytest.mark.parametrize(
    "host", ["", "http://localhost", "localhost/x", "*", "*.", "a@b", "local host", "x:0", "127.1", "[::1%eth0]"]
)
def test_an_invalid_allowed_host_is_refused_with_an_example(host):
    with pytest.raises(ValueError, match="allowed_hosts.*localhost:8080"):
        AllowedHosts([host])


def test_one_allowed_host_where_a_list_is_wanted_is_refused():
    """Text would be taken for a list of letters."""
    with pytest.raises(TypeError, match="list of hosts"):
        AllowedHosts("localhost")


@given(st.ip_addresses())
def test_an_address_in_a_url_has_the_same_verdict_as_a_resolved_one(address):
    host = f"[{address}]" if address.version == 6 else str(address)
    assert (check_url(f"http://{host}/") is None) is (unreachable(address) is None)


@pytest.mark.parametrize("host", ["2002:808:808::1", "2002:b00::", "2002:101:101::1"])
def test_6to4_is_not_reached_on_any_version_of_python(host):
    """This holds also if the address that it carries is public; an application that has such a network can allow it."""
    assert unreachable(ipaddress.ip_address(host)) == "an address of the abandoned 6to4"
    assert check_url(f"http://[{host}]/", AllowedHosts([f"[{host}]"])) is None


@pytest.mark.parametrize(("host", "reason"), [("2002:7f00:1::1", "loopback"), ("2002:a00:1::1", "private")])
def test_a_6to4_address_is_judged_by_the_address_inside(host, reason):
    """That is where it would lead."""
    assert reason in unreachable(ipaddress.ip_address(host))


@given(st.ip_addresses())
def test_every_address_that_the_standard_library_calls_local_is_unreachable(address):
    inner = getattr(address, "ipv4_mapped", None) or address
    if inner.is_private or inner.is_loopback or inner.is_link_local or inner.is_multicast or inner.is_unspecified:
        assert unreachable(address)


@given(st.text() | st.text().map("http://{}".format) | st.text("[]:.0123456789abcdefx%@/\\").map("https://{}/".format))
def test_any_text_can_be_judged(url):
    """No text of a model breaks the check."""
    finding = check_url(url)
    assert finding is None or finding.word == "deny"
