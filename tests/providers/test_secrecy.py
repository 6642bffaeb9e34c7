"""A key goes to the provider, and is shown nowhere."""

from __future__ import annotations

import logging
import pickle
import traceback

import httpx
import pytest

from toolkit import ProviderError
from toolkit.providers import ProviderFailure

from .making import NAMES, ask, hello, provider
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
async def test_a_missing_key_names_the_variable(name, stream):
    """Before anything is sent."""
    with pytest.raises(ProviderFailure, match=VARIABLES[name]) as missing:
        await ask(provider(name), hello(), stream=stream)
    assert missing.value.why == "key"


@each_provider
async def test_a_key_of_the_environment_is_read_when_it_is_needed(name, monkeypatch):
    """So a program may set it after the import; it goes to the provider's own address."""
    asked = provider(name, client=httpx.AsyncClient(transport=httpx.MockTransport(lambda request: seen(request))))
    headers = []

    def seen(request):
        headers.append((request.url.host, dict(request.headers)))
        return httpx.Response(400, json={"error": {"message": "no"}})

    for variable in VARIABLES[name].split(" or "):
        monkeypatch.setenv(variable, KEY)
    with pytest.raises(ProviderFailure):
        await asked.reply(hello())
    [(host, sent)] = headers
    assert host in asked._address
    assert KEY in sent["x-goog-api-key" if name == "gemini" else "authorization"]


@each_provider
def test_the_own_address_may_be_given_too(name, monkeypatch):
    """It is the host that counts, and that nobody reads along."""
    for variable in VARIABLES[name].split(" or "):
        monkeypatch.setenv(variable, KEY)
    address = provider(name)._address
    assert provider(name, base_url=address)._find_key().reveal() == KEY
    assert provider(name, base_url=address.replace("https", "http"))._find_key() is None


@each_provider
async def test_a_key_of_the_environment_goes_nowhere_else(name, monkeypatch):
    """Another address gets the key that is given for it, or none; its refusal says so."""
    for variable in VARIABLES[name].split(" or "):
        monkeypatch.setenv(variable, KEY)
    async with serving() as stub, provider(name, stub, api_key=None) as asked:
        with pytest.raises(ProviderFailure, match="none was given") as refused:
            await asked.reply(hello())
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
    """Not in errors, their causes, what they carry, logs at the finest level, reprs or addresses."""
    caplog.set_level(logging.DEBUG)
    async with serving(*[step] * 3) as stub, provider(name, stub) as asked:
        with pytest.raises(ProviderError) as failed:
            await ask(asked, hello(), stream=stream)
        # What a server put into its own headers is httpcore's to log.
        logged = [each.getMessage() for each in caplog.records if "response_headers" not in each.getMessage()]
        shown = [repr(asked), str(vars(asked)), *logged]
    error = failed.value
    shown += traceback.format_exception(error)
    while error is not None:
        shown += [repr(error), str(vars(error)), str(getattr(getattr(error, "_request", None), "headers", ""))]
        error = error.__cause__ or error.__context__
    assert KEY[:16] not in "\n".join(shown).replace("[redacted]", "")
    assert all(KEY not in heard.path for heard in stub.heard)
    assert stub.heard


@each_provider
def test_a_provider_is_not_pickled(name):
    """A key would go along."""
    with pytest.raises(TypeError, match="holds a key and connections"):
        pickle.dumps(provider(name, api_key=KEY))
