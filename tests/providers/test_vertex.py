"""Vertex: Gemini at the addresses of Google's cloud, with a token that is made anew when it expires."""

from __future__ import annotations

import sys

import httpx
import pytest
from google.auth.exceptions import DefaultCredentialsError, RefreshError, TransportError

from toolkit import RetryPolicy
from toolkit.providers import ProviderFailure, VertexProvider
from toolkit.providers.vertex import GoogleKey

from .making import ask, catalog, hello
from .protocols import PROTOCOLS, Turn

pytestmark = pytest.mark.anyio


class Credentials:
    """Credentials of Google whose tokens are good for one request."""

    def __init__(self, problem: Exception | None = None) -> None:
        self.valid, self.token, self.count, self.problem = False, None, 0, problem

    def refresh(self, request) -> None:
        if self.problem is not None:
            raise self.problem
        self.count += 1
        self.token = f"ya29.token-{self.count}"


@pytest.fixture(autouse=True)
def project(monkeypatch):
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "a-project")
    monkeypatch.delenv("GOOGLE_CLOUD_LOCATION", raising=False)


def record(requests, **options):
    """Return a provider whose requests are kept, with their headers."""

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append((str(request.url), request.headers.get("authorization")))
        return httpx.Response(200, json=PROTOCOLS["gemini"].whole(Turn(text="Noon."), "gemini-3-pro"))

    client = httpx.AsyncClient(transport=httpx.MockTransport(answer))
    return VertexProvider("gemini-3-pro", client=client, retry=RetryPolicy(attempts=1), **options)


async def test_each_request_has_a_token_that_is_valid():
    requests = []
    provider = record(requests, api_key=GoogleKey(credentials=Credentials()))
    replies = [await provider.reply(hello(catalog=catalog())) for _ in range(2)]
    assert [reply.message.text for reply in replies] == ["Noon.", "Noon."]
    path = "projects/a-project/locations/global/publishers/google/models/gemini-3-pro:generateContent"
    assert requests == [
        (f"https://aiplatform.googleapis.com/v1beta1/{path}", "Bearer ya29.token-1"),
        (f"https://aiplatform.googleapis.com/v1beta1/{path}", "Bearer ya29.token-2"),
    ]


@pytest.mark.parametrize(
    ("location", "host"),
    [
        ("global", "aiplatform.googleapis.com"),
        ("eu", "aiplatform.eu.rep.googleapis.com"),
        ("europe-west4", "europe-west4-aiplatform.googleapis.com"),
    ],
)
async def test_the_server_of_a_location_is_that_of_googles_client(location, host, monkeypatch):
    monkeypatch.setenv("GOOGLE_CLOUD_LOCATION", location)
    requests = []
    await record(requests, api_key=GoogleKey(credentials=Credentials())).reply(hello())
    assert requests[0][0].startswith(f"https://{host}/v1beta1/projects/a-project/locations/{location}/")


async def test_the_answer_of_a_stream_is_asked_for_as_events():
    requests = []
    provider = record(requests, api_key="token-1")
    stream_text, reply = await ask(provider, hello(), stream=True)
    assert stream_text == reply.message.text == "Noon."  # it came as a whole
    assert requests[0][0].endswith("gemini-3-pro:streamGenerateContent?alt=sse")


@pytest.mark.parametrize(
    ("problem", "why"), [(RefreshError("revoked"), "key"), (TransportError("no network"), "unavailable")]
)
async def test_a_token_that_cannot_be_made_is_a_failure(problem, why):
    provider = record([], api_key=GoogleKey(credentials=Credentials(problem)))
    with pytest.raises(ProviderFailure, match=str(problem)) as caught:
        await provider.reply(hello())
    assert caught.value.why == why


async def test_the_error_for_missing_credentials_has_the_remedy(monkeypatch):
    def find(**_):
        raise DefaultCredentialsError("none")

    monkeypatch.setattr("google.auth.default", find)
    with pytest.raises(ProviderFailure, match="gcloud auth application-default login, or set GOOGLE_APPLICATION"):
        await record([]).reply(hello())


async def test_another_address_gets_no_token():
    requests = []
    await record(requests, base_url="https://elsewhere.example").reply(hello())
    assert requests[0][1] is None


@pytest.mark.parametrize(
    ("option", "variable"), [("project", "GOOGLE_CLOUD_PROJECT"), ("location", "GOOGLE_CLOUD_LOCATION")]
)
@pytest.mark.parametrize("value", ["../x", "a/b", "A B"])
def test_an_option_that_would_change_the_address_is_refused(option, variable, value):
    with pytest.raises(ValueError, match=f"set {variable}, or give {option}="):
        VertexProvider("gemini-3-pro", **{option: value})


def test_a_missing_project_names_the_variable(monkeypatch):
    monkeypatch.delenv("GOOGLE_CLOUD_PROJECT")
    with pytest.raises(ValueError, match="set GOOGLE_CLOUD_PROJECT, or give project="):
        VertexProvider("gemini-3-pro")


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "google.auth", None)
    with pytest.raises(ProviderFailure, match=r"Vertex needs the package google-auth\[requests\]"):
        VertexProvider("gemini-3-pro")
