"""What a provider is given when it is made."""

from __future__ import annotations

import asyncio
import logging
import ssl
import subprocess
import sys

import httpx
import pytest

from toolkit import RetryPolicy
from toolkit.providers import ProviderFailure

from .making import NAMES, build_provider, catalog, hello
from .protocols import Turn
from .stub import KEY, serving

pytestmark = pytest.mark.anyio

each_provider = pytest.mark.parametrize("name", NAMES)
STREAM = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


@each_provider
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"model": ""}, "`model` has to name a model"),
        ({"model": 5}, "`model` has to name a model"),
        ({"timeout_seconds": 0}, "`timeout_seconds` has to be"),
        ({"timeout_seconds": float("inf")}, "`timeout_seconds` has to be"),
        ({"max_tokens": 0}, "`max_tokens` has to be"),
        ({"max_tokens": True}, "`max_tokens` has to be"),
        ({"options": {"model": "x", "tools": []}}, "`options` cannot hold model, tools"),
        ({"base_url": "localhost:8000"}, "base_url: expected an address"),
        ({"base_url": "ftp://host"}, "base_url: expected an address"),
        ({"base_url": "https://user:word@host/v1"}, "credentials"),
        ({"base_url": "https://host/v1?key=x"}, "queries"),
    ],
)
def test_an_invalid_option_is_refused_at_construction(name, options, words):
    with pytest.raises(ValueError, match=words):
        build_provider(name, **options)


@pytest.mark.parametrize("model", ["../secret", "a?b", "a#b", "a b", "a//b", "models/../x", "ü"])
def test_a_gemini_model_cannot_change_the_address(model):
    """Its name is a part of the path."""
    with pytest.raises(ValueError, match="`model` has to name a model"):
        build_provider("gemini", model=model)


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("gemini-x", "/v1/models/gemini-x:generateContent"),
        ("tunedModels/y", "/v1/tunedModels/y:generateContent"),
    ],
)
def test_a_gemini_model_has_the_path_of_its_name(model, path):
    """A plain name is that of a model."""
    assert build_provider("gemini", model=model)._path(stream=False) == path


async def test_a_client_of_the_user_is_used_and_stays_open():
    """Its headers replace ours."""
    async with serving(Turn(text="Hi")) as stub, httpx.AsyncClient(headers={"anthropic-version": "mine"}) as client:
        async with build_provider("anthropic", stub, client=client) as provider:
            await provider.reply(hello())
        assert not client.is_closed
    assert stub.heard[0].headers["anthropic-version"] == "mine"


async def test_an_invalid_certificate_is_not_transient():
    """Another attempt would not help."""

    def refuse(request):
        broken = ssl.SSLCertVerificationError("x")
        broken.verify_message = "self-signed certificate"
        raise httpx.ConnectError("certificate verify failed") from broken

    slept = []
    client = httpx.AsyncClient(transport=httpx.MockTransport(refuse))
    provider = build_provider("openai", api_key=KEY, base_url="https://host/v1", client=client, slept=slept)
    with pytest.raises(ProviderFailure, match="the certificate of host does not hold: self-signed"):
        await provider.reply(hello())
    assert slept == []


async def test_a_request_that_is_not_json_is_refused_before_it_is_sent():
    async with serving() as stub, build_provider("openai", stub, options={"seed": float("nan")}) as provider:
        with pytest.raises(ProviderFailure, match="cannot be written as JSON"):
            await provider.reply(hello())
    assert stub.heard == []


async def test_half_a_surrogate_pair_is_sent_as_a_question_mark():
    """Every provider refuses it."""
    async with serving(Turn(text="Hi")) as stub, build_provider("openai", stub) as provider:
        await provider.reply(hello(system="a\ud83dz"))
    assert stub.heard[0].body["messages"][0]["content"] == "a?z"


def test_a_provider_may_be_used_in_one_loop_after_another():
    """Connections belong to a loop; scripts start several."""
    provider = build_provider("openai", base_url="http://127.0.0.1:1/v1", api_key=KEY, retry=RetryPolicy(attempts=1))

    async def once():
        async with serving(Turn(text="Hi")) as stub:
            provider._exchange.base_url = f"{stub.url}/v1"
            text = (await provider.reply(hello())).message.text
            await provider.aclose()
            return text

    assert [asyncio.run(once()) for _ in range(2)] == ["Hi", "Hi"]


async def test_a_tool_that_cannot_be_strict_is_logged_once(caplog):
    caplog.set_level(logging.INFO, logger="toolkit")
    tools = catalog()

    @tools.tool
    def anything(**wishes: int) -> None:
        """Take anything."""

    provider = build_provider("openai", api_key=KEY, strict=True)
    for _ in range(2):
        provider._build_outgoing(hello(catalog=tools), stream=False)
    notes = [record.getMessage() for record in caplog.records]
    assert len(notes) == 1
    assert notes[0].startswith("openai: `anything`: not strict")


async def test_the_number_of_remembered_notes_is_bounded(caplog, monkeypatch):
    """Tools that come and go would fill the memory with them."""
    monkeypatch.setattr("toolkit.providers.remote._MAX_NOTED", 2)
    caplog.set_level(logging.INFO, logger="toolkit")
    tools = catalog()
    provider = build_provider("openai", api_key=KEY, strict=True)
    for number in range(5):

        @tools.tool(name=f"anything_{number}")
        def anything(**wishes: int) -> None:
            """Take anything."""

        provider._build_outgoing(hello(catalog=tools), stream=False)
        tools.remove(f"anything_{number}")
    assert (len(caplog.records), len(provider._noted)) == (5, 1)


def test_strictness_of_gemini_needs_no_note(caplog):
    """There it holds for the whole request."""
    caplog.set_level(logging.INFO, logger="toolkit")
    body = (
        build_provider("gemini", api_key=KEY, strict=True)._build_outgoing(hello(catalog=catalog()), stream=False).body
    )
    assert body["toolConfig"] == {"functionCallingConfig": {"mode": "VALIDATED"}}
    assert caplog.records == []


def test_a_gemini_address_may_have_a_version():
    """A preview version has another address."""
    provider = build_provider("gemini", base_url="https://generativelanguage.googleapis.com/v1beta/")
    assert provider._exchange.base_url + provider._path(stream=True) == (
        "https://generativelanguage.googleapis.com/v1beta/models/gemini-test:streamGenerateContent?alt=sse"
    )


def test_no_slow_module_is_loaded_before_the_first_request():
    """Making a provider costs no import of httpx, let alone of an SDK."""
    code = (
        "import sys; from toolkit.providers import AnthropicProvider, GeminiProvider, OpenAIProvider;"
        "AnthropicProvider('c'); GeminiProvider('g'); OpenAIProvider('o');"
        "print([name for name in ('httpx', 'jsonschema', 'anthropic', 'openai', 'google') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


async def test_halves_of_a_letter_that_stand_together_are_joined():
    """A provider may send them in two pieces."""
    async with serving(Turn(text="Hi")) as stub, build_provider("openai", stub) as provider:
        await provider.reply(hello(system="a\ud83d" + "\ude00z"))
    assert stub.heard[0].body["messages"][0]["content"] == "a\U0001f600z"
