"""What tests of sandboxes share: a level or a loud skip, one command in it, and who still runs."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from toolkit.errors import ToolError
from toolkit.sandbox import best_sandbox

REAL = ["bubblewrap", "landlock"]
ALL = [*REAL, "limits", "none"]


def level(workspace, name, **options):
    """Return the sandbox of that name; skip the test, and say why, on a machine that has none."""
    try:
        return best_sandbox(workspace, level=name, **options)
    except ToolError as error:
        pytest.skip(f"NOT TESTED HERE: {error}")


def run(sandbox, script, *, cwd, env=None, timeout=60, before=lambda: None):
    """Run *script* with a private folder; *before* is called between the first look at the workspace and the start."""
    with tempfile.TemporaryDirectory() as private:
        os.mkdir(f"{private}/home")
        argv, environment = sandbox.command(
            ["/bin/sh", "-c", script],
            cwd=str(cwd),
            env={"PATH": "/usr/bin:/bin", **sandbox.homes(os.path.realpath(private)), **(env or {})},
            private=os.path.realpath(private),
        )
        before()
        return subprocess.run(
            argv,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            start_new_session=True,
            check=False,
        )


def report(sandbox, script, *, cwd, before=lambda: None):
    """Return what the launcher reports about *script*, and the finished process."""
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
    """Return the processes that have *token* on their command line, but for this one and those of other test runs."""
    numbers = [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]
    return [number for number in numbers if token.encode() in command_line(number) and not is_of_another_run(number)]


def command_line(number):
    """Return what a process was started with; nothing once it has ended."""
    try:
        return Path(f"/proc/{number}/cmdline").read_bytes()
    except OSError:
        return b""


def is_of_another_run(number):
    """Return whether a process descends from a pytest, and not from this one. What has lost its parents may be ours."""
    is_under_pytest = False
    while number > 1:
        if number == os.getpid():
            return False
        is_under_pytest = is_under_pytest or b"\0-m\0pytest\0" in command_line(number)
        try:
            # The name of the program is in brackets, and may have anything in it.
            number = int(Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            return False
    return is_under_pytest
