"""
A dispatcher works in a forked child: real forks, real threads.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import re
import sys
import threading
from pathlib import Path

import pytest

import toolkit
from tests.clocks import until
from tests.forked_children import run_in_child
from toolkit import session as session_module
from toolkit.agent.budgets import Budget, Ledger
from toolkit.approvals import MemoryApprovals, TerminalPrompt
from toolkit.approvals import read_only_guard as guard_module
from toolkit.approvals.read_only_guard import read_only
from toolkit.approvals.records import Record
from toolkit.approvals.seal import RecordSeal
from toolkit.approvals.store import Settlement
from toolkit.builtin.commands import shell_state as shells_module
from toolkit.builtin.commands.shell_state import end_shells, shell_of
from toolkit.builtin.commands.start_state import StartStates
from toolkit.builtin.web.web_fetch_tool import PageCache
from toolkit.calls.background.jobs import SessionJobs
from toolkit.catalog import Catalog
from toolkit.catalogs.search.vocabulary import Vocabulary
from toolkit.cli.display import AgentDisplay
from toolkit.decisions import ApprovalRequest
from toolkit.dispatcher import Dispatcher
from toolkit.hooks.cache import Cache
from toolkit.hooks.stats import Stats
from toolkit.results import ToolCall
from toolkit.safety.commands.options import Args
from toolkit.safety.shell.parser import parse_script
from toolkit.session import Session
from toolkit.skills import Skills
from toolkit.workspace import Workspace

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")


@pytest.fixture
def catalog():
    """A sync and an async tool."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    @catalog.tool(read_only=True)
    async def double(a: int) -> int:
        """Double."""
        await asyncio.sleep(0)
        return 2 * a

    return catalog


@pytest.fixture
def dispatcher(catalog):
    """A dispatcher whose threads and background loop are at work already."""
    dispatcher = Dispatcher(catalog)
    assert dispatcher.call_sync("add", {"a": 1, "b": 2}).value == 3
    assert dispatcher.call_sync("double", {"a": 1}).value == 2
    yield dispatcher
    dispatcher.close()


def test_a_sync_tool_runs_in_a_child(dispatcher):
    """The child has threads of its own, in a loop of its own."""
    assert run_in_child(lambda: asyncio.run(dispatcher.call("add", {"a": 2, "b": 3})).text) == "5"
    assert asyncio.run(dispatcher.call("add", {"a": 3, "b": 3})).text == "6"


@pytest.mark.parametrize("call", [("add", {"a": 2, "b": 2}), ("double", {"a": 2})])
def test_call_sync_works_in_a_child_and_still_in_the_parent(dispatcher, call):
    """The child makes a new background loop, and leaves its parent's alone."""
    for _ in range(2):
        assert run_in_child(lambda: dispatcher.call_sync(*call).text) == "4"
        assert dispatcher.call_sync(*call).text == "4"


def test_a_child_can_close_the_dispatcher_of_its_parent(dispatcher):
    """The parent can go on using it."""

    def close():
        dispatcher.close()
        return "closed"

    assert run_in_child(close) == "closed"
    assert dispatcher.call_sync("add", {"a": 2, "b": 2}).text == "4"


def test_a_child_of_a_child_works(dispatcher):
    """Each generation makes its own threads."""

    def call():
        return dispatcher.call_sync("add", {"a": 2, "b": 2}).text

    assert run_in_child(lambda: call() + run_in_child(call)) == "44"


def test_locks_that_are_held_at_the_fork_do_not_stop_the_child(catalog):
    """Other threads hold every lock that a call needs, in the middle of what they do."""
    stats, cache = Stats(), Cache()
    dispatcher = Dispatcher(catalog, hooks=[stats, cache])
    assert dispatcher.call_sync("add", {"a": 1, "b": 2}).value == 3
    settings, background = dispatcher.settings, dispatcher._background
    locks = [background._lock, settings.abandoned._lock, stats._lock, cache._lock]
    locks += [pool._condition for pool in settings.pools]
    lock_held, done = threading.Event(), threading.Event()

    def hold():
        with contextlib.ExitStack() as stack:
            for lock in locks:
                stack.enter_context(lock)
            lock_held.set()
            done.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    assert lock_held.wait(10)
    try:

        def call():
            first = dispatcher.call_sync("add", {"a": 2, "b": 2}).text
            return f"{first} {[record.calls for record in stats.snapshot()]} {dispatcher.abandoned}"

        assert run_in_child(call) == "4 [2] 0"
    finally:
        done.set()
        holder.join()
    dispatcher.close()


@contextlib.contextmanager
def hold_locks(*locks):
    """Hold *locks* in another thread during the block."""
    holding, done = threading.Event(), threading.Event()

    def hold():
        with contextlib.ExitStack() as stack:
            for lock in locks:
                stack.enter_context(lock)
            holding.set()
            done.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    assert holding.wait(10)
    try:
        yield
    finally:
        done.set()
        holder.join()


def use_catalog(catalog):
    """Change *catalog*, search it, and hear of a change in a view of it."""
    changes = []
    catalog.prefixed("x_").subscribe(changes.append)
    catalog.alias("plus", "add")
    catalog.remove("double")
    return [hit.tool.name for hit in catalog.search("add")], len(changes)


def test_a_catalog_that_was_locked_can_be_changed_and_searched_in_a_child(catalog):
    """Neither its own lock nor those of its index stop the child."""
    catalog.search("add")
    finder = catalog._finder
    with hold_locks(catalog._lock, finder._lock, finder._index._lock):
        assert run_in_child(lambda: use_catalog(catalog)) == "(['add'], 1)"
    assert use_catalog(catalog) == (["add"], 1)


def test_a_listener_of_a_view_receives_changes_in_a_child_forked_during_a_notification(catalog):
    """The thread that was calling the listener stayed in the parent."""
    changes, go, entered = [], threading.Event(), threading.Event()
    view = catalog.filtered(lambda tool: not entered.is_set() or go.wait(60))
    view.subscribe(changes.append)

    def change():
        entered.set()
        catalog.alias("plus", "add")
        catalog.remove("double")

    changing = threading.Thread(target=change)
    changing.start()
    assert entered.wait(10)
    try:

        def call():
            go.set()
            catalog.remove("add")
            return len(changes)

        assert run_in_child(call) == "1"
    finally:
        go.set()
        changing.join()


def test_an_index_that_was_being_changed_is_built_again_in_a_child(catalog):
    """Another thread was adding a tool at the fork, and the child adds it again."""
    catalog.search("double")
    entered, go = threading.Event(), threading.Event()

    class Halting(Vocabulary):
        def add(self, word):
            if threading.current_thread() is not threading.main_thread():
                entered.set()
                go.wait(60)
            super().add(word)

    catalog._finder._index._postings.vocabulary.__class__ = Halting
    catalog.alias("boil", "double")

    def search():
        return [[match.tool.name for match in catalog.search(word)] for word in ("boli", "add")]

    searching = threading.Thread(target=search)
    searching.start()
    assert entered.wait(10)
    try:
        assert run_in_child(search) == "[['double'], ['add']]"
    finally:
        go.set()
        searching.join()
    assert search() == [["double"], ["add"]]


def test_approvals_in_memory_that_were_locked_can_be_answered_in_a_child():
    """Their requests are still there."""
    store = MemoryApprovals()
    store.sign_with(RecordSeal(b"k" * 32))
    request = ApprovalRequest(tool="cut", call_id="c1", reason="why", arguments={}, expires_at=2e9)
    store.add(Record(request=request, arguments={}, identity="i"))
    store._bytes = -1  # as if a change had stopped halfway

    def answer():
        settled = store.settle(request.id, Settlement("denied", by=None, now=1.0))
        return settled, store.get(request.id).state, store._bytes > 0, len(store.pending()), store.purge(before=2.0)

    with hold_locks(store._lock, store._seal._lock):
        assert run_in_child(answer) == "(True, 'denied', True, 0, 1)"


def use_session():
    session = Session()
    session.load("add")
    return session.loaded


def use_guard():
    with read_only() as tried:
        pass
    return tried


def use_prompt():
    request = ApprovalRequest(tool="cut", call_id="c1", reason="why", arguments={}, expires_at=2e9)
    return TerminalPrompt(input=io.StringIO("n\n\n"), output=io.StringIO()).ask(request).approved


@pytest.mark.parametrize(
    ("lock", "use", "answer"),
    [
        (session_module._load_lock, use_session, "('add',)"),
        (guard_module._install_lock, use_guard, "[]"),
        (TerminalPrompt._one_at_a_time, use_prompt, "False"),
    ],
    ids=["sessions", "previews", "terminal"],
)
def test_a_lock_of_a_module_that_was_held_is_open_in_a_child(lock, use, answer):
    """There is one for all, so one thread would stop every child."""
    with hold_locks(lock):
        assert run_in_child(use) == answer


def test_a_lock_that_the_forking_thread_holds_is_held_in_the_child(catalog):
    """A fork in the middle of a change ends the change in the child too."""

    def change():
        with catalog._change() as (content, _):
            del content["double"]
            inner = run_in_child(lambda: catalog._lock._is_owned())
        return inner, list(catalog.names())

    with catalog._lock:
        assert run_in_child(change) == "('True', ['add'])"


def test_the_locks_of_the_built_in_tools_and_the_agent_are_open_in_a_child(tmp_path):
    """Each lock belongs to one object, and the child uses the objects of its parent."""
    ledger, pages, jobs = Ledger(Budget(), 10), PageCache(max_pages=1, clock=lambda: 0.0), SessionJobs()
    standings, display, session = StartStates(Workspace(tmp_path)), AgentDisplay(), Session()
    call = ToolCall("bash", {}, "c1", session)
    locks = [owner._lock for owner in (ledger, pages, jobs, standings, display)]

    def use():
        with display._lock:
            standings.preflight({"command": "ls"}, call)
        return ledger.take_retry(), pages.get("x"), jobs.all(), shell_of(session, str(tmp_path)).cwd == str(tmp_path)

    with hold_locks(*locks, shells_module._SHELL_LOCK):
        assert run_in_child(use) == "(None, None, [], True)"
    end_shells(session)


def test_skills_that_were_being_read_are_read_in_a_child(tmp_path):
    """Another thread was in the middle of it."""
    library = Skills(Catalog(), tmp_path, check_seconds=0)
    library._is_checking = True
    with hold_locks(library._lock):
        assert run_in_child(lambda: (library.refresh(), library._is_checking, len(library.table.tools) >= 0)) == (
            "(None, False, True)"
        )


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="only Python 3.11 locks cached properties")
def test_a_cached_property_that_was_being_computed_is_open_in_a_child():
    """One lock serves the property of every object."""
    with hold_locks(*(vars(Args)[name].lock for name in ("words", "options"))):
        words = run_in_child(lambda: Args(parse_script("rm -rf x").commands[0]).words)
        assert words == "('-rf', 'x')"


def test_every_cached_property_is_open_in_a_child():
    """A class that gets one later says so too."""
    package = Path(toolkit.__file__).parent
    texts = {path: path.read_text(encoding="utf-8") for path in package.rglob("*.py") if path.name != "forks.py"}
    cached = {path.name for path, text in texts.items() if re.search(r"@(functools\.)?cached_property", text)}
    assert cached == {path.name for path, text in texts.items() if "@unlock_properties_in_children" in text}


# Locks that no child needs, and why.
NOT_NEEDED = {
    "concurrency/abandoned.py": "a job's lock is for its own thread and caller, and a child forgets its parent's jobs",
    "approvals/store_runner.py": "the same",
    "concurrency/background_loop.py": "a child leaves its parent's loop alone and makes its own",
    "sandbox/recheck.py": "it makes a new lock in another process",
}


def test_every_lock_is_open_in_a_child_or_says_why_not():
    """A lock that is added later is registered too."""
    package, making = Path(toolkit.__file__).parent, re.compile(r"threading\.(?:Lock|RLock|Condition|Semaphore)\(")
    bare = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if making.search(line) and "unlock_in_children(" not in line
    }
    mended = {name for name in bare if "def renew_after_fork(" in (package / name).read_text(encoding="utf-8")}
    assert bare - mended - NOT_NEEDED.keys() == set()


def test_a_child_forgets_the_stuck_calls_of_its_parent(catalog):
    """Their threads do not exist in it, so the same call may run, and changes need not wait."""
    entered, release, runs = threading.Event(), threading.Event(), []

    @catalog.tool
    def hang() -> str:
        """Hang the first time."""
        runs.append(1)
        if len(runs) == 1:
            entered.set()
            release.wait(10)
        return "done"

    dispatcher = Dispatcher(catalog, max_concurrency=1)

    async def abandon():
        task = asyncio.ensure_future(dispatcher.call("hang"))
        await until(entered.is_set)
        task.cancel()
        await asyncio.wait({task})

    asyncio.run(abandon())
    assert (dispatcher.abandoned, dispatcher.abandoned_threads) == (1, 1)
    try:
        assert run_in_child(lambda: (dispatcher.abandoned_threads, dispatcher.call_sync("hang").text)) == "(0, 'done')"
    finally:
        release.set()
        dispatcher.close()


def test_a_tool_may_fork(catalog):
    """The thread that it runs in is the only one of the child."""

    @catalog.tool
    def fork() -> str:
        """Fork, and call in the child."""
        return run_in_child(lambda: dispatcher.call_sync("add", {"a": 2, "b": 2}).text)

    dispatcher = Dispatcher(catalog)
    assert dispatcher.call_sync("fork").text == "4"
    dispatcher.close()
