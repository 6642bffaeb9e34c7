"""
What a sandbox holds, measured: the probe's attempts for each level, as root, as an ordinary user, in a container.

`python -m tests.sandbox.promises` prints the table of docs/workspace-and-sandbox.md, as far as this machine can tell.
`python -m tests.sandbox.promises USER LEVEL` prints one column of it as JSON; it has to be started as that user.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import errno
import json
import os
import platform
import shutil
import site
import socket
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from toolkit.sandbox import LEVELS, Limits, Sandbox, sandboxes
from toolkit.sandbox.base import SandboxOptions
from toolkit.sandbox.launcher.confine import _apply_seccomp
from toolkit.sandbox.probe import _bind, probe_sandbox
from toolkit.sandbox.selection import _BUILDERS
from toolkit.sandbox.visible_files import visible_files_of
from toolkit.workspace import Workspace

HELD, OPEN, ABSENT = "held", "–", "not there"
USERS = ("root", "user", "container")
ROWS = {
    "write_outside": "files outside the workspace are not written",
    "read_outside": "files outside the workspace are not read",
    "change_modes": "modes of files and devices outside stay as they are",
    "read_secrets": "secrets in the workspace are not read",
    "write_protected_files": "files that make programs run code are not written",
    "write_read_only_folders": "files and FIFOs of read-only folders are not written",
    "write_kernel_settings": "`/proc/sys` is not written",
    "write_kernel_files": "the rest of `/proc` and `/sys` is not written",
    "read_kernel_memory": "what `/proc` has for root alone is not read",
    "make_setuid_files": "no file is made that runs as its owner",
    "mount_files": "nothing is mounted, no device is made",
    "reach_network": "no port of this machine or another is reached",
    "reach_unix_sockets": "no service is reached by a unix socket",
    "signal_processes": "no process outside is signalled",
    "see_processes": "environment and memory of processes outside are not read",
    "count": "the number of processes is bounded",
}
ROOT = Path(__file__).parents[2]
ALL_ESCAPES = Path(__file__).parent / "escapes.py"
_NOBODY = 54321
_CAPABILITIES = (
    "chown dac_override fowner fsetid kill setgid setuid setpcap net_bind_service net_raw sys_chroot mknod audit_write "
    "setfcap"
)


def measure(level):
    """Return what *level* holds for this user, by row; or the reason why the level is not there."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Workspace(folder)
        sandbox = sandboxes(workspace, limits=Limits(processes=40))[level]
        if not isinstance(sandbox, Sandbox):
            return sandbox
        options = SandboxOptions()
        findings = try_all_escapes(lambda visible: _BUILDERS[level](visible, options), workspace)
        column = {row: OPEN if findings[row] else HELD for row in ROWS if row in findings}
        return column | {"count": HELD if _is_bounded(sandbox, folder) else OPEN}


def try_all_escapes(build_sandbox, workspace):
    """Return what the long list reaches. It needs a FIFO and sockets for datagrams besides what the probe makes."""
    with contextlib.ExitStack() as stack:

        def build(visible):
            inside, read_only = visible.writable[-1], visible.read_only[-1]
            os.mkfifo(f"{read_only}/fifo")
            # Without a reader, a FIFO cannot be opened for writing even if this is allowed.
            stack.callback(os.close, os.open(f"{read_only}/fifo", os.O_RDWR))
            abstract = f"\0toolkit-{Path(inside, 'secret').read_text()}"
            for address in (f"{inside}/socket", f"{read_only}/socket", abstract):
                listener = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
                _bind(listener, f"{address}.datagram")
            return build_sandbox(visible)

        return probe_sandbox(build, visible_files_of(workspace), escapes_file=ALL_ESCAPES)


def _is_bounded(sandbox, folder):
    script = "i=0; while [ $i -lt 300 ]; do sleep 61.28 & i=$((i+1)); done; wait; echo survived"
    argv, env = sandbox.command(["/bin/sh", "-c", script.replace("wait", "kill $(jobs -p)")], cwd=folder, env=_PATH)
    done = subprocess.run(argv, env=env, stdin=subprocess.DEVNULL, capture_output=True, start_new_session=True)
    return b"survived" not in done.stdout


_PATH = {"PATH": "/usr/bin:/bin"}


def column_of(user, level):
    """
    Return the column as another process measures it: its cells, or the reason why it is not had here.

    The second value tells whether the level is missing because of the user, which is a fact about the user, or
    because this machine lacks something.
    """
    command, reason = _command_of(user)
    if command is None:
        return reason, False
    done = subprocess.run([*command, user, level], capture_output=True, text=True, cwd=ROOT, check=False, timeout=300)
    if done.returncode != 0:
        return f"the column could not be measured: {done.stderr[-500:]}", False
    column = json.loads(done.stdout)
    is_missing = isinstance(column, str) and ("is not on PATH" in column or "no Landlock" in column)
    return column, not is_missing


def _command_of(user):
    """Return how to start this module as *user*; or the reason why that cannot be done."""
    module = ["-m", "tests.sandbox.promises"]
    if os.geteuid() != 0:
        return ([sys.executable, *module], "") if user == "user" else (None, f"only root can become {user}")
    if user == "root":
        return [sys.executable, *module], ""
    if shutil.which("setpriv") is None:
        return None, "`setpriv` is not installed"
    if user == "container":
        bounds = ",".join(["-all", *(f"+{name}" for name in _CAPABILITIES.split())])
        return ["setpriv", f"--bounding-set={bounds}", "--inh-caps=-all", sys.executable, *module], ""
    paths = os.pathsep.join([str(ROOT), *site.getsitepackages()])
    become = ["setpriv", f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups", "env", f"PYTHONPATH={paths}"]
    for python in dict.fromkeys([sys.executable, "/usr/bin/python3"]):
        command = [*become, "HOME=/nowhere", python, *module]
        if subprocess.run([*command, "--check"], cwd=ROOT, capture_output=True, check=False).returncode == 0:
            return command, ""
    return None, "an ordinary user can start no Python here that has the package's dependencies"


def refuse_namespaces():
    """Refuse mounts and namespaces to this process, as container runtimes do for a root without `CAP_SYS_ADMIN`."""
    numbers = {"x86_64": (272, 165, 435, 56), "aarch64": (97, 40, 435, 220)}.get(platform.machine())
    if numbers is None:
        raise SystemExit(f"the system calls of {platform.machine()} are not known here")
    unshare, mount, clone3, clone = numbers
    refuse, unknown, allow = 0x50000 | errno.EPERM, 0x50000 | errno.ENOSYS, 0x7FFF0000
    code = [
        (0x20, 0, 0, 0),
        *((0x15, 0, 1, unshare), (0x06, 0, 0, refuse)),
        *((0x15, 0, 1, mount), (0x06, 0, 0, refuse)),
        *((0x15, 0, 1, clone3), (0x06, 0, 0, unknown)),
        *((0x15, 0, 3, clone), (0x20, 0, 0, 16), (0x45, 0, 1, 0x10000000), (0x06, 0, 0, refuse)),
        (0x06, 0, 0, allow),
    ]
    ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)
    _apply_seccomp(
        {
            "argv": [],
            "seccomp_filter": base64.b64encode(b"".join(struct.pack("=HBBI", *step) for step in code)).decode(),
        }
    )


def render_table(columns):
    """Return the table as Markdown; *columns* has the cells by user and level."""
    names = [(user, level) for user in USERS for level in LEVELS]
    lines = ["| | " + " | ".join(f"{user}, {level}" for user, level in names) + " |"]
    lines.append("|---" * (len(names) + 1) + "|")
    for row, words in ROWS.items():
        cells = [ABSENT if isinstance(columns[name], str) else columns[name][row] for name in names]
        lines.append(f"| {words} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def read_table(text):
    """Return the columns of the first table in *text* that has them, by user and level, as `render_table` writes it."""
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
    start = next(at for at, cells in enumerate(lines) if cells[-1] == f"{USERS[-1]}, {LEVELS[-1]}")
    rows = {words: row for row, words in ROWS.items()}
    table = {cells[0]: cells[1:] for cells in lines[start + 2 : start + 2 + len(ROWS)]}
    names = [tuple(cell.split(", ")) for cell in lines[start][1:]]
    return {name: {rows[words]: cells[at] for words, cells in table.items()} for at, name in enumerate(names)}


def main(arguments):
    """Print the table, or the column that *arguments* name."""
    if arguments == ["--check"]:
        return
    if arguments:
        user, level = arguments
        if user == "container":
            refuse_namespaces()
        sys.stdout.write(json.dumps(measure(level)))
        return
    columns = {(user, level): column_of(user, level)[0] for user in USERS for level in LEVELS}
    for name, column in columns.items():
        if isinstance(column, str):
            sys.stderr.write(f"{name}: {column}\n")
    sys.stdout.write(render_table(columns) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
