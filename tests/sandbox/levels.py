"""What tests of sandboxes share: a level or a loud skip, one command in it, and who still runs."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import threading
import time

import pytest

from toolkit.errors import ToolError
from toolkit.sandbox import best_sandbox

REAL = ["bubblewrap", "landlock"]
ALL = [*REAL, "limits", "none"]


def level(workspace, name, **options):
    """The sandbox of that name; the test is skipped, and says why, on a machine that has none."""
    try:
        return best_sandbox(workspace, level=name, **options)
    except ToolError as error:
        pytest.skip(f"NOT TESTED HERE: {error}")


def run(sandbox, script, *, cwd, env=None, timeout=60, before=lambda: None):
    """Run *script* with a private folder; *before* is called between the first look at the workspace and the start."""
    with tempfile.TemporaryDirectory() as private:
        os.mkdir(f"{private}/home")
        argv, given = sandbox.command(
            ["/bin/sh", "-c", script],
            cwd=str(cwd),
            env={"PATH": "/usr/bin:/bin", **sandbox.homes(os.path.realpath(private)), **(env or {})},
            private=os.path.realpath(private),
        )
        before()
        return subprocess.run(
            argv,
            env=given,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            start_new_session=True,
            check=False,
        )


def report(sandbox, script, *, cwd, before=lambda: None):
    """What the launcher reports about *script*, and the finished process."""
    read, write = os.pipe()
    with os.fdopen(read) as status:
        argv, env = sandbox.command(
            ["/bin/sh", "-c", script], cwd=str(cwd), env={"PATH": "/usr/bin:/bin"}, status_fd=write
        )
        before()
        done = subprocess.run(
            argv,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            start_new_session=True,
            pass_fds=(write,),
            check=False,
        )
        os.close(write)
        return json.load(status), done


def running(token):
    """The processes that have *token* on their command line, ours aside."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                if token.encode() in file.read() and int(name) != os.getpid():
                    found.append(int(name))
        except OSError:
            continue
    return found


def until(holds, *, seconds=20):
    """Wait until *holds* does; whether it did."""
    ends, nothing = time.monotonic() + seconds, threading.Event()
    while not holds():
        if time.monotonic() > ends:
            return False
        nothing.wait(0.01)
    return True
