"""The probe: a sandbox counts as contained only after it was tried to get out, here, and nothing succeeded."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
import sys
import tempfile

import pytest

from toolkit.errors import ToolError
from toolkit.sandbox import best_sandbox, probe, sandboxes
from toolkit.sandbox.base import SandboxOptions
from toolkit.sandbox.launcher.escapes import ATTEMPTS
from toolkit.sandbox.selection import _BUILDERS
from toolkit.sandbox.system_paths import find_trusted_program
from toolkit.sandbox.visible_files import visible_files_of
from toolkit.workspace import Workspace

from .escapes import ATTEMPTS as ALL_ATTEMPTS
from .levels import level
from .promises import try_all_escapes
from .trials import forget_trials

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="NOT TESTED HERE: the probe is for Linux")

ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED HERE: only root gets out this way")


@pytest.fixture(autouse=True)
def every_trial_is_real(monkeypatch):
    forget_trials(monkeypatch)


@pytest.fixture
def workspace(tmp_path):
    """An empty one."""
    (tmp_path / "project").mkdir()
    return Workspace(tmp_path / "project")


@pytest.fixture
def put_on_path(tmp_path, monkeypatch):
    """Put a script on PATH in the place of `bwrap`; the real one is `{bwrap}` in it."""

    def write_program(script):
        real = find_trusted_program("bwrap", ())
        if real is None:
            pytest.skip("NOT TESTED HERE: `bwrap` is not on PATH")
        place = tmp_path / "bin"
        place.mkdir()
        (place / "bwrap").write_text(f"#!/bin/sh\n{script.format(bwrap=real)}\n")
        (place / "bwrap").chmod(0o755)
        monkeypatch.setenv("PATH", f"{place}:/usr/bin:/bin")

    return write_program


def test_bubblewrap_is_contained_after_the_probe(workspace):
    """No attempt of the probe succeeded, and the description says so."""
    sandbox = level(workspace, "bubblewrap")
    assert sandbox.findings == ()
    assert sandbox.contained is True
    assert "\n+ a probe tried to get out, on this machine, and could not\n" in sandbox.describe()


def test_a_sandbox_without_a_probe_does_not_count_as_contained(workspace):
    if isinstance(bubblewrap := sandboxes(workspace, probe=False)["bubblewrap"], str):
        pytest.skip(f"NOT TESTED HERE: {bubblewrap}")
    assert (bubblewrap.findings, bubblewrap.contained) == (None, False)
    assert bubblewrap.describe().endswith("no probe has tried to get out, so it does not count as contained")


@pytest.mark.parametrize("change", [{}, {"plan": lambda argv, cwd, private: {}}, {"network": False}])
def test_a_sandbox_that_was_derived_was_not_probed(workspace, change):
    """The findings hold for the sandbox that the probe ran in."""
    sandbox = level(workspace, "bubblewrap")
    assert dataclasses.replace(sandbox, **change).contained is False
    with pytest.raises((TypeError, ValueError)):
        dataclasses.replace(sandbox, findings=())
    with pytest.raises(dataclasses.FrozenInstanceError):
        sandbox.findings = ()


def test_a_summary_says_whether_a_sandbox_is_contained(workspace):
    """It has the reason, and a person reads it before they approve a command."""
    sandbox = level(workspace, "bubblewrap")
    first, *rest = sandbox.with_findings([]).summarize().splitlines()
    assert first == f"sandbox: bubblewrap, network {'on' if sandbox.network else 'off'}"
    assert rest[0].startswith("- not contained: it reaches the network" if sandbox.network else "+ contained: ")
    assert sandbox.with_findings(["a probe could fly"]).summarize().endswith("\n- a probe could fly")


@pytest.mark.parametrize("name", ["landlock", "limits", "none"])
def test_the_summary_of_a_weak_level_says_that_it_is_not_contained(workspace, name):
    assert "\n- not contained: " in level(workspace, name).summarize()


def test_the_description_of_a_sandbox_has_its_findings(workspace):
    """Such a sandbox is not contained."""
    sandbox = level(workspace, "bubblewrap").with_findings(["a probe could fly: to the moon"])
    assert sandbox.contained is False
    assert "\n- a probe could fly: to the moon\n" in sandbox.describe()


def test_a_program_that_confines_nothing_is_detected(workspace, put_on_path):
    """Commands run in it, so it is chosen. It is not contained, and every way out is named."""
    put_on_path('while [ "$1" != -- ]; do shift; done; shift; exec "$@"')
    sandbox = best_sandbox(workspace)
    assert (sandbox.name, sandbox.contained) == ("bubblewrap", False)
    for attempt in ("read secrets", "write protected files", "reach unix sockets", "reach network", "signal processes"):
        assert f"- a probe could {attempt}: " in sandbox.describe()


@ROOT_ONLY
def test_settings_of_the_kernel_that_can_be_written_are_found(workspace, put_on_path):
    """A program that mounts `/proc` once more, over the one that is read-only."""
    put_on_path('one=$1; two=$2; shift 2; exec {bwrap} "$one" "$two" --proc /proc "$@"')
    sandbox = best_sandbox(workspace)
    assert sandbox.contained is False
    [finding] = [finding for finding in sandbox.findings if "kernel settings" in finding]
    assert finding.startswith("a probe could write kernel settings: /proc/sys/")


def test_a_folder_outside_that_can_be_written_is_found(workspace, put_on_path):
    """A program that shows the machine's folder for temporary files."""
    folder = os.path.realpath(tempfile.gettempdir())
    put_on_path(f'one=$1; two=$2; shift 2; exec {{bwrap}} "$one" "$two" --bind {folder} {folder} "$@"')
    findings = best_sandbox(workspace).findings
    assert any(finding.startswith("a probe could write outside: outside") for finding in findings)
    assert any(finding.startswith("a probe could read outside: outside/file") for finding in findings)


@pytest.mark.long
@ROOT_ONLY
def test_root_without_the_right_to_mount_is_contained(workspace):
    """A container may allow only user namespaces. The devices of root are guarded in a namespace of their own."""
    level(workspace, "bubblewrap")
    if shutil.which("setpriv") is None:
        pytest.skip("NOT TESTED HERE: `setpriv` is not installed")
    code = (
        "from toolkit.sandbox import sandboxes; from toolkit.workspace import Workspace; "
        f"print(sandboxes(Workspace({workspace.root!r}))['bubblewrap'].findings)"
    )
    command = ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-all", sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "()\n", done.stderr


def test_a_probe_that_does_not_run_proves_nothing(workspace, tmp_path, monkeypatch):
    """Commands run, but whether they get out is not known."""
    broken = tmp_path / "broken.py"
    broken.write_text("raise SystemExit('out of order')")
    monkeypatch.setattr(probe, "ESCAPES", broken)
    sandbox = level(workspace, "bubblewrap")
    assert sandbox.findings == ("a probe could not be run: out of order",)
    assert sandbox.contained is False


@pytest.mark.parametrize("name", ["bubblewrap", "landlock"])
def test_a_probe_leaves_no_files(workspace, name, tmp_path, monkeypatch):
    """The workspace and the folder for temporary files are empty, however deep the latter is."""
    deep = tmp_path / ("x" * 100) / ("y" * 100)
    deep.mkdir(parents=True)
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    sandbox = level(workspace, name)
    assert sandbox.contained is (name == "bubblewrap")
    assert list(deep.iterdir()) == []
    assert os.listdir(workspace.root) == []


OPEN_TO_ALL = [
    "read_outside",
    "write_outside",
    "change_modes",
    "make_setuid_files",
    "read_secrets",
    "write_protected_files",
    "reach_unix_sockets",
    "reach_network",
    "signal_processes",
    "see_processes",
]


def try_short_list(build_sandbox, workspace):
    """Return what the list reaches that is tried wherever the library runs."""
    return probe.probe_sandbox(build_sandbox, visible_files_of(workspace))


LISTS = pytest.mark.parametrize(
    ("try_list", "attempts"), [(try_short_list, ATTEMPTS), (try_all_escapes, ALL_ATTEMPTS)], ids=["short", "long"]
)


@LISTS
def test_the_attempts_of_the_probe_succeed_without_a_sandbox(workspace, try_list, attempts):
    """So a failed attempt says something about the sandbox."""
    findings = try_list(lambda visible: best_sandbox(workspace, level="none"), workspace)
    assert list(findings) == list(attempts)
    assert [name for name in OPEN_TO_ALL if name in attempts and not findings[name]] == []
    if os.geteuid() == 0:
        assert findings["write_kernel_settings"]


def test_bubblewrap_prevents_every_attempt_of_the_long_list(workspace):
    level(workspace, "bubblewrap")
    options = SandboxOptions()
    findings = try_all_escapes(lambda visible: _BUILDERS["bubblewrap"](visible, options), workspace)
    assert findings == dict.fromkeys(ALL_ATTEMPTS, [])


def test_the_short_list_leaves_out_attempts_with_the_same_outcome_on_every_machine():
    """Mounts and setuid files are refused by the filter of system calls. Processes are hidden by the means that hold them."""
    assert {*ALL_ATTEMPTS} - {*ATTEMPTS} == {"mount_files", "make_setuid_files", "see_processes"}
    assert [name for name in ALL_ATTEMPTS if name in ATTEMPTS] == list(ATTEMPTS)


def test_a_sandbox_in_which_no_command_runs_is_an_error(workspace):
    """`sandboxes` gives the reason for the level."""
    with pytest.raises(probe.ProbeError, match="not there"):
        probe.probe_sandbox(lambda visible: "it is not there", visible_files_of(workspace))
    unconfined = best_sandbox(workspace, level="none")
    broken = dataclasses.replace(unconfined, plan=lambda argv, cwd, private: {"argv": ["/nowhere"], "cwd": cwd})
    with pytest.raises(probe.ProbeError, match="a trial run failed with exit code 125: .*nowhere"):
        probe.probe_sandbox(lambda visible: broken, visible_files_of(workspace))


def test_a_machine_without_room_for_a_probe_has_no_sandbox(workspace, monkeypatch, tmp_path):
    """The error says what could not be made."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    if find_trusted_program("bwrap", ()) is None:
        pytest.skip("NOT TESTED HERE: `bwrap` is not on PATH")
    with pytest.raises(ToolError, match="a trial run could not be prepared: .*nowhere"):
        best_sandbox(workspace, level="bubblewrap")
