"""
The check of the hosts that tools may reach: public hosts, over http and https.

Metadata services and link-local, multicast and reserved addresses are always refused. Loopback and private addresses
are refused unless the application allows them. An address is accepted in one spelling only, the plain one, because the
other spellings are used to get around checks like this one.

Names are not looked up. The tool that connects has to check every address of a name with `unreachable`, and every
redirect with `check_url`.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable, Iterator
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import NamedTuple, TypeAlias

from .._option_checks import require_list
from ..verdicts import Finding

__all__ = ["Address", "AllowedHosts", "check_url", "is_ip_address", "names_metadata_service", "unreachable"]

Address: TypeAlias = IPv4Address | IPv6Address

_BY = "check `host`"
_MAX_CHARACTERS = 8192
_URL = re.compile(r"(https?)://([^/?#]*)", re.IGNORECASE)
_NAME = re.compile(r"(?=.{1,253}\Z)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*")
_HOST_IN_TEXT = re.compile(r"\[[0-9a-fA-F:.]{2,60}\]|(?<![\w.-])[\w-]{1,63}(?:\.[\w-]{1,63}){0,9}")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_DEFAULT_PORTS = {"http": 80, "https": 443}


class AllowedHosts:
    """
    The hosts that tools may reach although they are private. Public hosts need no entry.

    Each entry is a name or an address, with one port or without a port for all ports: "localhost:8080", "10.0.0.7",
    "[::1]:80", "*.corp.internal". The star stands for one whole label.

    Raises `ValueError` for a text that is not a host, and for a host that can never be allowed.
    """

    def __init__(self, hosts: Iterable[str] = ()) -> None:
        self._hosts: set[tuple[str, int | None]] = set()
        for entry in require_list(hosts, "allowed_hosts", "hosts"):
            star, text = ("*.", entry[2:]) if entry.startswith("*.") else ("", entry)
            is_bare = text.count(":") > 1 and not text.startswith("[")
            try:
                host, port = _split_authority(f"[{text}]" if is_bare else text)
            except ValueError as error:
                raise ValueError(f"allowed_hosts: {entry!r}: {error}; a host is written `localhost:8080`") from None
            kind = _kind_of_host(host)
            if kind is not None and kind.is_final:
                raise ValueError(
                    f"allowed_hosts: {entry!r} is {kind.description}, which cannot be allowed; leave it out"
                )
            self._hosts.add((star + host, port))

    def __contains__(self, place: tuple[str, int]) -> bool:
        host, port = place
        wider = "*." + host.partition(".")[2]
        return self.names_port(host, port) or not self._hosts.isdisjoint([(host, None), (wider, None)])

    def names_port(self, host: str, port: int) -> bool:
        """Return whether *host* is listed together with this *port*."""
        wider = "*." + host.partition(".")[2]
        return not self._hosts.isdisjoint([(host, port), (wider, port)])


_NO_HOSTS = AllowedHosts()


def check_url(url: str, allowed: AllowedHosts = _NO_HOSTS) -> Finding | None:
    """Return a finding against reaching *url*, or None if there is none."""
    try:
        reason = _find_problem(url, allowed)
    except ValueError as error:
        reason = str(error)
    return Finding("deny", _BY, reason, "check") if reason else None


def is_ip_address(host: str) -> bool:
    """Return whether *host*, without brackets, is an IP address and not a name."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def unreachable(address: Address) -> str | None:
    """Return the kind of *address*, such as "a private address", or None if it is public."""
    kind = _kind_of_address(address)
    return kind.description if kind else None


def names_metadata_service(text: str) -> bool:
    """Return whether *text* has the name or the address of a metadata service in it, in any spelling."""
    for match in _HOST_IN_TEXT.finditer(text):
        host = match[0].strip("[].").lower()
        address = _read_any_address(host)
        kind = _kind_of_host(host) if address is None else _kind_of_address(address)
        if kind is _METADATA and (address is not None or "." in host):  # `metadata` alone is more often a word
            return True
    return False


def _read_any_address(host: str) -> Address | None:
    """Return the address that *host* is in a spelling that some program reads: `0xa9.254.43518`, `2852039166`."""
    try:
        return ip_address(socket.inet_aton(host)) if "." in host or _NUMBER.fullmatch(host) else ip_address(host)
    except (OSError, ValueError):
        return None


def _find_problem(url: str, allowed: AllowedHosts) -> str | None:
    if len(url) > _MAX_CHARACTERS:
        return f"the address is longer than {_MAX_CHARACTERS} characters; shorten it"
    if not url.isprintable() or " " in url or "\\" in url:
        return f"{_quote(url)} holds a blank, a backslash or a control character; write it percent-encoded"
    match = _URL.match(url)
    if match is None:
        return f"{_quote(url)} is no http or https address; only those are reached"
    if "@" in match[2]:
        return "the address holds a user name or a password; leave out what stands before the `@`"
    host, port = _split_authority(match[2])
    kind = _kind_of_host(host)
    if kind is None:
        return None
    if kind.is_final:
        return f"{_quote(host)} is {kind.description}, which is never reached; use another host"
    if (host, port or _DEFAULT_PORTS[match[1].lower()]) in allowed:
        return None
    return f"{_quote(host)} is {kind.description}; if tools may reach it, name it in SafetyChecks(allowed_hosts=...)"


def _quote(text: str) -> str:
    return repr(text if len(text) <= 200 else f"{text[:200]}...")


# The functions below read a host in its plain spelling.


def _split_authority(authority: str) -> tuple[str, int | None]:
    """Split *authority* into host and port. Raise `ValueError` for any spelling other than the plain one."""
    if not authority.isascii():
        raise ValueError(f"the host {_quote(authority)} is not in ASCII; write it so{_suggest_ascii(authority)}")
    if authority.startswith("["):
        inner, bracket, rest = authority[1:].partition("]")
        if not bracket or rest[:1] not in {"", ":"}:
            raise ValueError(f"{_quote(authority)} is no host; an IPv6 address stands in brackets")
        return _parse_ipv6(inner), _parse_port(rest[1:]) if rest else None
    name, colon, port = authority.partition(":")
    return _parse_name(name), _parse_port(port) if colon else None


def _parse_port(text: str) -> int:
    if not re.fullmatch("[0-9]{1,5}", text) or not 0 < int(text) < 65536:
        raise ValueError(f"{_quote(text)} is no port; a port is a number from 1 to 65535")
    return int(text)


def _parse_name(text: str) -> str:
    host = text.lower().removesuffix(".")
    if not host:
        raise ValueError("the address names no host; write it out: https://example.com/")
    if not _NAME.fullmatch(host):
        raise ValueError(f"{_quote(text)} is no host; it is made of letters, digits, `-` and `.`")
    if not _NUMBER.fullmatch(host.rpartition(".")[2]):
        return host
    try:
        return str(IPv4Address(host))
    except ValueError:
        # The meaning of 127.1, 0x7f.0.0.1, 017700000001 and 2130706433 depends on the program that reads them.
        raise ValueError(f"{_quote(text)} is an odd spelling of an address; write four decimal numbers") from None


def _parse_ipv6(text: str) -> str:
    try:
        address = IPv6Address(text)
    except ValueError:
        raise ValueError(f"{_quote(text)} is no IPv6 address; write eight groups, or fewer around `::`") from None
    if address.scope_id is not None:
        raise ValueError(f"{_quote(text)} has a zone, which means something else on each machine; leave it out")
    return str(address)


def _suggest_ascii(authority: str) -> str:
    try:
        return f": {authority[:253].encode('idna').decode()}"
    except UnicodeError:
        return ""


# The functions below find out what kind of host a name or an address is.


class _HostKind(NamedTuple):
    description: str
    is_final: bool  # the application cannot allow it


def _kind_of_host(host: str) -> _HostKind | None:
    """Return the kind of *host*, or None if it is public."""
    if host in _METADATA_NAMES:
        return _METADATA
    try:
        return _kind_of_address(ip_address(host))
    except ValueError:
        is_private = "." not in host or f".{host}".endswith(_PRIVATE_NAMES)
        return _HostKind("a name inside a machine or a private network", False) if is_private else None


def _kind_of_address(address: Address) -> _HostKind | None:
    # A connection may reach any of these addresses, so the worst kind counts.
    return max(
        filter(None, map(_kind_by_network, _effective_addresses(address))), key=lambda kind: kind.is_final, default=None
    )


def _kind_by_network(address: Address) -> _HostKind | None:
    for kind, networks in _NETWORKS:
        if any(address in network for network in networks):
            return kind
    return _RESERVED if address.version == 6 and address not in _GLOBAL_UNICAST else None


def _effective_addresses(address: Address) -> Iterator[Address]:
    """
    Yield *address*, and the IPv4 addresses inside it that a gateway may take out and use.

    For a mapped or a NAT64 address, yield only the IPv4 address inside.
    """
    if isinstance(address, IPv4Address):
        yield address
        return
    last = IPv4Address(int(address) & 0xFFFF_FFFF)
    if address.ipv4_mapped or address in _NAT64:
        yield last
        return
    if address.sixtofour:  # yielded first: the address inside says more than the address around it
        yield address.sixtofour
    yield address
    if int(address) >> 32 & 0xFCFF_FFFF == 0x5EFE:  # ISATAP
        yield last


_METADATA = _HostKind("a metadata service with credentials", True)
_RESERVED = _HostKind("a reserved address", True)
_NAT64 = ip_network("64:ff9b::/96")
_GLOBAL_UNICAST = ip_network("2000::/3")
# The tables are our own, because `ipaddress` calls different networks private in different versions of Python.
_NETWORKS = [
    (kind, [ip_network(each) for each in networks.split()])
    for kind, networks in [
        (_METADATA, "169.254.169.254 169.254.170.2 169.254.170.23 100.100.100.200 168.63.129.16 192.0.0.192"),
        (_METADATA, "fd00:ec2::254 fd00:ec2::23 fd20:ce::254"),
        (_HostKind("a link-local address", True), "169.254.0.0/16 fe80::/10"),
        (_HostKind("an unspecified address", True), "0.0.0.0/8 ::/128"),
        (_HostKind("a multicast address", True), "224.0.0.0/4 ff00::/8"),
        (_HostKind("a loopback address", False), "127.0.0.0/8 ::1/128"),
        (
            _HostKind("a private address", False),
            "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10 fc00::/7 fec0::/10 64:ff9b:1::/48",
        ),
        (
            _HostKind("an address for tests and examples", False),
            "192.0.2.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 2001:db8::/32 3fff::/20",
        ),
        # The 6to4 relays are gone, and newer versions of `ipaddress` call the whole network private.
        (_HostKind("an address of the abandoned 6to4", False), "2002::/16"),
        (_RESERVED, "192.0.0.0/24 192.88.99.0/24 240.0.0.0/4 2001::/23"),
    ]
]
_METADATA_NAMES = {
    "instance-data", "instance-data.ec2.internal", "metadata", "metadata.goog", "metadata.google.internal",
    "metadata.platformequinix.com", "metadata.tencentyun.com",
}  # fmt: skip
_PRIVATE_NAMES = (
    ".localhost", ".local", ".localdomain", ".internal", ".intranet", ".private", ".corp", ".home",
    ".home.arpa", ".lan",
    # These names resolve to the address that is written in them, or to this machine.
    ".nip.io", ".sslip.io", ".xip.io", ".localtest.me", ".lvh.me", ".vcap.me", ".lacolhost.com",
)  # fmt: skip
