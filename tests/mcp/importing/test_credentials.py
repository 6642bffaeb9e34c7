"""A credential that a server was given is masked in whatever the server sends."""

from __future__ import annotations

import base64
import sys
from urllib.parse import quote

import httpx2
import pytest

from toolkit import Dispatcher
from toolkit.errors import DefinitionError
from toolkit.mcp import RemoteServer, Servers

from .hostile_http import NEW, OLD, run_server, text_result
from .kit import SCRIPT, hostile

SECRET = "s3cr3t/of+the server"


class OwnAuth(httpx2.Auth):
    """Adds a token to each request, as a login does."""

    def auth_flow(self, request):
        request.headers["Authorization"] = f"Bearer {SECRET}"
        yield request


@pytest.mark.parametrize(
    "auth",
    [
        SECRET,
        "",
        {"Authorization": f"Bearer {SECRET}"},
        {},
        [SECRET, ""],
        (SECRET,),
        (SECRET, None),
        (SECRET, "a", "b"),
        SECRET.encode(),
        lambda request: SECRET,
        False,
    ],
)
def test_an_auth_of_another_kind_is_refused_unseen(auth):
    """The error of the HTTP library would show it."""
    with pytest.raises(DefinitionError) as caught:
        Servers(web=RemoteServer("http://127.0.0.1:9/mcp", auth=auth))

    assert "web: `auth` has to be" in str(caught.value)
    assert '`headers={"Authorization": "Bearer ..."}`' in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("auth", [None, ("ada", SECRET), (SECRET, ""), OwnAuth()])
def test_an_auth_is_a_pair_or_an_object_of_the_http_library(auth):
    Servers(web=RemoteServer("http://127.0.0.1:9/mcp", auth=auth))


WORD = SECRET.replace(" ", "")  # some places allow no blank

GIVEN = {
    "a bearer token": (SECRET, {"headers": {"Authorization": f"Bearer {SECRET}"}}),
    "a token without a scheme": (WORD, {"headers": {"authorization": WORD}}),
    "a password": (
        SECRET,
        {"headers": {"Authorization": f"Basic {base64.b64encode(f'ada:{SECRET}'.encode()).decode()}"}},
    ),
    "a key of its own": (SECRET, {"headers": {"X-Api-Key": SECRET}}),
    "a cookie": (WORD, {"headers": {"Cookie": f"theme=dark; sid={WORD}"}}),
    "an auth": (SECRET, {"auth": OwnAuth()}),
    "a query": (SECRET, {"query": f"?api_key={quote(SECRET)}&verbose=certainly"}),
}


def send_text(handler, number, secret):
    handler.result(number, text_result(f"the token {secret} is unknown"))


def send_value(handler, number, secret):
    handler.result(number, {**text_result("see the value"), "structuredContent": {"seen": [{"token": secret}]}})


def send_failure(handler, number, secret):
    handler.result(number, {**text_result(f"the token {secret} is unknown"), "isError": True})


def send_error(handler, number, secret):
    handler.error(number, -32000, f"the token {secret} is unknown")


def send_link(handler, number, secret):
    link = {"type": "resource_link", "uri": f"https://docs.example/{secret.replace(' ', '')}", "name": f"with {secret}"}
    handler.result(number, {**text_result("a link"), "content": [link]})


def send_events(handler, number, secret):
    handler.events({"jsonrpc": "2.0", "id": number, "result": text_result(f"the token {secret} is unknown")})


ANSWERS = [send_text, send_value, send_failure, send_error, send_link, send_events]


@pytest.mark.parametrize("revision", [OLD, NEW])
@pytest.mark.parametrize("given", GIVEN)
def test_a_credential_for_an_address_is_masked(given, revision):
    """However it is given, and in whatever the server repeats it."""
    secret, options = GIVEN[given]
    query, options = options.get("query", ""), {name: value for name, value in options.items() if name != "query"}
    tools = {
        answer.__name__: lambda handler, number, _, answer=answer: answer(handler, number, secret) for answer in ANSWERS
    }

    with (
        run_server(revision, **tools) as server,
        Servers(web=RemoteServer(server.url + query, **options)) as imported,
    ):
        dispatcher = Dispatcher(imported)
        shown = {name: str(dispatcher.call_sync(f"web_{name}", {}).to_json()) for name in tools}
        dispatcher.close()

    assert {name for name, text in shown.items() if "[redacted]" not in text} == set()
    assert {name for name, text in shown.items() if secret in text} == set()


def test_what_is_no_credential_is_not_masked():
    """Neither other headers and variables, nor short values."""
    headers = {"X-Team": "lighthouse", "X-Api-Key": "beam", "Author": "ada lovelace"}
    sent = "the beam of the lighthouse, by ada lovelace"
    with (
        run_server(NEW, repeat=lambda handler, number, _: handler.result(number, text_result(sent))) as server,
        Servers(web=RemoteServer(server.url, headers=headers)) as tools,
    ):
        dispatcher = Dispatcher(tools)
        assert dispatcher.call_sync("web_repeat", {}).text == sent
        dispatcher.close()


def test_progress_is_masked():
    reports = []

    def answer(handler, number, params):
        progress = {"progressToken": params["_meta"]["progressToken"], "progress": 1, "message": f"with {SECRET}"}
        handler.events(
            {"jsonrpc": "2.0", "method": "notifications/progress", "params": progress},
            {"jsonrpc": "2.0", "id": number, "result": text_result("done")},
        )

    with run_server(NEW, t=answer) as server, Servers(web=RemoteServer(server.url, headers={"x-key": SECRET})) as tools:
        dispatcher = Dispatcher(tools, on_progress=reports.append)
        assert dispatcher.call_sync("web_t", {}).text == "done"
        dispatcher.close()

    assert [report.message for report in reports] == ["with [redacted]"]


@pytest.mark.parametrize(
    ("words", "env"),
    [
        ([], {"GITHUB_TOKEN": SECRET}),
        ([f"--api-key={SECRET}"], {}),
        (["--api-key", SECRET], {}),
        ([f"API_KEY={SECRET}"], {}),
    ],
)
def test_a_credential_for_a_command_is_masked(words, env):
    command = [sys.executable, "-I", "-S", str(SCRIPT), "", *words]
    with Servers(local=RemoteServer(command, env={**env, "LEVEL": "very careful"})) as tools:
        dispatcher = Dispatcher(tools)
        result = dispatcher.call_sync("local_echo", {"text": f"{SECRET} is unknown, and very careful"})
        dispatcher.close()

    assert result.text == "[redacted] is unknown, and very careful"


def test_the_error_output_of_a_server_is_masked():
    """A model reads it if the server cannot be reached."""
    with Servers(evil=hostile("crash", env={"CRASH_TOKEN": "cannot start"})) as tools:
        [problem] = tools.problems

    assert "[redacted]: no token" in problem
    assert "cannot start" not in problem
