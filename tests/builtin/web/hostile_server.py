"""
A web server on loopback that behaves as badly as it is told, one behaviour a path.

Tests declare it public: names are looked up by a function that answers with its address, and the
judge of addresses lets loopback pass. Everything else is judged as ever.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import ssl
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import NamedTuple

from toolkit.safety.hosts import unreachable

__all__ = [
    "SERVER_PORTS",
    "Asked",
    "HostileServer",
    "answer",
    "endless",
    "gzip_bomb",
    "header_flood",
    "loopback_is_public",
    "names",
    "raw",
    "redirect",
    "reset",
    "serving",
    "silent",
    "stall",
    "trickle",
]

SERVER_PORTS: list[int] = []
"""The ports of the servers that run. Tests that are not about ports allow them: `ports=SERVER_PORTS`."""

Behaviour = Callable[["HostileServer", asyncio.StreamWriter], Awaitable[None]]


class Asked(NamedTuple):
    """A request that came; the names of headers are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]


class HostileServer:
    """
    Answers each path as `pages` says, others with 404.

    Attributes:
        asked: The requests that came.
        released: What silent and stalled answers wait for.
    """

    def __init__(self, scheme: str = "http") -> None:
        self.pages: dict[str, Behaviour] = {}
        self.asked: list[Asked] = []
        self.released = asyncio.Event()
        self.port = 0
        self._scheme = scheme

    def url(self, path: str = "/", *, host: str = "public.example") -> str:
        return f"{self._scheme}://{host}:{self.port}{path}"

    @property
    def paths(self) -> list[str]:
        return [request.path for request in self.asked]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").strip().split("\r\n")
            method, path, _ = first.split(" ")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
            self.asked.append(Asked(method, path, headers))
            await self.pages.get(path, answer(b"nothing here", status=404))(self, writer)
        writer.close()


def answer(body: bytes | str = b"", *, status: int = 200, type: str | None = "text/plain", **headers: str) -> Behaviour:
    """Return an honest answer; `retry_after="7"` is a header."""
    data = body.encode() if isinstance(body, str) else body
    lines = {"Content-Length": str(len(data)), **({"Content-Type": type} if type else {})}
    lines |= {name.replace("_", "-"): value for name, value in headers.items()}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return raw(f"HTTP/1.1 {status} Whatever\r\n{head}\r\n".encode("latin-1") + data)


def redirect(to: str, *, status: int = 302, **headers: str) -> Behaviour:
    """Return an answer that sends the client elsewhere."""
    return answer(b"elsewhere", status=status, location=to, **headers)


def raw(data: bytes) -> Behaviour:
    """Return a behaviour that sends exactly these bytes, and then ends the connection."""

    async def behave(server: HostileServer, writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        await writer.drain()

    return behave


async def reset(server: HostileServer, writer: asyncio.StreamWriter) -> None:
    """Reset the connection without an answer."""
    writer.transport.abort()


async def silent(server: HostileServer, writer: asyncio.StreamWriter) -> None:
    """Give no answer, and keep the connection."""
    await server.released.wait()


async def stall(server: HostileServer, writer: asyncio.StreamWriter) -> None:
    """Send the beginning of a body, and nothing more."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1000\r\n\r\nonce upon")
    await writer.drain()
    await server.released.wait()


def trickle(piece: bytes = b"x") -> Behaviour:
    """Send a body without end in the smallest of pieces: there is always something to read, and never much."""
    return endless(piece)


def endless(piece: bytes = b"0123456789abcdef" * 4096, *, type: str = "text/plain", **headers: str) -> Behaviour:
    """Send a body without end."""

    async def behave(server: HostileServer, writer: asyncio.StreamWriter) -> None:
        more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {type}\r\nTransfer-Encoding: chunked\r\n{more}\r\n"
        writer.write(head.encode())
        chunk = f"{len(piece):x}\r\n".encode() + piece + b"\r\n"
        while not server.released.is_set():
            writer.write(chunk)
            await writer.drain()
            await asyncio.sleep(0)  # `drain` does not let others run while the buffer has room

    return behave


def gzip_bomb(megabytes: int) -> bytes:
    """Compress so many megabytes of zeros, to a thousandth of that in size."""
    packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    zeros = bytes(1 << 20)
    return b"".join(packer.compress(zeros) for _ in range(megabytes)) + packer.flush()


def gzip_body(text: str) -> bytes:
    return gzip.compress(text.encode())


async def header_flood(server: HostileServer, writer: asyncio.StreamWriter) -> None:
    """Send headers without end."""
    writer.write(b"HTTP/1.1 200 OK\r\n")
    line = b"X-Flood: " + b"y" * 8000 + b"\r\n"
    while not server.released.is_set():
        writer.write(line)
        await writer.drain()
        await asyncio.sleep(0)


@contextlib.asynccontextmanager
async def serving(*, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> AsyncIterator[HostileServer]:
    """Run a server in the running loop, and release everything that waits at the end."""
    server = HostileServer("https" if tls else "http")
    listening = await asyncio.start_server(server.serve, host, 0, ssl=tls)
    server.port = listening.sockets[0].getsockname()[1]
    SERVER_PORTS.append(server.port)
    try:
        yield server
    finally:
        SERVER_PORTS.remove(server.port)
        server.released.set()
        listening.close()
        await listening.wait_closed()


class names:
    """
    Answers look-ups: each name with its addresses, any other with *rest*.

    A list of lists is a name that changes its mind: one answer a look-up, the last for ever.
    """

    def __init__(self, rest: list[str] | None = None, **answers_by_name: list) -> None:
        self.rest = ["127.0.0.1"] if rest is None else rest
        self.known = {name.replace("_", "."): value for name, value in answers_by_name.items()}
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        answers = self.known.get(host, self.rest)
        if answers and isinstance(answers[0], list):
            return answers.pop(0) if len(answers) > 1 else answers[0]
        return answers


def loopback_is_public(address) -> str | None:
    """Judge 127.0.0.1 as a public address, and no other address of this machine."""
    return None if str(address) == "127.0.0.1" else unreachable(address)
