"""Server-sent events: what happens, a bounded history, and a place to go on from."""

from __future__ import annotations

import asyncio
import socket
import threading

import pytest

from tests.clocks import until
from tests.inspector.kit import build_inspector, read_events, serving
from toolkit.inspector.event_log import EventLog

pytestmark = pytest.mark.anyio


async def follow(log, count, after=""):
    """Return the first *count* texts that a listener gets."""
    texts = []
    async for text in log.follow(after):
        texts.append(text)
        if len(texts) == count:
            break
    return texts


async def test_a_listener_sees_a_call_start_and_end():
    inspector = build_inspector()
    async with serving(inspector) as browser:
        listening = asyncio.create_task(read_events(browser, 3))
        await until(lambda: inspector.history.events.listener_count)
        await browser.call("add", a=1)
        (hello, *events) = await listening
        assert hello[0] == "hello"
        assert [(kind, data["kind"]) for kind, data, _ in events] == [("call", None), ("call", "ok")]
        assert events[0][1]["number"] == events[1][1]["number"]


async def test_a_listener_continues_after_its_last_event():
    """The place is in the header that browsers send, or in the address."""
    async with serving(build_inspector()) as browser:
        ((_, _, place),) = await read_events(browser, 1)
        await browser.call("add", a=1)
        await browser.call("write_note", text="x")
        by_address = await read_events(browser, 5, after=place)
        by_header = await read_events(browser, 5, **{"last-event-id": place})
        assert by_address == by_header
        assert [kind for kind, _, _ in by_address] == ["call", "call", "call", "approval", "call"]
        ((kind, data, _),) = await read_events(browser, 1, after=by_address[3][2])
        assert (kind, data["kind"]) == ("call", "waiting")


async def test_a_listener_begins_at_the_place_that_about_names():
    async with serving(build_inspector()) as browser:
        await browser.call("add", a=1)
        about = await browser.get("about")
        await browser.call("add", a=2)
        events = await read_events(browser, 2, after=about["place"])
        assert [(kind, data["number"]) for kind, data, _ in events] == [("call", 2)] * 2


@pytest.mark.parametrize("after", ["x", "9-9", "-", "00000000-1", "🦆"])
async def test_a_place_of_another_server_is_a_reset(after):
    log = EventLog()
    log.add("call", {"number": 1})
    (text,) = await follow(log, 1, after)
    assert "event: reset" in text


async def test_dropped_events_are_a_reset():
    log = EventLog(max_events=3)
    (hello,) = await follow(log, 1)
    place = hello.partition("\n")[0].removeprefix("id: ")
    for number in range(10):
        log.add("call", {"number": number})
    reset, *_ = await follow(log, 1, place)
    assert "event: reset" in reset
    newest = reset.partition("\n")[0].removeprefix("id: ")
    log.add("call", {"number": 10})
    assert '"number":10' in (await follow(log, 1, newest))[0]


async def test_a_listener_that_does_not_read_costs_no_memory():
    """It gets a reset when it reads again."""
    log = EventLog(max_events=100)
    listener = log.follow()
    await anext(listener)
    for number in range(10_000):
        log.add("call", {"number": number})
    assert "event: reset" in await anext(listener)
    log.add("call", {"number": -1})
    assert '"number":-1' in await anext(listener)
    assert len(log._events) == 100
    await listener.aclose()
    assert log.listener_count == 0


async def test_a_connection_that_stops_reading_holds_up_no_other():
    inspector = build_inspector()
    async with serving(inspector) as browser:
        stuck = socket.create_connection(("127.0.0.1", browser.port))
        stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        host, token = f"127.0.0.1:{browser.port}", browser.headers["authorization"]
        stuck.sendall(f"GET /api/events HTTP/1.1\r\nHost: {host}\r\nAuthorization: {token}\r\n\r\n".encode())
        await until(lambda: inspector.history.events.listener_count)
        for number in range(2_000):
            inspector.history.events.add("call", {"text": "x" * 1_000, "number": number})
        assert (await browser.call("add", a=1))["kind"] == "ok"
        stuck.close()
        await until(lambda: not inspector.history.events.listener_count)


async def test_a_quiet_connection_has_a_pulse():
    log = EventLog(pulse_seconds=0.01)
    assert await follow(log, 3) == [(await follow(log, 1))[0], ":\n\n", ":\n\n"]


async def test_any_thread_may_add_an_event():
    log = EventLog()
    listener = log.follow()
    await anext(listener)
    waiting = asyncio.ensure_future(anext(listener))
    await until(lambda: log.listener_count)
    threading.Thread(target=log.add, args=("call", {"number": 1})).start()
    assert '"number":1' in await waiting
    await listener.aclose()


async def test_closing_ends_all_listeners():
    log = EventLog()
    listener = log.follow()
    await anext(listener)
    waiting = asyncio.ensure_future(anext(listener, None))
    log.close()
    assert await waiting is None
    assert await anext(log.follow("x-1"), None) is not None  # one that comes later is told where it is, and ends


async def test_too_many_pages_are_refused():
    inspector = build_inspector()
    async with serving(inspector) as browser:
        events = inspector.history.events
        listeners = [events.follow() for _ in range(64)]
        for listener in listeners:
            await anext(listener)
        response = await browser.send("GET", "events", headers={"origin": None})
        assert response.status_code == 503
        for listener in listeners:
            await listener.aclose()


async def test_changes_of_the_catalog_are_sent_as_events():
    inspector = build_inspector()
    async with serving(inspector) as browser:
        ((_, _, place),) = await read_events(browser, 1)

        def wave() -> str:
            """Wave."""
            return "o/"

        inspector.dispatcher.catalog.add(wave)
        ((kind, data, _),) = await read_events(browser, 1, after=place)
    assert (kind, data) == ("catalog", {"added": ["wave"], "removed": []})
