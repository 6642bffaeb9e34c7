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
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
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


@dataclass(frozen=True, slots=True)
class _ProbeSetup:
    """
    The folder in which a probe runs.

    Attributes:
        folder: The path of the folder.
        token: A random word that occurs nowhere else. It is the content of the files that must not be read.
    """

    folder: str
    token: str

    @property
    def inside(self) -> str:
        return f"{self.folder}/workspace"

    @property
    def read_only(self) -> str:
        return f"{self.folder}/read-only"

    @property
    def outside(self) -> str:
        return f"{self.folder}/outside"

    def add_folders(self, visible_files: VisibleFiles) -> VisibleFiles:
        """Return *visible_files* with the folders of the probe added. Only these are searched for protected files."""

        def is_protected(path: str, access: Literal["read", "write"]) -> bool:
            names = {"secret"} if access == "read" else {"secret", "protected"}
            return os.path.dirname(path) == self.inside and os.path.basename(path) in names

        return replace(
            visible_files,
            writable=(*visible_files.writable, self.inside),
            read_only=(*visible_files.read_only, self.read_only),
            is_protected=is_protected,
            find_suspects=lambda folder, names: set(names),
            search_roots=(self.inside, self.read_only),
        )

    def list_targets(self) -> dict[str, Any]:
        """Return the facts that the attempts need, such as the paths that they must not reach."""
        with open("/proc/self/stat", "rb") as file:
            started = file.read().rpartition(b") ")[2].split()[19].decode()
        return {
            "token": self.token,
            "inside": self.inside,
            "outside": self.outside,
            "outside_file": f"{self.outside}/file",
            "secret": f"{self.inside}/secret",
            "protected": f"{self.inside}/protected",
            "read_only_file": f"{self.read_only}/file",
            "read_only_fifo": f"{self.read_only}/fifo",
            "socket": f"{self.inside}/socket",
            "read_only_socket": f"{self.read_only}/socket",
            "abstract": f"toolkit-{self.token}",
            "pid": os.getpid(),
            "started": started,
            "port": 0,
        }


def probe_sandbox(
    build_sandbox: Callable[[VisibleFiles], Sandbox | str],
    visible_files: VisibleFiles,
    *,
    escapes_file: Path | None = None,
) -> EscapesByAttempt:
    """
    Run every attempt to escape from a sandbox, and return what each attempt reached.

    *build_sandbox* returns the sandbox for *visible_files* and the folders of the probe. The tests give the file of a
    longer list of attempts, which needs a FIFO and sockets for datagrams too.

    Raises:
        ProbeError: No command runs in the sandbox.
    """
    with contextlib.ExitStack() as stack:
        try:
            setup, targets = stack.enter_context(_make_probe_setup())
        except OSError as error:
            raise ProbeError(f"a trial run could not be prepared: {error}") from error
        sandbox = build_sandbox(setup.add_folders(visible_files))
        if isinstance(sandbox, str):
            raise ProbeError(sandbox)
        program = [sys.executable, "-I", "-S", "-c", (escapes_file or ESCAPES).read_text(), json.dumps(targets)]
        output, errors = _run(sandbox, ["/bin/sh", "-c", _SCRIPT, "sh", *program], setup.inside)
        try:
            escapes: EscapesByAttempt = json.loads(output)
        except ValueError:
            return {"not be run": [errors or "it wrote no message"]}
        if os.path.exists(f"{setup.outside}/{setup.token}"):
            escapes["write_outside"].append(setup.outside)
        return {name: [place.removeprefix(f"{setup.folder}/") for place in places] for name, places in escapes.items()}


def run_trial(sandbox: Sandbox, root: str) -> None:
    """
    Run a command in *sandbox* that does nothing.

    Raises:
        ProbeError: The command did not run.
    """
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


@contextlib.contextmanager
def _make_probe_setup() -> Iterator[tuple[_ProbeSetup, dict[str, Any]]]:
    """Make the folder of a probe, with listening sockets. Both are removed at the end."""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="toolkit-probe-"))
        setup = _ProbeSetup(os.path.realpath(folder), secrets.token_hex(8))
        for place, names in (
            (setup.inside, ("secret", "protected")),
            (setup.read_only, ("file",)),
            (setup.outside, ("file",)),
        ):
            os.mkdir(place, 0o700)
            for name in names:
                Path(place, name).write_text(setup.token)
        targets = setup.list_targets()
        os.mkfifo(targets["read_only_fifo"])
        # Without a reader, a FIFO cannot be opened for writing even if this is allowed.
        stack.callback(os.close, os.open(targets["read_only_fifo"], os.O_RDWR))
        for address in (targets["socket"], targets["read_only_socket"], f"\0{targets['abstract']}"):
            for kind, name in ((socket.SOCK_STREAM, address), (socket.SOCK_DGRAM, f"{address}.datagram")):
                listener = stack.enter_context(socket.socket(socket.AF_UNIX, kind))
                _bind(listener, name)
                if kind == socket.SOCK_STREAM:
                    listener.listen()
        with contextlib.suppress(OSError):  # a machine without a loopback
            port = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            targets["port"] = port.getsockname()[1]
        yield setup, targets


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
