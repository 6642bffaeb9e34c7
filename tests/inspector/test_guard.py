"""Who may use the inspector: only the page with its token."""

from __future__ import annotations

import pytest

from tests.inspector.kit import build_inspector, serving
from toolkit import Dispatcher
from toolkit.inspector import Inspector

pytestmark = pytest.mark.anyio

READERS = ["about", "tools", "tool?name=add", "calls", "approvals", "runs", "flows", "search?query=a", "numbers"]
WRITERS = ["call", "approvals", "run/cancel", "run/retry"]
CALL = {"tool": "write_note", "arguments": {"text": "x"}}


@pytest.fixture
async def browser():
    """A page in a mode in which everything runs at once."""
    async with serving(build_inspector(mode="bypass")) as browser:
        yield browser


async def test_the_page_needs_no_token_and_has_strict_headers(browser):
    """It holds nothing of the program. No script, style or frame of another site has a place in it."""
    response = await browser.client.get(f"{browser.origin}/")
    assert response.status_code == 200
    policy = response.headers["content-security-policy"].split("; ")
    assert policy[0] == "default-src 'none'"
    assert "script-src 'self'" in policy
    assert {"frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"} <= set(policy)
    assert "unsafe" not in response.headers["content-security-policy"]
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["referrer-policy"] == "no-referrer"
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize(
    "file", ["../guard.py", "..%2fguard.py", "%2e%2e/guard.py", "guard.py", "/etc/passwd", "🦆", ""]
)
async def test_no_other_file_is_sent(browser, file):
    response = await browser.client.get(f"{browser.origin}/page/{file}")
    assert response.status_code in (401, 404)
    assert "InspectorGuard" not in response.text


@pytest.mark.parametrize("path", [*READERS, "calls/1", "events", "nothing", ""])
@pytest.mark.parametrize("token", [None, "", "Bearer", "Bearer wrong", "Basic YWRhOmFkYQ=="])
async def test_every_address_needs_the_token(browser, path, token):
    headers = {} if token is None else {"authorization": token}
    response = await browser.client.get(f"{browser.origin}/api/{path}", headers=headers)
    assert response.status_code == 401
    assert "#token=" in response.json()["error"]


@pytest.mark.parametrize("path", [*WRITERS, "explain"])
async def test_every_change_needs_the_token(browser, path):
    response = await browser.send("POST", path, json=CALL, headers={"authorization": "Bearer wrong"})
    assert response.status_code == 401


@pytest.mark.parametrize("path", [*WRITERS, "explain"])
@pytest.mark.parametrize(
    "origin", [None, "null", "https://evil.example", "http://127.0.0.1:1", "http://localhost", "file://"]
)
async def test_a_request_of_another_site_changes_nothing(browser, path, origin):
    """This holds even with the token."""
    response = await browser.send("POST", path, json=CALL, headers={"origin": origin})
    assert response.status_code == 403
    assert (await browser.get("calls"))["total"] == 0


async def test_a_request_of_another_site_gets_no_data(browser):
    response = await browser.send("GET", "calls", headers={"origin": "https://evil.example"})
    assert response.status_code == 403


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "10.0.0.1", "a@127.0.0.1"]
)
async def test_a_rebound_name_is_refused(browser, host):
    """A site that points its name at the loopback address sends that name as the host, and as its origin."""
    headers = {"host": host, "origin": f"http://{host}"}
    assert (await browser.send("POST", "call", json=CALL, headers=headers)).status_code == 421
    assert (await browser.client.get(f"{browser.origin}/", headers={"host": host})).status_code == 421


async def test_names_of_this_machine_are_accepted(browser):
    host = f"localhost:{browser.port}"
    response = await browser.send("POST", "call", json=CALL, headers={"host": host, "origin": f"http://{host}"})
    assert response.status_code == 200


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
async def test_a_form_of_a_browser_is_refused(browser, kind):
    headers = {} if kind is None else {"content-type": kind}
    response = await browser.send("POST", "call", content=b'{"tool": "add"}', headers=headers)
    assert response.status_code == 415


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{", b'{"tool": NaN}', b'{"tool": 5}', b'{"tool": "add", "arguments": 5}']
)
async def test_the_error_for_an_invalid_body_describes_the_problem(browser, body):
    headers = {"content-type": "application/json"}
    response = await browser.send("POST", "call", content=body, headers=headers)
    assert response.status_code == 400
    assert response.json()["error"]


async def test_a_body_that_is_too_long_is_refused(browser):
    text = "x" * 5_000_000
    response = await browser.send("POST", "call", json={"tool": "add", "arguments": text})
    assert response.status_code == 413


async def test_two_tokens_are_one_too_many(browser):
    names = [("authorization", browser.headers["authorization"]), ("authorization", "Bearer wrong")]
    response = await browser.client.get(f"{browser.origin}/api/about", headers=names)
    assert response.status_code == 400


async def test_a_page_that_only_reads_has_no_other_address():
    async with serving(build_inspector(mode="bypass", read_only=True)) as browser:
        for path in WRITERS:
            response = await browser.send("POST", path, json=CALL)
            assert response.status_code in (404, 405), path
        for path in READERS:
            assert (await browser.send("GET", path)).status_code == 200, path
        assert (await browser.post("explain", CALL))["verdict"]["word"] == "allow"
        assert (await browser.get("about"))["read_only"] is True
        assert (await browser.get("calls"))["total"] == 0


@pytest.mark.parametrize(
    ("options", "host", "status"),
    [
        ({}, "tools.example", 421),
        ({"hosts": ["tools.example"]}, "tools.example:8000", 200),
        ({"hosts": ["tools.example"]}, "other.example", 421),
        ({"any_address": True}, "192.168.0.7:8765", 200),
        ({"any_address": True}, "evil.example", 421),
        ({"hosts": ["::1"]}, "[::1]:80", 200),
    ],
)
async def test_other_hosts_have_to_be_named(options, host, status):
    async with serving(build_inspector(), **options) as browser:
        response = await browser.send("GET", "about", headers={"host": host, "origin": None})
    assert response.status_code == status


async def test_an_unknown_address_is_an_error_with_its_name(browser):
    assert "there is no /api/nothing" in (await browser.get("nothing", 404))["error"]
    response = await browser.send("DELETE", "tools", json={})
    assert response.status_code == 405
    assert "does not take DELETE" in response.json()["error"]


def test_wrong_options_are_refused_at_once():
    with pytest.raises(TypeError, match="is for a Dispatcher"):
        Inspector([print])
    with pytest.raises(ValueError, match="at least 16"):
        Inspector(Dispatcher([]), token="short")
