"""
The attributes of spans, from the events of calls, runs and flows.

Without *capture* nothing is in them that a user, a model or a tool has written, but for names: a session and a
principal are hashed. With it, texts are masked as the dispatcher masks them, and cut.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from ..hooks.events import CallEnded, FlowInfo, ModelAnswered, RunEnded, RunInfo, SubRunEnded
from ..hooks.shell.events import arguments_of, mask_secrets
from ..results import ToolCall
from ..values.visible import make_visible
from . import names

if TYPE_CHECKING:
    from ..providers.base import Usage

__all__ = [
    "Attributes",
    "clean_name",
    "describe_call",
    "describe_call_end",
    "describe_caller",
    "describe_flow",
    "describe_reply",
    "describe_run",
    "describe_run_end",
    "name_error",
]

Attributes: TypeAlias = dict[str, str | bool | int | float | list[str]]

_MAX_NAME_CHARS = 200


def describe_call(call: ToolCall, agent: str) -> Attributes:
    """Return what is known about a call of the agent *agent* where it starts, as in the conventions."""
    attributes: Attributes = {names.OPERATION: names.EXECUTE_TOOL, names.TOOL_CALL_ID: clean_name(call.id)}
    if agent:
        attributes[names.AGENT_NAME] = agent
    tool = call.tool
    if tool is None:
        attributes[names.TOOL_NAME] = clean_name(call.name)
        return attributes
    attributes[names.TOOL_NAME] = tool.name
    attributes[names.TOOL_TYPE] = "extension" if tool.origin.startswith("mcp:") else "function"
    attributes[names.ORIGIN] = tool.origin
    if tool.description:
        attributes[names.TOOL_DESCRIPTION] = tool.description
    return attributes


def describe_caller(call: ToolCall, *, capture: bool) -> Attributes:
    """Return the session and the principal of *call*."""
    caller = {names.SESSION: call.session_key, names.PRINCIPAL: call.principal}
    return {name: _hide(value, capture=capture) for name, value in caller.items() if value}


def describe_call_end(event: CallEnded, *, capture: bool, max_chars: int) -> Attributes:
    """Return how a call has ended, with its arguments and its result if *capture* says so."""
    attributes: Attributes = {names.KIND: event.kind}
    if (verdict := event.verdict) is not None:
        attributes[names.VERDICT] = verdict.word
        attributes[names.VERDICT_BY] = clean_name(verdict.by)
    if event.kind not in ("ok", "waiting"):
        attributes[names.ERROR_TYPE] = event.kind
    if (result := event.result) is not None:
        attributes[names.ATTEMPTS] = result.attempts
        if result.repairs:
            attributes[names.REPAIRS] = len(result.repairs)
        if result.truncated:
            attributes[names.TRUNCATED] = True
        if result.request is not None:
            attributes[names.REQUEST_ID] = result.request.id
    if capture:
        attributes[names.TOOL_ARGUMENTS] = _write_arguments(event, max_chars)
        if result is not None:
            attributes[names.TOOL_RESULT] = _cut(result.text, max_chars)
    return attributes


def describe_run(run: RunInfo, *, capture: bool) -> Attributes:
    """Return what is known about a run from its start."""
    attributes: Attributes = {names.REQUEST_MODEL: clean_name(run.model)} if run.model else {}
    if run.session.id:
        attributes[names.CONVERSATION] = _hide(run.session.id, capture=capture)
    return attributes


def describe_run_end(event: RunEnded | SubRunEnded) -> Attributes:
    """Return how a run has ended."""
    attributes: Attributes = {
        names.RUN_STATUS: event.status,
        names.RUN_TURNS: event.turns,
        **_count_tokens(event.usage),
    }
    if event.error is not None:
        attributes[names.ERROR_TYPE] = name_error(event.error)
    return attributes


def describe_reply(event: ModelAnswered) -> Attributes:
    """Return what a model has answered, but for its words."""
    if event.error is not None:
        return {names.ERROR_TYPE: name_error(event.error)}
    if (reply := event.reply) is None:
        return {}
    attributes = _count_tokens(reply.usage)
    attributes[names.RESPONSE_FINISH_REASONS] = [names.FINISH_REASONS.get(reply.stop, reply.stop)]
    if reply.model:
        attributes[names.RESPONSE_MODEL] = clean_name(reply.model)
    if reply.id:
        attributes[names.RESPONSE_ID] = clean_name(reply.id)
    return attributes


def describe_flow(flow: FlowInfo, *, capture: bool) -> Attributes:
    """Return what is known about a flow from its start."""
    attributes: Attributes = {names.OPERATION: names.INVOKE_WORKFLOW, names.WORKFLOW_NAME: clean_name(flow.name)}
    attributes[names.FLOW_ID] = _hide(flow.id, capture=capture)
    if flow.session.id:
        attributes[names.CONVERSATION] = _hide(flow.session.id, capture=capture)
    return attributes


def name_error(error: BaseException) -> str:
    """Return the name of the class of *error*, with its module if it is not a builtin one."""
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def clean_name(text: str) -> str:
    """Return *text* without characters that act or hide, and not longer than a name may be."""
    return make_visible(str(text)[:_MAX_NAME_CHARS], keep_lines=False)[:_MAX_NAME_CHARS]


def _count_tokens(usage: Usage) -> Attributes:
    attributes: Attributes = {names.INPUT_TOKENS: usage.input_tokens, names.OUTPUT_TOKENS: usage.output_tokens}
    if usage.cached_tokens:
        attributes[names.CACHE_READ_TOKENS] = usage.cached_tokens
    if usage.cache_write_tokens:
        attributes[names.CACHE_WRITE_TOKENS] = usage.cache_write_tokens
    return attributes


def _write_arguments(event: CallEnded, max_chars: int) -> str:
    """Return the arguments as JSON text, or the text that the model has sent. Secrets are masked before it is cut."""
    arguments = mask_secrets(event.call, arguments_of(event.call))
    if event.redaction is not None:
        arguments = event.redaction().mask_value(arguments)
    return _cut(arguments if isinstance(arguments, str) else json.dumps(arguments, separators=(",", ":")), max_chars)


def _cut(text: str, max_chars: int) -> str:
    text = make_visible(text[: max_chars + 1])
    return text if len(text) <= max_chars else f"{text[: max_chars - 1]}…"


def _hide(text: str, *, capture: bool) -> str:
    return clean_name(text) if capture else _hash(text)


@lru_cache(maxsize=256)
def _hash(text: str) -> str:
    """Return a text that is the same for the same *text*, and does not show it."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
