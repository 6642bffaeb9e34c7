"""
A provider that records a conversation with a real model once, and plays it in tests.

The file holds what the model was sent and what it answered, without secrets. A request that differs from the recorded
ones is an error that shows the difference, so a recording that is out of date cannot pass unnoticed.
"""

from __future__ import annotations

import contextlib
import difflib
import json
import os
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeAlias

from .._plumbing.versioned_json import remove_version
from .._plumbing.wording import MASK, format_count
from ..approvals.comparisons import equals_except_masks
from ..calls.approval.case import mask_secrets
from ..errors import BadArgs, ProviderError
from ..policies.credentials import list_variable_secrets
from ..policies.redaction import Redaction, RedactionRule
from ..policies.secret_patterns import SECRET_PATTERNS
from ..providers.base import Provider, Reply, Request, StreamEvent, StructuredProvider
from ..providers.messages import AssistantMessage, Message, ToolMessage
from ..providers.scripted import ScriptedProvider
from ..spec import Tool
from ..steps.records import dump_reply, load_reply
from ..storage.shared_files import write_atomically
from .laws.smallest_example import Effort, draw_values
from .strategies.arguments import arguments as draw_arguments
from .strategies.arguments import check_arguments
from .strategies.base import Unsupported

__all__ = ["RecordedProvider"]

_VERSION = 1
_MAX_DIFF_LINES = 40
_MAX_LINE_CHARS = 300
_Exchange: TypeAlias = tuple[dict[str, Any], dict[str, Any]]
"""What the model was sent, and the record of its reply."""


class RecordedProvider:
    """
    Plays the conversation in the file *path*. If there is no such file, *provider* answers, and the file is written.

    A request is answered with the first recorded reply to the same request that has not been played yet. In the file,
    `[redacted]` stands in place of secrets, and matches any text. Delete the file to record the conversation again.

    Args:
        path: The file, such as `tests/recordings/refund.json`. It is meant to be committed.
        provider: The provider that answers while there is no file. None allows playing only.
        redact: Further texts, patterns or functions that mask what must not be in the file, or changes with each run.
            The values of `Secret` parameters, of environment variables such as `API_KEY`, and texts that look like
            keys or passwords are always masked.

    Raises:
        ProviderError: There is no recording and no provider, or the file cannot be read.
    """

    def __init__(
        self, path: str | os.PathLike[str], provider: Provider | None = None, *, redact: Iterable[RedactionRule] = ()
    ) -> None:
        __tracebackhide__ = True  # pytest then shows the line that asked, not the lines of this class
        self._path = Path(path)
        self._redaction = Redaction(
            [*(pattern for _, pattern in SECRET_PATTERNS), *list_variable_secrets(os.environ.items()), *redact]
        )
        self._exchanges: list[_Exchange] = []
        self._masked: list[_Exchange] = []
        self._provider: Provider | None = None
        if self._path.exists():
            self.name, self.model, self._exchanges = _read_recording(self._path)
            if provider is not None and (provider.name, provider.model) != (self.name, self.model):
                raise ProviderError(
                    f"{self._path} was recorded with {self.name} {self.model}, and the provider is {provider.name} "
                    f"{provider.model}; delete the file to record it again"
                )
        elif provider is None:
            raise ProviderError(f"there is no recording {self._path}; give `provider=` to record one")
        else:
            self._provider, self.name, self.model = provider, provider.name, provider.model
        self._unplayed = list(range(len(self._exchanges)))

    async def reply(self, request: Request) -> Reply:
        __tracebackhide__ = True
        if self._provider is None:
            return self._play(request)
        sent = _describe_request(request)
        reply = await self._provider.reply(request)
        self._record(request, sent, reply)
        return reply

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        """Yield the answer of the model while it is recorded; a played answer is yielded word by word."""
        __tracebackhide__ = True
        if self._provider is None:
            async for event in ScriptedProvider([self._play(request)]).stream(request):
                yield event
            return
        sent = _describe_request(request)
        async for event in self._provider.stream(request):
            if isinstance(event, Reply):
                self._record(request, sent, event)
            yield event

    def structures_output(self, tool: Tool, *, has_tools: bool) -> bool:
        if self._provider is None:
            return any(request["output"] is not None for request, _ in self._exchanges)
        provider = self._provider
        return isinstance(provider, StructuredProvider) and provider.structures_output(tool, has_tools=has_tools)

    async def aclose(self) -> None:
        """Close the connections of the provider that is recorded, if it has any."""
        if (close := getattr(self._provider, "aclose", None)) is not None:
            await close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _play(self, request: Request) -> Reply:
        __tracebackhide__ = True
        sent = _describe_request(request)
        for index in self._unplayed:
            recorded_request, reply = self._exchanges[index]
            if equals_except_masks(recorded_request, sent):
                self._unplayed.remove(index)
                return load_reply(reply)
        again = f"delete {self._path} to record the conversation again"
        if not self._unplayed:
            count = format_count(len(self._exchanges), "reply")
            raise ProviderError(f"all of the {count} in {self._path} are played, and this is one request more; {again}")
        index = self._unplayed[0]
        difference = _describe_difference(self._exchanges[index][0], self._redaction.mask_value(sent))
        raise ProviderError(
            f"the request differs from request {index + 1} in {self._path} (- recorded, + now); change it back, "
            f"or {again}:\n{difference}"
        )

    def _record(self, request: Request, sent: dict[str, Any], reply: Reply) -> None:
        record = dump_reply(reply)
        for call, recorded in zip(reply.message.calls, record["message"]["calls"], strict=True):
            recorded["arguments"] = _replace_secrets(_find_tool(request, call.name), recorded["arguments"])
        self._exchanges.append((sent, record))
        secrets = list(_list_secret_arguments(request, reply.message))
        # A secret may stand in requests from before the call that shows it to be one. So all of them are masked again.
        first = 0 if secrets else len(self._exchanges) - 1
        self._redaction = self._redaction.with_secrets(secrets)
        self._masked[first:] = [
            (self._redaction.mask_value(sent), _mask_reply(record, self._redaction))
            for sent, record in self._exchanges[first:]
        ]
        data = {
            "version": _VERSION,
            "provider": self.name,
            "model": self.model,
            "exchanges": list(_shorten(self._masked)),
        }
        self._path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(self._path, json.dumps(data, indent=1, ensure_ascii=False) + "\n")


def _describe_request(request: Request) -> dict[str, Any]:
    """Return what the model is sent, as JSON: without the secrets that the tools declare, ids of sessions and times."""
    offered = [] if request.catalog is None else request.catalog.offered(request.session)
    return {
        "system": request.system,
        "tools": [{"name": tool.name, "description": tool.description, "schema": tool.schema} for tool in offered],
        "output": None if request.output is None else request.output.schema,
        "max_tokens": request.max_tokens,
        "messages": [_describe_message(request, message) for message in request.messages],
    }


def _describe_message(request: Request, message: Message) -> dict[str, Any]:
    data = message.to_json()
    del data["version"]
    data.pop("native", None)  # the same content in the provider's own format
    for call in data.get("calls", ()):
        call["arguments"] = _mask_arguments(_find_tool(request, call["name"]), call["arguments"])
    if isinstance(message, ToolMessage):
        names = ("call_id", "tool", "kind", "text", "parts")
        data["results"] = [{name: result[name] for name in names} for result in data["results"]]
    return data


def _find_tool(request: Request, name: str) -> Tool | None:
    return None if request.catalog is None else request.catalog.get(name)


def _mask_arguments(tool: Tool | None, arguments: Any) -> Any:
    if tool is None or not tool.signature.secrets:
        return arguments
    # In JSON text, a secret may stand anywhere.
    return mask_secrets(arguments, tool.signature.secrets) if isinstance(arguments, Mapping) else MASK


def _replace_secrets(tool: Tool | None, arguments: Any) -> Any:
    """Return *arguments* without secrets, in a form that the tool accepts when the call is played."""
    masked = _mask_arguments(tool, arguments)
    if tool is None or masked == arguments or not isinstance(masked, Mapping):
        return masked
    try:
        check_arguments(tool, masked)
    except BadArgs:  # a secret that is no text, or has a certain form
        with contextlib.suppress(Unsupported):
            schema = {**tool.schema, "required": list(masked)}
            (example, *_) = draw_values(draw_arguments(schema), Effort(examples=1))
            return {name: example[name] if name in tool.signature.secrets else masked[name] for name in masked}
    return masked


def _mask_reply(record: Mapping[str, Any], redaction: Redaction) -> dict[str, Any]:
    """Return the record of a reply with its content masked. The rest, such as numbers of tokens, has to be readable."""
    message, native = record["message"], record["message"]["native"]
    masked = {
        **message,
        "text": redaction.mask_text(message["text"]),
        "calls": [{**call, "arguments": redaction.mask_value(call["arguments"])} for call in message["calls"]],
        "native": None if native is None else {**native, "content": redaction.mask_value(native["content"])},
    }
    return {**record, "message": masked}


def _list_secret_arguments(request: Request, answer: AssistantMessage) -> Iterator[Any]:
    """Yield the value of each argument that its tool marks `Secret`, in the conversation so far and in *answer*."""
    messages = [*request.messages, answer]
    calls = [call for message in messages if isinstance(message, AssistantMessage) for call in message.calls]
    for call in calls:
        tool = _find_tool(request, call.name)
        if tool is not None and isinstance(call.arguments, Mapping):
            yield from (value for name, value in call.arguments.items() if name in tool.signature.secrets)


def _shorten(exchanges: Sequence[_Exchange]) -> Iterator[dict[str, Any]]:
    """
    Yield the exchanges for the file. A request has only what differs from the request before it.

    If it continues an earlier conversation, `after` is the number of that exchange, and its messages are left out.
    """
    former: Mapping[str, Any] = {}
    for index, (request, reply) in enumerate(exchanges):
        short = {name: value for name, value in request.items() if name not in former or value != former[name]}
        for number in range(index, 0, -1):
            earlier = _list_conversation(*exchanges[number - 1])
            if request["messages"][: len(earlier)] == earlier:
                short = {"after": number, **short, "messages": request["messages"][len(earlier) :]}
                break
        yield {"request": short, "reply": reply}
        former = request


def _list_conversation(request: Mapping[str, Any], reply: Mapping[str, Any]) -> list[Any]:
    """Return the messages of *request*, and then the message of *reply* as the next request has it."""
    answer = {name: value for name, value in reply["message"].items() if name not in ("version", "native")}
    return [*request["messages"], answer]


def _read_recording(path: Path) -> tuple[str, str, list[_Exchange]]:
    """Return the provider, the model and the exchanges of the recording at *path*."""
    __tracebackhide__ = True
    exchanges: list[_Exchange] = []
    try:
        data = remove_version(json.loads(path.read_text(encoding="utf-8")), "a recording", _VERSION)
        for item in data["exchanges"]:
            request, reply = {**(exchanges[-1][0] if exchanges else {}), **item["request"]}, item["reply"]
            if number := request.pop("after", 0):
                request["messages"] = _list_conversation(*exchanges[number - 1]) + request["messages"]
            load_reply(reply)
            exchanges.append(({name: request[name] for name in _REQUEST_FIELDS}, reply))
        return str(data["provider"]), str(data["model"]), exchanges
    except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
        reason = f"it lacks {error}" if isinstance(error, KeyError) else str(error)
        raise ProviderError(f"cannot read the recording {path}: {reason}; delete it to record it again") from None


_REQUEST_FIELDS = ("system", "tools", "output", "max_tokens", "messages")


def _describe_difference(recorded: Any, actual: Any) -> str:
    before, after = _to_lines(recorded), _to_lines(_adopt_matches(recorded, actual))
    lines = list(difflib.unified_diff(before, after, n=2, lineterm=""))[2:]  # without the names of the files
    shown = [
        line if len(line) <= _MAX_LINE_CHARS else f"{line[:_MAX_LINE_CHARS]}..." for line in lines[:_MAX_DIFF_LINES]
    ]
    more = len(lines) - len(shown)
    return "\n".join([*shown, f"... and {format_count(more, 'line')} more"] if more else shown)


def _adopt_matches(recorded: Any, actual: Any) -> Any:
    """Return *actual* with the recorded form of each part that matches, so that a mask is no difference."""
    if equals_except_masks(recorded, actual):
        return recorded
    if isinstance(recorded, Mapping) and isinstance(actual, Mapping):
        return {name: _adopt_matches(recorded.get(name), value) for name, value in actual.items()}
    if isinstance(recorded, list) and isinstance(actual, list):
        pairs = zip(recorded, actual, strict=False)
        return [*(_adopt_matches(*pair) for pair in pairs), *actual[len(recorded) :]]
    return actual


def _to_lines(value: Any) -> list[str]:
    """Return *value* as lines of JSON. A text of several lines is split, so that a diff shows the line that differs."""
    return json.dumps(value, indent=1, ensure_ascii=False).replace("\\n", "\n").splitlines()
