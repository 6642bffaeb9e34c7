"""
The addresses that `web_fetch` may reach. A URL is judged first as text, then by every IP address of its host.

The name of a host is looked up once, and the connection goes to the addresses that were judged. So a name server that
would give another answer the second time is not asked a second time.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TypeAlias
from urllib.parse import urlsplit

from ..._option_checks import several
from ...errors import Safety, ToolError, Transient
from ...safety.hosts import AllowedHosts, judged, unreachable

__all__ = ["Address", "Doors", "JudgeAddress", "Place", "Resolve", "by_system", "check_ports"]

Address: TypeAlias = IPv4Address | IPv6Address
Resolve: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
"""Returns every address of a host name, in the order in which to try them."""
JudgeAddress: TypeAlias = Callable[[Address], str | None]
"""Returns the kind of an address that may not be reached, such as "a private address", or None if it may be reached."""

_MOST_ADDRESSES = 64
_MOST_PORT = 65535
_WEB_PORTS = frozenset([80, 443])
_NO_SUCH_NAME = frozenset([socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)])


async def by_system(host: str, port: int) -> list[str]:
    """Return the addresses of *host* as the operating system knows them."""
    entries = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(place[0]) for *_, place in entries]


@dataclass(frozen=True, slots=True)
class Place:
    """
    A URL that may be reached, judged as text.

    Attributes:
        url: The URL in its one spelling, without a fragment. It is used for the request and compared with rules.
        host: A name or an IP address, without brackets.
        is_private: Whether the application allows private addresses for this host.
    """

    url: str
    scheme: str
    host: str
    port: int
    is_private: bool


class Doors:
    """
    The hosts and ports that may be reached.

    Args:
        allowed_hosts: If given, only these hosts: "docs.python.org", "*.example.com", "example.com:8080".
        private_hosts: Hosts that may be reached although they are private. Metadata services, link-local and reserved
            addresses can never be reached.
        ports: Ports of public hosts that may be reached, besides 80 and 443.
        resolve: Looks up the addresses of a name.
        judge: Judges one address.
    """

    def __init__(
        self,
        *,
        allowed_hosts: Sequence[str] | None = None,
        private_hosts: Sequence[str] = (),
        ports: Iterable[int] = (),
        resolve: Resolve = by_system,
        judge: JudgeAddress = unreachable,
    ) -> None:
        self._private = AllowedHosts(private_hosts)
        self._allowed = None if allowed_hosts is None else AllowedHosts(allowed_hosts)
        self._ports = _WEB_PORTS | check_ports(ports)
        self._names = ", ".join([*(allowed_hosts or ()), *private_hosts][:20]) or "none"
        self._resolve = resolve
        self._judge = judge

    def place(self, url: str) -> Place:
        """Return *url* as a `Place`. Raise `Safety` if its text shows that it may not be reached."""
        finding = judged(url, self._private)
        if finding is not None:
            raise Safety(finding.reason)
        place = _parsed(url)
        where = (place.host, place.port)
        is_private = where in self._private
        if self._allowed is not None and where not in self._allowed and not is_private:
            raise Safety(f"{place.host!r} is none of the hosts that may be reached; these are: {self._names}")
        return Place(place.url, place.scheme, place.host, place.port, is_private)

    def check_port(self, place: Place, opens_port: Callable[[str], bool]) -> None:
        """
        Raise `Safety` unless the port of *place* is open.

        These ports of a public host are open: the web ports, those in `ports`, and those that `allowed_hosts` or an
        allow rule names together with the host. *opens_port* knows the rules. A private host needs no further check,
        because the application listed it.
        """
        if place.port in self._ports or place.is_private:
            return
        if self._allowed is not None and self._allowed.names_port(place.host, place.port):
            return
        if not opens_port(place.url):
            host = f"[{place.host}]" if ":" in place.host else place.host
            ports = ", ".join(map(str, sorted(self._ports)[:20]))
            raise Safety(
                f"port {place.port} of {place.host!r} is not reached, only these ports are: {ports}; the user can open "
                f"it with the rule `allow web_fetch(url={place.scheme}://{host}:{place.port}/**)`, or with "
                f"ports=[{place.port}] where the tool is made"
            )

    async def addresses(self, place: Place) -> list[str]:
        """Return every address of *place*. Raise `Safety` if one of them may not be reached."""
        ip_addresses = await self._looked_up(place)
        for address in ip_addresses:
            kind = self._judge(address)
            if kind is not None and not (place.is_private and _can_be_allowed(address)):
                # One forbidden address is enough to refuse all: an honest name does not have addresses inside and
                # outside at once.
                raise Safety(f"{place.host!r} stands for {address}, {kind}, which is not reached; use another host")
        return [str(address) for address in ip_addresses]

    async def _looked_up(self, place: Place) -> list[Address]:
        try:
            return [ip_address(place.host)]
        except ValueError:
            pass
        try:
            texts = await self._resolve(place.host, place.port)
            addresses = [ip_address(text) for text in dict.fromkeys(texts)]
        except socket.gaierror as error:
            if error.errno in _NO_SUCH_NAME:
                raise ToolError(f"there is no host {place.host!r}; check its name") from error
            raise Transient(f"{place.host!r} could not be looked up: {error.strerror}") from error
        except ValueError as error:
            raise ToolError(f"{place.host!r} stands for something that is no address: {error}") from error
        if not addresses or len(addresses) > _MOST_ADDRESSES:
            raise ToolError(f"{place.host!r} stands for {len(addresses) or 'no'} addresses; use another host")
        return addresses


def check_ports(ports: Iterable[int]) -> frozenset[int]:
    """Return *ports* as a set. Raise `TypeError` or `ValueError`, which names the first item that is not a port."""
    checked = several(ports, "ports", "port numbers")
    for port in checked:
        if isinstance(port, bool) or not isinstance(port, int):
            raise TypeError(f"ports: {port!r:.40} is no port; a port is a whole number: ports=[8080]")
        if not 1 <= port <= _MOST_PORT:
            raise ValueError(f"ports: {port} is no port; a port is a number from 1 to {_MOST_PORT}")
    return frozenset(checked)


def _parsed(url: str) -> Place:
    """Return the parts of *url*. Raise `Safety` if httpx, which connects, and `urlsplit` read them differently."""
    import httpx

    try:
        parsed = httpx.URL(url)
        host = _normalize_host(parsed.raw_host.decode("ascii"))
        parts = urlsplit(url)
        is_same = host == _normalize_host(parts.hostname or "") and parsed.scheme == parts.scheme
    except (httpx.InvalidURL, ValueError) as error:
        raise Safety(f"{url[:200]!r} is no address that can be reached: {error}") from error
    if not is_same or parsed.userinfo:
        raise Safety(f"{url[:200]!r} can be read in two ways; write it plainly: https://example.com/page")
    port = parsed.port or {"http": 80, "https": 443}[parsed.scheme]
    return Place(str(parsed.copy_with(host=host, fragment=None)), parsed.scheme, host, port, is_private=False)


def _normalize_host(host: str) -> str:
    host = host.lower().removesuffix(".")
    return str(ip_address(host)) if ":" in host else host


def _can_be_allowed(address: Address) -> bool:
    try:
        AllowedHosts([str(address)])
    except ValueError:
        return False  # for example a metadata service
    return True
