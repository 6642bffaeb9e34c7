"""
The trial of a sandbox before it is trusted: one run that shows that commands run and cannot escape.

The probe makes a folder for itself. In it is a substitute for a workspace, with a protected file and a socket, and
next to that a folder that counts as outside. The real workspace is part of the sandbox too, but nothing in it is
searched or touched. Inside the sandbox, `launcher/escapes.py` tries to escape in a few ways, and reports what
succeeded.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from ..errors import ToolError
from .base import Sandbox
from .visible_files import VisibleFiles

__all__ = ["ESCAPES", "EscapesByAttempt", "ProbeError", "probe_sandbox", "run_trial"]

ESCAPES = Path(__file__).parent / "launcher" / "escapes.py"
_EXPECTED_OUTPUT = b"42"
_SCRIPT = 'echo $((6 * 7)); exec "$@"'
_TIMEOUT_SECONDS = 20

EscapesByAttempt = dict[str, list[str]]
"""What each attempt to escape reached, by the name of the attempt. The list is empty if the attempt was prevented."""


class ProbeError(Exception):
    """No command runs in the sandbox. The message says why."""


def probe_sandbox(
    build_sandbox: Callable[[VisibleFiles], Sandbox | str],
    visible_files: VisibleFiles,
    *,
    escapes_file: Path | None = None,
) -> EscapesByAttempt:
    """
    Run every attempt to escape from a sandbox, and return what each attempt reached.

    *build_sandbox* returns the sandbox for *visible_files* and the folders of the probe, which exist by then. The tests
    give the file of a longer list of attempts. Raise `ProbeError` if no command runs in the sandbox.
    """
    with contextlib.ExitStack() as stack:
        try:
            targets = _make_targets(stack)
        except OSError as error:
            raise ProbeError(f"a trial run could not be prepared: {error}") from error
        sandbox = build_sandbox(_add_folders(visible_files, targets["inside"], targets["read_only"]))
        if isinstance(sandbox, str):
            raise ProbeError(sandbox)
        program = [sys.executable, "-I", "-S", "-c", (escapes_file or ESCAPES).read_text(), json.dumps(targets)]
        output, errors = _run(sandbox, ["/bin/sh", "-c", _SCRIPT, "sh", *program], targets["inside"])
        try:
            escapes: EscapesByAttempt = json.loads(output)
        except ValueError:
            return {"not be run": [errors or "it wrote no message"]}
        if os.path.exists(f"{targets['outside']}/{targets['token']}"):
            escapes["write_outside"].append(targets["outside"])
        folder = os.path.dirname(targets["inside"])
        return {name: [place.removeprefix(f"{folder}/") for place in places] for name, places in escapes.items()}


def _add_folders(visible_files: VisibleFiles, inside: str, read_only: str) -> VisibleFiles:
    """Return *visible_files* with the folders of the probe added. Only these are searched for protected files."""

    def is_protected(path: str, access: Literal["read", "write"]) -> bool:
        names = {"secret"} if access == "read" else {"secret", "protected"}
        return os.path.dirname(path) == inside and os.path.basename(path) in names

    return replace(
        visible_files,
        writable=(*visible_files.writable, inside),
        read_only=(*visible_files.read_only, read_only),
        is_protected=is_protected,
        find_suspects=lambda folder, names: set(names),
        search_roots=(inside, read_only),
    )


def run_trial(sandbox: Sandbox, root: str) -> None:
    """Run a command in *sandbox* that does nothing. Raise `ProbeError` if it did not run."""
    _run(sandbox, ["/bin/sh", "-c", _SCRIPT, "sh", "true"], root)


def _run(sandbox: Sandbox, argv: list[str], cwd: str) -> tuple[bytes, str]:
    """Return the output of the program in *argv* after it began, and its errors."""
    try:
        command, env = sandbox.command(argv, cwd=cwd, env={"PATH": os.defpath})
        completed = subprocess.run(  # noqa: S603 -- the argument list is ours
            command,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_TIMEOUT_SECONDS,
            start_new_session=True,
            check=False,
        )
    except (OSError, subprocess.SubprocessError, ToolError) as error:
        raise ProbeError(f"a trial run failed: {error}") from error
    errors = completed.stderr.decode(errors="replace").strip()[-300:]
    first, _, rest = completed.stdout.partition(b"\n")
    if first != _EXPECTED_OUTPUT:
        raise ProbeError(f"a trial run failed with exit code {completed.returncode}: {errors or 'it wrote no message'}")
    return rest, errors


def _make_targets(stack: contextlib.ExitStack) -> dict[str, Any]:
    """Make the files and sockets of a probe, which end with *stack*, and return the facts that the attempts need."""
    folder = os.path.realpath(stack.enter_context(tempfile.TemporaryDirectory(prefix="toolkit-probe-")))
    folders = {"inside": f"{folder}/workspace", "read_only": f"{folder}/read-only", "outside": f"{folder}/outside"}
    files = {
        "secret": f"{folders['inside']}/secret",
        "protected": f"{folders['inside']}/protected",
        "read_only_file": f"{folders['read_only']}/file",
        "outside_file": f"{folders['outside']}/file",
    }
    sockets = {"socket": f"{folders['inside']}/socket", "read_only_socket": f"{folders['read_only']}/socket"}
    token = secrets.token_hex(8)
    for place in folders.values():
        os.mkdir(place, 0o700)
    for path in files.values():
        Path(path).write_text(token)
    for address in (*sockets.values(), f"\0toolkit-{token}"):
        listener = stack.enter_context(socket.socket(socket.AF_UNIX))
        _bind(listener, address)
        listener.listen()
    port = 0
    with contextlib.suppress(OSError):  # a machine without a loopback
        port = stack.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1]
    process = {"pid": os.getpid(), "started": Path("/proc/self/stat").read_text().rpartition(") ")[2].split()[19]}
    return {**folders, **files, **sockets, **process, "token": token, "abstract": f"toolkit-{token}", "port": port}


def _bind(listener: socket.socket, address: str) -> None:
    if address.startswith("\0"):
        listener.bind(address)
        return
    # The socket is bound through its folder, because the kernel accepts at most 107 bytes and the folder for temporary
    # files may have a long path.
    folder = os.open(os.path.dirname(address), os.O_RDONLY | os.O_DIRECTORY)
    try:
        listener.bind(f"/proc/self/fd/{folder}/{os.path.basename(address)}")
    finally:
        os.close(folder)
