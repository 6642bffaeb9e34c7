"""`toolkit worker`: processes that work on the runs of a database, end in good order, and replace one another."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.cli.flow_module import FLOWS
from tests.cli.kit import CANCEL, DONE, LOOK, model, words
from tests.durable.kit import holding
from tests.providers.stub import KEY
from toolkit.durable import DurableError, DurableHost
from toolkit.durable.journal.run_journal import open_journal
from toolkit.testing.load_target import load_object

DATABASE = "sqlite:///runs.sqlite"
ROOT = Path(__file__).parents[3]

AGENTS = '''\
"""An agent that pays bills. A payment hangs after it was made while the test holds the file `hold`."""

import fcntl
import itertools
import sys
from dataclasses import dataclass
from pathlib import Path

from toolkit import Agent, Catalog, Dispatcher, Permissions, ToolCall
from toolkit.durable import DurableAgent, DurableHost
from toolkit.flows import Flow
from toolkit.providers import AssistantMessage, ScriptedProvider

catalog = Catalog()


@catalog.tool(destructive=True)
def pay(bill: str) -> str:
    """Pay a bill."""
    with Path("book.txt").open("a") as book:
        book.write(f"{bill}\\n")
    print(bill, "is in the book", file=sys.stderr, flush=True)
    if Path("hold").exists():
        with open("hold") as file:
            fcntl.flock(file, fcntl.LOCK_SH)
    return f"{bill} is paid"


def play(request):
    turn = sum(isinstance(message, AssistantMessage) for message in request.messages)
    return [[ToolCall("pay", {"bill": "A-7"}, "c1")], [ToolCall("pay", {"bill": "A-8"}, "c2")], "Paid."][turn]


def make_agent(mode):
    return Agent(ScriptedProvider(itertools.repeat(play)), Dispatcher(catalog, permissions=Permissions(mode)))


release = Flow("release")


@dataclass
class Plan:
    file: str


@dataclass
class Released:
    file: str


@release.step(destructive=True)
def publish(plan: Plan) -> Released:
    return Released(plan.file)


agent = make_agent("default")
free_agent = make_agent("bypass")


def build():
    return make_agent("bypass")


def build_durable():
    return DurableAgent(make_agent("bypass"), "sqlite:///own.sqlite")


def build_list():
    return [make_agent("bypass"), release]


empty, mixed, number = [], [release, 3], 3


def build_agents():
    return [agent, free_agent]


def build_host():
    return DurableHost("sqlite:///own.sqlite")


def with_parameters(name):
    return agent


async def build_later():
    return agent


def build_tools():
    return catalog
'''

HOSTS = """\
from toolkit.durable import DurableHost

built = []


def build():
    built.append(DurableHost("sqlite:///own.sqlite"))
    return built[0]
"""


@pytest.fixture
def agents(shop):
    """The current folder, with `agents.py`."""
    shop.write("agents.py", AGENTS)
    return shop


@contextlib.contextmanager
def working(*words):
    """Run a worker in a process of its own; kill it at the end of the block if it has not ended."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TOOLKIT_DATABASE": DATABASE}
    # A process that is started in the background ignores Ctrl-C unless it says otherwise.
    code = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); from toolkit.cli.main import main"
    command = [sys.executable, "-c", f"{code}; main(sys.argv[1:])", "worker", *words]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def read_until(worker, text, seconds=60.0):
    """Read what a worker writes, up to a line with *text*, and return it. A worker that is silent too long is killed."""
    watchdog = threading.Timer(seconds, worker.kill)
    watchdog.start()
    notes = ""
    try:
        for line in worker.stderr:
            notes += line
            if text in line:
                return notes
    finally:
        watchdog.cancel()
    return pytest.fail(f"the worker has ended, and did not write {text!r}: {notes}")


@pytest.mark.long
def test_an_approval_goes_from_one_worker_to_the_next(agents):
    """One worker ends by SIGTERM and the other one by Ctrl-C. The answer comes while no worker lives."""
    assert agents.run("runs", "start", "bills", "Pay.", "--database", DATABASE).code == 0
    with contextlib.closing(open_journal(DATABASE)) as journal:
        for number, code in ((signal.SIGTERM, 0), (signal.SIGINT, 130)):
            with working("agents.py:agent") as worker:
                notes = read_until(worker, "run 'bills' is waiting")
                worker.send_signal(number)
                notes += worker.stderr.read()
                assert worker.wait(60) == code, notes
                assert "8 runs at once from sqlite:///" in notes
                assert "run 'bills' begins, activation" in notes
                assert ("the worker has ended" in notes) is (code == 0)
            ran = agents.run("runs", "approve", "bills", "--by", "ada", "--database", DATABASE)
            assert ran.code == 0, ran.err
        with working("agents.py:build", "--concurrency", "1") as worker:
            read_until(worker, "run 'bills' is done")
        assert len(journal.read_workers()) == 1  # the last one was killed; the others took their leave
    assert (agents.folder / "book.txt").read_text().split() == ["A-7", "A-8"]
    report = agents.run("runs", "show", "bills", "--database", DATABASE, "-o", "text").out
    assert report.count("a person has answered") == 2
    assert "pay ok: A-8 is paid" in report


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["SIGKILL", "SIGTERM"])
def test_a_run_goes_on_when_its_worker_is_ended(agents, number):
    """After SIGKILL the interrupted payment is not repeated and the model knows. SIGTERM waits for the payment."""
    agents.run("runs", "start", "bills", "Pay.", "--database", DATABASE)
    with holding(agents.folder / "hold") as release, working("agents.py:free_agent") as worker:
        read_until(worker, "A-7 is in the book")
        worker.send_signal(number)
        if number == signal.SIGTERM:
            release()
        worker.wait(60)
    with working("agents.py:free_agent") as worker:
        read_until(worker, "run 'bills' is done")
    assert (agents.folder / "book.txt").read_text().split() == ["A-7", "A-8"]
    report = agents.run("runs", "show", "bills", "--database", DATABASE, "-o", "text").out
    assert ("may or may not have happened" in report) is (number == signal.SIGKILL)


STUBBORN = '''\
"""Agents in which something ignores its cancellation."""

import asyncio
import itertools
import sys
import time

from toolkit import Agent, Catalog, Dispatcher, Permissions, ToolCall
from toolkit.providers import ScriptedProvider

catalog = Catalog()


def tell():
    print("it hangs", file=sys.stderr, flush=True)


async def hang():
    tell()
    while True:
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            pass


@catalog.tool
async def swallow() -> None:
    """Ignore cancellations."""
    await hang()


@catalog.tool
def block() -> None:
    """Block a thread."""
    tell()
    time.sleep(600)


@catalog.tool(thread=False)
def block_loop() -> None:
    """Block the event loop."""
    tell()
    time.sleep(600)


@catalog.tool
async def look() -> None:
    """Do nothing."""


class Hook:
    async def around(self, call, run):
        await hang()


def build(tool, provider=None, hooks=()):
    dispatcher = Dispatcher(catalog, permissions=Permissions("auto"), hooks=hooks)
    calls = itertools.repeat([ToolCall(tool, {}, "c1")])
    return Agent(ScriptedProvider(calls) if provider is None else provider, dispatcher)


class Provider(ScriptedProvider):
    async def reply(self, request):
        await hang()

    async def stream(self, request):
        await hang()
        yield


tool, thread, loop = build("swallow"), build("block"), build("block_loop")
hook, provider = build("look", hooks=[Hook()]), build("look", Provider([]))
'''


@pytest.mark.long
@pytest.mark.parametrize(
    ("part", "number"),
    [
        ("tool", signal.SIGTERM),
        ("thread", signal.SIGINT),
        ("hook", signal.SIGTERM),
        ("provider", signal.SIGINT),
        ("loop", signal.SIGTERM),
        ("loop", signal.SIGINT),
    ],
)
def test_a_worker_ends_although_a_part_of_it_hangs(shop, part, number):
    """Its limit is the grace and 20 seconds. Another worker could go on with the run then."""
    shop.write("stubborn.py", STUBBORN)
    shop.run("runs", "start", "stuck", "Hang.", "--database", DATABASE)
    with working(f"stubborn.py:{part}", "--grace", "0.1") as worker:
        read_until(worker, "it hangs")
        worker.send_signal(number)
        assert worker.wait(40) == (0 if number == signal.SIGTERM else 130), worker.stderr.read()
    with contextlib.closing(open_journal(DATABASE)) as journal:
        row = journal.get("stuck")
        # The run of a process that could not give it back is taken over.
        assert (row.status == "queued") or part in ("hook", "provider", "loop"), row


@pytest.mark.long
def test_a_second_sigterm_ends_a_worker_at_once(shop):
    """The user does not want to wait."""
    shop.write("stubborn.py", STUBBORN)
    shop.run("runs", "start", "stuck", "Hang.", "--database", DATABASE)
    with working("stubborn.py:loop", "--grace", "600") as worker:
        read_until(worker, "it hangs")
        while worker.poll() is None:
            worker.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                worker.wait(0.2)
        assert worker.returncode == -signal.SIGTERM


@contextlib.contextmanager
def ending_when(condition):
    """End the worker in this process by SIGTERM once *condition* returns something true. It may when a run has ended."""
    end = functools.partial(os.kill, os.getpid(), signal.SIGTERM)

    class Listener(logging.Handler):
        def emit(self, record):
            if condition():
                log.removeHandler(self)
                end()

    log, listener, watchdog = logging.getLogger("toolkit.runs"), Listener(), threading.Timer(60.0, end)
    log.addHandler(listener)
    watchdog.start()
    try:
        yield
    finally:
        watchdog.cancel()
        log.removeHandler(listener)


@pytest.mark.long
def test_an_agent_can_be_made_by_the_settings(shop):
    """The target has tools; the provider and the mode are options."""
    with model(LOOK, CANCEL, DONE) as stub, contextlib.closing(open_journal(DATABASE)) as journal:
        shop.run("runs", "start", "days", "Which days are free?", "--database", DATABASE)
        options = words(stub, "--mode", "bypass", "--database", DATABASE)
        with ending_when(lambda: journal.get("days").status in ("done", "failed")):
            ran = shop.run("worker", "tools.py:catalog", *options[3:], MY_KEY=KEY)
        assert ran.code == 0, ran.err
        row = journal.get("days")
    assert row.status == "done", row.outcome
    assert "the worker has ended" in ran.err


@pytest.mark.long
@pytest.mark.parametrize("target", ["build_durable", "build_list"])
def test_a_target_may_have_several_kinds_or_a_database(agents, target):
    """A run for which the worker has no kind stays in the queue, and a note says so."""
    database = "sqlite:///own.sqlite"
    with contextlib.closing(open_journal(database)) as journal:
        asyncio.run(start_other(database))
        agents.run("runs", "start", "bills", "Pay.", "--priority", "-1", "--database", database)
        with ending_when(lambda: journal.get("bills").status == "done"):
            ran = agents.run("worker", f"agents.py:{target}", "--concurrency", "1", "--database", database)
        assert ran.code == 0, ran.err
        assert (journal.get("other").status, journal.get("other").epoch) == ("queued", 0)
    assert "run 'other' is left to another worker, because this one has no 'flow:other'" in ran.err


async def start_other(database):
    """Start a run of a flow that the worker does not have."""
    async with DurableHost(database) as host:
        host.register("flow:other", None, find_requests=lambda row: ())
        await host.start("flow:other", "other", {"x": 1})


@pytest.mark.long
@pytest.mark.parametrize("target", ["agents.py:release", "flows.py"])
def test_a_flow_waits_in_one_worker_and_ends_in_the_next(agents, target):
    """Its requests are answered like those of an agent, and its report is in sentences."""
    agents.write("flows.py", FLOWS)
    file = target.partition(":")[0]
    asyncio.run(start_release(load_object(f"{file}:release"), load_object(f"{file}:Plan")))
    with contextlib.closing(open_journal(DATABASE)) as journal:
        for status in ("waiting", "done"):
            with ending_when(lambda expected=status: journal.get("release-7").status == expected):
                ran = agents.run("worker", target, "--database", DATABASE)
            assert ran.code == 0, ran.err
            if status == "waiting":
                report = agents.run("runs", "show", "release-7", "--database", DATABASE, "-o", "text")
                assert "`publish` asks for permission" in report.out
                ran = agents.run("runs", "approve", "release-7", "--database", DATABASE)
                assert ran.code == 0, ran.err
    report = agents.run("runs", "show", "release-7", "--database", DATABASE, "-o", "text").out
    assert "release-7  done  flow:release, 2 activations" in report
    assert "people answered" in report
    assert "publish" in report


async def start_release(flow, plan):
    """Start a run of the flow, for any worker."""
    async with DurableHost(DATABASE) as host:
        await flow.start(plan("parser.py"), host, id="release-7")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["agents.py:agent"], "no database is named; give --database"),
        (["agents.py:with_parameters"], "is a function with parameters; name an agent"),
        (["agents.py:build_later"], "is async; return the agent from a plain function"),
        (["agents.py:build_tools"], "returned Catalog; return an Agent, a Flow or a DurableHost"),
        (["agents.py:build_agents", "--database", DATABASE], "several agents; give each a worker, with a --queue"),
        (["agents.py:nothing"], "has no 'nothing'"),
        (["agents.py:empty"], "agents.py:empty is an empty list; name an Agent, a Flow, "),
        (["agents.py:mixed"], "agents.py:mixed is a list with an object of the type int in it; name an Agent"),
        (["agents.py:number"], "agents.py:number is an object of the type int; name an Agent"),
        (["agents.py:agent", "--model", "m", "--audit", "x"], "--model, --audit: the target has its own; leave"),
        (["agents.py:build_durable", "--database", DATABASE], "the target has a database of its own, sqlite:///"),
        (["agents.py:build_host", "--queue", "other"], "--queue: the target has its own"),
        (["agents.py:build_durable", "--with", "agents:x"], "--with: the target has its own"),
        (["agents.py:catalog", "--database", DATABASE], "no provider is chosen; give --provider"),
        (["agents.py:agent", "--database", "sqlite:///agents.py"], "agents.py"),
        (["agents.py:agent", "--concurrency", "0"], "0 is not in the range"),
    ],
)
def test_an_invalid_target_or_option_is_refused_with_the_remedy(agents, words, message):
    ran = agents.run("worker", *words)
    assert (ran.code, ran.out) == (2, ""), ran.err
    assert message in ran.err


def test_a_target_that_is_refused_is_closed(agents):
    """The worker has made it, and gives it to no one."""
    agents.write("hosts.py", HOSTS)
    assert agents.run("worker", "hosts.py:build", "--queue", "other").code == 2
    (host,) = load_object("hosts.py:built")
    with pytest.raises(DurableError, match="was closed"):
        asyncio.run(host.get("bills"))
