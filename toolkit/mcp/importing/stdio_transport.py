"""
Starts a server as a process, and exchanges messages with it over its standard input and output.

The SDK's own transport reads lines of any length, joins them in quadratic time, and passes the error output of the
server on to the terminal. This one limits the size of a message, answers requests whose answer cannot be read, and
keeps the end of the error output for messages. Closing ends the process and all processes that it has started, and so
does the end of this program by a signal.
"""

from __future__ import annotations

import codecs
import contextlib
import logging
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import anyio
import anyio.abc
from mcp.client.stdio import get_default_environment
from mcp.os.posix.utilities import terminate_posix_process_tree
from mcp.shared.message import SessionMessage
from mcp_types.jsonrpc import JSONRPCError, JSONRPCMessage, jsonrpc_message_adapter

from ..._plumbing.wording import format_count
from ...catalogs.foreign_text import clean_text
from ...errors import ToolError
from ...values.visible import make_visible
from .call_errors import build_local_error
from .remote_server import RemoteServer

__all__ = ["ErrorTail", "MessageLines", "ProcessWatch", "open_stdio"]

_log = logging.getLogger("toolkit")

_CHUNK_BYTES = 65_536
_TAIL_CHARS = 400
_KEPT_CHARS = 32_768
"""How much of the error output is kept. It is more than the longest credential, which has to be whole to be masked."""
_EXIT_SECONDS = 2.0
_KILL_SECONDS = 2.0
_FLUSH_SECONDS = 0.5
_POLL_SECONDS = 0.005


class ErrorTail:
    """
    The end of what a server wrote to its error output, for the message that tells why the server is gone.

    *mask* is called with the text, before it is cut.
    """

    def __init__(self, mask: Callable[[str], str] = str) -> None:
        self._text = ""
        self._mask = mask

    async def read(self, stream: Any) -> None:
        """Read *stream* to its end, and forget what is too old to be shown."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        async for chunk in _iter_chunks(stream):
            self._text += decoder.decode(chunk)
            if len(self._text) > 2 * _KEPT_CHARS:  # not at each of many short lines, because masking takes time
                self._text = self._mask(self._text)[-_KEPT_CHARS:]

    def __str__(self) -> str:
        text = clean_text(self._mask(self._text)[-4 * _TAIL_CHARS :], 4 * _TAIL_CHARS)
        return make_visible(self._mask(text), keep_lines=False)[-_TAIL_CHARS:]


@contextlib.asynccontextmanager
async def open_stdio(
    server: RemoteServer, errors: ErrorTail, on_end: Callable[[], None]
) -> AsyncIterator[tuple[Any, Any]]:
    """
    Start the process of *server*, and yield the streams for a client of the SDK; raise `ToolError` if it cannot start.

    *errors* receives the error output of the process. *on_end* is called as soon as it has closed its output.
    """
    process = await _start_process(server)
    watch = None if sys.platform == "win32" else ProcessWatch(process.pid)
    # There is no `await` before the task group is entered, so a cancellation cannot leave the process behind.
    pipes = _ServerPipes(process, server.limits.max_message_bytes, on_end)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(pipes.read_output)
        tasks.start_soon(pipes.write_input)
        tasks.start_soon(errors.read, process.stderr)
        try:
            yield pipes.read_stream, pipes.write_stream
        finally:
            with anyio.CancelScope(shield=True):
                await pipes.flush()
                await _end_process(process)
                if watch is not None:
                    watch.release()
                await pipes.close()
            tasks.cancel_scope.cancel()


class _ServerPipes:
    """The messages from and to *process*, as streams of the SDK. *on_end* is called when no more can come."""

    def __init__(self, process: Any, max_bytes: int, on_end: Callable[[], None]) -> None:
        self._process = process
        self._lines = MessageLines(max_bytes)
        self._on_end = on_end
        self._received, self.read_stream = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        self.write_stream, self._to_send = anyio.create_memory_object_stream[SessionMessage](0)
        self._is_written = anyio.Event()

    async def read_output(self) -> None:
        with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, ConnectionError):
            async with self._received:
                async for chunk in _iter_chunks(self._process.stdout):
                    for message in self._lines.feed(chunk):
                        await self._received.send(SessionMessage(message))
                self._on_end()
        # A process that cannot write its output does not read its input either, so the rest is read and dropped.
        async for _ in _iter_chunks(self._process.stdout):
            pass

    async def write_input(self) -> None:
        try:
            async with self._to_send:
                async for message in self._to_send:
                    text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await self._process.stdin.send(f"{text}\n".encode())
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
            self._on_end()
            await self._received.aclose()
        finally:
            self._is_written.set()

    async def flush(self) -> None:
        """Take no more messages, and wait a moment until those that were taken are written."""
        self.read_stream.close()
        self.write_stream.close()
        with anyio.move_on_after(_FLUSH_SECONDS):
            await self._is_written.wait()

    async def close(self) -> None:
        for stream in (self.read_stream, self.write_stream, self._received, self._to_send):
            await stream.aclose()


async def _start_process(server: RemoteServer) -> Any:
    command, env = list(server.target), {**get_default_environment(), **server.env}
    try:
        if sys.platform == "win32":  # pragma: no cover -- the tests run on Linux
            from mcp.os.win32.utilities import create_windows_process, get_windows_executable_command

            return await create_windows_process(
                get_windows_executable_command(command[0]), command[1:], env, sys.stderr, server.cwd
            )
        with anyio.CancelScope(shield=True):  # a start that is interrupted would leave the process behind
            return await anyio.open_process(command, env=env, cwd=server.cwd, start_new_session=True)
    except FileNotFoundError:
        place = f" in {server.cwd}" if server.cwd else ""
        raise ToolError(f"`{command[0]}` is not there{place}; install it, or correct the command") from None
    except (OSError, ValueError) as error:
        raise ToolError(f"`{command[0]}` cannot be started: {error}") from None


async def _iter_chunks(stream: Any) -> AsyncIterator[bytes]:
    """Yield what *stream* has to offer, until it ends or is closed."""
    if stream is None:  # pragma: no cover -- the SDK gives the error output on Windows to the terminal
        return
    with contextlib.suppress(anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
        while True:
            yield await stream.receive(_CHUNK_BYTES)


async def _end_process(process: Any) -> None:
    """Close the input of *process*, wait a moment for its end, and then end it and all that it has started."""
    await _close_pipe(process.stdin)
    await _wait_for_exit(process, _EXIT_SECONDS)
    if sys.platform == "win32":  # pragma: no cover -- the tests run on Linux
        from mcp.os.win32.utilities import close_process_job, terminate_windows_process_tree

        await terminate_windows_process_tree(process)
        close_process_job(process)
    else:
        # A process that ended by itself may have left others of its group running, as `npx` does.
        await terminate_posix_process_tree(process, _KILL_SECONDS)
    if not await _wait_for_exit(process, _KILL_SECONDS):
        _log.warning("the process %d of an MCP server cannot be ended", process.pid)
    for pipe in (process.stdout, process.stderr):
        await _close_pipe(pipe)
    transport = getattr(getattr(process, "_process", None), "_transport", None)
    if transport is not None:  # a process that survived may hold the pipes open, and then the transport stays open
        with contextlib.suppress(PermissionError):
            transport.close()


async def _wait_for_exit(process: Any, seconds: float) -> bool:
    """Return whether *process* ended in time. The exit code is read, because `wait` also waits for the pipes."""
    with anyio.move_on_after(seconds):
        while process.returncode is None:  # noqa: ASYNC110 -- the process sets no event
            await anyio.sleep(_POLL_SECONDS)
    return process.returncode is not None


async def _close_pipe(pipe: Any) -> None:
    if pipe is not None:
        with contextlib.suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            await pipe.aclose()


_EDGE_BYTES = 512
# An answer begins or ends with its id. A number that stands elsewhere in the text is not an id.
_ID_AT_START = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(-?\d{1,18}|"[^"\\]{1,100}")\s*,')
_ID_AT_END = re.compile(rb',\s*"id"\s*:\s*(-?\d{1,18}|"[^"\\]{1,100}")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*\Z')


class MessageLines:
    """
    Splits the output of a server into lines, each of which should be one message.

    A line may be garbage, endless or nested too deeply. It never takes more memory than *max_bytes*, and a request
    whose answer cannot be read gets an error instead of no answer at all.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._pieces: list[bytes] = []
        self._size = 0
        self._tail = b""

    def feed(self, chunk: bytes) -> Iterator[JSONRPCMessage]:
        """Yield the messages that *chunk* completes."""
        *complete, rest = chunk.split(b"\n")
        for line in complete:
            self._add(line)
            message = self._finish_line()
            if message is not None:
                yield message
        self._add(rest)

    def _add(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._size <= self._max_bytes:
            self._pieces.append(piece)
        else:
            # Only the two ends of a line that is too long are kept, because the id of its request stands there.
            start = b"".join(self._pieces)
            self._pieces = [(start[:_EDGE_BYTES] + piece[:_EDGE_BYTES])[:_EDGE_BYTES]]
            self._tail = ((self._tail or start[-_EDGE_BYTES:]) + piece[-_EDGE_BYTES:])[-_EDGE_BYTES:]

    def _finish_line(self) -> JSONRPCMessage | None:
        line, size, tail = b"".join(self._pieces), self._size, self._tail
        self._pieces, self._size, self._tail = [], 0, b""
        if size > self._max_bytes:
            problem = f"the server's answer has {format_count(size, 'byte')}; at most {self._max_bytes:,} are read"
            return self._answer_request(line, tail, problem)
        if not line.strip():
            return None
        try:
            return jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError as error:
            return self._answer_request(line[:_EDGE_BYTES], line[-_EDGE_BYTES:], _describe_flaw(error))

    def _answer_request(self, head: bytes, tail: bytes, problem: str) -> JSONRPCMessage | None:
        """Return an error for the request that an unreadable line answers, or None if the line answers none."""
        match = _ID_AT_START.match(head) or _ID_AT_END.search(tail)
        if match is None:
            return None
        text = match[1].decode(errors="replace")
        request_id: Any = text[1:-1] if text.startswith('"') else int(text)
        error: Any = build_local_error(problem, happened="yes")
        return JSONRPCError(jsonrpc="2.0", id=request_id, error=error)


def _describe_flaw(error: ValueError) -> str:
    reasons = [entry["msg"] for entry in error.errors(include_input=False)] if hasattr(error, "errors") else []
    return f"the server's answer is not valid MCP: {'; '.join(dict.fromkeys(reasons))[:200] or 'it is not JSON'}"


_PAUSES = 20
_PAUSE_SECONDS = 0.1

# A line on the pipe means that the process was ended here. Without one, the whole group is ended.
_SCRIPT = """
read line && exit
for signal in TERM KILL; do
    count=0
    while [ $count -lt "$2" ]; do
        kill -s 0 -- "-$1" 2> /dev/null || exit
        sleep "$3"
        count=$((count + 1))
    done
    kill -s $signal -- "-$1" 2> /dev/null
done
"""


class ProcessWatch:
    """
    Ends the process group *group* after this program has ended: with SIGTERM after a wait, and then with SIGKILL.

    A program that is ended by a signal closes nothing. A server that ignores the end of its input would then run on.
    The watch is a small shell process that waits for the end of a pipe, which the system closes with this program.

    Args:
        pauses: How many pauses of a tenth of a second there are before each signal.
    """

    def __init__(self, group: int, *, pauses: int = _PAUSES) -> None:
        arguments = [str(group), str(pauses), str(_PAUSE_SECONDS)]
        self._shell: subprocess.Popen[bytes] | None = None
        with contextlib.suppress(OSError):  # a system without a shell, where the process may outlive this program
            self._shell = subprocess.Popen(  # noqa: S603 -- the script is ours
                ["/bin/sh", "-c", _SCRIPT, "sh", *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={"PATH": "/usr/bin:/bin"},
                start_new_session=True,  # Ctrl-C in the terminal ends this program, and not the watch
            )

    def release(self) -> None:
        """End the watch. The process group has ended."""
        if self._shell is None:
            return
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            self._shell.communicate(b"\n", timeout=1)
