"""Bedrock: what is sent and signed is what Amazon's own client sends, and its streams are read."""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import copy
import json
import struct
import sys
from dataclasses import replace
from typing import Any

import botocore.session
import httpx
import pytest
from botocore.awsrequest import AWSResponse
from botocore.config import Config
from hypothesis import given
from hypothesis import strategies as st

from toolkit import ImagePart, ResourcePart, RetryPolicy, ToolCall, ToolResult
from toolkit.providers import AssistantMessage, BedrockProvider, ProviderFailure, Reply, ToolMessage, UserMessage
from toolkit.providers.bedrock import AwsKey

from .making import ask, catalog, hello

pytestmark = pytest.mark.anyio

MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
THOUGHT = {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}}
USE = {"toolUse": {"toolUseId": "tooluse_1", "name": "files--read", "input": {"path": "a"}}}
USAGE = {"inputTokens": 6, "outputTokens": 7, "totalTokens": 18, "cacheReadInputTokens": 3, "cacheWriteInputTokens": 2}
WHOLE = {
    "metrics": {"latencyMs": 551},
    "output": {"message": {"role": "assistant", "content": [THOUGHT, {"text": "I look."}, USE]}},
    "stopReason": "tool_use",
    "usage": USAGE,
}
EVENTS = [
    ("messageStart", {"role": "assistant"}),
    ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"reasoningContent": {"text": "Hm."}}, "p": "abc"}),
    ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"reasoningContent": {"signature": "c2ln"}}}),
    ("contentBlockStop", {"contentBlockIndex": 0}),
    ("contentBlockDelta", {"contentBlockIndex": 1, "delta": {"text": "I "}}),
    ("contentBlockDelta", {"contentBlockIndex": 1, "delta": {"text": "look."}}),
    ("contentBlockStart", {"contentBlockIndex": 2, "start": {"toolUse": {"toolUseId": "tooluse_1", "name": "files--read"}}}),
    ("contentBlockDelta", {"contentBlockIndex": 2, "delta": {"toolUse": {"input": '{"path"'}}}),
    ("contentBlockDelta", {"contentBlockIndex": 2, "delta": {"toolUse": {"input": ': "a"}'}}}),
    ("contentBlockStop", {"contentBlockIndex": 2}),
    ("messageStop", {"stopReason": "tool_use"}),
    ("metadata", {"usage": USAGE, "metrics": {"latencyMs": 551}}),
]  # fmt: skip


@pytest.fixture(autouse=True)
def account(monkeypatch, tmp_path):
    """Credentials in the environment, and none elsewhere on this machine."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
        "AWS_SESSION_TOKEN": "the-session-token",
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": str(tmp_path / "config"),
        "AWS_SHARED_CREDENTIALS_FILE": str(tmp_path / "credentials"),
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_BEARER_TOKEN_BEDROCK", raising=False)


def write_event(headers: dict[str, str], payload: bytes) -> bytes:
    """Return an event as Amazon writes it: a prelude, headers that are texts, the payload, and two checksums."""
    head = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
        for name, value in headers.items()
    )
    prelude = struct.pack(">II", 16 + len(head) + len(payload), len(head))
    message = prelude + struct.pack(">I", binascii.crc32(prelude)) + head + payload
    return message + struct.pack(">I", binascii.crc32(message))


def write_stream(events: list[tuple[str, Any]]) -> bytes:
    return b"".join(
        write_event(
            {":event-type": name, ":content-type": "application/json", ":message-type": "event"},
            json.dumps(data).encode(),
        )
        for name, data in events
    )


class Recording:
    """Answers each request with *response*, and keeps the request with its headers."""

    def __init__(self, response: httpx.Response, **options: Any) -> None:
        self.requests: list[tuple[str, dict[str, str], Any]] = []
        self._response = response
        client = httpx.AsyncClient(transport=httpx.MockTransport(self._answer))
        self.provider = BedrockProvider(MODEL, client=client, retry=RetryPolicy(attempts=1), **options)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append((str(request.url), dict(request.headers), json.loads(request.content)))
        return self._response


def conversation() -> Any:
    call = ToolCall("files.read", {"path": "a"}, "call/1")
    messages = (
        UserMessage.of("Look at this:", ImagePart(PNG)),
        AssistantMessage(text="I look.", calls=(call,)),
        ToolMessage((ToolResult('{"lines": 3}', value={"lines": 3}, call_id=call.id, tool="files.read"),)),
    )
    return replace(hello(system="Be brief.", catalog=catalog(), max_tokens=50), messages=messages)


def decode_media(body: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments that Amazon's client takes for *body*, in which an image is bytes."""
    arguments = json.loads(json.dumps(body))
    source = arguments["messages"][0]["content"][1]["image"]["source"]
    source["bytes"] = base64.b64decode(source["bytes"])
    return arguments


def ask_official_client(arguments: dict[str, Any]) -> Any:
    """Return the request that Amazon's client sends."""
    sent = []

    def capture(request: Any, **_: Any) -> Any:
        sent.append(request)
        return AWSResponse(
            request.url, 200, {}, type("Raw", (), {"stream": lambda self: [json.dumps(WHOLE).encode()]})()
        )

    client = botocore.session.get_session().create_client(
        "bedrock-runtime", "us-east-1", config=Config(retries={"max_attempts": 0})
    )
    client.meta.events.register("before-send.bedrock-runtime.Converse", capture)
    client.converse(modelId=MODEL, **arguments)
    return sent[0]


async def test_the_request_is_the_one_that_the_official_client_sends(monkeypatch):
    """The address, the body, the credentials and the list of signed headers are equal."""
    import botocore.auth

    moment = botocore.auth.get_current_datetime()
    monkeypatch.setattr(botocore.auth, "get_current_datetime", lambda *_, **__: moment)
    recording = Recording(httpx.Response(200, json=WHOLE))
    await recording.provider.reply(conversation())
    ((url, headers, body),) = recording.requests
    official = ask_official_client(decode_media(body))
    assert url == official.url
    assert body == json.loads(official.body)
    assert headers["x-amz-security-token"] == "the-session-token"
    ours, theirs = headers["authorization"], official.headers["Authorization"].decode()
    assert ours.split(", ")[:2] == theirs.split(", ")[:2]  # the credentials and the signed headers
    assert (
        body["messages"][1]["content"][1]["toolUse"]["toolUseId"]
        == body["messages"][2]["content"][0]["toolResult"]["toolUseId"]
    )
    assert body["inferenceConfig"] == {"maxTokens": 50}


async def test_the_signature_is_that_of_the_bytes_that_are_sent():
    """Amazon computes it again, and refuses the request if it differs."""
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import ReadOnlyCredentials

    request = httpx.Request(
        "POST", "https://bedrock-runtime.us-east-1.amazonaws.com/model/a%3A0/converse", json={"a": "ü"}
    )
    AwsKey("us-east-1").authorize(request, "authorization", "Bearer {}")
    again = AWSRequest("POST", str(request.url), data=request.content, headers={"content-type": "application/json"})
    again.headers["X-Amz-Security-Token"] = "the-session-token"
    again.context["timestamp"] = request.headers["x-amz-date"]
    signer = SigV4Auth(
        ReadOnlyCredentials("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", None), "bedrock", "us-east-1"
    )
    again.headers["X-Amz-Date"] = request.headers["x-amz-date"]
    text = signer.string_to_sign(again, signer.canonical_request(again))
    assert request.headers["authorization"].endswith(f"Signature={signer.signature(text, again)}")


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_an_answer_is_read(stream):
    """Text, calls, thoughts that go back, usage."""
    response = httpx.Response(200, content=write_stream(EVENTS)) if stream else httpx.Response(200, json=WHOLE)
    recording = Recording(response)
    stream_text, reply = await ask(recording.provider, hello(catalog=catalog()), stream=stream)
    assert stream_text == ("I look." if stream else "")
    assert (reply.message.text, reply.stop, reply.model) == ("I look.", "calls", MODEL)
    assert [(call.name, call.arguments, call.id) for call in reply.message.calls] == [
        ("files.read", {"path": "a"}, "tooluse_1")
    ]
    assert reply.message.native.content == [THOUGHT, {"text": "I look."}, USE]
    usage = reply.usage
    assert (usage.input_tokens, usage.cached_tokens, usage.cache_write_tokens, usage.output_tokens) == (11, 3, 2, 7)
    answer = ToolMessage((ToolResult("x", call_id="tooluse_1", tool="files.read"),))
    again = recording.provider._body(
        replace(hello(), messages=(*hello().messages, reply.message, answer)), stream=False
    )
    assert again["messages"][1]["content"] == [THOUGHT, {"text": "I look."}, USE]


async def test_arguments_that_were_cut_off_stay_text_and_can_be_sent_back():
    recording = Recording(
        httpx.Response(200, content=write_stream([*EVENTS[:8], ("messageStop", {"stopReason": "max_tokens"})]))
    )
    _, reply = await ask(recording.provider, hello(catalog=catalog()), stream=True)
    assert (reply.stop, reply.message.calls[0].arguments) == ("length", '{"path"')
    sent = recording.provider._body(replace(hello(), messages=(*hello().messages, reply.message)), stream=False)
    assert sent["messages"][1]["content"][2]["toolUse"]["input"] == {"INVALID_JSON": '{"path"'}


def test_every_document_has_a_different_name():
    """Neighbouring messages of the user are sent as one, in which names must differ."""
    document = ResourcePart("file:///a.pdf", b"%PDF-1.7\n", "application/pdf")
    messages = (UserMessage.of("Compare:", document, document), UserMessage.of(document))
    provider = Recording(httpx.Response(200)).provider
    [message] = provider._body(replace(hello(), messages=messages), stream=False)["messages"]
    names = [block["document"]["name"] for block in message["content"] if "document" in block]
    assert names == ["document-1", "document-2", "document-3"]


@pytest.mark.parametrize("size", [1, 7, 1000])
async def test_a_stream_may_be_cut_anywhere(size):
    from toolkit.providers.bedrock import AwsEventParser

    stream, parser = write_stream(EVENTS), AwsEventParser()
    chunks = [stream[start : start + size] for start in range(0, len(stream), size)]
    events = [json.loads(event) for chunk in chunks for event in parser.feed(chunk)]
    assert events == [{name: data} for name, data in EVENTS]


@pytest.mark.parametrize(
    ("kind", "why"), [("throttlingException", "unavailable"), ("serviceUnavailableException", "unavailable"), ("validationException", "request")]
)  # fmt: skip
async def test_an_error_in_a_stream_is_a_failure(kind, why):
    error = write_event({":message-type": "exception", ":exception-type": kind}, b'{"message":"Too bad"}')
    recording = Recording(httpx.Response(200, content=write_stream(EVENTS[:1]) + error))
    with pytest.raises(ProviderFailure, match="Too bad") as caught:
        await ask(recording.provider, hello(), stream=True)
    assert caught.value.why == why


async def test_a_stream_that_is_damaged_is_a_failure():
    damaged = bytearray(write_stream(EVENTS))
    damaged[len(write_stream(EVENTS[:6])) + 30] ^= 1
    with pytest.raises(ProviderFailure, match="the stream cannot be read"):
        await ask(Recording(httpx.Response(200, content=bytes(damaged))).provider, hello(), stream=True)


async def test_a_key_of_bedrock_takes_the_place_of_a_signature(monkeypatch):
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "bedrock-key-1")
    recording = Recording(httpx.Response(200, json=WHOLE))
    await recording.provider.reply(hello())
    assert recording.requests[0][1]["authorization"] == "Bearer bedrock-key-1"


async def test_credentials_that_are_missing_name_the_variables(monkeypatch):
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    with pytest.raises(
        ProviderFailure, match="AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET"
    ) as caught:
        await Recording(httpx.Response(200, json=WHOLE)).provider.reply(hello())
    assert caught.value.why == "key"


async def test_another_address_gets_no_signature():
    recording = Recording(httpx.Response(200, json=WHOLE), base_url="https://elsewhere.example")
    await recording.provider.reply(hello())
    assert "authorization" not in recording.requests[0][1]


@pytest.mark.parametrize("region", ["", "evil.example/", "US"])
def test_an_invalid_region_is_refused(region, monkeypatch):
    """It is part of the address."""
    monkeypatch.setenv("AWS_REGION", "")
    with pytest.raises(ValueError, match="set AWS_REGION, or give region="):
        BedrockProvider(MODEL, region=region)


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "botocore", None)
    with pytest.raises(ProviderFailure, match="Bedrock needs the package botocore, which is not installed"):
        BedrockProvider(MODEL)


ODD_VALUES = st.sampled_from([None, True, 7, -1.5, "", "x", [], ["x"], [None], {}, {"text": 7}, {"toolUse": []}])


def list_places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of every part of *value*."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in items for place in list_places(item, (*path, key)))]


def replace_part(value: Any, path: tuple[Any, ...], part: Any) -> Any:
    """Return a copy of *value* with *part* at *path*."""
    if not path:
        return part
    copied = copy.copy(value)
    copied[path[0]] = replace_part(value[path[0]], path[1:], part)
    return copied


@given(st.data(), st.booleans())
def test_an_odd_answer_is_read_or_is_a_failure(data, is_stream):
    """A part that is replaced by any other value raises no other exception."""
    answer: Any = [list(event) for event in EVENTS] if is_stream else WHOLE
    place = data.draw(st.sampled_from([path for path in list_places(answer) if len(path) > is_stream]))
    odd = replace_part(answer, place, data.draw(ODD_VALUES))
    events = [(str(name), content) for name, content in odd] if is_stream else []
    response = httpx.Response(200, content=write_stream(events)) if is_stream else httpx.Response(200, json=odd)

    async def send() -> None:
        provider = Recording(response, api_key="k").provider
        with contextlib.suppress(ProviderFailure):
            _, reply = await ask(provider, hello(catalog=catalog()), stream=is_stream)
            assert isinstance(reply, Reply)
            json.dumps(provider._body(replace(hello(), messages=(*hello().messages, reply.message)), stream=False))

    asyncio.run(send())
