"""Which sandbox is chosen, and what is said if there is none."""

from __future__ import annotations

import dataclasses
import os
import sys
from pathlib import Path

import pytest

from toolkit.errors import ToolError
from toolkit.sandbox import LEVELS, Limits, Sandbox, best_sandbox, sandboxes
from toolkit.sandbox import selection as choosing_module
from toolkit.sandbox.base import SandboxOptions, launcher_command
from toolkit.sandbox.bubblewrap import bubblewrap
from toolkit.sandbox.landlock import landlock
from toolkit.sandbox.system_paths import list_readable_folders, list_settings
from toolkit.sandbox.visible_files import VisibleFiles, visible_files_of
from toolkit.workspace import Workspace

from .levels import level, run
from .trials import forget_trials


@pytest.fixture(autouse=True)
def every_trial_is_real(monkeypatch):
    forget_trials(monkeypatch)


@pytest.fixture
def workspace(tmp_path):
    """An empty one."""
    return Workspace(tmp_path)


def test_the_strongest_that_works_is_chosen(workspace):
    """The first level that a trial run succeeded in."""
    there = [sandbox for sandbox in sandboxes(workspace).values() if isinstance(sandbox, Sandbox)]
    assert best_sandbox(workspace).name == there[0].name


def test_every_level_is_named_or_its_absence_explained(workspace):
    """The order is from the strongest to the weakest."""
    levels = sandboxes(workspace)
    assert tuple(levels) == LEVELS
    assert all(levels.values())


@pytest.mark.parametrize("name", ["limits", "none"])
def test_a_level_can_be_chosen(workspace, name):
    """The weak levels are used only if they are chosen."""
    assert best_sandbox(workspace, level=name).name == name


def test_an_unknown_level_is_refused_with_the_known_ones(workspace):
    with pytest.raises(ValueError, match="bubblewrap, landlock, limits, none"):
        best_sandbox(workspace, level="docker")


def test_a_program_that_is_missing_is_named(workspace, monkeypatch, tmp_path):
    """A level that was asked for and is not there is an error with the remedy, not another level."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match="install the package bubblewrap"):
        best_sandbox(workspace, level="bubblewrap")


def test_a_program_that_does_not_work_is_not_chosen(workspace, monkeypatch, tmp_path_factory):
    """Being installed is not enough; without a trial it would be trusted."""
    place = tmp_path_factory.mktemp("bin")
    fake = place / "bwrap"
    fake.write_text("#!/bin/sh\necho no permission >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{place}:/usr/bin:/bin")
    reason = sandboxes(workspace)["bubblewrap"]
    assert reason == f"a trial run failed with exit code 125: toolkit: {fake}: no permission"
    assert best_sandbox(workspace, probe=False, level="bubblewrap").name == "bubblewrap"


def test_choosing_a_sandbox_does_not_search_the_workspace(workspace):
    """The workspace may be large. The first command searches it."""
    looked = []

    def is_kept(path, access):
        looked.append(path)
        return False

    (Path(workspace.root) / "folder").mkdir()
    workspace.remembered[VisibleFiles] = VisibleFiles(workspace.folders, (), is_kept)
    sandbox = best_sandbox(workspace)
    assert looked == []
    if sandbox.name == "limits":
        pytest.skip("NOT TESTED HERE: needs bubblewrap or Landlock, which shut files away")
    assert run(sandbox, "echo ran", cwd=workspace.root).stdout == "ran\n"
    assert f"{workspace.root}/folder" in looked


def test_a_trial_that_cannot_even_start_is_explained(workspace, monkeypatch):
    """A Python that is gone, say."""
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(ToolError, match="a trial run failed: .*nowhere"):
        best_sandbox(workspace)


def test_no_command_can_be_started_without_a_python(monkeypatch):
    """An embedded interpreter may not know where it is."""
    monkeypatch.setattr(sys, "executable", "")
    with pytest.raises(ToolError, match="sys.executable"):
        launcher_command({})


def test_the_whole_disk_is_refused_as_the_workspace_of_a_sandbox():
    levels = sandboxes(Workspace("/"), probe=False)
    assert {levels["bubblewrap"], levels["landlock"]} <= {
        "the workspace is the whole disk; choose a smaller root",
        "`bwrap` is not on PATH; install the package bubblewrap",
        "this kernel has no Landlock, or it is switched off",
    }


def test_a_kernel_without_landlock_has_an_explanation(workspace, monkeypatch):
    """So has a system that is not Linux."""
    monkeypatch.setattr(choosing_module, "find_landlock_version", lambda: 0)
    assert "no Landlock" in sandboxes(workspace, probe=False)["landlock"]
    monkeypatch.setattr(sys, "platform", "plan9")
    from toolkit.sandbox.landlock import find_landlock_version

    assert find_landlock_version() == 0


@pytest.mark.parametrize("name", ["bubblewrap", "landlock"])
def test_further_folders_can_be_read(workspace, tmp_path_factory, name):
    """A language may be installed there. They cannot be written."""
    other = tmp_path_factory.mktemp("language")
    (other / "file").write_text("library\n")
    done = run(level(workspace, name, readable=[other]), f"cat {other}/file; echo x > {other}/file", cwd=workspace.root)
    assert done.stdout == "library\n"
    assert (other / "file").read_text() == "library\n"


def test_the_filter_of_system_calls_is_left_out_on_an_unknown_machine(workspace):
    """The description says so."""
    visible = visible_files_of(workspace)
    unknown = SandboxOptions(machine="riscv64")
    sandboxes_of_unknown = (
        bubblewrap(visible, program="bwrap", options=unknown),
        landlock(visible, version=7, options=unknown),
    )
    for sandbox in sandboxes_of_unknown:
        assert not {"bubblewrap_filter", "seccomp_filter"} & set(sandbox.plan(["true"], "/", None))
        assert "dangerous system calls are not refused" in sandbox.describe()


def test_too_many_protected_files_are_an_error(workspace):
    """The system would refuse the command line."""
    with pytest.raises(ToolError, match="smaller root"):
        launcher_command({"argv": ["x" * 2_000_000]})


def test_a_long_wish_goes_in_pieces():
    """No argument is longer than the system takes."""
    pieces = launcher_command({"argv": ["x" * 250_000]})[6:]
    assert len(pieces) == 3
    assert max(map(len, pieces)) == 100_000


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(Limits)])
@pytest.mark.parametrize("value", [0, -1, True, 1.5, "9"])
def test_an_invalid_limit_is_refused(field, value):
    with pytest.raises(ValueError, match=field):
        Limits(**{field: value})


def test_limits_of_an_ordinary_user_are_not_counted(monkeypatch):
    """The system does that; only root is not held to it."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert Limits().counted_processes is None
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert Limits(processes=9).counted_processes == 9


def test_the_readable_folders_do_not_contain_a_home_folder(monkeypatch):
    """This holds even if Python is installed in a folder with homes."""
    home = os.path.realpath(os.path.expanduser("~"))
    monkeypatch.setattr(sys, "prefix", home)
    monkeypatch.setattr(sys, "base_prefix", os.path.dirname(home))
    assert not any(f"{home}/".startswith(f"{folder.rstrip('/')}/") for folder in list_readable_folders())


def test_the_listed_settings_of_the_system_have_no_secrets():
    assert not [path for path in list_settings() if "shadow" in path or "private" in path or path == "/etc/ssl"]
    assert "/etc/passwd" in list_settings()


def test_a_program_in_the_workspace_is_not_trusted(workspace, monkeypatch):
    """A tool may have put it there, and it would be what keeps tools in."""
    fake = Path(workspace.root) / "bwrap"
    fake.write_text("#!/bin/sh\nexec true\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", workspace.root)
    assert "is not on PATH outside the workspace" in sandboxes(workspace, probe=False)["bubblewrap"]
