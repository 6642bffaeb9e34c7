"""
A model on loopback: an HTTP server that speaks the four protocols, and fails as it is told.

`test_stub.py` has the official clients talk to it, so that what our providers understand is the real protocol.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .protocols import Protocol, Turn, protocol_of

__all__ = ["Answer", "Breaking", "Heard", "Reset", "Silent", "Stub", "serving"]

KEY = "sk-test-0123456789abcdef"


@dataclass(frozen=True)
class Heard:
    """A request that came; the names of headers are in lower case."""

    path: str
    headers: Mapping[str, str]
    body: Any


@dataclass(frozen=True)
class Answer:
    """An answer as it is: an error, or one that follows no protocol."""

    status: int
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Breaking:
    """A stream that is cut after so many events, politely or with a reset."""

    turn: Turn
    after: int
    is_reset: bool = False


@dataclass(frozen=True)
class Reset:
    """Slam the door instead of answering."""


@dataclass(frozen=True)
class Silent:
    """Begin a stream, or an answer, and say nothing more until the server is released."""


Step = Turn | Answer | Breaking | Reset | Silent


class Stub:
    """
    Plays its script, one step a request; a script that has run out is a 500.

    Attributes:
        heard: The requests that came.
        split: How the bytes of a stream are cut into chunks.
        line_end: What lines of a stream end with.
        between: What stands between two events, such as comments.
        released: What silent answers wait for.
    """

    def __init__(self, *script: Step) -> None:
        self.script = list(script)
        self.heard: list[Heard] = []
        self.split: Callable[[bytes], Iterable[bytes]] = lambda stream: [stream]
        self.line_end = "\n"
        self.between = ""
        self.released = asyncio.Event()
        self.port = 0
        self._open: dict[asyncio.Task[Any], asyncio.StreamWriter] = {}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open[task] = writer
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            while await self._one(reader, writer):
                pass
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
        del self._open[task]

    async def close(self) -> None:
        """End everything that hangs or waits for another request."""
        self.released.set()
        for writer in self._open.values():
            writer.close()
        await asyncio.gather(*self._open)

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; whether another may follow on the connection."""
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").strip().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = json.loads(await reader.readexactly(int(headers["content-length"])))
        path = first.split(" ")[1]
        self.heard.append(Heard(path, headers, body))
        protocol = protocol_of(path)
        if protocol is None:
            return await self._answer(writer, Answer(404, {"error": {"message": "nothing here"}}))
        if KEY not in headers.get(protocol.key_header, ""):
            return await self._answer(writer, Answer(401, {"error": {"message": f"bad key {headers}"}}))
        step = self.script.pop(0) if self.script else Answer(500, {"error": {"message": "the script has run out"}})
        model = body.get("model", "gemini-test")
        if isinstance(step, Reset):
            return _reset(writer)
        if isinstance(step, Answer):
            return await self._answer(writer, step)
        is_stream = body.get("stream") or "streamGenerateContent" in path
        if isinstance(step, Silent):
            head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
            writer.write(head.encode() if is_stream else b"HTTP/1.1 200 OK\r\n")
            await writer.drain()
            await self.released.wait()
            return False
        if is_stream:
            return await self._stream(writer, protocol, step, model)
        turn = step.turn if isinstance(step, Breaking) else step
        return await self._answer(writer, Answer(200, protocol.whole(turn, model)))

    async def _answer(self, writer: asyncio.StreamWriter, answer: Answer) -> bool:
        content = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
        headers = {"Content-Type": "application/json", "Content-Length": str(len(content)), **answer.headers}
        lines = [f"HTTP/1.1 {answer.status} Said", *(f"{name}: {value}" for name, value in headers.items())]
        writer.write("\r\n".join([*lines, "", ""]).encode() + content)
        await writer.drain()
        return True

    async def _stream(
        self, writer: asyncio.StreamWriter, protocol: Protocol, step: Turn | Breaking, model: str
    ) -> bool:
        turn = step.turn if isinstance(step, Breaking) else step
        events = [self._event(name, data) for name, data in protocol.events(turn, model)]
        sent_events = events[: step.after] if isinstance(step, Breaking) else events
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n")
        writer.write(b"Transfer-Encoding: chunked\r\n\r\n")
        for chunk in self.split("".join(sent_events).encode()):
            if chunk:
                writer.write(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n")
                await writer.drain()
        if isinstance(step, Breaking):
            return _reset(writer) if step.is_reset else await _end(writer)
        return await _end(writer)

    def _event(self, name: str, data: Any) -> str:
        text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
        lines = [f"event: {name}"] if name else []
        return self.line_end.join([*lines, f"data: {text}", "", self.between])


async def _end(writer: asyncio.StreamWriter) -> bool:
    writer.write(b"0\r\n\r\n")
    await writer.drain()
    return True


def _reset(writer: asyncio.StreamWriter) -> bool:
    connection = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
    return False


@contextlib.asynccontextmanager
async def serving(*script: Step) -> AsyncIterator[Stub]:
    """Run a stub in the running loop, and release everything that hangs at the end."""
    stub = Stub(*script)
    listening = await asyncio.start_server(stub.serve, "127.0.0.1", 0, limit=2**22)
    stub.port = listening.sockets[0].getsockname()[1]
    try:
        yield stub
    finally:
        for _ in range(5):
            await asyncio.sleep(0)  # a connection that was just accepted takes some turns to be seen
        listening.close()
        await stub.close()
