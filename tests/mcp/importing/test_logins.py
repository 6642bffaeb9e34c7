"""Logins at servers: the demand for one, the login in the browser, and the tokens that are kept."""

from __future__ import annotations

import asyncio
import json
import os
import stat

import httpx
import httpx2
import pytest

from tests.clocks import wait_until
from toolkit import Decision, DefinitionError, Dispatcher
from toolkit.mcp import RemoteServer, ServerLimits, Servers
from toolkit.mcp.importing.http_client import read_login_request
from toolkit.mcp.importing.login import LoginError, log_in
from toolkit.mcp.importing.logins import Logins
from toolkit.mcp.importing.private_json import PrivateFileError
from toolkit.mcp.importing.remote_server import read_server

from .oauth_site import serving_site


@pytest.fixture(scope="module")
def served():
    """Serve one site for all tests of the module."""
    with serving_site() as site:
        yield site


@pytest.fixture
def site(served):
    """Return the site without any login."""
    served.valid, served.renewable, served.grants, served.refusal, served.expires_in = set(), set(), [], None, 3600
    served.token = None
    return served


@pytest.fixture
def logins(tmp_path):
    """Return a file of logins that is empty."""
    return Logins(tmp_path / "home" / "logins.json")


def log_in_at(site, logins, show=None, **options):
    """Log in as a user with a browser does."""
    asyncio.run(log_in(read_server("docs", site.url), logins, show=show or site.browse, **options))


def call(site, logins):
    """Return what a program with this file of logins gets from the tool, and the problems of the servers."""

    async def main():
        async with Servers(docs=RemoteServer(site.url, logins=logins, trusted=True)) as tools:
            if "docs_whoami" not in tools:
                return None, tools.problems
            return (await Dispatcher(tools).call("docs_whoami", {})), tools.problems

    return asyncio.run(main())


def test_a_login_is_kept_for_its_user_alone(site, logins):
    """Programs use it from then on."""
    log_in_at(site, logins)
    assert site.grants == ["authorization_code"]
    assert stat.S_IMODE(os.stat(logins.path).st_mode) == 0o600
    result, problems = call(site, logins)
    assert (result.text, problems) == ("ada", [])


def test_without_a_login_the_problem_names_the_login_command(site, logins):
    """No browser is opened, and no client is registered."""
    result, problems = call(site, logins)
    assert result is None
    assert f"the server docs wants you to log in: run `toolkit mcp login {site.url}`" in problems[0]
    assert site.grants == []


def test_an_address_with_a_secret_is_not_repeated():
    """The user knows it; logs and models need not."""
    server = read_server("docs", "https://ada:pw@docs.example/mcp?key=sk-1")
    answer = httpx.Response(403, headers={"www-authenticate": 'Bearer error="insufficient_scope", scope="a b"'})
    request = read_login_request(answer, server)
    assert request["message"] == (
        "the server docs wants further permissions: run `toolkit mcp login ADDRESS` with its whole address"
    )
    assert request["data"]["auth"]["scopes"] == ["a", "b"]
    assert read_login_request(httpx.Response(403), server) is None


def test_an_expired_token_is_renewed_without_the_user(site, logins):
    """The request goes to the page that the authorization server named, and the new token is kept."""
    site.expires_in = 1
    log_in_at(site, logins)
    before = logins.get(site.url)
    logins.save(site.url, expires_at=1.0)
    site.expires_in = 3600
    assert call(site, logins)[0].text == "ada"
    assert site.grants == ["authorization_code", "refresh_token"]
    after = logins.get(site.url)
    assert after["tokens"]["access_token"] in site.valid
    assert after["tokens"] != before["tokens"]
    assert call(site, logins)[0].text == "ada"
    assert len(site.grants) == 2


def test_a_token_that_no_longer_counts_is_renewed(site, logins):
    """This holds also if it should not have expired yet."""
    log_in_at(site, logins)
    site.valid.clear()
    assert call(site, logins)[0].text == "ada"
    assert site.grants == ["authorization_code", "refresh_token"]


def test_a_revoked_login_needs_a_new_one(site, logins):
    """Neither token counts any more, so the user has to log in."""
    log_in_at(site, logins)
    site.valid.clear()
    site.renewable.clear()
    assert "wants you to log in" in call(site, logins)[1][0]


def test_a_call_waits_for_a_login_and_then_runs(site, logins):
    """The program goes on with the new login, on the connection that it has."""
    log_in_at(site, logins)

    async def main():
        async with Servers(docs=RemoteServer(site.url, logins=logins, trusted=True)) as tools:
            dispatcher = Dispatcher(tools)
            site.valid.clear()
            site.renewable.clear()
            waiting = await dispatcher.call("docs_whoami", {})
            assert waiting.request.auth.provider == "docs"
            assert f"toolkit mcp login {site.url}" in waiting.request.auth.reason
            await log_in(read_server("docs", site.url), logins, show=site.browse)
            return await dispatcher.resume(waiting.request.id, Decision.approve())

    assert asyncio.run(main()).text == "ada"


def test_a_server_that_is_left_out_comes_back_after_a_login(site, logins):
    """The connection is tried again, and reads the file again."""

    async def main():
        server = RemoteServer(site.url, logins=logins, limits=ServerLimits(wait_initial=0.01, wait_max=0.02))
        async with Servers(docs=server) as tools:
            assert "docs_whoami" not in tools
            await log_in(read_server("docs", site.url), logins, show=site.browse)
            await wait_until(lambda: "docs_whoami" in tools)
            assert tools.problems == []

    asyncio.run(main())


def test_a_refused_login_keeps_the_former_login(site, logins):
    log_in_at(site, logins)
    before = logins.get(site.url)
    site.valid.clear()
    site.refusal = "access_denied"
    with pytest.raises(LoginError, match="the login was refused: access_denied"):
        log_in_at(site, logins)
    assert logins.get(site.url) == before


def send_stray_requests(redirect):
    """Send what another page or program could send to the callback."""
    yield httpx.get(redirect.replace("/callback", "/other")), 404
    yield httpx.get(redirect.replace("/callback", "/favicon.ico")), 404
    yield httpx.get(redirect), 400
    yield httpx.post(redirect, data={"code": "stolen"}), 404
    yield httpx.head(redirect, params={"error": "access_denied"}), 404
    yield httpx.get(redirect, params={"error": "access_denied"}), 400
    yield httpx.get(redirect, params={"error": "access_denied", "state": ""}), 400
    yield httpx.get(redirect, params={"error": "access_denied", "state": "guessed"}), 400
    yield httpx.get(redirect, params={"code": "stolen", "state": "gu\xe9ssed"}), 400


def test_a_stray_request_does_not_end_a_login(site, logins):
    """Another page that opens the callback has not the secret of this login, and the login goes on."""

    def browse_among_others(url):
        parameters = httpx.URL(url).params
        for response, status in send_stray_requests(parameters["redirect_uri"]):
            assert response.status_code == status
        twice = [("error", "access_denied"), ("state", parameters["state"]), ("state", "guessed")]
        assert httpx.get(parameters["redirect_uri"], params=twice).status_code == 400
        site.browse(url)

    log_in_at(site, logins, browse_among_others)
    assert logins.get(site.url)["tokens"]["access_token"] in site.valid


def test_a_login_that_takes_too_long_is_an_error_with_its_time(site, logins):
    with pytest.raises(LoginError, match=r"no login came back within 0.01 s"):
        log_in_at(site, logins, lambda url: None, seconds=0.01)


def test_the_error_names_a_server_that_cannot_be_reached(logins):
    with pytest.raises(LoginError, match=r"http://127\.0\.0\.1:9/mcp cannot be asked for a login"):
        asyncio.run(log_in(read_server("docs", "http://127.0.0.1:9/mcp"), logins, show=print))


@pytest.mark.parametrize(("status", "says"), [(200, "asks for no login, or not by OAuth"), (401, "failed: ")])
def test_a_server_without_oauth_says_where_a_token_is_written(logins, status, says):
    """A login does not help there, and a header does."""
    transport = httpx2.MockTransport(lambda request: httpx2.Response(status if request.url.path == "/mcp" else 404))
    server = read_server("docs", RemoteServer("http://127.0.0.1:9/mcp", http_transport=transport))
    with pytest.raises(LoginError, match=rf"{says}.*headers = \{{ Authorization"):
        asyncio.run(log_in(server, logins, show=print))


def test_the_error_names_a_port_in_use_and_the_remedy(site, logins):
    port = int(site.base.rpartition(":")[2])
    with pytest.raises(LoginError, match=f"port {port} cannot be listened on: .*; give another"):
        log_in_at(site, logins, port=port)


def test_a_login_uses_a_client_that_was_registered_by_hand(site, logins):
    """No other client is registered."""
    log_in_at(site, logins, client_id="mine")
    assert logins.get(site.url)["client"]["client_id"] == "mine"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "cannot be read as a file of logins"),
        ('{"version": 9, "logins": {}}', "cannot be read as a file of logins"),
        ('{"version": 1, "logins": []}', "`logins` is not an object"),
    ],
)
def test_a_damaged_login_file_is_refused_and_not_overwritten(logins, text, says):
    logins.path.parent.mkdir(mode=0o700)
    logins.path.write_text(text)
    logins.path.chmod(0o600)
    with pytest.raises(PrivateFileError, match=says):
        logins.save("https://docs.example/mcp", tokens={})
    assert logins.path.read_text() == text


def test_a_file_that_others_can_read_is_refused(site, logins):
    """The call fails with the reason, and the token is not sent."""
    log_in_at(site, logins)
    logins.path.chmod(0o644)
    assert "can be opened by others" in call(site, logins)[1][0]


def test_a_token_of_another_form_is_named_with_the_remedy(site, logins):
    """The other logins of the file are not touched."""
    logins.save(site.url, tokens={"access_token": 7})
    assert f"run `toolkit mcp logout {site.url}`" in call(site, logins)[1][0]
    assert logins.forget(site.url) is True
    assert logins.forget(site.url) is False
    assert json.loads(logins.path.read_text())["logins"] == {}


def test_a_refused_token_in_a_header_is_named_and_no_login_is_advised(site):
    """A login would not replace the header that the program gives. The token is not shown."""

    async def main():
        server = RemoteServer(site.url, headers={"Authorization": "Bearer expired-token"})
        async with Servers(docs=server) as tools:
            return tools.problems

    [problem] = asyncio.run(main())
    assert "refuses the credentials in the header `Authorization` (`headers=`)" in problem
    assert "login" not in problem
    assert "expired-token" not in problem


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize(
    ("options", "place"),
    [
        ({"headers": {"authorization": "Bearer x"}}, "the header `authorization`"),
        ({"headers": {"X-Api-Key": "x", "X-Trace": "y"}}, "the header `X-Api-Key`"),
        ({"headers": {"Cookie": "x", "X-Auth": "y"}}, "the headers `Cookie`, `X-Auth`"),
        ({"auth": httpx2.BasicAuth("ada", "x")}, "`auth=`"),
    ],
)
def test_the_advice_names_where_the_credentials_come_from(options, place, status):
    """This holds for every header that may hold credentials, and for `auth`."""
    server = read_server("docs", RemoteServer("https://docs.example/mcp", **options))
    answer = httpx.Response(status, headers={"www-authenticate": 'Bearer error="insufficient_scope"'})
    error = read_login_request(answer, server)
    assert place in error["message"]
    assert "login" not in error["message"]
    assert "auth" not in error["data"]


@pytest.mark.parametrize("token", ["secret\ntoken", "secret\x00token", "secret\u200btoken", "secret token", ""])
def test_a_token_that_no_header_can_hold_is_refused_and_not_shown(site, logins, token):
    """This holds for a login and for a renewal."""
    site.token = token
    with pytest.raises(LoginError, match="characters that a header cannot have") as caught:
        log_in_at(site, logins)
    assert "secret" not in str(caught.value)
    assert logins.get(site.url) is None


@pytest.mark.parametrize("token", ["secret\ntoken", 7, ["secret"]])
def test_an_illegal_token_of_a_renewal_is_not_shown(site, logins, token, caplog):
    """The user has to log in again, and neither the problem nor the log repeats what the server sent."""
    log_in_at(site, logins)
    logins.save(site.url, expires_at=1.0)
    site.valid.clear()
    site.token = token
    [problem] = call(site, logins)[1]
    assert "wants you to log in" in problem
    assert "secret" not in problem + caplog.text


@pytest.mark.parametrize("token", [7, ["secret"], {"secret": 1}])
def test_an_answer_without_a_token_is_not_shown(site, logins, token):
    """The message says which step failed."""
    site.token = token
    with pytest.raises(LoginError, match="Invalid token response") as caught:
        log_in_at(site, logins)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "value", ["Bearer secret\n", "Bearer secret\r\nX: y", "Bearer s\xe9cret", " secret", "\x00secret"]
)
def test_an_illegal_header_is_refused_and_not_shown(value):
    """The message names the header and hides its value."""
    with pytest.raises(DefinitionError, match="'Authorization' has characters that HTTP does not allow") as caught:
        read_server("docs", RemoteServer("https://docs.example/mcp", headers={"Authorization": value}))
    assert "cret" not in str(caught.value)
