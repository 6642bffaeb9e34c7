"""
Reads the lines that a server writes, each of which should be one JSON-RPC message.

A line may be garbage, endless or nested too deeply. It never takes more memory than the limit allows, and a request
whose answer cannot be read gets an error instead of no answer at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from mcp_types.jsonrpc import JSONRPCError, JSONRPCMessage, jsonrpc_message_adapter

from ..._plumbing.wording import format_count
from .local_errors import build_local_error

__all__ = ["MessageLines"]

_EDGE_BYTES = 512
# An answer begins or ends with its id. A number that stands elsewhere in the text is not an id.
_ID_AT_START = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(-?\d{1,18}|"[^"\\]{1,100}")\s*,')
_ID_AT_END = re.compile(rb',\s*"id"\s*:\s*(-?\d{1,18}|"[^"\\]{1,100}")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*\Z')


class MessageLines:
    """
    Splits the output of a server into messages.

    Args:
        max_bytes: The size of one message. The rest of a longer line is skipped.

    Attributes:
        ignored: How many lines were neither messages nor the answer to a request.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._pieces: list[bytes] = []
        self._size = 0
        self._tail = b""
        self.ignored = 0

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
            return self._answer_request(line[:_EDGE_BYTES], line[-_EDGE_BYTES:], _describe(error))

    def _answer_request(self, head: bytes, tail: bytes, problem: str) -> JSONRPCMessage | None:
        """Return an error for the request that an unreadable line answers, or None if the line answers none."""
        match = _ID_AT_START.match(head) or _ID_AT_END.search(tail)
        if match is None:
            self.ignored += 1
            return None
        text = match[1].decode(errors="replace")
        request_id: Any = text[1:-1] if text.startswith('"') else int(text)
        error: Any = build_local_error(problem, happened="yes")
        return JSONRPCError(jsonrpc="2.0", id=request_id, error=error)


def _describe(error: ValueError) -> str:
    reasons = [entry["msg"] for entry in error.errors(include_input=False)] if hasattr(error, "errors") else []
    return f"the server's answer is not valid MCP: {'; '.join(dict.fromkeys(reasons))[:200] or 'it is not JSON'}"
