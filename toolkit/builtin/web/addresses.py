"""
Where `web_fetch` may go: an address is judged as text, then by every number it stands for.

A name is looked up once, and what was judged is what is connected to: a server of names
that answers differently the second time is not asked a second time.
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
"""Every address that a host's name stands for, in the order in which to try them."""
JudgeAddress: TypeAlias = Callable[[Address], str | None]
"""What kind of address it is, "a private address", if it may not be reached."""

_MOST_ADDRESSES = 64
_MOST_PORT = 65535
_WEB_PORTS = frozenset([80, 443])
_NO_SUCH_NAME = frozenset([socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)])


async def by_system(host: str, port: int) -> list[str]:
    """The addresses of *host* as the operating system knows them."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(place[0]) for *_, place in found]


@dataclass(frozen=True, slots=True)
class Place:
    """
    An address that may be reached, as text.

    Attributes:
        url: In its one spelling, without a fragment: what is asked for, and what rules are held against.
        host: A name or a number, without brackets.
        is_private: Whether the application allows private addresses here.
    """

    url: str
    scheme: str
    host: str
    port: int
    is_private: bool


class Doors:
    """
    What may be reached.

    Args:
        allowed_hosts: Only these, if given: "docs.python.org", "*.example.com", "example.com:8080".
        private_hosts: Hosts that may be reached although they are private. Metadata services,
            link-local and reserved addresses never are.
        ports: Ports of public hosts that may be reached, besides 80 and 443.
        resolve: Looks a name up.
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
        """*url*, if nothing in its text speaks against it; otherwise `Safety`."""
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

        A public host has its web ports, those of `ports`, and those that `allowed_hosts` or an allow rule names
        together with the host; *opens_port* knows the rules. A private host was listed by the application.
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
        """Every address of *place*, judged; `Safety` if one of them may not be reached."""
        found = await self._looked_up(place)
        for each in found:
            kind = self._judge(each)
            if kind is not None and not (place.is_private and _can_be_allowed(each)):
                # One is enough to refuse all: an honest name does not stand for inside and outside at once.
                raise Safety(f"{place.host!r} stands for {each}, {kind}, which is not reached; use another host")
        return [str(each) for each in found]

    async def _looked_up(self, place: Place) -> list[Address]:
        try:
            return [ip_address(place.host)]
        except ValueError:
            pass
        try:
            found = await self._resolve(place.host, place.port)
            addresses = [ip_address(each) for each in dict.fromkeys(found)]
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
    """Return *ports* as a set; `TypeError` or `ValueError` names the first that is no port."""
    checked = several(ports, "ports", "port numbers")
    for port in checked:
        if isinstance(port, bool) or not isinstance(port, int):
            raise TypeError(f"ports: {port!r:.40} is no port; a port is a whole number: ports=[8080]")
        if not 1 <= port <= _MOST_PORT:
            raise ValueError(f"ports: {port} is no port; a port is a number from 1 to {_MOST_PORT}")
    return frozenset(checked)


def _parsed(url: str) -> Place:
    """The parts of *url*, if the one who judged it and the one who connects read it alike."""
    import httpx

    try:
        parsed = httpx.URL(url)
        host = _one_spelling(parsed.raw_host.decode("ascii"))
        parts = urlsplit(url)
        is_same = host == _one_spelling(parts.hostname or "") and parsed.scheme == parts.scheme
    except (httpx.InvalidURL, ValueError) as error:
        raise Safety(f"{url[:200]!r} is no address that can be reached: {error}") from error
    if not is_same or parsed.userinfo:
        raise Safety(f"{url[:200]!r} can be read in two ways; write it plainly: https://example.com/page")
    port = parsed.port or {"http": 80, "https": 443}[parsed.scheme]
    return Place(str(parsed.copy_with(host=host, fragment=None)), parsed.scheme, host, port, is_private=False)


def _one_spelling(host: str) -> str:
    host = host.lower().removesuffix(".")
    return str(ip_address(host)) if ":" in host else host


def _can_be_allowed(address: Address) -> bool:
    try:
        AllowedHosts([str(address)])
    except ValueError:
        return False  # a metadata service, say
    return True
