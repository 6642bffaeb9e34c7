"""What each provider accepts as a conversation, by its own rules."""

from __future__ import annotations

import re
from functools import partial
from itertools import pairwise

from toolkit.providers import (
    AnthropicProvider,
    BedrockProvider,
    GeminiProvider,
    OpenAIProvider,
    OpenAIResponsesProvider,
    create_provider,
)


def check_anthropic(body) -> None:
    messages = body["messages"]
    earlier: set[str] = set()
    for message, after in zip(messages, [*messages[1:], {"role": "", "content": []}], strict=True):
        blocks = message["content"]
        assert blocks
        assert all(block["type"] != "text" or block["text"].strip() for block in blocks)
        called = [block["id"] for block in blocks if block["type"] == "tool_use"]
        assert all(isinstance(block["input"], dict) for block in blocks if block["type"] == "tool_use")
        assert all(
            re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", block["name"]) for block in blocks if block["type"] == "tool_use"
        )
        answered = [block["tool_use_id"] for block in after["content"] if block["type"] == "tool_result"]
        assert answered == called
        assert earlier.isdisjoint(called)
        earlier.update(called)


def check_openai(body) -> None:
    messages = body["messages"]
    for index, message in enumerate(messages):
        called = [call["id"] for call in message.get("tool_calls", ())]
        after = messages[index + 1 : index + 1 + len(called)]
        assert [reply.get("tool_call_id") for reply in after] == called
        assert all(isinstance(call["function"]["arguments"], str) for call in message.get("tool_calls", ()))
    answered = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    assert len(answered) == len(set(answered)) == sum(len(message.get("tool_calls", ())) for message in messages)


def check_openai_responses(body) -> None:
    called = [item["call_id"] for item in body["input"] if item.get("type") == "function_call"]
    answered = [item["call_id"] for item in body["input"] if item.get("type") == "function_call_output"]
    assert called == answered
    assert len(called) == len(set(called))


def check_gemini(body) -> None:
    contents = body["contents"]
    for content, after in zip(contents, [*contents[1:], {"parts": []}], strict=True):
        assert content["parts"]
        called = [part["functionCall"]["name"] for part in content["parts"] if "functionCall" in part]
        answered = [part["functionResponse"]["name"] for part in after["parts"] if "functionResponse" in part]
        assert answered == called


def check_bedrock(body) -> None:
    messages = body["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant"] * (len(messages) // 2) + ["user"] * (
        len(messages) % 2
    )
    for message, after in zip(messages, [*messages[1:], {"content": []}], strict=True):
        assert message["content"]
        assert all(block["text"].strip() for block in message["content"] if "text" in block)
        called = [block["toolUse"]["toolUseId"] for block in message["content"] if "toolUse" in block]
        assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", call_id) for call_id in called)
        answered = [block["toolResult"]["toolUseId"] for block in after["content"] if "toolResult" in block]
        assert answered == called


def check_mistral(body) -> None:
    check_openai(body)
    messages = body["messages"]
    ids = [call["id"] for message in messages for call in message.get("tool_calls", ())]
    assert all(re.fullmatch("[A-Za-z0-9]{9}", call_id) for call_id in ids)
    assert ("tool", "user") not in pairwise(message["role"] for message in messages)


PROVIDERS = {
    "anthropic": (AnthropicProvider, check_anthropic),
    "openai": (OpenAIProvider, check_openai),
    "openai_responses": (OpenAIResponsesProvider, check_openai_responses),
    "gemini": (GeminiProvider, check_gemini),
    "bedrock": (partial(BedrockProvider, region="eu-west-1"), check_bedrock),
    "mistral": (lambda model, **options: create_provider(f"mistral:{model}", **options), check_mistral),
}
