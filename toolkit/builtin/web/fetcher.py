"""
Fetches one page from the web, within limits, and only from addresses that were judged.

Every redirect is judged anew: its text, the addresses of its host, and the rules of the application. The connection
goes to exactly the address that was judged, while the certificate is checked against the name of the host. Only the
request is sent, without cookies and without credentials. No proxy from the environment is used.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING
from urllib.parse import quote, urljoin

from ..._plumbing.decompression import ENCODINGS, inflater_for
from ..._plumbing.wording import format_count, format_seconds
from ...errors import Safety, ToolError, Transient
from ...policies.classify import classify_error, parse_retry_after
from .addresses import ReachableHosts, WebTarget
from .page_text import MediaType, parse_media_type

if TYPE_CHECKING:  # httpx takes long to load
    import httpx

__all__ = ["FetchLimits", "FetchedPage", "Fetcher", "read_body"]

_REDIRECTS = frozenset([301, 302, 303, 307, 308])
_MAX_ERROR_BYTES = 20_000
_MAX_BINARY_BYTES = 4096
_HEADERS = {
    "User-Agent": "toolkit-web-fetch/1",
    "Accept": "text/markdown, text/html, application/json, text/plain, */*;q=0.5",
    "Accept-Encoding": ENCODINGS,
    "Connection": "close",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchLimits:
    """
    Limits on the size and the time of a fetch.

    Attributes:
        max_bytes: The size of one body, before decompression and after.
        max_redirects: The number of redirects after the first address.
        timeout_seconds: The time for everything: lookups, redirects and the whole body.
        connect_seconds: The time for one attempt to connect.
        max_addresses: How many addresses of a host are tried.
        max_chars: The number of characters that are shown at once, and of bytes as UTF-8.
        keep_seconds: How long a session keeps a page; 0 keeps none.
        keep_pages: How many pages a session keeps.
    """

    max_bytes: int = 5_000_000
    max_redirects: int = 5
    timeout_seconds: float = 30.0
    connect_seconds: float = 10.0
    max_addresses: int = 4
    max_chars: int = 30_000
    keep_seconds: float = 900.0
    keep_pages: int = 32

    def __post_init__(self) -> None:
        for limit in fields(self):
            value = getattr(self, limit.name)
            may_be_zero = limit.name in ("max_redirects", "keep_seconds", "keep_pages")
            is_number = isinstance(value, int if limit.type == "int" else (int, float)) and not isinstance(value, bool)
            if not is_number or not 0 <= value < float("inf") or (value == 0 and not may_be_zero):
                expected = "a whole number" if limit.type == "int" else "a number"
                least = "0 or more" if may_be_zero else "more than 0"
                raise ValueError(f"FetchLimits: `{limit.name}` has to be {expected}, {least}, got {value!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedPage:
    """
    A page that was fetched.

    Attributes:
        url: The address from which the page came in the end.
        hops: The addresses to which redirects led, in order. The last one is `url`.
        length: The size that the server states, if it does.
        keep_seconds: How long the page may be kept; None if the server does not say.
    """

    url: str
    hops: tuple[str, ...]
    status: int
    media_type: MediaType
    body: Body
    length: int | None = None
    keep_seconds: float | None = None
    retry_after_seconds: float | None = None


class Fetcher:
    """Fetches pages through *hosts*. By default it trusts the usual certificate authorities."""

    def __init__(
        self, hosts: ReachableHosts, *, limits: FetchLimits | None = None, ssl_context: ssl.SSLContext | None = None
    ) -> None:
        self.hosts = hosts
        self.limits = FetchLimits() if limits is None else limits
        self._ssl_context = ssl_context

    async def fetch(
        self, url: str, *, check: Callable[[str], None], opens_port: Callable[[str], bool] = lambda url: False
    ) -> FetchedPage:
        """
        Fetch the page at *url*, and return it with any status.

        *check* raises if a redirect to an address may not be followed. *opens_port* returns whether an allow rule names
        the host and the port of an address. Raise `Safety` if an address may not be reached, `Transient` if the server
        could not be reached, and `ToolError` if the answer is too slow or invalid.
        """
        target = first = self.hosts.check_url(url)
        self.hosts.check_port(target, opens_port)
        hops: list[str] = []
        keeps: list[float | None] = []
        has_answered = False
        try:
            async with asyncio.timeout(self.limits.timeout_seconds):
                while True:
                    async with self._response(target) as response:
                        has_answered = True
                        keeps.append(_keep_seconds(response))
                        redirect_url = _find_redirect_url(target, response)
                        if redirect_url is None:
                            return await self._read_page(target, hops, keeps, response)
                    target = self._follow_redirect(target, redirect_url, [first.url, *hops], check, opens_port)
                    hops.append(target.url)
        except TimeoutError:
            within = f"within {format_seconds(self.limits.timeout_seconds)}"
            if has_answered:
                raise ToolError(f"{target.url} was answered too slowly to be read {within}; try another page") from None
            raise Transient(f"{target.host!r} did not answer {within}", happened="maybe") from None

    def _follow_redirect(
        self,
        target: WebTarget,
        redirect_url: str,
        earlier_urls: list[str],
        check: Callable[[str], None],
        opens_port: Callable[[str], bool],
    ) -> WebTarget:
        """Return the place to which a redirect leads, judged like the first address."""
        if len(earlier_urls) > self.limits.max_redirects:
            raise ToolError(
                f"{earlier_urls[0]} redirects more than {format_count(self.limits.max_redirects, 'time')}; "
                f"try another page"
            )
        try:
            next_target = self.hosts.check_url(redirect_url)
            self.hosts.check_port(next_target, opens_port)
        except Safety as error:
            raise Safety(f"{target.url} redirects to an address that is not reached: {error}") from error
        if target.scheme == "https" and next_target.scheme == "http":
            raise Safety(
                f"{target.url} redirects from https to {next_target.url}, where others on the network could read it"
            )
        if next_target.url in earlier_urls:
            raise ToolError(f"{target.url} redirects to {next_target.url}, in a circle; try another page")
        check(next_target.url)
        return next_target

    @asynccontextmanager
    async def _response(self, target: WebTarget) -> AsyncIterator[httpx.Response]:
        """Yield the head of the answer from one of the addresses of *target*, all of which were judged."""
        import httpx

        last_error: httpx.TransportError = httpx.ConnectError("it has no address")
        for address in (await self.hosts.resolve_addresses(target))[: self.limits.max_addresses]:
            transport = httpx.AsyncHTTPTransport(verify=self._get_ssl_context(), trust_env=False)
            try:
                async with transport:
                    try:
                        response = await transport.handle_async_request(self._build_request(target, address))
                    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                        last_error = error
                        continue
                    try:
                        yield response
                    finally:
                        await response.aclose()
                    return
            except httpx.TransportError as error:
                raise _explain_error(error, target) from error
        raise _explain_error(last_error, target) from last_error

    def _build_request(self, target: WebTarget, address: str) -> httpx.Request:
        """Return a request that goes to *address*, but names the host in everything else."""
        import httpx

        url = httpx.URL(target.url)
        return httpx.Request(
            "GET",
            url.copy_with(host=address),
            headers={"Host": url.netloc.decode("ascii"), **_HEADERS},
            # Reading has no timeout of its own. The time limit for the whole fetch also ends a body that arrives in
            # small drops.
            extensions={"timeout": {"connect": self.limits.connect_seconds}, "sni_hostname": target.host},
        )

    def _get_ssl_context(self) -> ssl.SSLContext:
        if self._ssl_context is None:
            import httpx

            self._ssl_context = httpx.create_ssl_context(trust_env=False)
        return self._ssl_context

    async def _read_page(
        self, target: WebTarget, hops: list[str], keeps: list[float | None], response: httpx.Response
    ) -> FetchedPage:
        kind = parse_media_type(response.headers.get("content-type", ""))
        max_bytes = self.limits.max_bytes
        if not response.is_success:
            max_bytes = min(max_bytes, _MAX_ERROR_BYTES)
        elif not (kind.is_text or kind.is_unknown):
            max_bytes = min(max_bytes, _MAX_BINARY_BYTES)  # enough to detect the kind of file
        encoding = response.headers.get("content-encoding", "")
        length = response.headers.get("content-length", "")
        stated_seconds = [keep for keep in keeps if keep is not None]
        return FetchedPage(
            url=target.url,
            hops=tuple(hops),
            status=response.status_code,
            media_type=kind,
            body=await read_body(response.aiter_raw(), encoding, max_bytes=max_bytes),
            length=int(length) if re.fullmatch("[0-9]{1,18}", length) else None,
            keep_seconds=min(stated_seconds) if stated_seconds else None,
            retry_after_seconds=parse_retry_after(response.headers),
        )


def _find_redirect_url(target: WebTarget, response: httpx.Response) -> str | None:
    """Return the URL to which a redirect leads, or None if the response is no redirect."""
    if response.status_code not in _REDIRECTS:
        return None
    locations = set(response.headers.get_list("location"))
    if len(locations) != 1:
        raise ToolError(f"{target.url} redirects, but names {len(locations) or 'no'} places to go; try another page")
    # Blanks and letters beyond ASCII are common here. Every browser percent-encodes them. In a host they remain an
    # error.
    location = re.sub(r"[^!-~]+", lambda match: quote(match[0]), locations.pop().strip())
    try:
        return urljoin(target.url, location)
    except ValueError as error:
        raise Safety(f"{target.url} redirects to {location[:200]!r}, which is no address") from error


def _keep_seconds(response: httpx.Response) -> float | None:
    directives = [directive.strip() for directive in response.headers.get("cache-control", "").lower().split(",")]
    if any(directive in ("no-store", "no-cache") or directive.startswith("no-cache=") for directive in directives):
        return 0.0
    ages = [
        int(match[1]) for directive in directives if (match := re.fullmatch(r'max-age="?([0-9]{1,9})"?', directive))
    ]
    return float(min(ages)) if ages else None


def _explain_error(error: Exception, target: WebTarget) -> ToolError:
    """Return the error for a failed connection, in words that tell the model what it means."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return ToolError(f"the certificate of {target.host!r} does not hold: {cause.verify_message}")
        cause = cause.__cause__ or cause.__context__
    classified_error = classify_error(error)
    message = f"{target.host!r}: {classified_error}"
    if isinstance(classified_error, Transient):
        return Transient(message, happened=classified_error.happened)
    return ToolError(message)


@dataclass(frozen=True, slots=True)
class Body:
    """The decompressed body of an answer, and why it is not complete if it is not."""

    data: bytes
    cut_reason: str | None = None


async def read_body(chunks: AsyncIterator[bytes], encoding: str, *, max_bytes: int) -> Body:
    """Return all data of *chunks*, in a Content-Encoding, at most *max_bytes* before decompression and after."""
    data = bytearray()
    received = 0
    try:
        inflater = inflater_for(encoding)
        async for chunk in chunks:
            received += len(chunk)
            for piece in inflater.decompress(chunk, 65536):
                data += piece
                if len(data) > max_bytes:
                    return Body(bytes(data[:max_bytes]), f"cut after {max_bytes:,} bytes")
            if received > max_bytes:
                return Body(bytes(data), f"cut after {max_bytes:,} bytes of compressed data")
    except ValueError as error:
        raise ToolError(f"{error}; try another page") from error
    is_whole = inflater.is_complete
    return Body(bytes(data), None if is_whole else "cut short by the server: its compressed data has no end")
