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
from ipaddress import ip_address
from typing import TypeAlias
from urllib.parse import urlsplit

from ..._option_checks import require_list
from ...errors import Safety, ToolError, Transient
from ...safety.hosts import Address, AllowedHosts, check_url, unreachable

__all__ = ["JudgeAddress", "ReachableHosts", "Resolve", "WebTarget", "check_ports", "resolve_by_system"]

Resolve: TypeAlias = Callable[[str, int], Awaitable[Sequence[str]]]
"""Returns every address of a host name, in the order in which to try them."""
JudgeAddress: TypeAlias = Callable[[Address], str | None]
"""Returns the kind of an address that may not be reached, such as "a private address", or None if it may be reached."""

_MAX_ADDRESSES = 64
_MAX_PORT = 65535
_WEB_PORTS = frozenset([80, 443])
_NO_SUCH_NAME = frozenset([socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)])


async def resolve_by_system(host: str, port: int) -> list[str]:
    """Return the addresses of *host* as the operating system knows them."""
    entries = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(place[0]) for *_, place in entries]


@dataclass(frozen=True, slots=True)
class WebTarget:
    """
    A URL that may be reached, judged as text.

    Attributes:
        url: The URL in its one spelling, without a fragment. It is used for the request and compared with rules.
        host: A name or an IP address, without brackets.
        may_be_private: Whether the application allows private addresses for this host.
    """

    url: str
    scheme: str
    host: str
    port: int
    may_be_private: bool


class ReachableHosts:
    """
    The hosts and ports that may be reached; see `web_fetch_for`.

    Metadata services, link-local and reserved addresses can never be reached, even if *private_hosts* names them.
    """

    def __init__(
        self,
        *,
        allowed_hosts: Sequence[str] | None = None,
        private_hosts: Sequence[str] = (),
        ports: Iterable[int] = (),
        resolve: Resolve = resolve_by_system,
        judge: JudgeAddress = unreachable,
    ) -> None:
        self._private = AllowedHosts(private_hosts)
        self._allowed = None if allowed_hosts is None else AllowedHosts(allowed_hosts)
        self._ports = _WEB_PORTS | check_ports(ports)
        self._host_names = ", ".join([*(allowed_hosts or ()), *private_hosts][:20]) or "none"
        self._resolve = resolve
        self._judge = judge

    def check_url(self, url: str) -> WebTarget:
        """Return *url* as a `WebTarget`. Raise `Safety` if its text shows that it may not be reached."""
        finding = check_url(url, self._private)
        if finding is not None:
            raise Safety(finding.reason)
        target = _parse_url(url)
        endpoint = (target.host, target.port)
        is_private = endpoint in self._private
        if self._allowed is not None and endpoint not in self._allowed and not is_private:
            raise Safety(f"{target.host!r} is none of the hosts that may be reached; these are: {self._host_names}")
        return WebTarget(target.url, target.scheme, target.host, target.port, is_private)

    def check_port(self, target: WebTarget, opens_port: Callable[[str], bool]) -> None:
        """
        Raise `Safety` unless the port of *target* is open.

        These ports of a public host are open: the web ports, those in `ports`, and those that `allowed_hosts` or an
        allow rule names together with the host. *opens_port* knows the rules. A private host needs no further check,
        because the application listed it.
        """
        if target.port in self._ports or target.may_be_private:
            return
        if self._allowed is not None and self._allowed.names_port(target.host, target.port):
            return
        if not opens_port(target.url):
            host = f"[{target.host}]" if ":" in target.host else target.host
            ports = ", ".join(map(str, sorted(self._ports)[:20]))
            raise Safety(
                f"port {target.port} of {target.host!r} is not reached, only these ports are: {ports}; the user can "
                f"open it with the rule `allow web_fetch(url={target.scheme}://{host}:{target.port}/**)`, or with "
                f"ports=[{target.port}] where the tool is made"
            )

    async def resolve_addresses(self, target: WebTarget) -> list[str]:
        """Return every address of *target*. Raise `Safety` if one of them may not be reached."""
        ip_addresses = await self._look_up(target)
        for address in ip_addresses:
            kind = self._judge(address)
            if kind is not None and not (target.may_be_private and _can_be_allowed(address)):
                # One forbidden address is enough to refuse all: an honest name does not have addresses inside and
                # outside at once.
                raise Safety(f"{target.host!r} stands for {address}, {kind}, which is not reached; use another host")
        return [str(address) for address in ip_addresses]

    async def _look_up(self, target: WebTarget) -> list[Address]:
        try:
            return [ip_address(target.host)]
        except ValueError:
            pass
        try:
            texts = await self._resolve(target.host, target.port)
            addresses = [ip_address(text) for text in dict.fromkeys(texts)]
        except socket.gaierror as error:
            if error.errno in _NO_SUCH_NAME:
                raise ToolError(f"there is no host {target.host!r}; check its name") from error
            raise Transient(f"{target.host!r} could not be looked up: {error.strerror}") from error
        except ValueError as error:
            raise ToolError(f"{target.host!r} stands for something that is no address: {error}") from error
        if not addresses or len(addresses) > _MAX_ADDRESSES:
            raise ToolError(f"{target.host!r} stands for {len(addresses) or 'no'} addresses; use another host")
        return addresses


def check_ports(ports: Iterable[int]) -> frozenset[int]:
    """Return *ports* as a set. Raise `TypeError` or `ValueError`, which names the first item that is not a port."""
    checked = require_list(ports, "ports", "port numbers")
    for port in checked:
        if isinstance(port, bool) or not isinstance(port, int):
            raise TypeError(f"ports: {port!r:.40} is no port; a port is a whole number: ports=[8080]")
        if not 1 <= port <= _MAX_PORT:
            raise ValueError(f"ports: {port} is no port; a port is a number from 1 to {_MAX_PORT}")
    return frozenset(checked)


def _parse_url(url: str) -> WebTarget:
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
    return WebTarget(str(parsed.copy_with(host=host, fragment=None)), parsed.scheme, host, port, may_be_private=False)


def _normalize_host(host: str) -> str:
    host = host.lower().removesuffix(".")
    return str(ip_address(host)) if ":" in host else host


def _can_be_allowed(address: Address) -> bool:
    try:
        AllowedHosts([str(address)])
    except ValueError:
        return False  # for example a metadata service
    return True
