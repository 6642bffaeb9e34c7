"""
`web_fetch` as a model meets it: judged, bounded, readable, and kept for the session.
"""

from __future__ import annotations

import pytest

from toolkit import Catalog, Dispatcher, Permissions, RetryPolicy, SafetyChecks, Session
from toolkit.builtin.web.fetcher import FetchLimits
from toolkit.builtin.web.web_fetch_tool import web_fetch_for
from toolkit.context import Context
from toolkit.errors import ToolError
from toolkit.verdicts import Finding

from ...clocks import Clock
from .hostile_server import (
    SERVER_PORTS,
    answer,
    endless,
    gzip_bomb,
    loopback_is_public,
    names,
    redirect,
    silent,
)

pytestmark = pytest.mark.anyio


def dispatcher(permissions=None, *, resolve=None, safety=None, **options) -> Dispatcher:
    options = {"ports": SERVER_PORTS, "frame": False, **options}
    fetch = web_fetch_for(resolve=resolve or names(), judge_address=loopback_is_public, **options)
    catalog = Catalog()
    catalog.add(fetch)
    return Dispatcher(catalog, permissions=permissions, safety=safety, retry=RetryPolicy(wait_initial=0))


async def call(server, path="/", by=None, *, session=None, **arguments):
    by = by or dispatcher()
    return await by.call("web_fetch", {"url": server.url(path), **arguments}, session=session)


def test_web_fetch_states_its_facts():
    """It reads, reaches outside, and belongs to the web."""
    facts = web_fetch_for().facts
    assert (facts.read_only, facts.open_world, facts.destructive, facts.group) == (True, True, False, "web")
    assert web_fetch_for().name == "web_fetch"
    assert list(web_fetch_for().schema["properties"]) == ["url", "offset"]


@pytest.mark.parametrize("option", ["allowed_hosts", "private_hosts"])
def test_an_invalid_host_is_refused_where_it_is_written(option):
    """A mistake in a list shows before the first call."""
    with pytest.raises(ValueError, match="a host is written"):
        web_fetch_for(**{option: ["https://example.org/"]})
    with pytest.raises(TypeError, match="a list of hosts"):
        web_fetch_for(**{option: "example.org"})


async def test_a_page_comes_with_a_short_head(server):
    """Address, status, type, size and title stand above the text."""
    server.pages["/"] = answer("<title>Hello</title><h1>Hi</h1><a href=/x>there</a>", type="text/html")
    result = await call(server)
    assert result.text.split("\n") == [
        server.url(),
        "200 OK, text/html, 51 bytes",
        "title: Hello",
        "",
        "# Hi",
        "",
        f"[there]({server.url('/x')})",
    ]


async def test_json_is_returned_unchanged(server):
    server.pages["/"] = answer('{"a": [1,\n2]}', type="application/json")
    assert (await call(server)).text.endswith('\n\n{"a": [1,\n2]}')


async def test_the_head_names_the_address_after_redirects(server):
    server.pages |= {"/": redirect("/b"), "/b": answer("there")}
    assert (await call(server)).text.startswith(f"{server.url('/b')} (redirected)\n200 OK")


@pytest.mark.parametrize(
    ("page", "notes"),
    [
        (endless(), ["note: cut after 5,000,000 bytes"]),
        (answer(gzip_bomb(20), content_encoding="gzip"), ["note: cut after 5,000,000 bytes"]),
        (answer(b"a\xff", type="text/plain; charset=utf-8"), ["note: some bytes are no valid utf-8"]),
        (answer(b"\xe9t\xe9"), ["note: the encoding is a guess"]),
    ],
    ids=["endless", "bomb", "bad bytes", "guess"],
)
async def test_the_head_has_notes_about_cut_replaced_and_guessed_text(server, page, notes):
    server.pages["/"] = page
    head = (await call(server)).text.partition("\n\n")[0].split("\n")
    for note in notes:
        assert any(line.startswith(note) for line in head)


async def test_a_film_is_described_by_its_stated_size(server):
    """It is not read, because it is not text."""
    server.pages["/"] = answer(bytes(50_000), type="video/mp4")
    assert "200 OK, video/mp4, 50,000 bytes" in (await call(server)).text


async def test_the_result_says_that_a_page_has_no_text(server):
    server.pages["/"] = answer(b"", status=204, type=None)
    assert (await call(server)).text.split("\n")[1:] == ["204 No Content, no type given, 0 bytes", "", "(no text)"]


async def test_a_long_page_is_read_on_from_an_offset(server):
    """A part says what it is a part of, and how to go on; the parts are the page."""
    whole = "".join(f"line {n}\n" for n in range(30))
    server.pages["/"] = answer(whole)
    by, session, parts, offset = dispatcher(limits=FetchLimits(max_chars=100)), Session(), [], 0
    while True:
        head, _, part = (await call(server, by=by, session=session, offset=offset)).text.partition("\n\n")
        parts.append(part)
        offset += len(part)
        if offset == len(whole):
            break
        assert f"of {len(whole):,}; read on with offset={offset}" in head
    assert head.endswith(", the end")
    assert "".join(parts) == whole
    assert len(server.asked) == 1


@pytest.mark.parametrize("offset", [-1, 5, 10**9])
async def test_an_offset_outside_the_page_is_refused(server, offset):
    """The model is told how long the page is."""
    server.pages["/"] = answer("short")
    result = await call(server, offset=offset)
    assert result.kind == "bad_args"
    assert "offset" in result.text


# Failures.


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 418, 451, 304, 300])
async def test_a_refusal_is_an_error_with_the_text_of_the_server(server, status):
    """The error has the status and a piece of the body, and there is no second request."""
    server.pages["/"] = answer(f"<h1>Sorry</h1>{'x' * 5000}", status=status, type="text/html")
    result = await call(server)
    assert result.kind == "failed"
    assert f"answered {status}" in result.error.message
    assert len(result.error.message) < 1000
    assert status < 400 or "# Sorry" in result.error.message
    assert len(server.asked) == 1


@pytest.mark.parametrize("status", [429, 500, 502, 503, 599])
async def test_a_server_in_trouble_is_tried_again(server, status):
    """429 and 5xx are the world's fault."""
    server.pages["/"] = answer("busy", status=status, retry_after="0")
    result = await call(server)
    assert result.kind == "transient"
    assert f"answered {status}" in result.error.message
    assert len(server.asked) == 3


async def test_how_long_to_wait_is_handed_on(server):
    """Retry-After reaches the caller that tries again."""
    server.pages["/"] = answer("busy", status=429, retry_after="7")
    fetch = web_fetch_for(ports=SERVER_PORTS, resolve=names(), judge_address=loopback_is_public)
    with pytest.raises(ToolError) as caught:
        await fetch.function(server.url(), context=Context(facts=fetch.facts))
    assert caught.value.retry_after_seconds == 7


@pytest.mark.parametrize("address", ["10.0.0.1", "169.254.169.254", "::1"])
async def test_a_private_address_is_a_safety_refusal(server, address):
    """A public name for a private place is refused, and not tried again."""
    result = await call(server, by=dispatcher(resolve=names([address])))
    assert result.kind == "safety"
    assert result.attempts == 1


async def test_a_redirect_to_a_private_address_is_a_safety_refusal(server):
    server.pages["/"] = redirect("http://169.254.169.254/latest/")
    result = await call(server)
    assert result.kind == "safety"
    assert "metadata" in result.text


async def test_only_listed_hosts_are_fetched(server):
    result = await call(server, by=dispatcher(allowed_hosts=["docs.example"]))
    assert (result.kind, server.asked) == ("safety", [])


async def test_this_machine_is_refused_by_default(server):
    """The tool with its defaults reaches no private address, with or without a dispatcher."""
    fetch = web_fetch_for()
    with pytest.raises(ToolError, match="loopback"):
        await fetch.function(server.url(host="127.0.0.1"), context=Context(facts=fetch.facts))
    assert server.asked == []


async def test_a_private_host_needs_the_word_of_both(server):
    """The checks and the tool each have a list; a host that both name is reached."""
    server.pages["/"] = answer("inside")
    host = f"127.0.0.1:{server.port}"
    catalog = Catalog()
    catalog.add(web_fetch_for(private_hosts=[host]))
    by = Dispatcher(catalog, safety=SafetyChecks(allowed_hosts=[host]))
    url = {"url": server.url(host="127.0.0.1")}
    assert (await by.call("web_fetch", url)).value.endswith("inside")
    assert (await Dispatcher(catalog).call("web_fetch", url)).kind == "safety"


# Rules.


async def test_web_fetch_asks_unless_a_rule_allows_the_address(server):
    server.pages["/"] = answer("ok")
    assert (await call(server, by=dispatcher(Permissions("default")))).kind == "waiting"
    allowed = dispatcher(Permissions("default", [f"allow web_fetch({server.url('/**')})"]))
    assert (await call(server, by=allowed)).kind == "ok"


@pytest.mark.parametrize("rule", ["allow web_fetch({url})", "allow web_fetch(url={url})", "allow group:web({url})"])
async def test_a_redirect_out_of_the_rule_is_not_followed(server, rule):
    """A rule for one host does not open another; the model is told how to ask for it."""
    there = server.url("/b", host="other.example")
    server.pages |= {"/": redirect(there), "/b": answer("b")}
    by = dispatcher(Permissions("default", [rule.format(url=server.url("/**"))]))
    result = await call(server, by=by)
    assert result.kind == "failed"
    assert f"redirects to {there}, which was not agreed to" in result.text
    assert "call web_fetch with that address" in result.text
    assert server.paths == ["/"]


@pytest.mark.parametrize("rule", ["deny web_fetch({url})", "deny web_fetch(url={url})", "ask group:web(url={url})"])
async def test_a_redirect_into_a_deny_is_not_followed(server, rule):
    """Deny and ask rules hold for redirects."""
    server.pages |= {"/": redirect("/private/x"), "/private/x": answer("secret")}
    rules = [f"allow web_fetch({server.url('/**')})", rule.format(url=server.url("/private/**"))]
    result = await call(server, by=dispatcher(Permissions("default", rules)))
    assert result.kind == "failed"
    assert server.paths == ["/"]


async def test_a_check_of_the_application_holds_for_redirects(server):
    """The result is a refusal by a check, which is not offered for approval."""

    class Blocked:
        name = "blocked"
        kinds = ("url",)

        def judge(self, access):
            return Finding("deny", "blocked", "it is blocked") if "/blocked" in access.target else None

    server.pages |= {"/": redirect("/blocked"), "/blocked": answer("secret")}
    result = await call(server, by=dispatcher(safety=SafetyChecks(further=[Blocked()])))
    assert result.kind == "safety"
    assert "it is blocked" in result.text
    assert server.paths == ["/"]


async def test_a_call_past_its_time_is_given_up(server):
    """The time limit of the call holds beside the one of the tool."""
    server.pages["/"] = silent
    by = dispatcher()
    result = await by.call("web_fetch", {"url": server.url()}, timeout_seconds=0.2)
    assert result.kind == "timeout"


# What a session keeps.


async def test_a_page_is_fetched_once_for_a_session(server):
    """The second call reads what was kept, and says how old it is."""
    server.pages["/"] = answer("once")
    clock, session = Clock(), Session()
    by = dispatcher(clock=clock)
    first = await call(server, by=by, session=session)
    clock.now += 42
    second = await call(server, "/#elsewhere", by=by, session=session)
    assert len(server.asked) == 1
    assert second.text == first.text.replace("4 bytes", "4 bytes, kept for 42 s")


@pytest.mark.parametrize(
    ("header", "seconds", "requests"),
    [
        ("", 899, 1),
        ("", 900, 2),
        ("max-age=10", 9, 1),
        ("max-age=10", 10, 2),
        ("max-age=99999", 900, 2),
        ("no-store", 0, 2),
        ("no-cache", 0, 2),
    ],
)
async def test_a_page_is_cached_no_longer_than_allowed(server, header, seconds, requests):
    """Both our bound and that of the server hold."""
    server.pages["/"] = answer("x", cache_control=header)
    clock, session = Clock(), Session()
    by = dispatcher(clock=clock)
    await call(server, by=by, session=session)
    clock.now += seconds
    await call(server, by=by, session=session)
    assert len(server.asked) == requests


async def test_pages_are_not_cached_across_sessions_or_without_a_session(server):
    """A page that one session read is not shown to another."""
    server.pages["/"] = answer("x")
    by = dispatcher()
    for session in (Session(), Session(), None, None):
        await call(server, by=by, session=session)
    assert len(server.asked) == 4


async def test_two_tools_do_not_share_their_caches(server):
    """A tool with a shorter list of hosts does not show what another fetched."""
    server.pages["/"] = answer("x")
    session = Session()
    await call(server, session=session)
    await call(server, session=session)
    assert len(server.asked) == 2


async def test_failures_are_not_cached(server):
    session, by = Session(), dispatcher()
    assert (await call(server, by=by, session=session)).kind == "failed"
    server.pages["/"] = answer("now")
    assert (await call(server, by=by, session=session)).kind == "ok"


async def test_the_pages_used_longest_ago_go_first(server):
    """The number of pages is bounded; a page that was read again stays."""
    server.pages |= {f"/{n}": answer(str(n)) for n in range(3)}
    session, by = Session(), dispatcher(limits=FetchLimits(keep_pages=2))
    for path in ("/0", "/1", "/0", "/2", "/0", "/1"):
        await call(server, path, by=by, session=session)
    assert server.paths == ["/0", "/1", "/2", "/1"]


async def test_large_pages_push_others_out(server):
    """The size of what is kept is bounded."""
    server.pages |= {f"/{n}": answer("x" * 1_900_000) for n in range(5)}
    session, by = Session(), dispatcher(limits=FetchLimits(max_chars=10))
    for path in ("/0", "/1", "/2", "/3", "/4", "/4", "/0"):
        await call(server, path, by=by, session=session)
    assert server.paths == ["/0", "/1", "/2", "/3", "/4", "/0"]


async def test_a_new_mode_holds_for_a_cached_page(server):
    """The address is judged on a hit as well."""
    server.pages["/"] = answer("x")
    session, permissions = Session(), Permissions("bypass")
    by = dispatcher(permissions)
    assert (await call(server, by=by, session=session)).kind == "ok"
    permissions.set_mode("deny_unlisted")
    assert (await call(server, by=by, session=session)).kind == "denied"


async def test_the_redirects_of_a_cached_page_are_judged_again(server):
    """They are judged on a hit, although no request goes there."""
    server.pages |= {"/": redirect("/private"), "/private": answer("secret")}
    fetch = web_fetch_for(ports=SERVER_PORTS, resolve=names(), judge_address=loopback_is_public)
    session = Session()

    def by(rules):
        catalog = Catalog()
        catalog.add(fetch)
        return Dispatcher(catalog, permissions=Permissions("default", rules))

    every = f"allow web_fetch({server.url('/**')})"
    assert (await call(server, by=by([every]), session=session)).kind == "ok"
    denied = await call(server, by=by([every, f"deny web_fetch({server.url('/private')})"]), session=session)
    assert denied.kind == "failed"
    assert "secret" not in denied.text
    assert server.paths == ["/", "/private"]


async def test_web_fetch_can_be_called_by_hand(server):
    """Outside a dispatcher it is a plain function."""
    server.pages["/"] = answer("plain")
    fetch = web_fetch_for(ports=SERVER_PORTS, resolve=names(), judge_address=loopback_is_public)
    assert (await fetch.function(server.url(), context=Context(facts=fetch.facts))).value.endswith("plain")
