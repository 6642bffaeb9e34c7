"""
An HTTP server on loopback that misbehaves as it is told.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable

__all__ = ["Server", "answer", "cut", "hang", "reset", "serving"]

Behaviour = Callable[["Server", asyncio.StreamWriter], Awaitable[None]]


class Server:
    """
    Answers each request as its script says, the last entry for ever.

    Attributes:
        script: What to do, one entry a request.
        requests: The methods of the requests that came.
        asked: Set when a request has come.
        released: What hanging answers wait for.
    """

    def __init__(self) -> None:
        self.script: list[Behaviour] = [answer(200, "fine")]
        self.requests: list[str] = []
        self.asked = asyncio.Event()
        self.released = asyncio.Event()
        self.address = ("127.0.0.1", 0)

    @property
    def url(self) -> str:
        return f"http://{self.address[0]}:{self.address[1]}/"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            if "content-length: " in head:
                await reader.readexactly(int(head.partition("content-length: ")[2].partition("\r\n")[0]))
            self.requests.append(head.partition(" ")[0].upper())
            self.asked.set()
            await (self.script.pop(0) if len(self.script) > 1 else self.script[0])(self, writer)
        writer.close()


def answer(status: int, body: str = "", **headers: str) -> Behaviour:
    """Answer properly; `retry_after="7"` is a header."""

    async def behave(server: Server, writer: asyncio.StreamWriter) -> None:
        lines = [f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(body)}", "Connection: close"]
        lines += [f"{name.replace('_', '-').title()}: {value}" for name, value in headers.items()]
        writer.write("\r\n".join([*lines, "", body]).encode())
        await writer.drain()

    return behave


async def cut(server: Server, writer: asyncio.StreamWriter) -> None:
    """Begin an answer, and close in the middle of it."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf of")
    await writer.drain()


async def reset(server: Server, writer: asyncio.StreamWriter) -> None:
    """Slam the door: the client gets a reset instead of an answer."""
    connection = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def hang(server: Server, writer: asyncio.StreamWriter) -> None:
    """Say nothing until released."""
    await server.released.wait()


@contextlib.asynccontextmanager
async def serving() -> AsyncIterator[Server]:
    """Run a server in the running loop, and release everything that hangs at the end."""
    server = Server()
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.address = listening.sockets[0].getsockname()
    try:
        yield server
    finally:
        server.released.set()
        listening.close()
        await listening.wait_closed()
