"""
Patterns for URLs, compared part by part.

    https://docs.python.org/**          everything on that host
    https://*.example.com/api/*         one label, and one segment of the path
    https://**.example.com:8080/**      labels at any depth (at least one), that port
    *://example.com/**                  any scheme

The host is compared without case, IDNA-encoded and without a trailing dot. A numeric address is compared in its usual
form. The path is decoded once, and its `.` segments are removed. The query is compared only if the pattern has one.

Two programs may read the same URL in two ways: because of user info, backslashes, `%2f`, control characters, or a path
with `..`. An allow never holds for such a URL, and a deny always holds for it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import SplitResult, unquote, urlsplit

from .names import compile_wildcard, fold_case, matches_parts

__all__ = ["UrlPattern"]

_DEFAULT_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21}
_MAX_CHARS = 8192
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*|\*)://")
_LABEL = re.compile(r"[a-z0-9_-]{1,63}")
_FORBIDDEN_CHARACTERS = re.compile(r"[\x00-\x20\x7f-\xa0\\\u2028\u2029\ufeff]")
_AMBIGUOUS_ESCAPES = re.compile(r"%(?![0-9A-Fa-f]{2})|%(?:[01][0-9a-f]|7f|2f|5c|25)", re.IGNORECASE)
# IDNA 2003 and 2008 read these four characters differently, so a host with one of them is ambiguous.
_TWO_READINGS = frozenset("\u00df\u03c2\u200c\u200d")


@dataclass(frozen=True, slots=True)
class UrlPattern:
    """
    A pattern that matches a set of URLs.

    Attributes:
        scheme: The scheme in lower case, or `*`.
        host: The labels of the host. `*` is one whole label, and `**` in front is any number of labels.
        port: The port. None if the pattern names none: an allow means the scheme's own port, a deny every port.
        path: The decoded segments. `**` is any number of segments, so `/api/**` also matches `/api`.
        query: The pattern for the whole query; None if the query does not matter.
    """

    scheme: str
    host: tuple[str, ...]
    port: str | None
    path: tuple[str, ...]
    query: str | None

    @classmethod
    def read(cls, text: str) -> UrlPattern:
        """Return the pattern that *text* writes; raise `ValueError` with the mistake if *text* is wrong."""
        scheme = _SCHEME.match(text)
        if not scheme:
            raise ValueError("an address begins with its scheme: `https://docs.python.org/**`")
        if _FORBIDDEN_CHARACTERS.search(text) or "#" in text:
            raise ValueError("an address has no spaces, backslashes or `#` in it")
        rest, question, query = text[scheme.end() :].partition("?")
        place, slash, path = rest.partition("/")
        if "@" in place:
            raise ValueError("user info (`name@host`) is refused; leave it out")
        if not slash:
            raise ValueError(f"write `{text}/**` for everything there, or `{text}/` for its first page")
        host, port = _host_and_port(place)
        segments = tuple(path.split("/"))
        if any("**" in segment and segment != "**" for segment in segments):
            raise ValueError("`**` stands alone between slashes; within a segment write `*`")
        decoded = tuple(unquote(segment, errors="strict") for segment in segments)
        if (
            any(map(_is_dots, decoded))
            or _AMBIGUOUS_ESCAPES.search(path)
            or _wildcards(path) != _wildcards("/".join(decoded))
        ):
            raise ValueError("the path is written plainly: no `.`, `..`, `%2f`, `%2a` or `%25` in it")
        return cls(scheme[1].lower(), host, port, decoded, query if question else None)

    def allows(self, url: str) -> bool:
        """
        Return whether *url* matches the pattern for every program that may read it.

        Raise `ValueError` if programs may read *url* in different ways.
        """
        parts, host, port = _split(url)
        path = _segments(parts.path)
        own_port = _DEFAULT_PORTS.get(parts.scheme)
        return (
            self.scheme in ("*", parts.scheme)
            and _fits_host(self.host, host)
            and (self.port == "*" or port == (own_port if self.port is None else int(self.port)))
            and matches_parts(self.path, path)
            and (self.query is None or bool(compile_wildcard(self.query).match(parts.query)))
        )

    def opens_port(self, url: str) -> bool:
        """
        Return whether the pattern names the host of *url* with its port.

        Raise `ValueError` if programs may read *url* in different ways.
        """
        parts, host, port = _split(url)
        return self.port in ("*", str(port)) and self.scheme in ("*", parts.scheme) and _fits_host(self.host, host)

    def concerns(self, url: str) -> bool:
        """
        Return whether *url* could match the pattern, or lies beneath a URL that matches.

        Raise `ValueError` if programs may read *url* in different ways.
        """
        parts, host, port = _split(url)
        path = [fold_case(segment) for segment in _segments(parts.path)]
        # Some servers drop the text after a semicolon.
        readings = [path, [segment.partition(";")[0] for segment in path]]
        queries = (parts.query, unquote(parts.query))
        return (
            # A host answers `http` as it answers `https`, mostly by leading there.
            self.scheme in ("*", parts.scheme, f"{parts.scheme}s")
            and _fits_host(self.host, host)
            and (self.port in (None, "*") or str(port) == self.port)
            and any(map(self._concerns_path, readings))
            and (self.query is None or any(map(compile_wildcard(self.query).match, queries)))
        )

    def _concerns_path(self, path: list[str]) -> bool:
        pattern = [fold_case(segment) for segment in self.path]
        # A server may ignore doubled slashes. The last `*` may stand for nothing: `/api/*` is about `/api` as well.
        plain, plain_pattern = [segment for segment in path if segment], [segment for segment in pattern if segment]
        shorter = plain_pattern[:-1] if plain_pattern[-1:] == ["*"] else plain_pattern
        return (
            matches_parts(pattern, path)
            or matches_parts([*plain_pattern, "**"], plain)
            or matches_parts(shorter, plain)
        )


def _wildcards(text: str) -> int:
    return text.count("*") + text.count("?")


def _split(url: str) -> tuple[SplitResult, tuple[str, ...], int | None]:
    """Split *url* into parts, host and port; raise `ValueError` if programs may split it in different ways."""
    if len(url) > _MAX_CHARS or _FORBIDDEN_CHARACTERS.search(url) or not _SCHEME.match(url):
        raise ValueError("not a plain address")
    parts = urlsplit(url)
    if "@" in parts.netloc:
        raise ValueError("user info in an address")
    host, port = _host_and_port(parts.netloc)
    if "*" in host or "**" in host or port == "*":
        raise ValueError("not a host")
    return parts, host, _DEFAULT_PORTS.get(parts.scheme) if port is None else int(port)


def _host_and_port(place: str) -> tuple[tuple[str, ...], str | None]:
    if place.startswith("["):
        host, bracket, port = place.rpartition("]")
        host += bracket
    else:
        host, colon, port = place.partition(":")
        port = colon + port
    if not port:
        return _labels(host), None
    if port != ":*" and not (re.fullmatch(r":[0-9]{1,5}", port) and int(port[1:]) < 65536):
        raise ValueError(f"a port is a number up to 65535, or `*`, not {port[1:]!r}")
    return _labels(host), port[1:] if port == ":*" else str(int(port[1:]))


def _labels(host: str) -> tuple[str, ...]:
    """Return the labels of *host* in the one form in which hosts are compared."""
    if host.startswith("["):
        return (_normalise_ipv6(host[1:-1]),)
    if not _TWO_READINGS.isdisjoint(host):
        raise ValueError("write this host in its ASCII form: `xn--...`")
    labels = []
    for label in host.removesuffix(".").split("."):
        if label in ("*", "**"):
            labels.append(label)
            continue
        # The IDNA codec accepts other characters as full stops, and may find some within the label.
        for part in (label if label.isascii() else label.encode("idna").decode()).lower().split("."):
            if not _LABEL.fullmatch(part):
                raise ValueError(f"{host!r} is not a host; `*` stands for one whole label, `**` in front for several")
            labels.append(part)
    if "**" in labels[1:]:
        raise ValueError("`**` stands only in front of a host: `**.example.com`")
    if re.fullmatch(r"[0-9]+|0x[0-9a-f]*", labels[-1]):
        return (_normalise_numeric_host(host, labels),)
    return tuple(labels)


def _normalise_ipv6(text: str) -> str:
    import ipaddress

    if "%" in text:
        raise ValueError("an address with a zone is refused")
    address = ipaddress.IPv6Address(text)
    return str(address.ipv4_mapped or address)


def _normalise_numeric_host(host: str, labels: Sequence[str]) -> str:
    """Return a numeric host in its usual form: `127.1`, `0x7f000001` and `2130706433` are all 127.0.0.1."""
    import socket

    if "*" in labels or "**" in labels:
        raise ValueError("an address in numbers has no wildcards")
    try:
        return socket.inet_ntoa(socket.inet_aton(".".join(labels)))
    except OSError:
        raise ValueError(f"{host!r} is not a host") from None


def _segments(path: str) -> list[str]:
    """Return the decoded segments of *path*; raise `ValueError` if a server might read the path in another way."""
    if _AMBIGUOUS_ESCAPES.search(path):
        raise ValueError("a path that can be read in two ways")
    segments = [unquote(segment, errors="strict") for segment in path.removeprefix("/").split("/")]
    segments = [segment for segment in segments if segment != "."] or [""]
    if any(map(_is_dots, segments)):
        raise ValueError("a path that climbs")
    return segments


def _is_dots(segment: str) -> bool:
    # Some servers drop the text after a semicolon before they look at the dots.
    return segment.partition(";")[0] in (".", "..")


def _fits_host(pattern: Sequence[str], host: Sequence[str]) -> bool:
    if pattern == ("**",):
        return True
    if pattern[0] == "**":
        pattern = pattern[1:]
        host, front = host[-len(pattern) :], host[: -len(pattern)]
        if not front:
            return False
    is_number = len(host) == 1 and not _LABEL.fullmatch(host[0])
    return len(pattern) == len(host) and all(
        label_pattern == label or (label_pattern == "*" and not is_number)
        for label_pattern, label in zip(pattern, host, strict=True)
    )
