"""`grep` uses ripgrep where it can, and finds the same without it."""

from __future__ import annotations

import os
import time

import pytest

from tests.builtin.trees import plant
from toolkit.builtin.search.grep_syntax import build_query
from toolkit.builtin.search.ripgrep import Ripgrep, is_worth_it, ripgrep_for
from toolkit.builtin.time_limit import TimeLimit, TimeUp
from toolkit.errors import ToolError
from toolkit.workspace import Workspace

from .programs import RG, XARGS, needs_rg


def test_ripgrep_is_not_used_if_it_is_missing_or_switched_off(tmp_path):
    """It is an error if ripgrep is missing although the option is on."""
    workspace = plant(tmp_path, {})
    empty = tmp_path / "bin"
    empty.mkdir()
    assert ripgrep_for(workspace, None, path=str(empty)) is None
    assert ripgrep_for(workspace, False) is None
    with pytest.raises(ValueError, match="`rg` and `xargs` is not on PATH"):
        ripgrep_for(workspace, True, path=str(empty))


def test_a_program_in_the_workspace_is_not_run(tmp_path):
    """A tool may have put it there, or a link to it."""
    workspace = plant(tmp_path / "root", dict.fromkeys(("rg", "xargs", "bwrap"), "#!/bin/sh\n"))
    for name in ("rg", "xargs", "bwrap"):
        (tmp_path / "root" / name).chmod(0o755)
    links = tmp_path / "bin"
    links.mkdir()
    for name in ("rg", "xargs", "bwrap"):
        (links / name).symlink_to(tmp_path / "root" / name)
    assert ripgrep_for(workspace, None, path=workspace.root) is None
    assert ripgrep_for(workspace, None, path=str(links)) is None


@needs_rg
def test_ripgrep_runs_without_a_sandbox_only_on_request(tmp_path):
    links = tmp_path / "bin"
    links.mkdir()
    for name, place in (("rg", RG), ("xargs", XARGS)):
        (links / name).symlink_to(place)
    workspace = plant(tmp_path / "root", {})
    assert ripgrep_for(workspace, None, path=str(links)) is None
    assert ripgrep_for(workspace, True, path=str(links)) is not None


def test_ripgrep_is_used_for_many_or_large_files(tmp_path):
    plant(tmp_path, {"a": ""})
    (entry,) = Workspace(tmp_path).walk()
    assert not is_worth_it([entry])
    assert is_worth_it([entry] * 10_000)
    assert is_worth_it([entry._replace(size=50_000_000)])


@pytest.mark.parametrize("program", ["/bin/false", "/nowhere/xargs"])
def test_a_ripgrep_that_fails_clears_no_file_and_is_not_used_again(tmp_path, program):
    """Then every file is searched without ripgrep."""
    workspace = plant(tmp_path, {"a": "x"})
    sieve = Ripgrep(workspace, rg="/bin/false", xargs=program, bwrap=None)
    entries = list(workspace.walk())
    assert sieve.find_files_without_match(build_query("y"), entries, TimeLimit(60, lambda: False)) == set()
    assert sieve.is_broken
    assert sieve.find_files_without_match(build_query("y"), entries, TimeLimit(60, lambda: False)) == set()


def test_ripgrep_is_not_used_if_its_sandbox_cannot_hide_all_secrets(tmp_path):
    # A folder takes six arguments, and one of this name is quickly judged.
    folders = [f"{number}/.ssh/" for number in range(1500)]
    workspace = plant(tmp_path, {**dict.fromkeys(folders), "a": "x"})
    sieve = Ripgrep(workspace, rg="rg", xargs="xargs", bwrap="bwrap")
    with pytest.raises(ToolError, match="more than bubblewrap can cover"):
        sieve._sandbox.command(["rg"], cwd=workspace.root, env={})
    assert (
        sieve.find_files_without_match(build_query("y"), list(workspace.walk()), TimeLimit(60, lambda: False)) == set()
    )
    assert sieve.is_broken


@needs_rg
def test_a_pattern_too_long_for_a_command_line_is_searched_without_ripgrep(tmp_path):
    workspace = plant(tmp_path, {"a": "x"})
    sieve = Ripgrep(workspace, rg=RG, xargs=XARGS, bwrap=None)
    query = build_query("[^y]" * 240)
    assert sieve.find_files_without_match(query, list(workspace.walk()), TimeLimit(60, lambda: False)) == set()
    assert not sieve.is_broken


def test_a_ripgrep_that_hangs_is_ended(tmp_path):
    """When the time is up, with all that it started, and nothing is left behind."""
    workspace = plant(tmp_path, {"a": "x"})
    hanging = tmp_path / "hang"
    hanging.write_text("#!/bin/sh\ntrap '' TERM\necho $$ > pid\nsleep 600 & wait; wait\n")
    hanging.chmod(0o755)
    sieve = Ripgrep(workspace, rg="rg", xargs=str(hanging), bwrap=None)
    clock = iter([0.0] + [1.0] * 3 + [100.0] * 100)
    with pytest.raises(TimeUp):
        sieve.find_files_without_match(
            build_query("x"), list(workspace.walk()), TimeLimit(10, lambda: False, now=lambda: next(clock))
        )
    pid = int((tmp_path / "pid").read_text())
    # A process that was killed lives on until the system gets to it, which may take a while on a busy machine.
    until = time.monotonic() + 20
    while alive_in_group(pid) and time.monotonic() < until:
        os.sched_yield()
    assert alive_in_group(pid) == []


def alive_in_group(group):
    """Return the processes of a group, without those that have ended and wait for their parent to notice."""
    pids = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as file:
                state, _, leader = file.read().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(leader) == group and state != "Z":
            pids.append(pid)
    return pids
