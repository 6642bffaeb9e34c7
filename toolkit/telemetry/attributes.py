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

from ..hooks.events import CallEnded, CallStarted, FlowInfo, ModelAnswered, RunEnded, RunInfo, SubRunEnded
from ..hooks.shell.events import arguments_of, mask_secrets
from ..policies.redaction import MASK
from ..values.visible import make_visible
from .names import FINISH_REASONS, PROVIDERS, UNKNOWN_TOOL, Names

if TYPE_CHECKING:
    from ..providers.base import Usage

__all__ = [
    "Attributes",
    "clean_name",
    "describe_call",
    "describe_call_end",
    "describe_flow",
    "describe_question",
    "describe_reply",
    "describe_run",
    "describe_run_end",
    "name_error",
    "select_for_metric",
]

Attributes: TypeAlias = dict[str, str | bool | int | float | list[str]]

_MAX_NAME_CHARS = 200
_MAX_DESCRIPTION_CHARS = 4_000


def describe_call(event: CallStarted, agent: str, *, capture: bool) -> Attributes:
    """Return what is known about a call of the agent *agent* where it starts."""
    call, tool = event.call, event.call.tool
    if tool is None:
        attributes: Attributes = {Names.OPERATION: Names.EXECUTE_TOOL, Names.TOOL_NAME: clean_name(call.name)}
    else:
        attributes = _describe_tool(tool.name, tool.origin, tool.description).copy()
    attributes[Names.TOOL_CALL_ID] = clean_name(call.id)
    if agent:
        attributes[Names.AGENT_NAME] = agent
    if call.session is not None and call.session.id:
        attributes[Names.SESSION] = _hide(call.session.id, capture=capture)
    if call.principal:
        attributes[Names.PRINCIPAL] = _hide(call.principal, capture=capture)
    if event.request_id is not None:
        attributes[Names.REQUEST_ID] = event.request_id
    return attributes


def describe_call_end(event: CallEnded, *, capture: bool, max_chars: int) -> Attributes:
    """Return how a call has ended, with its arguments and its result if *capture* says so."""
    attributes: Attributes = {Names.KIND: event.kind}
    if (verdict := event.verdict) is not None:
        attributes[Names.VERDICT] = verdict.word
        attributes[Names.VERDICT_BY] = clean_name(verdict.by)
    if (result := event.result) is not None:
        attributes[Names.ATTEMPTS] = result.attempts
        if result.repairs:
            attributes[Names.REPAIRS] = len(result.repairs)
        if result.truncated:
            attributes[Names.TRUNCATED] = True
        if result.cost:
            attributes[Names.COST] = result.cost
        if result.request is not None:
            attributes[Names.REQUEST_ID] = result.request.id
    if capture:
        attributes[Names.TOOL_ARGUMENTS] = _write_arguments(event, max_chars)
        if result is not None:
            attributes[Names.TOOL_RESULT] = _cut(result.text, max_chars)
    return attributes


def describe_run(run: RunInfo, *, capture: bool) -> Attributes:
    """Return what is known about a run from its start."""
    attributes = _describe_conversation(run, capture=capture)
    attributes |= {Names.OPERATION: Names.INVOKE_AGENT, Names.RUN_ID: clean_name(run.id)}
    attributes[Names.RUN_VERB] = run.verb
    if run.agent:
        attributes[Names.AGENT_NAME] = clean_name(run.agent)
    return attributes


def describe_run_end(event: RunEnded | SubRunEnded, usage: Usage | None) -> Attributes:
    """Return how a run has ended, with its *usage* since it started or went on."""
    tokens = {Names.INPUT_TOKENS: 0, Names.OUTPUT_TOKENS: 0} if usage is None else _count_tokens(usage)
    return {Names.RUN_STATUS: event.status, Names.RUN_TURNS: event.turns, **tokens}


def describe_question(run: RunInfo, *, capture: bool) -> Attributes:
    """Return what is known about a question of *run* to its model."""
    attributes = _describe_conversation(run, capture=capture)
    return attributes | {
        Names.OPERATION: Names.CHAT,
        Names.PROVIDER: PROVIDERS.get(run.provider, clean_name(run.provider)),
    }


def describe_reply(event: ModelAnswered) -> Attributes:
    """Return what a model has answered, but for its words."""
    if (reply := event.reply) is None:
        return {}
    attributes = _count_tokens(reply.usage)
    attributes[Names.RESPONSE_FINISH_REASONS] = [FINISH_REASONS.get(reply.stop, reply.stop)]
    if reply.model:
        attributes[Names.RESPONSE_MODEL] = clean_name(reply.model)
    if reply.id:
        attributes[Names.RESPONSE_ID] = clean_name(reply.id)
    if event.cost is not None:
        attributes[Names.COST] = event.cost
    if event.first_text_seconds is not None:
        attributes |= {Names.REQUEST_STREAM: True, Names.RESPONSE_FIRST_CHUNK: event.first_text_seconds}
    return attributes


def describe_flow(flow: FlowInfo, *, capture: bool) -> Attributes:
    """Return what is known about a flow from its start."""
    attributes: Attributes = {Names.OPERATION: Names.INVOKE_WORKFLOW, Names.WORKFLOW_NAME: clean_name(flow.name)}
    attributes[Names.FLOW_ID] = clean_name(flow.id)
    if flow.session.id:
        attributes[Names.CONVERSATION] = _hide(flow.session.id, capture=capture)
    return attributes


_OF_METRICS = {
    Names.EXECUTE_TOOL: (Names.TOOL_NAME, Names.TOOL_TYPE, Names.AGENT_NAME),
    Names.CHAT: (Names.OPERATION, Names.PROVIDER, Names.REQUEST_MODEL, Names.RESPONSE_MODEL),
    Names.INVOKE_AGENT: (Names.AGENT_NAME, Names.REQUEST_MODEL),
    Names.INVOKE_WORKFLOW: (Names.WORKFLOW_NAME,),
}


def select_for_metric(attributes: Attributes, error: str | None) -> Attributes:
    """Return those *attributes* of a span that its metrics have too, with the *error* if there is one."""
    operation = str(attributes[Names.OPERATION])
    metric = {name: attributes[name] for name in _OF_METRICS[operation] if name in attributes}
    if operation == Names.EXECUTE_TOOL and Names.TOOL_TYPE not in attributes:
        metric[Names.TOOL_NAME] = UNKNOWN_TOOL
    return metric if error is None else {**metric, Names.ERROR_TYPE: error}


def name_error(error: BaseException | None) -> str | None:
    """Return the name of the class of *error*, with its module if it is not a builtin one; None without an error."""
    if error is None:
        return None
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def clean_name(text: str) -> str:
    """Return *text* without characters that act or hide, and not longer than a name may be."""
    text = str(text)[:_MAX_NAME_CHARS]
    is_plain = text.isascii() and text.isprintable()  # a quick answer for nearly all names
    return text if is_plain else make_visible(text, keep_lines=False)[:_MAX_NAME_CHARS]


@lru_cache(maxsize=256)  # it is the same for all calls of a tool
def _describe_tool(name: str, origin: str, description: str) -> Attributes:
    attributes: Attributes = {
        Names.OPERATION: Names.EXECUTE_TOOL,
        Names.TOOL_NAME: name,
        Names.TOOL_TYPE: "extension" if origin.startswith("mcp:") else "function",
        Names.ORIGIN: origin,
    }
    if description:
        attributes[Names.TOOL_DESCRIPTION] = _cut(description, _MAX_DESCRIPTION_CHARS)
    return attributes


def _describe_conversation(run: RunInfo, *, capture: bool) -> Attributes:
    attributes: Attributes = {Names.REQUEST_MODEL: clean_name(run.model)} if run.model else {}
    if run.session.id:
        attributes[Names.CONVERSATION] = _hide(run.session.id, capture=capture)
    return attributes


def _count_tokens(usage: Usage) -> Attributes:
    attributes: Attributes = {Names.INPUT_TOKENS: usage.input_tokens, Names.OUTPUT_TOKENS: usage.output_tokens}
    if usage.cached_tokens:
        attributes[Names.CACHE_READ_TOKENS] = usage.cached_tokens
    if usage.cache_write_tokens:
        attributes[Names.CACHE_WRITE_TOKENS] = usage.cache_write_tokens
    return attributes


def _write_arguments(event: CallEnded, max_chars: int) -> str:
    """Return the arguments as JSON text, or the text that the model has sent. Secrets are masked before it is cut."""
    tool, arguments = event.call.tool, mask_secrets(event.call, arguments_of(event.call))
    if event.kind == "bad_args" and tool is not None and tool.signature.secrets:
        arguments = MASK  # a secret may be in any place of arguments that do not fit
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
