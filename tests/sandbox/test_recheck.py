"""The second look: who gets an answer, and what becomes of the thread that gives it."""

from __future__ import annotations

import gc
import json
import os
import socket
import subprocess
import sys
import threading

import pytest

from tests.clocks import block_until
from tests.descriptors import list_descriptors, list_new_descriptors
from toolkit.errors import ToolError
from toolkit.sandbox.recheck import RecheckServer


def ask(name):
    with socket.socket(socket.AF_UNIX) as asking:
        asking.settimeout(10)
        asking.connect(f"\0{name}")
        answer = b"".join(iter(lambda: asking.recv(4096), b""))
    return json.loads(answer) if answer else None


def recheck_threads():
    return {thread for thread in threading.enumerate() if thread.name == "toolkit-recheck"}


def test_every_question_is_answered_anew_by_a_lookup():
    """An earlier answer is not used again."""
    numbers = iter(range(9))
    server = RecheckServer(lambda: {"protected_mounts": [next(numbers)]})
    assert [ask(server.address)["protected_mounts"] for _ in range(3)] == [[0], [1], [2]]


def test_a_failed_recheck_is_reported_and_the_server_goes_on():
    """The command does not run."""
    answers = iter([1, 0])
    server = RecheckServer(lambda: {"protected_mounts": [1 // next(answers)]})
    assert ask(server.address) == {"protected_mounts": [1]}
    assert ask(server.address)["failure"].startswith("ZeroDivisionError")
    assert ask(server.address)["failure"].startswith("StopIteration")


def test_the_recheck_server_listens_once_and_only_on_demand():
    """Most sandboxes are only asked for their description."""
    before = recheck_threads()
    server = RecheckServer(dict)
    assert recheck_threads() <= before
    assert server.address == server.address
    assert len(recheck_threads() - before) == 1


def test_the_recheck_server_ends_with_its_owner():
    """No thread and no socket is left."""
    before = recheck_threads()
    server = RecheckServer(dict)
    name = server.address
    del server
    gc.collect()
    block_until(lambda: not recheck_threads() - before)
    with pytest.raises(ConnectionRefusedError):
        ask(name)


def test_a_recheck_server_without_a_thread_is_an_error_and_leaves_no_socket(monkeypatch):
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    before = list_descriptors()
    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(ToolError, match="can't start new thread"):
        _ = RecheckServer(dict).address
    assert not list_new_descriptors(before)


def test_the_recheck_server_answers_after_a_client_has_hung_up():
    server = RecheckServer(lambda: {"protected_mounts": ["x" * 1_000_000]})
    with socket.socket(socket.AF_UNIX) as asking:
        asking.connect(f"\0{server.address}")
    assert len(ask(server.address)["protected_mounts"][0]) == 1_000_000


FORKING = """
import json, os, socket
from toolkit.sandbox.recheck import RecheckServer
from tests.sandbox.test_recheck import ask

server = RecheckServer(lambda: {"pid": os.getpid()})
assert ask(server.address) == {"pid": os.getpid()}
child = os.fork()
if child == 0:
    os._exit(0 if ask(server.address) == {"pid": os.getpid()} else 1)
print(os.waitpid(child, 0)[1], ask(server.address) == {"pid": os.getpid()})
"""


def test_a_forked_child_starts_another_recheck_server():
    """A fork does not copy the thread that answers."""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKING], capture_output=True, text=True, check=False)
    assert done.stdout == "0 True\n", done.stderr


def test_another_user_gets_no_answer():
    """Every user of the machine can find such a socket."""
    python = "/usr/bin/python3"
    if os.geteuid() != 0 or not os.path.exists(python):
        pytest.skip(f"NOT TESTED HERE: needs root, to become another user, and {python}")
    server = RecheckServer(lambda: {"protected_mounts": ["secret name"]})
    code = f"import socket; s = socket.socket(socket.AF_UNIX); s.connect('\\0{server.address}'); print(s.recv(99))"
    done = subprocess.run(
        [python, "-I", "-S", "-c", code],
        user=65534,
        group=65534,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "secret name" not in done.stdout + done.stderr
    assert done.stdout == "b''\n", done.stderr
