"""
Which ports `web_fetch` connects to: 80, 443, and those that the user names.
"""

from __future__ import annotations

import pytest

from toolkit import Catalog, Dispatcher, Permissions, Session
from toolkit.builtin import builtin_catalog, web_fetch_for
from toolkit.builtin.web.addresses import ReachableHosts
from toolkit.builtin.web.fetcher import Fetcher
from toolkit.errors import Safety

from .hostile_server import answer, loopback_is_public, names, redirect, serving

pytestmark = pytest.mark.anyio


@pytest.fixture
async def server():
    async with serving() as hostile:
        hostile.pages["/"] = answer("hello")
        yield hostile


def dispatcher(*rules: str, mode="bypass", **options) -> Dispatcher:
    fetch = web_fetch_for(resolve=names(), judge_address=loopback_is_public, frame=False, **options)
    return Dispatcher(Catalog(fetch), permissions=Permissions(mode, rules))


async def fetch_page(server, by: Dispatcher, path="/", *, session=None, host="public.example"):
    return await by.call("web_fetch", {"url": server.url(path, host=host)}, session=session)


@pytest.mark.parametrize("mode", ["default", "auto", "deny_unlisted", "bypass"])
async def test_another_port_of_a_public_host_is_refused_before_a_person_is_asked(server, mode):
    """The message names the port, the rule and the option that open it."""
    result = await fetch_page(server, dispatcher(mode=mode))
    assert (result.kind, server.asked) == ("safety", [])
    assert f"port {server.port} of 'public.example'" in result.error.message
    assert f"allow web_fetch(url=http://public.example:{server.port}/**)" in result.error.message
    assert f"ports=[{server.port}]" in result.error.message


async def test_a_port_that_the_option_names_is_open_for_every_public_host(server):
    result = await fetch_page(server, dispatcher(ports=[server.port]))
    assert result.text.endswith("hello")
    assert (await fetch_page(server, dispatcher(ports=[server.port % 65535 + 1]))).kind == "safety"


@pytest.mark.parametrize(
    ("rule", "kind"),
    [
        ("allow web_fetch(url=http://public.example:{port}/**)", "ok"),
        ("allow web_fetch(http://public.example:{port}/**)", "ok"),
        ("allow web_fetch(url=*://**.example:{port}/**)", "ok"),
        ("allow web_fetch(url=http://public.example:*/**)", "ok"),
        ("allow group:web(http://public.example:{port}/**)", "ok"),
        ("allow web_fetch(url=http://public.example/**)", "safety"),
        ("allow web_fetch(url=http://other.example:{port}/**)", "safety"),
        ("allow web_fetch(url=https://public.example:{port}/**)", "safety"),
        ("allow web_fetch", "safety"),
        ("allow web_fetch(*)", "safety"),
        ("allow web_fetch(url=*)", "safety"),
        ("ask web_fetch(url=http://public.example:{port}/**)", "safety"),
        ("allow other(url=http://public.example:{port}/**)", "safety"),
    ],
)
async def test_only_an_allow_rule_with_host_and_port_opens_a_port(server, rule, kind):
    """A rule for everything names no port, and neither does one for another tool."""
    assert (await fetch_page(server, dispatcher(rule.format(port=server.port)))).kind == kind


async def test_a_rule_about_one_folder_opens_the_port_and_the_rest_asks(server):
    """The rule says where the call may go without a question; its port is open for the whole host."""
    by = dispatcher(f"allow web_fetch(url={server.url('/docs/**')})", mode="default")
    assert (await fetch_page(server, by, "/else")).kind == "waiting"


async def test_a_redirect_to_another_port_is_refused():
    """Every hop is held against the ports, not only the first."""
    async with serving() as first, serving() as second:
        first.pages["/"] = redirect(second.url("/secret"))
        by = dispatcher(ports=[first.port])
        result = await fetch_page(first, by)
        assert (result.kind, second.asked) == ("safety", [])
        assert f"port {second.port}" in result.error.message
        second.pages["/secret"] = answer("opened")
        opened = await fetch_page(first, dispatcher(ports=[first.port, second.port]))
        assert opened.value.endswith("opened")


async def test_a_kept_page_is_held_against_the_rules_of_today(server):
    """A rule that opened the port, and is gone, shows nothing any more."""
    session = Session()
    fetch = web_fetch_for(resolve=names(), judge_address=loopback_is_public)
    rules = [f"allow web_fetch(url={server.url('/**')})"]
    before, after = (
        Dispatcher(Catalog(fetch), permissions=Permissions("bypass", rule_list)) for rule_list in (rules, [])
    )
    assert [(await fetch_page(server, by, session=session)).kind for by in (before, after)] == ["ok", "safety"]


async def test_a_host_that_is_listed_with_its_port_is_reached(server):
    """`allowed_hosts` names a port together with its host; a host alone has the web ports."""
    both = [f"public.example:{server.port}"], ["public.example"]
    assert [(await fetch_page(server, dispatcher(allowed_hosts=listed))).kind for listed in both] == ["ok", "safety"]


async def test_a_fetcher_without_rules_reaches_the_web_ports_alone(server):
    """The check stands where the connection is made, not only in front of the tool."""
    doors = ReachableHosts(resolve=names(), judge=loopback_is_public)
    with pytest.raises(Safety, match="only these ports are: 80, 443"):
        await Fetcher(doors).fetch(server.url(), check=lambda url: None)


@pytest.mark.parametrize("url", ["http://a.example/", "https://a.example/", "http://a.example:443/"])
def test_the_web_ports_are_open(url):
    """The scheme's own port counts where the address names none."""
    doors = ReachableHosts()
    doors.check_port(doors.check_url(url), lambda url: False)


@pytest.mark.parametrize(
    ("ports", "error", "words"),
    [
        ([0], ValueError, "from 1 to 65535"),
        ([65536], ValueError, "from 1 to 65535"),
        (["8080"], TypeError, "a whole number"),
        ([True], TypeError, "a whole number"),
        ([80.0], TypeError, "a whole number"),
        (8080, TypeError, "a list of port numbers"),
        ("8080", TypeError, "a list of port numbers"),
    ],
)
def test_an_invalid_port_is_refused_where_it_is_written(ports, error, words, tmp_path):
    """Both `web_fetch_for` and `builtin_catalog` raise."""
    with pytest.raises(error, match=words):
        web_fetch_for(ports=ports)
    with pytest.raises(error, match=words):
        builtin_catalog(tmp_path, sandbox="none", ports=ports)


async def test_explain_reports_a_closed_port():
    verdict = await dispatcher().explain("web_fetch", {"url": "https://a.example:8443/"})
    assert verdict.word == "deny"
    assert "port 8443 of 'a.example'" in verdict.reason
