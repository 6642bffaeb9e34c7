"""The kernel's files, which root may write without a single capability."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

from toolkit.sandbox import sandboxes
from toolkit.sandbox.bubblewrap import DEVICES, USER_NAME, choose_user, list_masked_files
from toolkit.workspace import Workspace

from .levels import REAL, level, run

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="NOT TESTED HERE: the probe is for Linux"),
    pytest.mark.first_cases(2),
]

ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED HERE: only root's commands are affected")


def content(path):
    with open(path) as file:
        return file.read()


@pytest.mark.parametrize("name", REAL)
def test_no_file_of_the_kernel_can_be_written(name, tmp_path):
    """These are the settings of `/proc/sys`, and files of `/proc` that are not about a process."""
    script = """
        find /proc/sys /proc/irq /proc/bus /proc/fs -type f 2>/dev/null | while read -r path; do
            (: >> "$path") 2>/dev/null && echo "$path"
        done
        for path in /proc/[a-z]*; do [ -f "$path" ] && (: >> "$path") 2>/dev/null && echo "$path"; done
        echo done
    """
    assert run(level(Workspace(tmp_path), name), script, cwd=tmp_path).stdout == "done\n"


@ROOT_ONLY
@pytest.mark.parametrize("name", REAL)
def test_the_program_for_crashes_cannot_be_changed(name, tmp_path):
    """The kernel starts it outside of every sandbox. The test writes back the current value."""
    path = "/proc/sys/kernel/core_pattern"
    before = content(path)
    done = run(
        level(Workspace(tmp_path), name), f'value=$(cat {path}); echo "$value" > {path} && echo written', cwd=tmp_path
    )
    assert done.stdout == ""
    assert content(path) == before


@pytest.mark.parametrize("name", REAL)
def test_files_for_root_are_not_readable(name, tmp_path):
    """They are about memory and timers. In bubblewrap a few that every user may read count, too, such as the list of keys."""
    paths = " ".join(path for path in list_masked_files() if name == "bubblewrap" or not os.stat(path).st_mode & 0o004)
    sandbox = level(Workspace(tmp_path), name)
    if name == "landlock" and os.geteuid() == 0:
        pytest.skip("NOT HELD: Landlock grants the whole of /proc for reading, and root may read them")
    done = run(sandbox, f"for path in {paths}; do head -c 1 $path 2>/dev/null | wc -c; done", cwd=tmp_path)
    assert set(done.stdout.split()) <= {"0"}


def test_devices_are_used_but_not_changed(tmp_path):
    """Their modes belong to the machine. A device that only its owner may open would stop every program."""
    before = {path: os.stat(path).st_mode for path in DEVICES if os.path.exists(path)}
    script = "echo x > /dev/null && head -c 3 /dev/zero | wc -c; for path in /dev/*; do chmod 600 $path && echo $path; done; touch /dev/new"
    done = run(level(Workspace(tmp_path), "bubblewrap"), script, cwd=tmp_path)
    changed = [path for path, mode in before.items() if os.stat(path).st_mode != mode]
    for path in changed:
        os.chmod(path, before[path])
    assert changed == []
    pipes = {"/dev/stdout", "/dev/stderr"}
    assert set(done.stdout.split()) <= {"3", "/dev/shm", "/dev/pts", "/dev/ptmx", *pipes}


@ROOT_ONLY
@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_device_that_is_open_already_is_not_changed_either(number, tmp_path):
    """The descriptor would lead around the mounts of the sandbox."""
    sandbox = level(Workspace(tmp_path), "bubblewrap")
    before = os.stat("/dev/null").st_mode
    code = f"import os; open('began', 'w'); os.fchmod({number}, 0o600)"
    argv, env = sandbox.command([sys.executable, "-I", "-c", code], cwd=str(tmp_path), env={"PATH": os.defpath})
    empty = subprocess.DEVNULL
    done = subprocess.run(argv, env=env, stdin=empty, stdout=empty, stderr=empty, start_new_session=True, check=False)
    after = os.stat("/dev/null").st_mode
    os.chmod("/dev/null", before & 0o7777)
    assert (tmp_path / "began").exists()
    assert (done.returncode, after) == (1, before)


def test_files_are_covered_by_their_modes_and_names(tmp_path):
    """
    They are files that others may not read, and files that container runtimes cover. Processes and folders are
    not.
    """
    for name, mode in (("secret", 0o400), ("trigger", 0o200), ("kcore", 0o444), ("uptime", 0o444), ("17", 0o400)):
        (tmp_path / name).touch()
        (tmp_path / name).chmod(mode)
    (tmp_path / "folder").mkdir(0o500)
    assert [os.path.basename(path) for path in list_masked_files(str(tmp_path))] == ["kcore", "secret", "trigger"]


@pytest.mark.parametrize("root", ["/proc/sys", "/sys/kernel", "/dev"])
@pytest.mark.parametrize("name", REAL)
def test_a_workspace_in_a_file_system_of_the_kernel_has_no_sandbox(root, name):
    """Writing there changes the machine, and no sandbox can help."""
    levels = sandboxes(Workspace(root), probe=False)
    assert "belongs to the kernel" in levels[name] or not os.path.isdir(root), levels[name]


# The user that a command of root is.


@ROOT_ONLY
def test_a_command_of_root_is_an_ordinary_user(tmp_path):
    """Its number, its name and its group are those of the user."""
    done = run(level(Workspace(tmp_path), "bubblewrap"), "id -u; id -un; id -gn; echo ~sandbox", cwd=tmp_path)
    number, *names = done.stdout.split()
    assert int(number) == choose_user() != 0
    assert names == [USER_NAME, USER_NAME, "/tmp/home"]


@ROOT_ONLY
def test_the_files_of_root_are_used_as_their_owner_does(tmp_path):
    """A file for its owner alone is read, written and removed, and what is new belongs to root outside."""
    for name in ("old", "gone"):
        (tmp_path / name).write_text("root's\n")
        (tmp_path / name).chmod(0o600)
    script = "cat old; echo more >> old; rm gone; chmod 640 old; mkdir sub; echo new > sub/new; stat -c %U old sub/new"
    done = run(level(Workspace(tmp_path), "bubblewrap"), script, cwd=tmp_path)
    assert done.stdout == f"root's\n{USER_NAME}\n{USER_NAME}\n"
    assert content(tmp_path / "old") == "root's\nmore\n"
    assert {os.stat(tmp_path / name).st_uid for name in ("old", "sub", "sub/new")} == {0}
    assert os.stat(tmp_path / "old").st_mode & 0o777 == 0o640
    assert not (tmp_path / "gone").exists()


def test_an_ordinary_users_commands_keep_their_user(monkeypatch):
    """Only root is replaced."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert choose_user() is None


@pytest.mark.parametrize("name", REAL)
def test_a_command_cannot_create_a_setuid_file(name, tmp_path):
    """A copy of a shell that root owns would make every user of the machine root."""
    script = """
        cp /bin/sh shell && chmod 755 shell && echo ordinary
        chmod u+s shell && echo set
        install -m 4755 /bin/sh other && echo installed
    """
    done = run(level(Workspace(tmp_path), name), script, cwd=tmp_path)
    assert done.stdout == "ordinary\n"
    assert [path.name for path in tmp_path.iterdir() if path.stat().st_mode & 0o4000] == []


# Unix sockets.


@pytest.fixture
def service(tmp_path):
    """Unix sockets of a service outside: in the workspace, in a folder that is only read, and without a path."""
    root, manuals = tmp_path / "project", tmp_path / "manuals"
    root.mkdir()
    manuals.mkdir()
    listeners = []
    for address in (str(root / "socket"), str(manuals / "socket"), f"\0toolkit-test-{os.getpid()}"):
        for kind, end in ((socket.SOCK_STREAM, ""), (socket.SOCK_DGRAM, ".datagram")):
            listener = socket.socket(socket.AF_UNIX, kind)
            listener.bind(address + end)
            if kind == socket.SOCK_STREAM:
                listener.listen()
            listeners.append(listener)
    os.link(root / "socket", root / "link")
    yield Workspace(root, read_only=[manuals])
    for listener in listeners:
        listener.close()


CONNECT = """
import os, socket, sys
for address in ["socket", "link", "../manuals/socket", f"\\0toolkit-test-{sys.argv[1]}"]:
    for kind, end in ((socket.SOCK_STREAM, ""), (socket.SOCK_DGRAM, ".datagram")):
        try:
            client = socket.socket(socket.AF_UNIX, kind)
            client.connect(address + (end if address != "link" else ""))
            print("reached", repr(address), kind)
        except OSError as error:
            continue
print("done")
"""


@pytest.mark.parametrize("name", REAL)
def test_a_service_is_not_reached_by_its_unix_socket(name, service):
    """This holds for any place, name and age of the socket."""
    sandbox = level(service, name)
    done = run(sandbox, f"{sys.executable} -I -c '{CONNECT}' {os.getpid()}", cwd=service.root)
    assert done.stdout == "done\n", done.stderr
    assert "opens no " in sandbox.describe()


def test_unix_sockets_can_be_allowed(service):
    """
    Some programs need them. A service with a visible socket can be reached then, and the sandbox is not
    contained.
    """
    sandbox = level(service, "bubblewrap", local_sockets=True)
    done = run(sandbox, f"{sys.executable} -I -c '{CONNECT}' {os.getpid()}", cwd=service.root)
    assert "reached 'socket'" in done.stdout
    assert "reached 'link'" in done.stdout
    assert "toolkit-test" not in done.stdout
    assert sandbox.contained is False
    assert "it reaches services of this machine by unix sockets" in sandbox.describe()
    assert "- a probe could reach unix sockets: workspace/socket, read-only/socket" in sandbox.describe()


POOL = "from multiprocessing import Pool; print(sum(Pool(2).map(abs, range(-9, 1))))"
MANAGER = "from multiprocessing import Manager; print(Manager().list([45])[0])"
PAIR = "import asyncio, socket; socket.socketpair(); asyncio.run(asyncio.sleep(0)); print(45)"
LOOPBACK = """
import socket
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
server.accept()[0].sendall(b"45")
print(client.recv(9).decode())
"""


@pytest.mark.parametrize(
    "code", [POOL, PAIR, LOOPBACK], ids=["a pool of processes", "a pair of sockets", "a port of its own"]
)
def test_a_program_without_unix_sockets_with_a_path_works(code, tmp_path):
    """Its processes talk to each other by pipes, pairs of sockets, and ports that no other process reaches."""
    (tmp_path / "program.py").write_text(code)
    done = run(level(Workspace(tmp_path), "bubblewrap"), f"{sys.executable} -I program.py", cwd=tmp_path)
    assert done.stdout == "45\n", done.stderr


@pytest.mark.parametrize("is_allowed", [False, True])
def test_a_program_that_needs_a_unix_socket_works_only_with_permission(is_allowed, tmp_path):
    """A manager of Python's processes is such a program."""
    (tmp_path / "program.py").write_text(MANAGER)
    sandbox = level(Workspace(tmp_path), "bubblewrap", local_sockets=is_allowed)
    done = run(sandbox, f"{sys.executable} -I program.py", cwd=tmp_path)
    assert (done.stdout == "45\n") is is_allowed
    assert is_allowed or "PermissionError" in done.stderr


@pytest.mark.parametrize("program", ["git", "make", "node", "npm", "gcc", "java", "perl"])
def test_ordinary_programs_work(program, tmp_path):
    """Those that are installed do their work without unix sockets, and without the kernel's files."""
    import shutil

    place = shutil.which(program)
    if place is None:
        pytest.skip(f"NOT TESTED HERE: `{program}` is not installed")
    (tmp_path / "Makefile").write_text("all: made\nmade:\n\techo made > made\n")
    (tmp_path / "main.c").write_text("int main(void) { return 0; }\n")
    (tmp_path / "package.json").write_text('{"name": "test", "version": "1.0.0", "scripts": {"test": "echo tested"}}')
    child = "require('child_process').fork('/dev/null').on('exit', code => console.log('child', code))"
    scripts = {
        "git": "git init -q . && git add main.c && git -c user.name=me -c user.email=me@me commit -qm first && git log --oneline",
        "make": "make && cat made",
        "node": f'node -e "{child}"',
        "npm": "npm test",
        "gcc": "gcc main.c -o main && ./main && echo ran",
        "java": "java -version",
        "perl": "perl -e 'print 1'",
    }
    real = os.path.realpath(place)
    folder = os.path.dirname(os.path.dirname(real))
    further = [] if real.startswith("/usr/") else [folder]
    sandbox = best_or_skip(tmp_path, further)
    done = run(sandbox, scripts[program], cwd=tmp_path, env={"PATH": f"{os.path.dirname(place)}:/usr/bin:/bin"})
    assert done.returncode == 0, done.stderr
    assert done.stdout or done.stderr


def best_or_skip(folder, readable):
    return level(Workspace(folder), "bubblewrap", readable=readable)
