"""
Serve over standard input and output: one message on each line.

While the server runs, standard output belongs to the protocol. What tools and libraries print goes to standard error,
and their standard input is empty. The threads that read and write are daemons, so a server that is stopped ends at
once, even if its client sends nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, Unpack

import anyio
import mcp_types as types
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from mcp.server import Server
from mcp.shared.message import SessionMessage
from mcp_types.jsonrpc import jsonrpc_message_adapter
from pydantic import ValidationError

from ...concurrency.thread_pool import ThreadPool
from ...dispatcher import Dispatcher
from .strict_messages import build_error_message, find_message_id, has_wrong_id, parse_message
from .tool_server import ServerOptions, build_server

__all__ = ["serve", "serve_lines", "serve_stdio"]

_log = logging.getLogger(__name__)

_MAX_LINE_BYTES = 8 * 1024 * 1024
_LAST_ANSWERS_SECONDS = 1.0
"""How long requests that are under way may still be answered after the client has closed its end."""


def serve(dispatcher: Dispatcher, **options: Unpack[ServerOptions]) -> None:
    """
    Serve the tools of *dispatcher* over standard input and output, until the client closes them: `serve(dispatcher)`.

    This is what a client starts as a process. `build_server` explains the options.
    """
    try:
        asyncio.run(serve_stdio(build_server(dispatcher, **options)))
    except KeyboardInterrupt:
        raise KeyboardInterrupt from None  # where the loop was then tells the user nothing


async def serve_stdio(server: Server[Any]) -> None:
    """Serve the process that started this one, until it closes standard input."""
    with _claim_standard_streams() as (lines, output):
        await serve_lines(server, lines, output)


async def serve_lines(server: Server[Any], lines: BinaryIO, output: BinaryIO) -> None:
    """
    Serve one client: read messages from *lines* until they end, and write messages to *output*.

    If *output* cannot be written, the client is gone. Then its calls are cancelled, and the server ends too.
    """
    pool = ThreadPool(2, name="toolkit-mcp")
    incoming, received = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, to_write = anyio.create_memory_object_stream[SessionMessage](0)
    try:
        async with anyio.create_task_group() as tasks:
            client = _LineClient(lines, output, pool, on_loss=tasks.cancel_scope.cancel)
            tasks.start_soon(client.read_messages, incoming)
            tasks.start_soon(client.write_messages, to_write)
            await server.run(received, outgoing, server.create_initialization_options())
            tasks.cancel_scope.cancel()
    finally:
        pool.close()


class _LineClient:
    """
    The client, which reads and writes whole lines. The threads of *pool* wait for it.

    *on_loss* is called when a line cannot be written, because the client no longer reads.
    """

    def __init__(self, lines: BinaryIO, output: BinaryIO, pool: ThreadPool, *, on_loss: Callable[[], None]) -> None:
        self._lines = lines
        self._output = output
        self._pool = pool
        self._on_loss = on_loss
        self._lock = anyio.Lock()
        self._unanswered: set[str | int] = set()  # so that the end of a pipe does not cut off the last answers
        self._is_answered = asyncio.Event()

    async def read_messages(self, messages: ObjectSendStream[SessionMessage | Exception]) -> None:
        """Pass on what the client writes, until it has closed its end and has the last answers."""
        async with messages:
            while line := await self._pool.run(lambda: self._lines.readline(_MAX_LINE_BYTES + 1), "read a message"):
                if len(line) > _MAX_LINE_BYTES and not line.endswith(b"\n"):
                    await self._pool.run(self._skip_line, "read a message")
                    await self._write(build_error_message(None, f"a message has at most {_MAX_LINE_BYTES:,} bytes"))
                elif line.strip() and (message := await self._parse(line)) is not None:
                    # A subscription has no answer until it ends.
                    if isinstance(message, types.JSONRPCRequest) and message.method != "subscriptions/listen":
                        self._unanswered.add(message.id)
                        self._is_answered.clear()
                    await messages.send(SessionMessage(message))
            if self._unanswered:
                with anyio.move_on_after(_LAST_ANSWERS_SECONDS):
                    await self._is_answered.wait()

    def _skip_line(self) -> None:
        while (part := self._lines.readline(_MAX_LINE_BYTES)) and not part.endswith(b"\n"):
            pass

    async def _parse(self, line: bytes) -> types.JSONRPCMessage | None:
        """Return the message in *line*. If there is none, tell the client why, and return None."""
        try:
            content = parse_message(line.strip())
        except ValueError as error:
            await self._write(build_error_message(find_message_id(line), str(error)))
            return None
        try:
            message = jsonrpc_message_adapter.validate_python(content, by_name=False)
        except ValidationError:
            message = None
        if message is None or has_wrong_id(content):
            text = "a line has to be one JSON-RPC 2.0 message"
            await self._write(build_error_message(find_message_id(line), text, types.INVALID_REQUEST))
            return None
        return message

    async def write_messages(self, messages: ObjectReceiveStream[SessionMessage]) -> None:
        """Write *messages* to the client, one after the other."""
        async with messages:
            async for item in messages:
                message = item.message
                line = _encode(message)
                if line is not None:
                    await self._write(line)
                if isinstance(message, (types.JSONRPCResponse, types.JSONRPCError)) and message.id is not None:
                    self._unanswered.discard(message.id)
                    if not self._unanswered:
                        self._is_answered.set()

    async def _write(self, line: bytes) -> None:
        def write_line() -> None:
            self._output.write(line + b"\n")
            self._output.flush()

        async with self._lock:
            try:
                await self._pool.run(write_line, "write a message")
            except OSError as error:
                _log.warning("the client cannot be written to any more, so the server ends: %s", error)
                self._on_loss()


def _encode(message: types.JSONRPCMessage) -> bytes | None:
    """Return the JSON text of *message*. If it has none: that of an error if an answer is due, and otherwise None."""
    try:
        return message.model_dump_json(by_alias=True, exclude_unset=True).encode()
    except ValueError:
        pass  # most likely a lone surrogate in a text, which UTF-8 does not have
    try:
        content = message.model_dump(by_alias=True, exclude_unset=True)
        return json.dumps(content, ensure_ascii=False, allow_nan=False).encode(errors="replace")
    except (TypeError, ValueError, RecursionError) as error:
        _log.error("a message cannot be sent, because it has no JSON form: %s", error)
        if isinstance(message, (types.JSONRPCResponse, types.JSONRPCError)):
            return build_error_message(message.id, f"the answer has no JSON form: {error}", types.INTERNAL_ERROR)
        return None


@contextlib.contextmanager
def _claim_standard_streams() -> Iterator[tuple[BinaryIO, BinaryIO]]:
    """
    Yield standard input and output, and keep everything else away from them until the block ends.

    Tools, and the processes that they start, would otherwise read or write between the messages.
    """
    sys.stdout.flush()
    own_input, own_output = os.dup(0), os.dup(1)
    try:
        with open(os.devnull, "rb") as nothing:
            os.dup2(nothing.fileno(), 0)
        os.dup2(2, 1)
        # The files are left open: a thread may still read from one of them when the server has ended.
        yield os.fdopen(own_input, "rb", closefd=False), os.fdopen(own_output, "wb", closefd=False)
    finally:
        if sys.__stdout__ is not None:
            sys.__stdout__.flush()  # `sys.stdout` may be another stream
        os.dup2(own_input, 0)
        os.dup2(own_output, 1)
