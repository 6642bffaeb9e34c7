"""A key goes to the provider, and is shown nowhere."""

from __future__ import annotations

import logging
import pickle
import traceback

import httpx
import pytest

from toolkit import ProviderError
from toolkit.providers import ProviderFailure

from .making import NAMES, ask, build_provider, hello
from .stub import KEY, Answer, Reset, serving

pytestmark = pytest.mark.anyio

each_provider = pytest.mark.parametrize("name", NAMES)
STREAM = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
VARIABLES = {
    "anthropic": "ANTHROPIC_API_KEY",
    "openai": "OPENAI_API_KEY",
    "openai_responses": "OPENAI_API_KEY",
    "gemini": "GEMINI_API_KEY or GOOGLE_API_KEY",
}


@pytest.fixture(autouse=True)
def no_keys(monkeypatch):
    """No key of the machine is ever used here."""
    for names in VARIABLES.values():
        for name in names.split(" or "):
            monkeypatch.delenv(name, raising=False)


@each_provider
@STREAM
async def test_the_error_for_a_missing_key_names_the_variable(name, stream):
    """No request is sent."""
    with pytest.raises(ProviderFailure, match=VARIABLES[name]) as missing:
        await ask(build_provider(name), hello(), stream=stream)
    assert missing.value.why == "key"


@each_provider
async def test_a_key_of_the_environment_is_read_at_the_first_request(name, monkeypatch):
    """So a program may set it after the import. It goes to the address of the provider."""
    provider = build_provider(
        name, client=httpx.AsyncClient(transport=httpx.MockTransport(lambda request: refuse(request)))
    )
    headers = []

    def refuse(request):
        headers.append((request.url.host, dict(request.headers)))
        return httpx.Response(400, json={"error": {"message": "no"}})

    for variable in VARIABLES[name].split(" or "):
        monkeypatch.setenv(variable, KEY)
    with pytest.raises(ProviderFailure):
        await provider.reply(hello())
    [(host, sent)] = headers
    assert host in provider._address
    assert KEY in sent["x-goog-api-key" if name == "gemini" else "authorization"]


@each_provider
def test_the_usual_address_may_be_given_explicitly(name, monkeypatch):
    """The host decides, and the connection has to be encrypted."""
    for variable in VARIABLES[name].split(" or "):
        monkeypatch.setenv(variable, KEY)
    address = build_provider(name)._address
    assert build_provider(name, base_url=address)._find_key().reveal() == KEY
    assert build_provider(name, base_url=address.replace("https", "http"))._find_key() is None


@each_provider
async def test_a_key_of_the_environment_goes_nowhere_else(name, monkeypatch):
    """Another address gets the key that is given for it, or none; its refusal says so."""
    for variable in VARIABLES[name].split(" or "):
        monkeypatch.setenv(variable, KEY)
    async with serving() as stub, build_provider(name, stub, api_key=None) as provider:
        with pytest.raises(ProviderFailure, match="none was given") as refused:
            await provider.reply(hello())
    assert refused.value.why == "key"
    assert KEY not in str(stub.heard[0].headers)


@pytest.mark.one_case_in(5)
@each_provider
@STREAM
@pytest.mark.parametrize(
    "step",
    [
        Answer(401, {"error": {"message": f"bad key {KEY}"}}),
        Answer(403, {"error": {"message": f"not with {KEY}"}}),
        Answer(400, {"error": {"message": f"{'x' * 490}{KEY}"}}),
        Answer(400, f"plain {KEY}".encode()),
        Answer(500, {"error": {"message": f"trace: Authorization: Bearer {KEY}"}}),
        Answer(200, {"error": {"message": f"echo {KEY}"}}),
        Answer(307, {}, {"Location": f"https://evil.test/?key={KEY}"}),
        Answer(200, f"{KEY}".encode()),
        Reset(),
    ],
    ids=["401", "403", "cut", "plain", "500", "200", "redirect", "no json", "reset"],
)
async def test_a_key_is_never_shown(name, step, stream, caplog):
    """It is not in errors, their causes and fields, debug logs, reprs or addresses."""
    caplog.set_level(logging.DEBUG)
    async with serving(*[step] * 3) as stub, build_provider(name, stub) as provider:
        with pytest.raises(ProviderError) as failed:
            await ask(provider, hello(), stream=stream)
        # What a server put into its own headers is httpcore's to log.
        logged = [record.getMessage() for record in caplog.records if "response_headers" not in record.getMessage()]
        texts = [repr(provider), str(vars(provider)), *logged]
    error = failed.value
    texts += traceback.format_exception(error)
    while error is not None:
        texts += [repr(error), str(vars(error)), str(getattr(getattr(error, "_request", None), "headers", ""))]
        error = error.__cause__ or error.__context__
    assert KEY[:16] not in "\n".join(texts).replace("[redacted]", "")
    assert all(KEY not in request.path for request in stub.heard)
    assert stub.heard


@each_provider
def test_a_provider_cannot_be_pickled(name):
    """The key would go along."""
    with pytest.raises(TypeError, match="holds a key and connections"):
        pickle.dumps(build_provider(name, api_key=KEY))
