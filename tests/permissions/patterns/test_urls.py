"""
Address patterns: each part on its own, and nothing that can be read in two ways.
"""

from __future__ import annotations

import contextlib
from urllib.parse import urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolkit.permissions.patterns.urls import UrlPattern


@pytest.mark.parametrize(
    ("pattern", "url", "expected"),
    [
        ("https://docs.python.org/**", "https://docs.python.org/3/library/", True),
        ("https://docs.python.org/**", "https://docs.python.org", True),
        ("https://docs.python.org/**", "https://docs.python.org/", True),
        ("https://docs.python.org/**", "https://docs.python.org?q=1", True),
        ("https://docs.python.org/**", "https://python.org/3/", False),
        ("https://docs.python.org/**", "https://docs.python.org.evil.com/3/", False),
        ("https://docs.python.org/**", "https://evildocs.python.org/3/", False),
        # Scheme, host and port in their usual forms.
        ("HTTPS://Docs.Python.Org/**", "https://DOCS.python.ORG./3", True),
        ("https://docs.python.org:443/**", "https://docs.python.org/x", True),
        ("https://docs.python.org/**", "https://docs.python.org:443/x", True),
        ("https://docs.python.org/**", "https://docs.python.org:0443/x", True),
        ("https://a.org:8443/**", "https://a.org:8443/x", True),
        ("https://a.org:8443/**", "https://a.org/x", False),
        ("https://a.org:*/**", "https://a.org:8443/x", True),
        ("*://a.org/**", "http://a.org/x", True),
        ("*://a.org/**", "gopher://a.org/x", True),
        ("http://b\u00fccher.example/**", "http://xn--bcher-kva.example/x", True),
        ("http://xn--bcher-kva.example/**", "http://B\u00dcCHER.example/x", True),
        ("http://example.com/**", "http://\uff45xample.com/x", True),
        ("http://example.com/**", "http://example\u3002com/x", True),
        # Labels.
        ("https://*.example.com/**", "https://a.example.com/x", True),
        ("https://*.example.com/**", "https://a.b.example.com/x", False),
        ("https://*.example.com/**", "https://example.com/x", False),
        ("https://*.example.com/**", "https://evilexample.com/x", False),
        ("https://**.example.com/**", "https://a.b.example.com/x", True),
        ("https://**.example.com/**", "https://a.example.com/x", True),
        ("https://**.example.com/**", "https://example.com/x", False),
        ("https://**.example.com/**", "https://a.evil.com/x", False),
        ("https://a.*.com/**", "https://a.b.com/x", True),
        ("http://*/**", "http://localhost/x", True),
        ("http://*/**", "http://a.org/x", False),
        ("http://**/**", "http://a.b.org/x", True),
        ("http://**/**", "http://10.0.0.1/x", True),
        # An address in numbers has no labels.
        ("http://127.0.0.1/**", "http://127.0.0.1/x", True),
        ("http://127.0.0.1/**", "http://2130706433/x", True),
        ("http://127.0.0.1/**", "http://0x7f.1/x", True),
        ("http://127.0.0.1/**", "http://0177.0.0.1/x", True),
        ("http://127.0.0.1/**", "http://127.0.0.1./x", True),
        ("http://127.0.0.1/**", "http://[::ffff:127.0.0.1]/x", True),
        ("http://[::1]/**", "http://[0:0::1]:80/x", True),
        ("http://[::1]:8000/**", "http://[::1]:8000/x", True),
        ("http://*.*.*.*/**", "http://127.0.0.1/x", False),
        ("http://*/**", "http://127.0.0.1/x", False),
        ("http://*/**", "http://[::1]/x", False),
        # The path.
        ("https://a.org/api/*", "https://a.org/api/x", True),
        ("https://a.org/api/*", "https://a.org/apix", False),
        ("https://a.org/api/**", "https://a.org/api", True),
        ("https://a.org/api/**", "https://a.org/api/x/y", True),
        ("https://a.org/api/**", "https://a.org/apix/y", False),
        ("https://a.org/api/**", "https://a.org/%61pi/y", True),
        ("https://a.org/%61pi/**", "https://a.org/api/y", True),
        ("https://a.org/a%20b", "https://a.org/a%20b", True),
        ("https://a.org/api/**", "https://a.org/./api/./y", True),
        ("https://a.org/**/x.html", "https://a.org/p/q/x.html", True),
        ("https://a.org/x?.html", "https://a.org/x", False),
        # The query.
        ("https://a.org/x", "https://a.org/x?q=1#top", True),
        ("https://a.org/x?q=*", "https://a.org/x?q=1", True),
        ("https://a.org/x?q=*", "https://a.org/x", False),
        ("https://a.org/x?q=*", "https://a.org/x?r=1&q=1", False),
    ],
)
def test_each_part_of_a_url_is_compared_separately(pattern, url, expected):
    """Allow and deny rules compare in the same way."""
    read = UrlPattern.read(pattern)
    assert read.allows(url) is expected
    assert read.concerns(url) is expected


@pytest.mark.parametrize(
    ("pattern", "url"),
    [
        ("https://a.org/**", "https://a.org:8443/x"),
        ("https://a.org/api", "https://a.org/api/"),
        ("https://a.org/api", "https://a.org/api/x"),
        ("https://a.org/api/*", "https://a.org/api/x/y"),
        ("https://a.org/api/*", "https://a.org/api"),
        ("https://a.org/api/**", "https://a.org/API/y"),
        ("https://a.org/api/**", "https://a.org//api/y"),
        ("https://a.org/x?q=secret", "https://a.org/x?q=%73ecret"),
        ("https://a.org/**", "http://a.org/x"),
        ("wss://a.org/**", "ws://a.org/x"),
        ("https://a.org/api/**", "https://a.org/api;v=1/y"),
        ("https://a.org/\u00e9/**", "https://a.org/e%CC%81/x"),
    ],
)  # fmt: skip
def test_a_deny_is_wider(pattern, url):
    """
    Every port if it names none, any case, everything beneath, slashes doubled or not, without encryption too.
    """
    read = UrlPattern.read(pattern)
    assert read.concerns(url)
    assert not read.allows(url)


def test_a_deny_of_http_leaves_https():
    """It may be there so that everything is encrypted."""
    assert not UrlPattern.read("http://**:*/**").concerns("https://a.org/x")


@pytest.mark.parametrize(
    "url",
    [
        "https://a.org@evil.com/api/x",
        "https://user:word@a.org/api/x",
        "https://@a.org/api/x",
        "https://evil.com\\@a.org/api/x",
        "https://a.org\\evil.com/api/x",
        "https://a.org/api/../admin",
        "https://a.org/admin/../api/x",
        "https://a.org/api/%2e%2e/admin",
        "https://a.org/api/.%2E/admin",
        "https://a.org/api/..;/admin",
        "https://a.org/api/.;x/admin",
        "https://a.org/api/..%2fadmin",
        "https://a.org/api%2F..%2Fadmin",
        "https://a.org/api/%5c..%5cadmin",
        "https://a.org/api/%252e%252e/admin",
        "https://a.org/api/%00",
        "https://a.org/api/%0d%0aHost:x",
        "https://a.org/api/%zz",
        "https://a.org/api/%ff",
        "https://a.org/api/x y",
        "https://a.org/api/\tx",
        "https://a.org/ap\ni/x",
        " https://a.org/api/x",
        "https://a.org/api/x\u2028",
        "https:a.org/api/x",
        "https:/a.org/api/x",
        "https:///a.org/api/x",
        "https://",
        "https:///api",
        "//a.org/api/x",
        "a.org/api/x",
        "/api/x",
        "",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "https://a.org:99999/api",
        "https://a.org:x/api",
        "https://a.org:*/api",
        "https://a.org:/api",
        "https://a.org:\uff11/api",
        "https://*/api",
        "https://**/api",
        "https://a..org/api",
        "https://a.org../api",
        "https://a%2eorg/api",
        "https://a.org%00.evil.com/api",
        "https://[::1%25lo]/api",
        "https://[::1/api",
        "https://[::1]x/api",
        "https://1.2.3.4.5/api",
        "https://999.1.1.1/api",
        "https://stra\u00dfe.de/api",
        "https://a\u200d.org/api",
        "https://a.org\u2100pi/x",
        "https://a.org/" + "x" * 9000,
    ],
)
@pytest.mark.parametrize("compare", [UrlPattern.allows, UrlPattern.concerns])
def test_an_ambiguous_url_cannot_be_compared(url, compare):
    """Not even the widest pattern matches. An allow rule treats the error as no match, and a deny rule as a match."""
    with pytest.raises(ValueError):
        compare(UrlPattern.read("*://**:*/**"), url)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("docs.python.org/**", "scheme"),
        ("//docs.python.org/**", "scheme"),
        ("https://docs.python.org", r"docs.python.org/\*\*` for everything"),
        ("https://a b.org/**", "no spaces"),
        ("https://a.org\\x/**", "backslashes"),
        ("https://a.org/**#top", "#"),
        ("https://me@a.org/**", "user info"),
        ("https://docs*.python.org/**", "whole label"),
        ("https://a.**.org/**", "in front"),
        ("https://***.org/**", "whole label"),
        ("https://10.0.*.1/**", "no wildcards"),
        ("https:///x", "not a host"),
        ("https://a.org:http/**", "port"),
        ("https://a.org:70000/**", "port"),
        ("https://a.org/x**", "stands alone"),
        ("https://a.org/../x", "plainly"),
        ("https://a.org/./x", "plainly"),
        ("https://a.org/a%2fb", "plainly"),
        ("https://a.org/%2a", "plainly"),
        ("https://a.org/%2e%2e/x", "plainly"),
        ("https://stra\u00dfe.de/**", "ASCII form"),
    ],
)
def test_a_malformed_pattern_is_refused_with_the_remedy(pattern, message):
    with pytest.raises(ValueError, match=message):
        UrlPattern.read(pattern)


_PIECES = st.sampled_from(
    ["https:", "http:", "/", "//", "a.org", "api", "evil.com", "@", ":", "443", ".", "..", "%2e", "%2f", "\\", "?", "#",
     "\t", "\n", "[", "]", "::1", "%00", ";", "*", "A.ORG", "\uff0e", "\u3002", "xn--", "\u00df", "127.1", " "]
)  # fmt: skip


@given(
    st.lists(_PIECES, max_size=10).map("".join)
    | st.lists(_PIECES, max_size=8).map(lambda x: "https://a.org/" + "".join(x))
)
def test_an_allowed_address_leads_to_the_allowed_host(url):
    """The standard library reads the same host, and the path is in the named folder."""
    read = UrlPattern.read("https://a.org/api/**")
    with contextlib.suppress(ValueError):
        if read.allows(url):
            parts = urlsplit(url)
            host = (parts.hostname or "").rstrip(".").replace("\u3002", ".").replace("\uff0e", ".")
            assert (parts.scheme, host, parts.username) == ("https", "a.org", None)
            assert parts.port in (None, 443)
            assert ".." not in parts.path
            assert "api" in parts.path
            assert read.concerns(url)


SEGMENTS = st.lists(st.sampled_from(["", "a", "b", "ab", "*", "a*", "**"]), max_size=3)


@example(["*", "a"], ["", "a"])
@example(["*", "**"], [])
@given(SEGMENTS, SEGMENTS)
def test_a_deny_is_never_narrower_than_an_allow(segments, sent):
    """A pattern denies in a deny rule every URL that it would allow in an allow rule."""
    path = "/".join(sent).replace("*", "a")
    pattern, url = UrlPattern.read(f"https://a.org/{'/'.join(segments)}"), f"https://a.org/{path}"
    if pattern.allows(url):
        assert pattern.concerns(url)
