"""What each level keeps a command from, tried for real."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading

import pytest

from toolkit.sandbox import Limits
from toolkit.workspace import Workspace

from .levels import ALL, REAL, level, run

pytestmark = pytest.mark.first_cases(2)


@pytest.fixture
def folder(tmp_path):
    """A workspace with secrets, and with files that make programs run code."""
    root = tmp_path / "project"
    (root / ".git" / "hooks").mkdir(parents=True)
    (root / ".git" / "config").write_text("[core]\n")
    (root / "keys" / ".ssh").mkdir(parents=True)
    (root / "keys" / ".ssh" / "id").write_text("secret key")
    (root / "keys" / ".env").write_text("TOKEN=secret")
    (root / "src").mkdir()
    (root / "src" / "main.py").write_text("print('hello')\n")
    return root


@pytest.fixture(params=REAL)
def real(request, folder):
    """Each level that confines files."""
    return level(Workspace(folder), request.param)


@pytest.mark.parametrize("name", ALL)
def test_a_command_runs_and_its_exit_code_comes_back(name, folder):
    """At every level, a command does its work in the folder that it was given."""
    done = run(level(Workspace(folder), name), "cat src/main.py; exit 7", cwd=folder)
    assert (done.stdout, done.returncode) == ("print('hello')\n", 7)


@pytest.mark.parametrize("name", ALL)
def test_a_command_gets_no_variable_of_our_environment(name, folder):
    """It finds the variables that were given, and those that its shell sets."""
    os.environ["TOOLKIT_TEST_SECRET"] = "hidden"
    try:
        done = run(level(Workspace(folder), name), "env", cwd=folder, env={"GIVEN": "1"})
    finally:
        del os.environ["TOOLKIT_TEST_SECRET"]
    names = {line.partition("=")[0] for line in done.stdout.splitlines()}
    assert names - {"PWD", "OLDPWD", "SHLVL", "_", "LC_CTYPE"} == {"PATH", "HOME", "TMPDIR", "GIVEN"}


def test_the_workspace_can_be_written(real, folder):
    """Files of a command stay in the workspace."""
    assert (
        run(real, "mkdir src/new && echo made > src/new/file && mv src/new/file src/moved", cwd=folder).returncode == 0
    )
    assert (folder / "src" / "moved").read_text() == "made\n"


def test_no_file_outside_can_be_written(real, folder, tmp_path):
    """A file beside the workspace is not created, changed or removed."""
    beside = tmp_path / "beside"
    beside.write_text("as it was")
    done = run(
        real, f"echo x > {beside}; rm -f {beside}; echo x > {tmp_path}/new; echo x > /usr/x; ls /usr/x", cwd=folder
    )
    assert done.returncode != 0
    assert beside.read_text() == "as it was"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["beside", "project"]


def test_no_file_outside_can_be_read(real, folder, tmp_path):
    """The files are beside the workspace, behind a link, or secrets of the machine."""
    (tmp_path / "beside").write_text("outside")
    (folder / "link").symlink_to(tmp_path / "beside")
    done = run(
        real, f"cat {tmp_path}/beside link /etc/shadow ~root/.bashrc {os.path.expanduser('~')}/.bashrc", cwd=folder
    )
    assert done.stdout == ""
    assert done.returncode != 0


@pytest.mark.parametrize("path", ["keys/.env", "keys/.ssh/id"])
def test_secrets_in_the_workspace_cannot_be_read(real, folder, path):
    """A protected file is hidden, also under another name for it."""
    done = run(
        real, f"cat {path}; cat /proc/self/cwd/{path}; cp {path} src/copy; ln {path} src/link; cat src/*", cwd=folder
    )
    assert "secret" not in done.stdout
    assert (folder / path).read_text().count("secret") == 1


def test_a_secret_behind_an_innocent_link_is_hidden_too(real, folder):
    """A link called .env protects the file that it leads to."""
    (folder / "src" / "plain.txt").write_text("secret")
    (folder / "src" / ".env").symlink_to("plain.txt")
    assert "secret" not in run(real, "cat src/.env src/plain.txt", cwd=folder).stdout


def test_files_that_make_programs_run_code_cannot_be_changed(folder):
    """They can be read in bubblewrap. They and their folders cannot be written or replaced."""
    sandbox = level(Workspace(folder), "bubblewrap")
    script = "cat .git/config; echo x >> .git/config; echo x > .git/hooks/pre-commit; rm .git/config; mv .git .away; rm -rf .git/hooks"
    done = run(sandbox, script, cwd=folder)
    assert done.stdout == "[core]\n"
    assert (folder / ".git" / "config").read_text() == "[core]\n"
    assert list((folder / ".git" / "hooks").iterdir()) == []


def test_the_rest_of_a_repository_can_be_changed(real, folder):
    """A commit needs more of .git than the files that are protected in it."""
    assert run(real, "echo x > .git/index && rm .git/index && mkdir .git/objects", cwd=folder).returncode == 0


@pytest.mark.parametrize("name", REAL)
def test_a_read_only_folder_is_not_changed(tmp_path, name):
    """It is inside the workspace, and a writable folder is inside it."""
    (tmp_path / "root" / "vendor" / "own").mkdir(parents=True)
    (tmp_path / "root" / "vendor" / "file").write_text("vendored\n")
    workspace = Workspace(
        tmp_path / "root", folders=[tmp_path / "root/vendor/own"], read_only=[tmp_path / "root/vendor"]
    )
    done = run(
        level(workspace, name),
        "cat vendor/file; echo x > vendor/own/a; echo x > vendor/file; echo x > vendor/new",
        cwd=tmp_path / "root",
    )
    assert done.stdout == "vendored\n"
    assert sorted(os.listdir(tmp_path / "root" / "vendor")) == ["file", "own"]
    assert (tmp_path / "root/vendor/own/a").read_text() == "x\n"
    assert (tmp_path / "root/vendor/file").read_text() == "vendored\n"


CONNECT = "import socket; s = socket.create_connection(('127.0.0.1', {port}), 5); print(s.recv(9).decode())"


@pytest.fixture
def server():
    """A server on loopback that greets each client."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(30)
        yield listening


@pytest.mark.parametrize("name", REAL)
def test_a_server_is_not_reached_without_the_network(name, folder, server):
    """This includes a server on the same machine."""
    code = CONNECT.format(port=server.getsockname()[1])
    done = run(level(Workspace(folder), name), f'{sys.executable} -I -c "{code}"', cwd=folder)
    server.settimeout(0.05)
    with pytest.raises(TimeoutError):
        server.accept()
    assert done.returncode == 1, done.stderr
    assert "Error" in done.stderr


@pytest.mark.parametrize("name", REAL)
def test_a_server_is_reached_when_the_network_is_on(name, folder, server):
    """The same program, with the network."""
    sandbox = level(Workspace(folder), name, network=True)
    code = CONNECT.format(port=server.getsockname()[1])
    with greeting(server):
        done = run(sandbox, f'{sys.executable} -I -c "{code}"', cwd=folder)
    assert done.stdout == "greetings\n", done.stderr


@contextlib.contextmanager
def greeting(server):
    """Greet the client that reaches *server*, in a thread that ends with the block, also if it raises."""

    def greet():
        with contextlib.suppress(OSError):  # the block ended, and nothing came
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"greetings")

    thread = threading.Thread(target=greet)
    thread.start()
    try:
        yield
    finally:
        server.shutdown(socket.SHUT_RDWR)  # this ends the waiting; closing alone does not
        thread.join()


def test_the_thread_of_a_server_ends_with_its_block(server):
    """An exception may leave the block before any request, for example that of a skipped test."""
    before = set(threading.enumerate())
    with pytest.raises(ZeroDivisionError), greeting(server):
        raise ZeroDivisionError
    assert set(threading.enumerate()) == before


@pytest.mark.parametrize("name", REAL)
def test_local_services_are_not_reached(name, folder, tmp_path):
    """A socket in the file system, as Docker's is, is out of reach."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "service"))
        listening.listen()
        code = f"import socket; socket.socket(socket.AF_UNIX).connect('{tmp_path}/service'); print('reached')"
        done = run(level(Workspace(folder), name), f'{sys.executable} -I -c "{code}"', cwd=folder)
    assert done.stdout == ""
    assert done.returncode == 1


SYSTEM_CALLS = {
    "ptrace": "libc.ptrace(0, 0, 0, 0)",
    "mount": "libc.mount(b'none', b'/', b'tmpfs', 0, 0)",
    "a user namespace": "libc.unshare(0x10000000)",
    "keyctl": "libc.syscall(250, 0, 0, 0)",
    "a raw socket": "libc.socket(17, 3, 0)",
    "io_uring": "libc.syscall(425, 1, 0)",
}


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers are those of x86_64")
@pytest.mark.parametrize("call", SYSTEM_CALLS.values(), ids=SYSTEM_CALLS)
def test_dangerous_system_calls_are_refused(real, folder, call):
    """They fail with "Operation not permitted"."""
    code = f"import ctypes; libc = ctypes.CDLL(None, use_errno=True); print({call}, ctypes.get_errno())"
    assert run(real, f'{sys.executable} -I -c "{code}"', cwd=folder).stdout == "-1 1\n"


def test_no_privileges_are_left(real, folder):
    """No capabilities, and no program that could bring them back; only root may give up what it could have."""
    status = run(real, "cat /proc/self/status", cwd=folder).stdout.split()
    assert status[status.index("NoNewPrivs:") + 1] == "1"
    kinds = ["Inh", "Prm", "Eff", "Amb", *(["Bnd"] if real.name == "bubblewrap" or os.geteuid() == 0 else [])]
    assert {int(status[status.index(f"Cap{kind}:") + 1], 16) for kind in kinds} == {0}


@pytest.mark.parametrize("name", ["bubblewrap", "landlock", "limits"])
def test_the_memory_and_files_of_a_command_are_bounded(name, folder):
    """The system refuses a file that is too large, too much memory, and too many open files."""
    limits = Limits(file_bytes=1 << 16, memory_bytes=256 << 20, open_files=64, cpu_seconds=20)
    sandbox = level(Workspace(folder), name, limits=limits)
    assert run(sandbox, "head -c 100000 /dev/zero > src/big", cwd=folder).returncode != 0
    assert (folder / "src" / "big").stat().st_size == 1 << 16
    assert "MemoryError" in run(sandbox, f"{sys.executable} -I -c 'bytearray(1 << 30)'", cwd=folder).stderr
    assert run(sandbox, "ulimit -n; ulimit -t; ulimit -c", cwd=folder).stdout.split() == ["64", "20", "0"]


@pytest.mark.parametrize("name", ["bubblewrap", "landlock"])
def test_too_many_processes_are_ended(name, folder):
    """A command that starts more than the limit loses all of them, and its exit code says so."""
    sandbox = level(Workspace(folder), name, limits=Limits(processes=40))
    done = run(sandbox, "i=0; while [ $i -lt 300 ]; do sleep 61.27 & i=$((i+1)); done; wait; echo survived", cwd=folder)
    assert "survived" not in done.stdout
    assert done.returncode != 0


@pytest.mark.parametrize("name", ALL)
def test_the_levels_list_their_promises_and_their_gaps(folder, name):
    """A description names the level and the network, and has two lists."""
    text = level(Workspace(folder), name).describe()
    assert text.startswith(f"sandbox: {name}, network {'off' if name in REAL else 'on'}\n+ ")
    assert "\n- " in text


@pytest.mark.parametrize(
    ("name", "network", "contained"),
    [
        ("bubblewrap", False, True),
        ("bubblewrap", True, False),
        ("landlock", False, False),
        ("landlock", True, False),
        ("limits", False, False),
        ("none", False, False),
    ],
)
def test_contained_means_confined_and_without_a_network(name, network, contained, folder):
    """Only then can a command not send away the text that it read."""
    assert level(Workspace(folder), name, network=network).contained is contained
