"""
The names of spans, attributes and metrics: those of the GenAI conventions of OpenTelemetry, and our own.

No package has the names of the conventions since they have left `opentelemetry-semantic-conventions`, so they are
written out here. The tests compare them with what `opentelemetry-util-genai` 1.3 gives for the same operations.
"""

from __future__ import annotations

from typing import Final

__all__ = ["FINISH_REASONS", "METRICS", "PROVIDERS", "SCHEMA_URL", "SCOPE", "UNKNOWN_TOOL", "Names"]

SCOPE: Final = "toolkit"
"""What makes the spans."""

SCHEMA_URL: Final = "https://opentelemetry.io/schemas/1.37.0"
"""The version of the conventions."""


class Names:
    """The names of operations, attributes, events and metrics."""

    # The operations. The name of a span is that of its operation, and what it is about.
    EXECUTE_TOOL: Final = "execute_tool"
    CHAT: Final = "chat"
    INVOKE_AGENT: Final = "invoke_agent"
    INVOKE_WORKFLOW: Final = "invoke_workflow"

    # The attributes of the conventions.
    OPERATION: Final = "gen_ai.operation.name"
    PROVIDER: Final = "gen_ai.provider.name"
    CONVERSATION: Final = "gen_ai.conversation.id"
    AGENT_NAME: Final = "gen_ai.agent.name"
    WORKFLOW_NAME: Final = "gen_ai.workflow.name"
    TOOL_NAME: Final = "gen_ai.tool.name"
    TOOL_TYPE: Final = "gen_ai.tool.type"
    TOOL_DESCRIPTION: Final = "gen_ai.tool.description"
    TOOL_CALL_ID: Final = "gen_ai.tool.call.id"
    TOOL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
    TOOL_RESULT: Final = "gen_ai.tool.call.result"
    REQUEST_MODEL: Final = "gen_ai.request.model"
    REQUEST_STREAM: Final = "gen_ai.request.stream"
    RESPONSE_MODEL: Final = "gen_ai.response.model"
    RESPONSE_ID: Final = "gen_ai.response.id"
    RESPONSE_FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
    RESPONSE_FIRST_CHUNK: Final = "gen_ai.response.time_to_first_chunk"
    INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
    OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
    CACHE_READ_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
    CACHE_WRITE_TOKENS: Final = "gen_ai.usage.cache_write.input_tokens"
    TOKEN_TYPE: Final = "gen_ai.token.type"  # noqa: S105 -- these tokens are counted, and open nothing
    ERROR_TYPE: Final = "error.type"

    # Our own attributes.
    KIND: Final = "toolkit.result.kind"
    ATTEMPTS: Final = "toolkit.attempts"
    REPAIRS: Final = "toolkit.repairs"
    TRUNCATED: Final = "toolkit.truncated"
    CACHED: Final = "toolkit.cached"
    COST: Final = "toolkit.cost"
    VERDICT: Final = "toolkit.verdict"
    VERDICT_BY: Final = "toolkit.verdict.by"
    REQUEST_ID: Final = "toolkit.request.id"
    WAITED_SECONDS: Final = "toolkit.waited_seconds"
    ORIGIN: Final = "toolkit.origin"
    SESSION: Final = "toolkit.session"
    PRINCIPAL: Final = "toolkit.principal"
    RUN_ID: Final = "toolkit.run.id"
    RUN_VERB: Final = "toolkit.run.verb"
    RUN_STATUS: Final = "toolkit.run.status"
    RUN_TURNS: Final = "toolkit.run.turns"
    FLOW_ID: Final = "toolkit.flow.id"
    FLOW_STATUS: Final = "toolkit.flow.status"

    # Our own events on a span, and their attributes.
    ATTEMPT_EVENT: Final = "toolkit.attempt"
    ASKED_EVENT: Final = "toolkit.person_asked"
    ANSWERED_EVENT: Final = "toolkit.person_answered"
    HOOK_EVENT: Final = "toolkit.hook"
    ATTEMPT_NUMBER: Final = "toolkit.attempt.number"
    HOOK_NAME: Final = "toolkit.hook.name"
    HOOK_OUTCOME: Final = "toolkit.hook.outcome"
    ANSWER_APPROVED: Final = "toolkit.answer.approved"

    # The metrics that do not measure how long a whole operation takes.
    TOKEN_USAGE: Final = "gen_ai.client.token.usage"  # noqa: S105 -- as above
    FIRST_CHUNK: Final = "gen_ai.client.operation.time_to_first_chunk"


_CALL_SECONDS: Final = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_AGENT_SECONDS: Final = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6)
_WORKFLOW_SECONDS: Final = (1, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200)
_TOKENS: Final = tuple(4**power for power in range(14))

METRICS: Final[dict[str, tuple[str, str, tuple[float, ...], str]]] = {
    Names.EXECUTE_TOOL: ("gen_ai.execute_tool.duration", "s", _CALL_SECONDS, "Duration of a tool execution."),
    Names.CHAT: ("gen_ai.client.operation.duration", "s", _CALL_SECONDS, "Duration of a question to a model."),
    Names.INVOKE_AGENT: ("gen_ai.invoke_agent.duration", "s", _AGENT_SECONDS, "Duration of a run of an agent."),
    Names.INVOKE_WORKFLOW: ("gen_ai.invoke_workflow.duration", "s", _WORKFLOW_SECONDS, "Duration of a flow."),
    Names.TOKEN_USAGE: (Names.TOKEN_USAGE, "{token}", _TOKENS, "Number of tokens that a model has read or written."),
    Names.FIRST_CHUNK: (Names.FIRST_CHUNK, "s", _CALL_SECONDS, "Time to receive the first chunk of a reply."),
}
"""The histograms: name, unit, buckets and description. Those of durations are by the operation that they measure."""

PROVIDERS: Final = {
    "azure": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "openai_responses": "openai",
    "vertex": "gcp.vertex_ai",
    "xai": "x_ai",
}
"""The names of providers in the conventions, where they differ from ours."""

FINISH_REASONS: Final = {"answer": "stop", "calls": "tool_call", "refusal": "content_filter"}
"""Why the model has stopped, in the words of the conventions, where they differ from ours."""

UNKNOWN_TOOL: Final = "_OTHER"
"""Stands in metrics for all names that no tool has, because a model can invent any number of them."""
