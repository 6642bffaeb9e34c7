"""
What the tests of the workspace share: a scratch folder in memory, and both ways of opening.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from toolkit.workspace import Workspace
from toolkit.workspace.open_beneath import kernel_has_openat2

MARKER = b"this was outside"


@pytest.fixture
def scratch():
    """A folder on a disk in memory where there is one: what is flushed there costs nothing."""
    memory = "/dev/shm"
    above = memory if os.access(memory, os.W_OK | os.X_OK) else None
    folder = Path(os.path.realpath(tempfile.mkdtemp(prefix="toolkit-", dir=above)))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def root(scratch):
    """The folder of the workspace; beside it lies `outside`, which no tool may see."""
    (scratch / "outside").mkdir()
    (scratch / "outside" / "secret.txt").write_bytes(MARKER)
    folder = scratch / "root"
    folder.mkdir()
    return folder


@pytest.fixture(params=["openat2", "walk"])
def way(request):
    """Both ways of opening files have the same answers."""
    if request.param == "openat2" and not kernel_has_openat2():
        pytest.skip("NOT TESTED: this kernel has no openat2")
    return request.param


@pytest.fixture
def space(root, way):
    """A workspace on the folder `root`."""
    with Workspace(root, way=way) as space:
        yield space
