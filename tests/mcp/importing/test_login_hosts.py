"""A login reaches only addresses that its server may name, for any answer of the server."""

from __future__ import annotations

import asyncio

import httpx2
import pytest

from toolkit.errors import Safety
from toolkit.mcp import RemoteServer, Servers
from toolkit.mcp.importing.login import LoginError, log_in
from toolkit.mcp.importing.login_hosts import LoginHosts
from toolkit.mcp.importing.logins import Logins
from toolkit.mcp.importing.remote_server import read_server

PUBLIC = "https://docs.example"
FORBIDDEN = [
    "http://127.0.0.1:8080/x",
    "http://localhost/x",
    "http://[::1]/x",
    "http://10.0.0.7/x",
    "http://169.254.169.254/latest/meta-data",
    "http://metadata.google.internal/x",
    "http://2130706433/x",
    "http://rebinding.example/x",
]
ADDRESSES = {"rebinding.example": "127.0.0.1", "sso.example": "93.184.216.34", "intranet": "10.0.0.9"}


async def look_up(host, port):
    return [ADDRESSES.get(host, "93.184.216.35")]


class Site:
    """A server that wants a login, and the pages of its authorization server, in which one address is replaced."""

    def __init__(self, base, key, address):
        self._base, self._key, self._address = base, key, address
        self.reached = []

    def answer(self, request):
        """Answer one request, and note where it went."""
        self.reached.append(str(request.url))
        path = request.url.path
        if self._key == f"redirect of {path}":
            return httpx2.Response(307, headers={"location": self._address})
        if path == "/mcp":
            page = self._choose("resource_metadata", f"{self._base}/.well-known/oauth-protected-resource/mcp")
            return httpx2.Response(401, headers={"www-authenticate": f'Bearer resource_metadata="{page}"'})
        if "oauth-protected-resource" in path:
            servers = [self._choose("authorization_servers", self._base)]
            return httpx2.Response(200, json={"resource": f"{self._base}/mcp", "authorization_servers": servers})
        if "oauth-authorization-server" in path:
            names = {
                "authorization_endpoint": "authorize",
                "token_endpoint": "token",
                "registration_endpoint": "register",
            }
            pages = {name: self._choose(name, f"{self._base}/{page}") for name, page in names.items()}
            return httpx2.Response(200, json={"issuer": self._base, "response_types_supported": ["code"], **pages})
        if path == "/register":
            return httpx2.Response(201, json={"client_id": "1", "redirect_uris": ["http://127.0.0.1/callback"]})
        return httpx2.Response(404)

    def _choose(self, key, usual):
        return self._address if key == self._key else usual


def run_login(base, key, address, tmp_path):
    """Return the site after a login whose user answers at once, and what was shown to the user."""
    site, opened_urls = Site(base, key, address), []
    server = RemoteServer(f"{base}/mcp", http_transport=httpx2.MockTransport(site.answer))

    def browse(url):
        opened_urls.append(url)
        parameters = httpx2.URL(url).params
        httpx2.get(parameters["redirect_uri"], params={"code": "1", "state": parameters["state"]}, trust_env=False)

    with pytest.raises(LoginError) as caught:
        asyncio.run(log_in(read_server("docs", server), Logins(tmp_path / "logins.json"), show=browse, seconds=5))
    return site, opened_urls, str(caught.value)


KEYS = [
    "resource_metadata",
    "authorization_servers",
    "authorization_endpoint",
    "token_endpoint",
    "registration_endpoint",
]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("address", FORBIDDEN[:-1])
def test_a_public_server_may_not_name_a_private_address(key, address, tmp_path):
    """No request goes there, the user sees no page, and the message says so."""
    site, opened_urls, problem = run_login(PUBLIC, key, address, tmp_path)
    assert [url for url in site.reached if not url.startswith(PUBLIC)] == []
    assert [url for url in opened_urls if not url.startswith(PUBLIC)] == []
    assert "not reached" in problem


@pytest.mark.parametrize("page", ["oauth-protected-resource/mcp", "oauth-authorization-server"])
def test_a_redirect_to_a_private_address_is_not_followed(page, tmp_path):
    """The pages of a login lead nowhere else."""
    site, _, _ = run_login(PUBLIC, f"redirect of /.well-known/{page}", "http://127.0.0.1:8080/x", tmp_path)
    assert [url for url in site.reached if not url.startswith(PUBLIC)] == []


@pytest.mark.parametrize("key", KEYS)
def test_a_server_on_loopback_may_name_loopback(key, tmp_path):
    """This is how a login is tried out."""
    site, opened_urls, problem = run_login("http://127.0.0.1:9", key, "http://localhost:8080/x", tmp_path)
    assert any("localhost:8080" in url for url in [*site.reached, *opened_urls])
    assert "not reached" not in problem


@pytest.mark.parametrize("url", FORBIDDEN)
def test_a_private_address_is_refused_by_its_text_and_by_its_lookup(url):
    """A public name that stands for a private address is one."""
    hosts = LoginHosts(read_server("docs", f"{PUBLIC}/mcp"), resolve=look_up)
    with pytest.raises(Safety, match="is not reached.*`headers=`"):
        asyncio.run(hosts.check(url))


@pytest.mark.parametrize(
    ("server", "url", "is_reached"),
    [
        (PUBLIC, "https://sso.example/x", True),
        ("http://127.0.0.1:9", "http://127.0.0.1:8/x", True),
        ("http://localhost:9", "http://[::1]:8/x", True),
        ("http://[::1]:9", "http://localhost:8/x", True),
        ("http://127.0.0.1:9", "https://sso.example/x", True),
        ("http://127.0.0.1:9", "http://10.0.0.7/x", False),
        ("http://127.0.0.1:9", "http://169.254.169.254/x", False),
        ("http://localhost.:9", "http://localhost/x", True),
        ("http://localhost.:9", "http://10.0.0.7/x", False),
        ("http://10.0.0.1", "http://10.0.0.7/x", True),
        ("http://10.0.0.1", "http://intranet/x", True),
        ("http://wiki.corp", "http://intranet/x", True),
        ("http://10.0.0.1", "http://127.0.0.1/x", False),
        ("http://10.0.0.1", "http://rebinding.example/x", False),
        ("http://10.0.0.1", "http://metadata/x", False),
        ("http://rebinding.example", "http://127.0.0.1/x", False),
    ],
)
def test_a_server_may_name_hosts_of_the_same_kind_as_its_address(server, url, is_reached):
    """The user chose the kind with the address. The name counts, and not the address that it resolves to."""

    async def resolve(host, port):
        return ["127.0.0.1"] if host == "localhost" else await look_up(host, port)

    hosts = LoginHosts(read_server("docs", f"{server}/mcp"), resolve=resolve)
    if not is_reached:
        with pytest.raises(Safety):
            asyncio.run(hosts.check(url))
    else:
        assert asyncio.run(hosts.check(url))[1]


def test_a_request_goes_to_the_address_that_was_judged():
    """The name is looked up once. The certificate and the headers have the name."""
    requests = []

    async def main():
        hosts = LoginHosts(read_server("docs", f"{PUBLIC}/mcp"), resolve=look_up)
        transport = httpx2.MockTransport(lambda request: requests.append(request.url) or httpx2.Response(200, text="x"))
        async with httpx2.AsyncClient(transport=transport, event_hooks=hosts.hooks) as http:
            response = await http.get("https://sso.example/token")
            return response, response.request

    response, request = asyncio.run(main())
    assert [str(url) for url in requests] == ["https://93.184.216.34/token"]
    assert request.extensions["sni_hostname"] == request.headers["host"] == "sso.example"
    assert (str(request.url), response.text) == ("https://sso.example/token", "x")


def test_a_stream_of_the_server_itself_is_not_read_to_its_end():
    """This holds also if the server has moved its address to another path, as a trailing slash does."""

    async def stream():
        yield b"data: first\n\n"
        await asyncio.Event().wait()

    async def main():
        hosts = LoginHosts(read_server("docs", f"{PUBLIC}/mcp"), resolve=look_up)
        transport = httpx2.MockTransport(lambda request: httpx2.Response(200, content=stream()))
        headers = {"accept": "application/json, text/event-stream"}
        async with (
            httpx2.AsyncClient(transport=transport, event_hooks=hosts.hooks) as http,
            http.stream("POST", f"{PUBLIC}/mcp/", headers=headers) as response,
        ):
            return await anext(response.aiter_bytes())

    assert asyncio.run(asyncio.wait_for(main(), 10)) == b"data: first\n\n"


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (lambda: httpx2.Response(200, content=b"x" * 1_000_001), "larger than 1,000,000 bytes"),
        (lambda: httpx2.Response(200, headers={"content-encoding": "gzip"}, content=b""), "is compressed"),
    ],
)
def test_the_answer_of_a_page_of_a_login_is_limited(answer, problem):
    """A page that the server named could answer without end."""

    async def main():
        hosts = LoginHosts(read_server("docs", f"{PUBLIC}/mcp"), resolve=look_up)
        transport = httpx2.MockTransport(lambda request: answer())
        async with httpx2.AsyncClient(transport=transport, event_hooks=hosts.hooks) as http:
            await http.get("https://sso.example/token")

    with pytest.raises(httpx2.ReadError, match=problem):
        asyncio.run(main())


def test_the_answer_of_a_login_page_has_a_total_time_limit():
    """Each part of it comes in time, and the last one never does."""

    class Drip(httpx2.AsyncByteStream):
        async def __aiter__(self):
            while True:
                yield b"x"
                await asyncio.sleep(0)

    async def main():
        hosts = LoginHosts(read_server("docs", f"{PUBLIC}/mcp"), resolve=look_up, seconds=0.01)
        transport = httpx2.MockTransport(lambda request: httpx2.Response(200, stream=Drip()))
        async with httpx2.AsyncClient(transport=transport, event_hooks=hosts.hooks) as http:
            await http.get("https://sso.example/token")

    with pytest.raises(httpx2.ReadTimeout, match=r"the answer of sso\.example took too long"):
        asyncio.run(main())


def test_a_token_is_not_renewed_at_a_private_address(tmp_path):
    """The page may have been kept by an earlier version, or written into the file."""
    logins, reached = Logins(tmp_path / "logins.json"), []

    def answer(request):
        reached.append(str(request.url))
        return httpx2.Response(401)

    metadata = {
        "issuer": PUBLIC,
        "authorization_endpoint": f"{PUBLIC}/authorize",
        "token_endpoint": "http://127.0.0.1:8080/x",
        "response_types_supported": ["code"],
    }
    client = {"client_id": "1", "redirect_uris": ["http://127.0.0.1/callback"]}
    tokens = {"access_token": "a", "refresh_token": "r", "token_type": "Bearer"}
    logins.save(f"{PUBLIC}/mcp", tokens=tokens, client=client, metadata=metadata, expires_at=1.0)

    async def main():
        server = RemoteServer(f"{PUBLIC}/mcp", logins=logins, http_transport=httpx2.MockTransport(answer))
        async with Servers(docs=server) as tools:
            return tools.problems

    [problem] = asyncio.run(main())
    assert "not reached" in problem
    assert not any("127.0.0.1" in url for url in reached)
