"""
What the services add to a completion of OpenAI.

Each entry has the fields that stand beside the usual ones: of the completion, its choice, the message and the usage. The
values are made up. The names of the fields are those of public recordings for azure, cerebras, deepseek, groq, heroku,
huggingface, mistral, ollama, openrouter and zai. For alibaba, lmstudio, moonshot, perplexity, vllm and xai they were not
compared with a recording. A service without an entry is given the plain completion of OpenAI.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["CALL", "EXTRAS", "Extras", "record_events", "record_whole"]

CALL = {"id": "k7Xq2mZp9", "type": "function", "function": {"name": "now", "arguments": "{}"}}
USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}


@dataclass(frozen=True)
class Extras:
    """What a service adds. Fields of the message go back to the service with the next request."""

    top: dict[str, Any] = field(default_factory=dict)
    choice: dict[str, Any] = field(default_factory=dict)
    message: dict[str, Any] = field(default_factory=dict)
    usage: dict[str, Any] = field(default_factory=dict)


_DETAILS = {"prompt_tokens_details": {"cached_tokens": 3}, "completion_tokens_details": {"reasoning_tokens": 2}}

EXTRAS = {
    "alibaba": Extras(message={"reasoning_content": "Hm."}, usage=_DETAILS),
    "azure": Extras(
        top={
            "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": {}}],
            "system_fingerprint": "fp_1",
        },
        choice={"content_filter_results": {"hate": {"filtered": False, "severity": "safe"}}, "logprobs": None},
        message={"refusal": None},
        usage=_DETAILS,
    ),
    "cerebras": Extras(
        top={"system_fingerprint": "fp_1", "time_info": {"queue_time": 0.1, "total_time": 0.2}},
        message={"reasoning": "Hm."},
        usage=_DETAILS,
    ),
    "deepseek": Extras(
        top={"system_fingerprint": "fp_1"},
        choice={"logprobs": None},
        message={"reasoning_content": "Hm."},
        usage={**_DETAILS, "prompt_cache_hit_tokens": 3, "prompt_cache_miss_tokens": 8},
    ),
    "groq": Extras(
        top={"usage_breakdown": None, "service_tier": "on_demand", "x_groq": {"id": "req_1"}},
        choice={"logprobs": None},
        message={"reasoning": "Hm."},
        usage={"queue_time": 0.1, "prompt_time": 0.1, "completion_time": 0.1, "total_time": 0.2},
    ),
    "heroku": Extras(top={"system_fingerprint": "heroku-inf-1"}, message={"refusal": None}),
    "huggingface": Extras(
        top={"service_tier": None, "prompt_logprobs": None, "kv_transfer_params": None},
        choice={"stop_reason": None, "logprobs": None, "seed": 1},
        message={"refusal": None, "annotations": None, "audio": None, "function_call": None, "reasoning_content": None},
        usage={"prompt_tokens_details": None},
    ),
    "lmstudio": Extras(top={"stats": {}, "system_fingerprint": "qwen"}, choice={"logprobs": None}),
    "mistral": Extras(usage={"num_cached_tokens": 3, "prompt_tokens_details": {"cached_tokens": 3}}),
    "moonshot": Extras(message={"reasoning_content": "Hm."}, usage={"cached_tokens": 3}),
    "ollama": Extras(top={"system_fingerprint": "fp_ollama"}, message={"reasoning": "Hm."}),
    "openrouter": Extras(
        top={"provider": "Groq", "system_fingerprint": None},
        choice={"native_finish_reason": "stop", "logprobs": None},
        message={"refusal": None, "reasoning": "Hm.", "reasoning_details": [{"type": "reasoning.text", "text": "Hm."}]},
        usage={**_DETAILS, "cost": 0.0001, "is_byok": False},
    ),
    "perplexity": Extras(
        top={"citations": ["https://example.com"], "search_results": [{"title": "T", "url": "https://example.com"}]},
        usage={"search_context_size": "low", "cost": {"total_cost": 0.005}},
    ),
    "vllm": Extras(
        top={"prompt_logprobs": None, "kv_transfer_params": None},
        choice={"stop_reason": None, "logprobs": None},
        message={
            "refusal": None,
            "annotations": None,
            "audio": None,
            "function_call": None,
            "reasoning_content": "Hm.",
        },
        usage={"prompt_tokens_details": None},
    ),
    "xai": Extras(
        top={"system_fingerprint": "fp_1"},
        message={"reasoning_content": "Hm.", "refusal": None},
        usage={**_DETAILS, "num_sources_used": 0},
    ),
    "zai": Extras(top={"request_id": "1"}, message={"reasoning_content": "Hm."}, usage=_DETAILS),
}


def record_whole(name: str, *, has_call: bool) -> dict[str, Any]:
    """Return the completion of the service *name*: a text, and a call beside it if *has_call*."""
    extras = EXTRAS.get(name, Extras())
    message = {"role": "assistant", "content": "It is noon.", **({"tool_calls": [CALL]} if has_call else {})}
    finish_reason = "tool_calls" if has_call else "stop"
    return {
        "id": "cmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": "a-model-2026",
        "choices": [
            {"index": 0, "message": {**message, **extras.message}, "finish_reason": finish_reason, **extras.choice}
        ],
        "usage": {**USAGE, **extras.usage},
        **extras.top,
    }


def record_events(name: str, *, has_call: bool) -> list[dict[str, Any]]:
    """Return the chunks of the same completion. The usage is in the last chunk, or in one of its own."""
    whole = record_whole(name, has_call=has_call)
    extras = EXTRAS.get(name, Extras())
    head = {**{key: whole[key] for key in ("id", "created", "model")}, "object": "chat.completion.chunk"}
    texts = [{"role": "assistant", "content": ""}, extras.message, {"content": "It is "}, {"content": "noon."}]
    calls = [{"tool_calls": [{"index": 0, **CALL}]}] if has_call else []
    chunks = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in [*texts, *calls]]
    last = {"index": 0, "delta": {}, "finish_reason": whole["choices"][0]["finish_reason"], **extras.choice}
    usage = {"usage": whole["usage"], **extras.top}
    if name == "mistral":
        return [*chunks, {**head, "choices": [last], **usage}]
    first = [{**head, "choices": [], "prompt_filter_results": []}] if name == "azure" else []
    return [*first, *chunks, {**head, "choices": [last]}, {**head, "choices": [], **usage}]
