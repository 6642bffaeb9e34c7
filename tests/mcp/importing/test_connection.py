"""The life of a connection: it starts, is lost, comes back, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import json
import os
import threading

import pytest

from tests.clocks import wait_until
from toolkit import Catalog, Dispatcher, tool
from toolkit.mcp import RemoteServer, Servers
from toolkit.mcp.importing.remote_server import read_server
from toolkit.settings.mcp_servers import McpServer

from .kit import hostile, is_alive

pytestmark = pytest.mark.anyio


async def test_a_server_that_dies_during_a_call_may_have_acted():
    """The call fails as transient, may have happened, and is not repeated. The next call starts the server anew."""
    async with Servers(evil=hostile()) as tools:
        dispatcher = Dispatcher(tools)
        result = await dispatcher.call("evil_die", {})
        again = await dispatcher.call("evil_echo", {"text": "back"})

    assert (result.kind, result.attempts, result.error.details["happened"]) == ("transient", 1, "maybe")
    assert "lost" in result.text
    assert (again.kind, again.text) == ("ok", "back")
    assert tools.problems == []


@pytest.mark.long
async def test_a_call_to_a_dead_server_has_not_happened(tmp_path):
    """A server that cannot be started again fails its calls, and they have had no effect."""
    async with Servers(evil=hostile(f"once:{tmp_path / 'mark'}")) as tools:
        dispatcher = Dispatcher(tools)
        await dispatcher.call("evil_die", {})
        result = await dispatcher.call("evil_echo", {"text": "back"})

        assert (result.kind, result.error.details["happened"]) == ("transient", "no")
        assert "already started once" in result.text
        assert [problem for problem in tools.problems if "already started once" in problem]


@pytest.mark.long
async def test_the_error_output_of_a_server_that_died_is_shown_without_escapes():
    """The reason a server gives is part of the problem, and cannot act on a terminal."""
    async with Servers(evil=hostile("crash"), good=hostile()) as tools:
        assert "evil_echo" not in tools
        assert "good_echo" in tools
        [problem] = tools.problems

    assert problem.startswith("evil: ")
    assert "cannot start: no token" in problem


@pytest.mark.long
@pytest.mark.parametrize("mode", ["silent", "silent_list"])
async def test_a_server_that_does_not_answer_is_left_out(mode):
    """The time to connect is limited, and the other server works."""
    async with Servers(evil=hostile(mode, limits={"connect_seconds": 0.3}), good=hostile()) as tools:
        assert "good_echo" in tools
        assert tools.problems == ["evil: it did not answer within 0.3 s"]


async def test_a_command_that_cannot_be_started_is_a_problem(tmp_path):
    """The problem names the program and the remedy."""
    async with Servers(gone=["/no/such/program"], folder=[str(tmp_path)]) as tools:
        assert tools.problems == [
            "gone: `/no/such/program` is not there; install it, or correct the command",
            f"folder: `{tmp_path}` cannot be started: [Errno 13] Permission denied: '{tmp_path}'",
        ]


@pytest.mark.long
async def test_an_old_server_that_ends_at_the_new_question_is_asked_the_old_way():
    """A server that ends when it is asked for the newest revision is started again with the older handshake."""
    async with Servers(evil=hostile("old")) as tools:
        assert tools.problems == []
        assert "evil_echo" in tools


@pytest.mark.long
async def test_closing_ends_the_server_and_its_children():
    """No process is left behind, not even one that the server has started itself."""
    async with Servers(evil=hostile()) as tools:
        result = await Dispatcher(tools).call("evil_family", {})
        pids = json.loads(result.text)
        assert all(map(is_alive, pids))

    assert not any(map(is_alive, pids))


@pytest.mark.long
async def test_a_cancelled_opening_leaves_no_process(tmp_path):
    """If the caller gives up while a server starts, the server is ended."""
    mark = tmp_path / "pid"
    task = asyncio.ensure_future(Servers(evil=hostile(f"note:{mark}")).__aenter__())
    await wait_until(lambda: mark.exists() and mark.read_text(encoding="utf-8").endswith("\n"))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert not is_alive(mark.read_text(encoding="utf-8").strip())
    assert "toolkit-mcp" not in [thread.name for thread in threading.enumerate()]


@pytest.mark.long
async def test_a_call_after_closing_is_an_error():
    """The tools stay in the view, and a call of one says that `Servers` is closed."""
    async with Servers(evil=hostile()) as tools:
        pass
    result = await Dispatcher(tools).call("evil_echo", {"text": "x"})

    assert result.kind == "failed"
    assert "`Servers` is closed" in result.text


@pytest.mark.long
async def test_servers_cannot_be_opened_twice_at_once():
    """A second opening is refused, and a later one works."""
    servers = Servers(evil=hostile())
    async with servers:
        with pytest.raises(RuntimeError, match="open already"):
            await servers.__aenter__()
    with servers:
        assert Dispatcher(servers).call_sync("evil_echo", {"text": "again"}).text == "again"


async def test_a_cancelled_call_is_cancelled_at_the_server():
    """The server is told that the caller has gone."""
    started = asyncio.Event()
    loop = asyncio.get_running_loop()
    async with Servers(evil=hostile()) as tools:
        dispatcher = Dispatcher(tools, on_progress=lambda _: loop.call_soon_threadsafe(started.set))
        call = asyncio.ensure_future(dispatcher.call("evil_hang", {}))
        await started.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        texts = [(await dispatcher.call("evil_list_cancelled", {})).text for _ in range(2)]

    assert "1" in texts


@pytest.mark.long
async def test_a_slow_call_ends_at_its_time_limit_and_others_go_on():
    """A call that hangs fails alone, and may have happened."""
    async with Servers(evil=hostile(timeout_seconds=0.2)) as tools:
        dispatcher = Dispatcher(tools)
        slow, quick = await asyncio.gather(
            dispatcher.call("evil_hang", {}), dispatcher.call("evil_echo", {"text": "quick"})
        )

    assert (slow.kind, slow.error.details["happened"]) == ("timeout", "maybe")
    assert quick.text == "quick"


@pytest.mark.long
async def test_a_server_that_stops_reading_fails_its_calls_and_can_be_closed():
    """Calls that cannot even be sent end at their time limit, and closing ends the process."""
    async with Servers(evil=hostile(timeout_seconds=0.3)) as tools:
        dispatcher = Dispatcher(tools)
        pids = json.loads((await dispatcher.call("evil_family", {})).text)
        calls = [("evil_deaf", {}), *[("evil_echo", {"text": "x" * 300_000})] * 3]
        results = await asyncio.gather(*(dispatcher.call(*call) for call in calls))

    assert [result.kind for result in results] == ["timeout"] * 4
    assert not any(map(is_alive, pids))


@pytest.mark.long
async def test_a_server_that_closes_its_output_is_lost():
    """A process that lives on without an output is ended and replaced."""
    async with Servers(evil=hostile()) as tools:
        dispatcher = Dispatcher(tools)
        result = await dispatcher.call("evil_shut_output", {})
        again = await dispatcher.call("evil_echo", {"text": "back"})

    assert (result.kind, result.error.details["happened"]) == ("transient", "maybe")
    assert again.text == "back"


@pytest.mark.long
def test_calls_from_other_event_loops_work():
    """One connection serves several event loops and a thread without one."""
    with Servers(evil=hostile()) as tools:
        dispatcher = Dispatcher(tools)
        results = [asyncio.run(dispatcher.call("evil_echo", {"text": str(number)})) for number in range(2)]
        results.append(dispatcher.call_sync("evil_echo", {"text": "2"}))
        dispatcher.close()

    assert [result.text for result in results] == ["0", "1", "2"]


@pytest.mark.long
async def test_a_sync_call_in_the_loop_that_opened_the_servers_works():
    """The connections do not need the loop of the caller."""
    async with Servers(evil=hostile()) as tools:
        dispatcher = Dispatcher(tools)
        assert dispatcher.call_sync("evil_echo", {"text": "x"}).text == "x"
        dispatcher.close()


async def test_the_command_gets_the_environment_and_the_folder_that_are_stated(tmp_path):
    """A server sees few variables of the program, and those that are given to it."""
    os.environ["SECRET_OF_THE_PROGRAM"] = "x"
    try:
        async with Servers(evil=hostile(env={"TOKEN": "1"}, cwd=str(tmp_path))) as tools:
            environment = json.loads((await Dispatcher(tools).call("evil_environment", {})).text)
    finally:
        del os.environ["SECRET_OF_THE_PROGRAM"]

    assert "TOKEN" in environment["names"]
    assert "SECRET_OF_THE_PROGRAM" not in environment["names"]
    assert environment["folder"] == str(tmp_path)


async def test_a_catalog_and_servers_are_one_view():
    """The program's own tools come first, and a dispatcher runs both."""
    catalog = Catalog()

    @tool(catalog=catalog)
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    async with Servers(catalog, {"ev-il": hostile()}) as tools:
        dispatcher = Dispatcher(tools)
        assert tools.names()[:2] == ["add", "ev-il_echo"]
        assert (await dispatcher.call("add", {"a": 1, "b": 2})).value == 3
        assert (await dispatcher.call("ev-il_echo", {"text": "x"})).text == "x"
        assert [match.tool.name for match in tools.search("echo", 1)] == ["ev-il_echo"]


@pytest.mark.long
def test_a_forked_child_gets_an_error_instead_of_the_servers_of_its_parent():
    """The child must open servers itself, because it would wait for ever for those of the parent."""
    with Servers(evil=hostile()) as tools:
        dispatcher = Dispatcher(tools)
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            text = asyncio.new_event_loop().run_until_complete(dispatcher.call("evil_echo", {"text": "x"})).text
            os.write(writing, text.encode())
            os._exit(0)
        os.waitpid(pid, 0)
        assert "belong to another process" in os.read(reading, 1000).decode()
        os.close(reading)
        os.close(writing)


def test_a_remote_server_shows_no_secrets():
    """Its text has no variables, no headers and no password."""
    server = RemoteServer("https://me:secret@host.example/mcp?key=secret", headers={"x": "secret"})

    assert "secret" not in server.where
    assert "secret" not in repr(server)
    assert "'https://host.example/mcp?...'" in repr(server)
    assert "secret" not in repr(RemoteServer(["a"], env={"KEY": "secret"}))


def test_a_command_shows_its_program_and_how_many_words_follow():
    """A word of a command may be a key, so neither its text nor the key of its pins has the words."""
    server = read_server("srv", ["my srv", "--token", "secret"])

    assert server.where == "'my srv' and 2 words"
    assert "secret" not in repr(server)
    assert "secret" not in server.identity
    assert server.identity == read_server("srv", ["my srv", "--token", "secret"]).identity
    assert server.identity != read_server("srv", ["my srv", "--token", "other"]).identity
    assert repr(RemoteServer([])).startswith("RemoteServer('no command'")


def test_the_settings_of_a_server_show_no_secrets():
    """The text of an entry has neither a password nor a key in the address, nor the words of the command."""
    entries = [
        McpServer(name="a", url="https://ada:secret@docs.example/mcp?key=secret"),
        McpServer(name="b", command="srv", args=("--token", "secret")),
    ]

    assert "secret" not in repr(entries)
    assert "'https://docs.example/mcp?...'" in repr(entries[0])
    assert "'srv and 2 words'" in repr(entries[1])
