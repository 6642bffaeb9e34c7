"""
The file tools, while another process moves files, folders and links of a random tree about.

What lies outside has the same names and holds a marker: a byte of it in any answer, or a byte changed there, is a
leak. Nine of ten calls go to the tools themselves, without the checks of a dispatcher: only the workspace is between
them and the outside, and they are many times as fast. `make test-all` races 2,500 calls each way, with
`TOOLKIT_RACES=20` twenty times as many, and `make endurance` 25,000.
"""

from __future__ import annotations

import contextlib
import logging
import os
import random
import shutil
import tempfile
import time
from pathlib import Path

import pytest

from tests.properties.raced_tools import (
    MARKER,
    ONLY_OUTSIDE,
    SECRET,
    WORDS,
    files_in,
    moving,
    plant,
    race_calls,
    tools_in,
)
from toolkit import ToolError
from toolkit.workspace import Workspace
from toolkit.workspace.open_beneath import kernel_has_openat2
from toolkit.workspace.writing import WriteResult

from .mover import KEPT

pytestmark = pytest.mark.anyio

TIMES = int(os.environ.get("TOOLKIT_RACES", "1"))


@pytest.fixture
def scratch():
    """A folder on a disk in memory where there is one: what is flushed there costs nothing."""
    memory = "/dev/shm"
    folder = Path(os.path.realpath(tempfile.mkdtemp(dir=memory if os.access(memory, os.W_OK | os.X_OK) else None)))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(autouse=True)
def quiet():
    """Thousands of calls fail here, as they should."""
    logger = logging.getLogger("toolkit")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    yield
    logger.setLevel(level)


@pytest.fixture(params=["openat2", "walk"])
def way(request):
    """Both ways of opening files."""
    if request.param == "openat2" and not kernel_has_openat2():
        pytest.skip("NOT TESTED: this kernel has no openat2")
    return request.param


@pytest.fixture
def stage(scratch):
    """Makes a random tree to race in, and another like it outside."""

    def make(seed):
        draw = random.Random(seed)
        root, outside = scratch / f"root{seed}", scratch / f"outside{seed}"
        plant(root, draw, WORDS[0], outside=outside)
        plant(outside, draw, MARKER)
        for folder in (outside, outside / "a"):
            (folder / ONLY_OUTSIDE).write_text(MARKER)
        plant(root / KEPT, draw, WORDS[0])
        (root / KEPT / ".env").write_text(SECRET)
        return root, outside

    return make


def snapshot(folder):
    """Return everything in a folder, by name, with its content."""
    return {
        os.path.join(at, name): Path(at, name).read_bytes() if Path(at, name).is_file() else None
        for at, folders, files in os.walk(folder)
        for name in (*folders, *files)
    }


@pytest.mark.long
@pytest.mark.parametrize("seed", range(TIMES))
async def test_no_byte_crosses_the_border_by_any_tool(stage, way, seed):
    """Each answer is from inside or an error, and nothing outside is touched. `make endurance` makes more calls."""
    assert await find_crossings(stage, way, seed, calls=2_500) == []


async def find_crossings(stage, way, seed, *, calls):
    """Make *calls* random calls while files are moved, and return what crossed the border."""
    root, outside = stage(seed)
    before = snapshot(outside), snapshot(root / KEPT)
    workspace = Workspace(root, read_only=[root / KEPT], way=way)
    paths = files_in(root)
    with moving(root, outside, seed) as moves:
        ends, leaks = await race_calls(tools_in(workspace), root, paths, random.Random(seed), calls)
    after = snapshot(outside), snapshot(root / KEPT)
    changes = [
        path for old, new in zip(before, after, strict=True) for path in old | new if old.get(path) != new.get(path)
    ]
    # A path that has become a circle of links is the model's to correct.
    assert {kind for _, kind in ends} - {"bad_args"} == {"ok", "failed", "safety"}
    # Fewer would show little: a read in ten, and one of a hundred for tools that are rarely called.
    for name, share in {"read": 10, "write": 50, "edit": 250, "glob": 100, "grep": 100}.items():
        assert ends[name, "ok"] >= calls // share, ends
    assert moves[0] > calls
    left = [name for _, folders, files in os.walk(root) for name in (*folders, *files) if name.startswith(".toolkit-")]
    return [*leaks, *changes, *left]


class Careless(Workspace):
    """Resolve a path, look whether that is inside, and open the path then, as a first attempt is usually written."""

    def _inside(self, path):
        whole = os.path.join(self.root, path)
        if not os.path.realpath(whole).startswith(f"{self.root}/"):
            raise ToolError("outside")
        time.sleep(0.0001)  # two busy processors leave the other process little time in between
        return whole

    def open(self, path):
        with read_report():
            return open(self._inside(path), "rb")

    def read(self, path, *, max_bytes=None):
        with read_report(), open(self._inside(path), "rb") as file:
            return file.read()

    def write(self, path, data, *, expected=...):
        with read_report(), open(self._inside(path), "r+b") as file:
            old = file.read()
            file.seek(0)
            file.write(data)
            return WriteResult(path=path, old=old)


@contextlib.contextmanager
def read_report():
    try:
        yield
    except OSError as error:
        raise ToolError("it cannot be opened") from error


@pytest.mark.long
async def test_the_race_exposes_a_careless_workspace(stage):
    """A workspace that resolves and then opens leaks text and changes files outside."""
    root, outside = stage(0)
    before, paths = snapshot(outside), files_in(root)
    dispatcher, draw = tools_in(Careless(root, read_only=[root / KEPT])), random.Random(0)
    has_leaked = is_changed = False
    with moving(root, outside, 0):
        for _ in range(40):
            _, leaks = await race_calls(dispatcher, root, paths, draw, 500)
            has_leaked = has_leaked or bool(leaks)
            is_changed = is_changed or snapshot(outside) != before
            if has_leaked and is_changed:
                return
    pytest.fail(f"too tame to show anything: leaked {has_leaked}, changed {is_changed}")
