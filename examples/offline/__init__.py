"""
A stand-in for a model, so that the examples with an SDK run without a key.

    with stand_in_for("ANTHROPIC"):  # does nothing where ANTHROPIC_API_KEY is set
        client = AsyncAnthropic()

It is a server on loopback; the SDK finds it by its own variables for the address and the key. It asks for the
weather in two cities, and then says what the tools have said. With Anthropic's SDK, a function of the example can say
something else: it gets the messages, and returns the blocks of the answer.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["stand_in_for"]

CITIES = ("Oslo", "Rome")


Blocks = list[dict[str, Any]]


@contextmanager
def stand_in_for(provider: str, answer: Callable[[Blocks], Blocks] | None = None) -> Iterator[None]:
    """In the block the SDK of *provider* talks to the stand-in, unless there is a key."""
    if os.environ.get(f"{provider}_API_KEY"):
        yield
        return
    server = _Server(("127.0.0.1", 0), _Handler)
    server.answer = answer or server.answer
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    before = dict(os.environ)
    os.environ[f"{provider}_BASE_URL"] = f"http://127.0.0.1:{server.server_port}"
    os.environ |= {f"{provider}_API_KEY": "none", "NO_PROXY": "127.0.0.1"}
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
        server.shutdown()
        thread.join()
        server.server_close()


class _Server(ThreadingHTTPServer):
    answer: Callable[[Blocks], Blocks]

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.answer = _ask_for_weather


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        messages = asked["messages"]
        said = _openai(messages) if self.path == "/chat/completions" else _anthropic(self.server.answer(messages))
        answer = json.dumps(said).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- its name there
        """Say nothing."""


def _ask_for_weather(messages: Blocks) -> Blocks:
    last = messages[-1]["content"]
    if not isinstance(last, str):
        return [{"type": "text", "text": " ".join(block["content"] for block in last)}]
    return [{"type": "tool_use", "id": f"t_{city}", "name": "weather--now", "input": {"city": city}} for city in CITIES]


def _anthropic(content: Blocks) -> dict[str, Any]:
    usage = {"input_tokens": 0, "output_tokens": 0}
    return {"id": "m", "type": "message", "role": "assistant", "model": "none", "content": content, "usage": usage}


def _openai(messages: list[dict[str, Any]]) -> dict[str, Any]:
    # Strict mode asks for every parameter, and for null where there is nothing to say.
    functions = {
        city: {"name": "weather--now", "arguments": json.dumps({"city": city, "unit": None})} for city in CITIES
    }
    calls = [{"id": f"c_{city}", "type": "function", "function": each} for city, each in functions.items()]
    said: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": calls}
    if messages[-1]["role"] == "tool":
        said = {"role": "assistant", "content": " ".join(each["content"] for each in messages[-len(CITIES) :])}
    choice = {"index": 0, "finish_reason": "stop", "message": said}
    return {"id": "c", "object": "chat.completion", "created": 0, "model": "none", "choices": [choice]}
