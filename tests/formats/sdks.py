"""
The official SDKs as judges: what comes out of their types, to be compared with what went in.

Their types drop keys that they do not know without a word, so "it validates"
proves nothing: `tools` and `messages` give back what would be sent.
"""

from __future__ import annotations

import base64
import json
import re
import warnings
from functools import cache
from typing import Any

import httpx
import pydantic

__all__ = ["FORMATS", "messages", "plain", "reply", "tools"]

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what a package says of itself when it is imported is not ours to mend
    import anthropic.types
    import botocore.session
    import mcp.types
    import mistralai.client.models as mistral_models
    import ollama
    import openai.types.chat
    import openai.types.responses
    from botocore.validate import ParamValidator
    from google.genai import types as gemini_types
    from openai.types.responses.response_input_item_param import ResponseInputItemParam

FORMATS = ["anthropic", "openai", "openai_responses", "gemini", "bedrock", "mistral", "ollama", "mcp"]


def plain(value: Any) -> Any:
    """Return *value* as JSON, bytes as base64."""
    return json.loads(json.dumps(value, default=lambda data: base64.b64encode(data).decode()))


def tools(name: str, definitions: Any) -> Any:
    """Return what the SDK of *name* would send for *definitions*."""
    return _TOOLS[name](definitions)


def messages(name: str, sent: Any) -> Any:
    """Return what the SDK of *name* would send for the messages that `results` gave."""
    return _MESSAGES[name](sent)


def reply(name: str, calls: list[tuple[str, Any, str]]) -> Any:
    """Return a response, as an object of the SDK, in which a model calls tools: names on the wire, arguments, ids."""
    return _REPLIES[name](calls)


@cache
def _adapter(kind: Any) -> pydantic.TypeAdapter[Any]:
    return pydantic.TypeAdapter(kind)


def _typed(kind: Any) -> Any:
    def through(values: Any) -> Any:
        adapter = _adapter(list[kind])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pydantic's, of iterables that it turns into lists
            return json.loads(adapter.dump_json(adapter.validate_python(list(values))))

    return through


def _modelled(kind: Any, **options: Any) -> Any:
    def through(values: Any) -> Any:
        models = [kind.model_validate(value) for value in values]
        return [json.loads(model.model_dump_json(exclude_unset=True, **options)) for model in models]

    return through


@cache
def _converse() -> Any:
    return botocore.session.get_session().get_service_model("bedrock-runtime").operation_model("Converse").input_shape


def _validated(**params: Any) -> None:
    report = ParamValidator().validate({"modelId": "m", **params}, _converse())
    assert not report.has_errors(), report.generate_report()


def _openai_messages(sent: Any) -> Any:
    # One type a role: in their union, the first member to try uses up what iterables hold.
    kinds = {
        "tool": openai.types.chat.ChatCompletionToolMessageParam,
        "user": openai.types.chat.ChatCompletionUserMessageParam,
    }
    return [_typed(kinds[message["role"]])([message])[0] for message in sent]


def _ollama_messages(sent: Any) -> Any:
    bodies = []

    def handle(request: httpx.Request) -> httpx.Response:
        bodies.append(json.loads(request.content))
        return httpx.Response(200, json={"message": {"role": "assistant", "content": ""}})

    # The client itself: what it makes of images is not in its types.
    ollama.Client(transport=httpx.MockTransport(handle)).chat(model="m", messages=sent)
    return bodies[0]["messages"]


def _gemini_messages(sent: Any) -> Any:
    contents = [
        gemini_types.Content.model_validate(content).model_dump(exclude_unset=True, by_alias=True) for content in sent
    ]
    return plain(contents)  # its own JSON has the other alphabet of base64


def _bedrock_tools(definitions: Any) -> Any:
    if definitions:
        _validated(toolConfig={"tools": definitions})
    # The patterns of the API are in botocore's model, but it does not hold anything against them.
    shape = _converse().members["toolConfig"].members["tools"].member.members["toolSpec"].members["name"]
    for definition in definitions:
        name = definition.get("toolSpec", {"name": "x"})["name"]
        assert re.fullmatch(shape.metadata["pattern"], name)
        assert len(name) <= shape.metadata["max"]
    return plain(definitions)


def _bedrock_messages(sent: Any) -> Any:
    _validated(messages=sent)
    return plain(sent)


_TOOLS = {
    "anthropic": _typed(anthropic.types.ToolUnionParam),
    "openai": _typed(openai.types.chat.ChatCompletionFunctionToolParam),
    "openai_responses": _typed(openai.types.responses.ToolParam),
    "gemini": _modelled(gemini_types.Tool, by_alias=True),
    "bedrock": _bedrock_tools,
    "mistral": _modelled(mistral_models.Tool, by_alias=True),
    "ollama": _modelled(ollama.Tool, by_alias=True),
    "mcp": _modelled(mcp.types.Tool, by_alias=True),
}
_MESSAGES = {
    "anthropic": _typed(anthropic.types.MessageParam),
    "openai": _openai_messages,
    "openai_responses": _typed(ResponseInputItemParam),
    "gemini": _gemini_messages,
    "bedrock": _bedrock_messages,
    "mistral": _modelled(mistral_models.ToolMessage, by_alias=True),
    "ollama": _ollama_messages,
    "mcp": _modelled(mcp.types.CallToolResult, by_alias=True),
}


def _anthropic_reply(calls: Any) -> Any:
    used = [{"type": "tool_use", "id": key, "name": name, "input": arguments} for name, arguments, key in calls]
    return anthropic.types.Message.model_validate(
        {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": "claude",
            "content": [{"type": "text", "text": "Let me see.", "citations": None}, *used],
            "stop_reason": "tool_use",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
    )


def _openai_reply(calls: Any) -> Any:
    called = [
        {"id": key, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for name, arguments, key in calls
    ]
    message = {"role": "assistant", "content": None, "refusal": None, "tool_calls": called}
    return openai.types.chat.ChatCompletion.model_validate(
        {
            "id": "c",
            "object": "chat.completion",
            "created": 1,
            "model": "gpt",
            "choices": [{"index": 0, "finish_reason": "tool_calls", "logprobs": None, "message": message}],
        }
    )


def _responses_reply(calls: Any) -> Any:
    items = [
        {"type": "function_call", "id": f"fc{key}", "call_id": key, "name": name, "arguments": json.dumps(arguments)}
        for name, arguments, key in calls
    ]
    return openai.types.responses.Response.model_validate(
        {
            "id": "r",
            "object": "response",
            "created_at": 1,
            "model": "gpt",
            "output": [{"type": "reasoning", "id": "rs", "summary": []}, *items],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": None,
        }
    )


def _gemini_reply(calls: Any) -> Any:
    parts = [{"functionCall": {"name": name, "args": arguments, "id": key}} for name, arguments, key in calls]
    parts = [{"text": "Let me see."}, *parts]
    return gemini_types.GenerateContentResponse.model_validate(
        {"candidates": [{"content": {"role": "model", "parts": parts}}]}
    )


def _bedrock_reply(calls: Any) -> Any:
    used = [{"toolUse": {"toolUseId": key, "name": name, "input": arguments}} for name, arguments, key in calls]
    return {"output": {"message": {"role": "assistant", "content": [{"text": "Let me see."}, *used]}}}


def _mistral_reply(calls: Any) -> Any:
    called = [{"id": key, "function": {"name": name, "arguments": arguments}} for name, arguments, key in calls]
    return mistral_models.ChatCompletionResponse.model_validate(
        {
            "id": "c",
            "object": "chat.completion",
            "model": "mistral",
            "created": 1,
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "tool_calls",
                    "message": {"role": "assistant", "content": "", "tool_calls": called},
                }
            ],
        }
    )


def _ollama_reply(calls: Any) -> Any:
    called = [{"function": {"name": name, "arguments": arguments}} for name, arguments, _ in calls]
    return ollama.ChatResponse.model_validate({"message": {"role": "assistant", "tool_calls": called}})


def _mcp_reply(calls: Any) -> Any:
    name, arguments, _ = calls[0]
    return mcp.types.CallToolRequest.model_validate({"params": {"name": name, "arguments": arguments}})


_REPLIES = {
    "anthropic": _anthropic_reply,
    "openai": _openai_reply,
    "openai_responses": _responses_reply,
    "gemini": _gemini_reply,
    "bedrock": _bedrock_reply,
    "mistral": _mistral_reply,
    "ollama": _ollama_reply,
    "mcp": _mcp_reply,
}
