"""
A text from outside takes time that grows with its length alone.

Each reader gets the same piece again and again. Sixty thousand characters take a few hundredths of a second; work that
grows with the square of the length would take several seconds.
"""

from __future__ import annotations

import contextlib
import time
from typing import Any

import pytest

from toolkit._plumbing.wording import in_backticks
from toolkit.agent.final_answers import AnswerFormat
from toolkit.agent.summarizer import _join_entries
from toolkit.docstrings.markup import join_lines
from toolkit.errors import BadArgs, DefinitionError
from toolkit.formats.schemas.property_names import _plain_names
from toolkit.mcp.importing.http_client import _PARAMETER
from toolkit.mcp.importing.server_file import _expand_variables
from toolkit.mcp.serving.resources import ResourceBook
from toolkit.openapi.patterns import translate_pattern
from toolkit.permissions.spellings import is_same_value, list_spellings
from toolkit.policies.redaction import Redaction
from toolkit.providers.anthropic import _AnthropicAssembler
from toolkit.providers.bedrock import _ConverseAssembler
from toolkit.providers.gemini import _GeminiAssembler
from toolkit.providers.openai import _ChatCompletionsAssembler
from toolkit.values.codecs.foreign import _parse_message

pytestmark = pytest.mark.unmeasured

LENGTH = 60_000
MAX_SECONDS = 1.0


def read_value(left: str, middle: str, right: str) -> str:
    """Return the three parts of a URI."""
    return left + middle + right


ANSWER = AnswerFormat.of(dict[str, int])
BOOK = ResourceBook({"memo:{left}-{middle}-{right}": read_value})


def read_answer(text: str) -> None:
    with pytest.raises(BadArgs):
        ANSWER.read_text(text)


def read_pattern(text: str) -> None:
    with contextlib.suppress(DefinitionError):
        translate_pattern(text)


def read_spellings(text: str) -> None:
    list_spellings(text)
    for pattern in ("5", "1+2j", "PT1H", "::1", "aGk=", "2026-12-24T10:00Z"):
        is_same_value(pattern, text)


READERS = {
    "backticks": in_backticks,
    "spellings of a value": read_spellings,
    "final answer": read_answer,
    "masked text": lambda text: Redaction([text[: LENGTH // 2]]).mask_text(text),
    "masked text of two kinds": lambda text: Redaction([f"{text[:200]}|{text[:200]}"]).mask_text(text),
    "URI of a template": lambda text: BOOK.find_function(f"memo:{text}"),
    "challenge of a server": lambda text: list(_PARAMETER.finditer(text)),
    "variables of a server file": lambda text: _expand_variables(text, {}, "x"),
    "lines of a docstring": join_lines,
    "pattern of a document": read_pattern,
    "names of parameters": lambda text: _plain_names(f"{letter}{at}" for at, letter in enumerate(text[: LENGTH // 10])),
    "message of msgspec": _parse_message,
    "entries of a conversation": lambda text: list(_join_entries(text, LENGTH)),
}

PIECES = [
    "a",
    "1",
    "`",
    "-",
    " ",
    "  \n",
    "\n",
    "\t",
    "a=",
    'a="',
    "\\",
    "/-",
    "${A:-",
    "${A",
    "{",
    "|",
    "é",
    "[",
    "(",
    "(?!",
    " - at `$",
]
STARTS = ["", "```\n", "\n{"]


@pytest.mark.one_case_in(3)
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("piece", PIECES)
@pytest.mark.parametrize("reader", READERS)
def test_repeated_text_takes_linear_time(reader, piece, start):
    text = f"{start}{piece * (LENGTH // len(piece))}/!"
    began = time.process_time()
    READERS[reader](text)
    assert time.process_time() - began < MAX_SECONDS


def chat_delta(**delta: Any) -> dict[str, Any]:
    return {"choices": [{"delta": delta}]}


def chat_call(number: int, **fields: Any) -> dict[str, Any]:
    return chat_delta(tool_calls=[{"function": {"name": "f", "arguments": "a"}, **fields}])


def block_delta(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": 0, "delta": {"type": kind, **fields}}


def converse_delta(**delta: Any) -> dict[str, Any]:
    return {"contentBlockDelta": {"contentBlockIndex": 0, "delta": delta}}


STREAMS = {
    "chat text": (_ChatCompletionsAssembler, lambda number: chat_delta(content="a")),
    "chat parts": (_ChatCompletionsAssembler, lambda number: chat_delta(content=[{"type": "text", "text": "a"}])),
    "chat arguments": (_ChatCompletionsAssembler, lambda number: chat_call(number, id="x", index=0)),
    "chat calls": (_ChatCompletionsAssembler, lambda number: chat_call(number, id=f"x{number}", index=number)),
    "chat calls of one index": (_ChatCompletionsAssembler, lambda number: chat_call(number, id=f"x{number}", index=0)),
    "chat calls without ids": (_ChatCompletionsAssembler, chat_call),
    "message text": (_AnthropicAssembler, lambda number: block_delta("text_delta", text="a")),
    "message arguments": (_AnthropicAssembler, lambda number: block_delta("input_json_delta", partial_json=" ")),
    "message citations": (_AnthropicAssembler, lambda number: block_delta("citations_delta", citation={})),
    "converse text": (_ConverseAssembler, lambda number: converse_delta(text="a")),
    "converse arguments": (_ConverseAssembler, lambda number: converse_delta(toolUse={"input": " "})),
    "converse thoughts": (_ConverseAssembler, lambda number: converse_delta(reasoningContent={"text": "a"})),
    "gemini text": (_GeminiAssembler, lambda number: {"candidates": [{"content": {"parts": [{"text": "a"}]}}]}),
}


@pytest.mark.parametrize("stream", STREAMS)
def test_an_answer_in_small_pieces_takes_linear_time(stream):
    """Thirty thousand events, each of which must not look at all that has arrived before."""
    build, make_event = STREAMS[stream]
    assembler = build()
    if build is _AnthropicAssembler:
        assembler.feed({"type": "content_block_start", "index": 0, "content_block": {}})
    began = time.process_time()
    for number in range(LENGTH // 2):
        assembler.feed(make_event(number))
    assembler.response()
    assert time.process_time() - began < MAX_SECONDS
