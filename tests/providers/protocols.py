"""
One turn of a model in the words of the four protocols, as a whole and as events.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from toolkit import ToolCall

__all__ = ["BEDROCK", "PROTOCOLS", "Protocol", "Turn", "protocol_of"]

SIGNATURE = "c2lnbmF0dXJl"


@dataclass(frozen=True, kw_only=True)
class Turn:
    """
    What the model says.

    Of 11 tokens that it read, 3 were cached and 2 are cached from now on; it wrote 7.

    Attributes:
        calls: With names as they are on the wire; arguments that are text are sent as they are, where that can be.
            One with `{"is_search": True}` as its metadata is a search for tools, where there is such a thing.
        thought: What it thinks first; it comes signed, or encrypted.
        stop: The protocol's word for why it stopped; the usual one if empty.
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    thought: str = ""
    stop: str = ""


@dataclass(frozen=True)
class Protocol:
    """How a turn is said, and in which header the key has to be."""

    name: str
    key_header: str
    whole: Callable[[Turn, str], dict[str, Any]]
    events: Callable[[Turn, str], Iterator[tuple[str, Any]]]


def protocol_of(path: str) -> Protocol | None:
    """Return the protocol that is spoken at *path*."""
    protocols = {**PROTOCOLS, "bedrock": BEDROCK}
    return next((protocols[name] for end, name in _PATHS.items() if end in path), None)


_PATHS = {
    "/v1/messages": "anthropic",
    "/chat/completions": "openai",
    "/responses": "openai_responses",
    "enerateContent": "gemini",
    "/converse": "bedrock",
}


def pieces(text: str, size: int = 5) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def write_arguments(arguments: Any) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


# Anthropic


def anthropic_whole(turn: Turn, model: str) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    if turn.thought:
        content.append({"type": "thinking", "thinking": turn.thought, "signature": SIGNATURE})
    if turn.text:
        content.append({"type": "text", "text": turn.text})
    content += [{"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments} for call in turn.calls]
    usage = {
        "input_tokens": 6,
        "cache_read_input_tokens": 3,
        "cache_creation_input_tokens": 2,
        "output_tokens": 7,
    }
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": turn.stop or ("tool_use" if turn.calls else "end_turn"),
        "stop_sequence": None,
        "usage": usage,
    }


def anthropic_events(turn: Turn, model: str) -> Iterator[tuple[str, Any]]:
    whole = anthropic_whole(turn, model)
    start = {**whole, "content": [], "stop_reason": None, "usage": {**whole["usage"], "output_tokens": 1}}
    yield "message_start", {"type": "message_start", "message": start}
    yield "ping", {"type": "ping"}
    for index, block in enumerate(whole["content"]):
        kind = block["type"]
        empty = {"text": {"text": ""}, "thinking": {"thinking": "", "signature": ""}, "tool_use": {"input": {}}}[kind]
        at = {"index": index}
        yield "content_block_start", {"type": "content_block_start", **at, "content_block": {**block, **empty}}
        deltas: list[dict[str, Any]]
        if kind == "tool_use":
            text = write_arguments(block["input"])
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *pieces(text)]]
        elif kind == "thinking":
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(block["thinking"])]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
        else:
            deltas = [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
        for delta in deltas:
            yield "content_block_delta", {"type": "content_block_delta", **at, "delta": delta}
        yield "content_block_stop", {"type": "content_block_stop", **at}
    delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield "message_delta", {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 7}}
    yield "message_stop", {"type": "message_stop"}


# Chat Completions


def openai_whole(turn: Turn, model: str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": turn.text or None, "refusal": None}
    if turn.thought:
        message["reasoning_content"] = turn.thought
    if turn.calls:
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": write_arguments(call.arguments)},
            }
            for call in turn.calls
        ]
    finish = turn.stop or ("tool_calls" if turn.calls else "stop")
    return {
        "id": "chatcmpl_1",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": None}],
        "usage": {
            "prompt_tokens": 11,
            "completion_tokens": 7,
            "total_tokens": 18,
            "prompt_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 2},
        },
    }


def openai_events(turn: Turn, model: str) -> Iterator[tuple[str, Any]]:
    whole = openai_whole(turn, model)
    head = {"id": whole["id"], "object": "chat.completion.chunk", "created": 1, "model": model, "usage": None}

    def chunk(delta: dict[str, Any], finish: str | None = None) -> tuple[str, Any]:
        return "", {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield chunk({"role": "assistant", "content": ""})
    for piece in pieces(turn.thought):
        yield chunk({"reasoning_content": piece})
    for piece in pieces(turn.text):
        yield chunk({"content": piece})
    for index, call in enumerate(whole["choices"][0]["message"].get("tool_calls", ())):
        first = {"index": index, "id": call["id"], "type": "function"}
        yield chunk({"tool_calls": [{**first, "function": {"name": call["function"]["name"], "arguments": ""}}]})
        for piece in pieces(call["function"]["arguments"]):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, whole["choices"][0]["finish_reason"])
    yield "", {**head, "choices": [], "usage": whole["usage"]}
    yield "", "[DONE]"


# Responses


def responses_whole(turn: Turn, model: str) -> dict[str, Any]:
    output: list[dict[str, Any]] = []
    if turn.thought:
        summary = [{"type": "summary_text", "text": turn.thought}]
        output.append({"id": "rs_1", "type": "reasoning", "summary": summary, "encrypted_content": SIGNATURE})
    if turn.text:
        content = [{"type": "output_text", "text": turn.text, "annotations": []}]
        output.append(
            {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": content}
        )
    for number, call in enumerate(turn.calls):
        fields: dict[str, Any] = {
            "type": "function_call",
            "name": call.name,
            "arguments": write_arguments(call.arguments),
        }
        if call.metadata == {"is_search": True}:
            fields = {"type": "tool_search_call", "execution": "client", "arguments": call.arguments}
        output.append({"id": f"fc_{number}", "call_id": call.id, "status": "completed", **fields})
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": model,
        "status": "incomplete" if turn.stop else "completed",
        "error": None,
        "incomplete_details": {"reason": turn.stop} if turn.stop else None,
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 11,
            "input_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 2},
            "output_tokens": 7,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 18,
        },
    }


def responses_events(turn: Turn, model: str) -> Iterator[tuple[str, Any]]:
    whole = responses_whole(turn, model)
    number = 0

    def event(kind: str, **fields: Any) -> tuple[str, Any]:
        nonlocal number
        number += 1
        return kind, {"type": kind, "sequence_number": number, **fields}

    begun = {**whole, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    yield event("response.created", response=begun)
    yield event("response.in_progress", response=begun)
    for index, item in enumerate(whole["output"]):
        at = {"output_index": index, "item_id": item["id"]}
        empties: dict[str, Any] = {"message": {"content": []}, "function_call": {"arguments": ""}}
        empty = empties.get(item["type"], {})
        yield event("response.output_item.added", output_index=index, item={**item, **empty})
        if item["type"] == "message":
            part = item["content"][0]
            inside = {**at, "content_index": 0}
            yield event("response.content_part.added", **inside, part={**part, "text": ""})
            for piece in pieces(part["text"]):
                yield event("response.output_text.delta", **inside, delta=piece, logprobs=[])
            yield event("response.output_text.done", **inside, text=part["text"], logprobs=[])
            yield event("response.content_part.done", **inside, part=part)
        elif item["type"] == "function_call":
            for piece in pieces(item["arguments"]):
                yield event("response.function_call_arguments.delta", **at, delta=piece)
            arguments_of_call = {"name": item["name"], "arguments": item["arguments"]}
            yield event("response.function_call_arguments.done", **at, **arguments_of_call)
        yield event("response.output_item.done", output_index=index, item=item)
    yield event(f"response.{whole['status']}", response=whole)


# Gemini


def gemini_whole(turn: Turn, model: str) -> dict[str, Any]:
    return _gemini(list(_gemini_parts(turn)), turn, model)


def gemini_events(turn: Turn, model: str) -> Iterator[tuple[str, Any]]:
    for part in _gemini_parts(turn):
        if set(part) <= {"text", "thought"}:
            for piece in pieces(part["text"]):
                yield "", _gemini([{**part, "text": piece}], None, model)
        else:
            yield "", _gemini([part], None, model)
    yield "", _gemini([{"text": "", "thoughtSignature": SIGNATURE}] if turn.text else [], turn, model)


def _gemini_parts(turn: Turn) -> Iterator[dict[str, Any]]:
    if turn.thought:
        yield {"text": turn.thought, "thought": True}
    if turn.text:
        yield {"text": turn.text}
    for number, call in enumerate(turn.calls):
        function_call: dict[str, Any] = {"name": call.name, "args": call.arguments}
        part = {"functionCall": {**function_call, "id": call.id} if call.id else function_call}
        yield part if number else {**part, "thoughtSignature": SIGNATURE}


def _gemini(parts: list[dict[str, Any]], end: Turn | None, model: str) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
    counts = {"promptTokenCount": 11, "cachedContentTokenCount": 3}
    if end is not None:
        candidate["finishReason"] = end.stop or "STOP"
        counts |= {"candidatesTokenCount": 5, "thoughtsTokenCount": 2, "totalTokenCount": 18}
    return {"candidates": [candidate], "usageMetadata": counts, "modelVersion": model, "responseId": "r_1"}


# Bedrock, whole answers alone


def bedrock_whole(turn: Turn, model: str) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"text": turn.text}] if turn.text else []
    content += [{"toolUse": {"toolUseId": call.id, "name": call.name, "input": call.arguments}} for call in turn.calls]
    counts = {"inputTokens": 6, "cacheReadInputTokens": 3, "cacheWriteInputTokens": 2, "outputTokens": 7}
    return {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": turn.stop or ("tool_use" if turn.calls else "end_turn"),
        "usage": {**counts, "totalTokens": 18},
        "metrics": {"latencyMs": 1},
    }


BEDROCK = Protocol("bedrock", "authorization", bedrock_whole, lambda turn, model: iter(()))

PROTOCOLS = {
    protocol.name: protocol
    for protocol in (
        Protocol("anthropic", "authorization", anthropic_whole, anthropic_events),
        Protocol("openai", "authorization", openai_whole, openai_events),
        Protocol("openai_responses", "authorization", responses_whole, responses_events),
        Protocol("gemini", "x-goog-api-key", gemini_whole, gemini_events),
    )
}
