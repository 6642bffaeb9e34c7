"""The services that have OpenAI's format: what each is sent, and what is read of its answer."""

from __future__ import annotations

import json
import logging
import re
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from toolkit import Agent, Catalog, ImagePart, ToolResult
from toolkit.providers import AssistantMessage, ProviderFailure, ToolMessage, UserMessage, create_provider
from toolkit.providers.model_names import PROVIDER_NAMES
from toolkit.providers.services import SERVICES
from toolkit.results import ToolCall
from toolkit.spec import Tool

from .making import ask, catalog, hello
from .protocols import Turn
from .recorded_services import EXTRAS, Extras, record_events, record_whole
from .stub import KEY, serving

pytestmark = pytest.mark.anyio

every_service = pytest.mark.parametrize("name", SERVICES)
ROOT = Path(__file__).parents[2]
both_ways = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
ADDRESSES = {"azure": "https://mine.openai.azure.com", "litellm": "https://proxy.example"}
"""The addresses of the services of which each user has another one, as the variable holds them."""


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    """The variables of every service: a key, and an address where there is no usual one."""
    for service in SERVICES.values():
        for variable in service.key_variables:
            monkeypatch.delenv(variable, raising=False)
        if service.key_variables:
            monkeypatch.setenv(service.key_variables[0], KEY)
        if service.address_variable:
            monkeypatch.delenv(service.address_variable, raising=False)
        if service.name in ADDRESSES:
            monkeypatch.setenv(service.address_variable, ADDRESSES[service.name])


class Recording:
    """Answers with what the service of this name has been seen to answer."""

    def __init__(self, name: str, *, has_call: bool = False, **options) -> None:
        self.requests: list[httpx.Request] = []
        self._name, self._has_call = name, has_call
        client = httpx.AsyncClient(transport=httpx.MockTransport(self._answer))
        self.provider = create_provider(f"{name}:a-model", client=client, **options)

    @property
    def body(self):
        return json.loads(self.requests[-1].content)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        if not json.loads(request.content).get("stream"):
            return httpx.Response(200, json=record_whole(self._name, has_call=self._has_call))
        lines = [f"data: {json.dumps(event)}\n\n" for event in record_events(self._name, has_call=self._has_call)]
        return httpx.Response(
            200, text="".join([*lines, "data: [DONE]\n\n"]), headers={"content-type": "text/event-stream"}
        )


class Keys:
    """Remembers which key a request had; the provider takes it off the request afterwards."""

    def __init__(self) -> None:
        self.seen: list[str | None] = []

    def client(self) -> httpx.AsyncClient:
        def answer(request: httpx.Request) -> httpx.Response:
            self.seen.append(request.headers.get("authorization"))
            return httpx.Response(200, json=record_whole("groq", has_call=False))

        return httpx.AsyncClient(transport=httpx.MockTransport(answer))


def answer_of(call: ToolCall) -> ToolResult:
    return ToolResult("noon", call_id=call.id, tool="now")


def build_offer(name: str) -> Catalog | None:
    return None if "tools" in SERVICES[name].lacks else catalog()


@every_service
@both_ways
async def test_a_service_gets_a_valid_request(name, stream):
    """The request goes to its address, without the options that it refuses."""
    service, recording = SERVICES[name], Recording(name, max_tokens=50)
    await ask(recording.provider, hello(system="Be brief.", catalog=build_offer(name)), stream=stream)
    assert str(recording.requests[0].url) == f"{service.find_address()}/chat/completions"
    limit = "max_completion_tokens" if service.is_openai else "max_tokens"
    expected = {"model", "messages", limit, *(["tools"] if build_offer(name) else []), *(["stream"] if stream else [])}
    if stream and "stream_usage" not in service.lacks:
        expected.add("stream_options")
    assert recording.body.keys() == expected
    assert (recording.body["model"], recording.body[limit]) == ("a-model", 50)
    # Some services refuse a list of texts, so one text is sent.
    assert recording.body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hello"},
    ]


@every_service
@both_ways
async def test_the_answer_of_a_service_is_read(name, stream):
    """It has text, calls and usage. Fields that the service adds to a message are sent back."""
    has_call = "tools" not in SERVICES[name].lacks
    recording = Recording(name, has_call=has_call)
    request = hello(catalog=build_offer(name))
    stream_text, reply = await ask(recording.provider, request, stream=stream)
    assert (reply.message.text, reply.stop) == ("It is noon.", "calls" if has_call else "answer")
    assert stream_text == ("It is noon." if stream else "")
    assert [(call.name, call.arguments) for call in reply.message.calls] == ([("now", {})] if has_call else [])
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.model) == (11, 7, "a-model-2026")
    answers = [ToolMessage((answer_of(call),)) for call in reply.message.calls]
    await recording.provider.reply(replace(request, messages=(*request.messages, reply.message, *answers)))
    sent = recording.body["messages"][1]
    own_fields = {key: value for key, value in EXTRAS.get(name, Extras()).message.items() if value is not None}
    assert own_fields.items() <= sent.items()
    assert [message["tool_call_id"] for message in recording.body["messages"][2:]] == [
        call["id"] for call in sent.get("tool_calls", ())
    ]


@every_service
async def test_the_key_of_the_environment_goes_to_the_service_alone(name):
    """A server that needs no key gets none, and another address never gets it."""
    keys = Keys()
    await create_provider(f"{name}:m", client=keys.client()).reply(hello())
    await create_provider(f"{name}:m", client=keys.client(), base_url="https://elsewhere.example/v1").reply(hello())
    assert keys.seen == [f"Bearer {KEY}" if SERVICES[name].key_variables else None, None]


@pytest.mark.parametrize("name", [name for name, service in SERVICES.items() if service.key_variables])
async def test_a_missing_key_names_the_variables(name, monkeypatch):
    service = SERVICES[name]
    monkeypatch.delenv(service.key_variables[0])
    provider = create_provider(f"{name}:m")  # a program may be made without the key
    with pytest.raises(ProviderFailure, match=re.escape(f"{service.title} needs a key")) as caught:
        await provider.reply(hello())
    assert caught.value.why == "key"
    assert all(variable in str(caught.value) for variable in service.key_variables)


@every_service
def test_the_entry_of_a_service_is_valid(name):
    """Its address has no slash at the end, and its names have the usual form."""
    service = SERVICES[name]
    assert service.name == name
    assert re.fullmatch(r"[a-z]+", name)
    address = service.find_address({service.address_variable: ADDRESSES[name]} if name in ADDRESSES else {})
    assert re.fullmatch(r"https?://[a-z0-9.-]+(:\d+)?(/[a-z0-9.-]+)*", address)
    assert address.startswith("https://") == bool(service.key_variables)
    assert all(re.fullmatch(r"[A-Z][A-Z0-9_]+", variable) for variable in service.key_variables)


@pytest.mark.parametrize(
    ("name", "value", "address"),
    [
        ("azure", "https://mine.openai.azure.com/", "https://mine.openai.azure.com/openai/v1"),
        ("azure", "https://mine.openai.azure.com/openai/v1/", "https://mine.openai.azure.com/openai/v1"),
        ("ollama", "http://box:11434", "http://box:11434/v1"),
        ("ollama", "", "http://localhost:11434/v1"),
        ("vllm", "http://box:9/v1", "http://box:9/v1"),
    ],
)
def test_an_address_may_come_from_the_environment(name, value, address):
    assert SERVICES[name].find_address({SERVICES[name].address_variable: value}) == address


@pytest.mark.parametrize("name", ADDRESSES)
def test_an_address_that_is_missing_names_the_variable(name, monkeypatch):
    monkeypatch.delenv(SERVICES[name].address_variable)
    with pytest.raises(ValueError, match=f"set {SERVICES[name].address_variable}"):
        create_provider(f"{name}:m")


@pytest.mark.parametrize(
    ("name", "has_strict", "notes"),
    [("fireworks", False, ["fireworks: it has no strict schemas; `strict` is left out"]), ("groq", True, [])],
)
async def test_strict_schemas_are_left_out_if_a_service_has_none(caplog, name, has_strict, notes):
    """The log says so."""
    caplog.set_level(logging.INFO, logger="toolkit")
    recording = Recording(name, strict=True)
    await recording.provider.reply(hello(catalog=catalog()))
    assert ("strict" in str(recording.body["tools"])) is has_strict
    assert [record.getMessage() for record in caplog.records if "no strict" in record.getMessage()] == notes


async def test_tools_are_refused_before_a_request_to_a_service_without_tools():
    recording = Recording("perplexity")
    with pytest.raises(ProviderFailure, match="Perplexity takes no tools, and the request offers 2"):
        await recording.provider.reply(hello(catalog=catalog()))
    assert recording.requests == []


async def test_an_image_is_sent_beside_the_text():
    """A message without an image is a plain text."""
    recording = Recording("groq")
    images = replace(
        hello(), messages=(UserMessage.of("What?", ImagePart(b"\x89PNG\r\n\x1a\n")), UserMessage.of("And", "this?"))
    )
    await recording.provider.reply(images)
    first, second = [message["content"] for message in recording.body["messages"]]
    assert [part["type"] for part in first] == ["text", "image_url"]
    assert second == "And\nthis?"


async def test_ids_of_another_provider_become_legal_ones():
    """Mistral takes nine letters and digits; a call and its result still have the same id."""
    message = AssistantMessage(calls=(ToolCall("now", {}, "call_0123456789abcdef"), ToolCall("now", {}, "k7Xq2mZp9")))
    results = ToolMessage(tuple(answer_of(call) for call in message.calls))
    recording = Recording("mistral")
    await recording.provider.reply(replace(hello(), messages=(*hello().messages, message, results)))
    _, wire_message, *answers = recording.body["messages"]
    ids = [call["id"] for call in wire_message["tool_calls"]]
    assert [re.fullmatch("[A-Za-z0-9]{9}", call_id) is not None for call_id in ids] == [True, True]
    assert ids[1] == "k7Xq2mZp9"
    assert [answer["tool_call_id"] for answer in answers] == ids


@pytest.mark.parametrize(
    ("name", "alone", "beside_tools"),
    [("azure", True, True), ("mistral", True, False), ("groq", False, False), ("perplexity", True, True)],
)
def test_structured_output_is_used_if_the_service_has_it(name, alone, beside_tools):
    def answer(number: int) -> None:
        """Answer."""

    provider = create_provider(f"{name}:a-model")
    chosen = [provider.structures_output(Tool.of(answer), has_tools=has_tools) for has_tools in (False, True)]
    assert chosen == [alone, beside_tools]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("antropic:claude", "the provider 'antropic' is not known; did you mean `anthropic`?"),
        ("grok:grok-4", "did you mean `xai`?"),
        ("google-gla:gemini-3-pro", "did you mean `gemini`?"),
        ("together_ai:llama", "did you mean `together`?"),
        ("gpt-5", 'write "openai:gpt-5"'),
        ("claude-sonnet-4-5", 'write "anthropic:claude-sonnet-4-5"'),
        ("groq/llama-3.3-70b", 'write "groq:llama-3.3-70b"'),
        ("llama-3.3-70b", 'write "PROVIDER:llama-3.3-70b"; the providers are alibaba, anthropic, '),
        ("", 'write "PROVIDER:MODEL"'),
        ("groq:", 'write it after the colon: "groq:MODEL"'),
        (":llama", "the provider '' is not known"),
    ],
)
def test_a_wrong_name_gets_a_suggestion(text, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        Agent(text, [])


@pytest.mark.parametrize(
    ("text", "name", "model"),
    [
        ("anthropic:claude-sonnet-4-5", "anthropic", "claude-sonnet-4-5"),
        ("openai-responses:gpt-5", "openai_responses", "gpt-5"),
        ("Groq: llama-3.3-70b ", "groq", "llama-3.3-70b"),
        ("ollama:qwen3:8b", "ollama", "qwen3:8b"),
        ("openrouter:meta/llama-3.3:free", "openrouter", "meta/llama-3.3:free"),
    ],
)
def test_a_text_names_a_provider_and_a_model(text, name, model):
    provider = create_provider(text, max_tokens=9)
    assert (provider.name, provider.model, provider.max_tokens) == (name, model, 9)


@pytest.mark.parametrize("name", PROVIDER_NAMES)
def test_every_name_makes_a_provider(name, monkeypatch):
    """The number of names is the number of providers that README and docs speak of."""
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "a-project")
    assert create_provider(f"{name}:m").name == name


async def test_an_agent_can_be_made_from_the_name_of_a_service(monkeypatch):
    """The address and the key come from the environment."""
    async with serving(Turn(calls=(ToolCall("now", {}, "c1"),)), Turn(text="Noon.")) as stub:
        monkeypatch.setenv("LITELLM_PROXY_API_BASE", f"{stub.url}/v1")
        run = await Agent("litellm:some-model", catalog()).run("What time is it?")
    assert (run.text, run.turns) == ("Noon.", 2)
    assert [request.body["model"] for request in stub.heard] == ["some-model", "some-model"]


LACKS = {
    "tools": "tools",
    "strict": "strict schemas",
    "output": "structured output",
    "output_with_tools": "structured output beside tools",
    "stream_usage": "the usage option of streams",
    "user_after_tool": "a user's message after results",
}


@every_service
def test_the_page_shows_the_entry_of_a_service(name):
    """It has the address, the variables and the missing features."""
    service = SERVICES[name]
    addresses = [service.address, service.address_variable]
    cells = [
        f"`{name}`",
        ", or ".join(f"`{address}`" for address in addresses if address),
        " or ".join(f"`{variable}`" for variable in service.key_variables) or "none",
        ", ".join(words for lack, words in LACKS.items() if lack in service.lacks),
    ]
    assert f"| {' | '.join(cells)} |" in (ROOT / "docs" / "providers.md").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize(
    ("page", "pattern", "count"),
    [
        ("README.md", r"not among the \[(\d+) of this package\]", len(PROVIDER_NAMES)),
        ("docs/providers.md", r"There are (\d+) names", len(PROVIDER_NAMES)),
        ("docs/providers.md", r"also of \[(\d+) services\]", len(SERVICES)),
        ("docs/settings.md", r"one of \[(\d+) names\]", len(PROVIDER_NAMES)),
        ("docs/command-line.md", r"one of \[(\d+) names\]", len(PROVIDER_NAMES)),
        ("docs/comparison.md", r"Model providers named in the package \| (\d+) \|", len(PROVIDER_NAMES)),
    ],
)
def test_the_pages_have_the_number_of_providers(page, pattern, count):
    assert [int(number) for number in re.findall(pattern, (ROOT / page).read_text(encoding="utf-8"))] == [count]
