"""
A browser, and inspectors on loopback for it to look at.

The browser is Debian's `chromium`, driven by `playwright`; without either, the tests are skipped. Each file has a
browser of its own: while one is open, its driver has an event loop in the thread of the tests.

Every page is watched. A test fails if its page logged an error, raised one, or asked for anything outside.
"""

from __future__ import annotations

import contextlib
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.inspector.page.shop import run_beside
from toolkit import Dispatcher
from toolkit._plumbing.distribution import install_hint

SECONDS = 120
"""How long a test waits for anything, on a machine that may be busy."""


def pytest_collection_modifyitems(items):
    """Mark all tests here as long: a browser takes seconds to start."""
    for item in items:
        if item.nodeid.startswith("tests/inspector/page/"):
            item.add_marker("long")


@dataclass
class Inspected:
    """An inspector that is being served, and what its pages did."""

    url: str
    token: str
    inspector: Any
    new_page: Callable[..., Any]
    allowed: list[str] = field(default_factory=list)

    def call(self, tool: str, arguments: dict[str, Any]) -> Any:
        """Return the result of a call that the program makes, and not the page."""
        return run_beside(lambda: self.inspector.dispatcher.call_sync(tool, arguments)).result(SECONDS)

    def open(self, place: str = "", **options: Any) -> Any:
        """Return a new page with *place* open, such as `/calls`. The options are those of a browser context."""
        page = self.new_page(self, **options)
        page.goto(f"{self.url}/#token={self.token}&{place}")
        page.locator("#status .state[data-state=live]").wait_for()
        return page


@pytest.fixture
def answer_late():
    """Return a function that starts a request, and does something else before the page gets the answer to it."""

    def answer_late(page: Any, address: str, start: Callable[[], Any], meanwhile: Callable[[], Any]) -> None:
        held: list[str] = []

        def hold(route: Any) -> None:
            response = route.fetch()
            held.append(route.request.url)
            meanwhile()
            route.fulfill(response=response)

        page.route(address, hold, times=1)
        with page.expect_request_finished(lambda request: request.url in held):
            start()
        page.evaluate("new Promise((resume) => requestAnimationFrame(() => requestAnimationFrame(resume)))")

    return answer_late


@pytest.fixture(scope="module")
def browser():
    """A browser, without a window."""
    executable = shutil.which("chromium")
    if executable is None:
        pytest.skip("the program chromium is not here; install it: apt-get install chromium")
    playwright = pytest.importorskip("playwright.sync_api", reason=f"playwright is missing: {install_hint('dev')}")
    with playwright.sync_playwright() as driver:
        # Chromium's own sandbox does not start for root, as in a container.
        browser = driver.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextlib.contextmanager
def serve_inspector(inspector: Any) -> Iterator[str]:
    """Serve *inspector* on a free port of loopback, in a thread; yield the address."""
    uvicorn = pytest.importorskip("uvicorn")
    config = uvicorn.Config(
        inspector.app(), host="127.0.0.1", port=0, log_level="critical", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    started = threading.Event()
    startup = server.startup

    async def start(sockets: Any = None) -> None:
        await startup(sockets)
        started.set()

    server.startup = start
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    assert started.wait(SECONDS), "the server did not start"
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        inspector.drain()
        server.should_exit = True
        thread.join(SECONDS)
        inspector.close()


@pytest.fixture
def inspect(browser):
    """Serve an inspector of a dispatcher or of tools, and watch its pages."""
    from toolkit.inspector import Inspector

    complaints: list[str] = []
    with contextlib.ExitStack() as stack:

        def new_page(inspected: Inspected, **options: Any) -> Any:
            context = stack.enter_context(
                browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
            )
            page = context.new_page()
            page.set_default_timeout(SECONDS * 1000)
            page.on("pageerror", lambda error: complaints.append(f"raised: {error}"))
            page.on("console", lambda message: _note_message(message, inspected, complaints))
            page.on("request", lambda request: _note_request(request, inspected, complaints))
            return page

        def serve(target: Any, **options: Any) -> Inspected:
            dispatcher = target if isinstance(target, Dispatcher) else Dispatcher(target)
            inspector = Inspector(dispatcher, name="shop.py", **options)
            url = stack.enter_context(serve_inspector(inspector))
            return Inspected(url, inspector.token, inspector, new_page)

        yield serve
    assert complaints == []


def _note_message(message: Any, inspected: Inspected, complaints: list[str]) -> None:
    if message.type in {"error", "warning"} and not any(words in message.text for words in inspected.allowed):
        complaints.append(f"logged: {message.text}")


def _note_request(request: Any, inspected: Inspected, complaints: list[str]) -> None:
    if not request.url.startswith(f"{inspected.url}/"):
        complaints.append(f"asked for {request.url}")
