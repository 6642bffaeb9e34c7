"""
Another process swaps files, folders and links while files are read, written and listed.

What lies outside holds a marker under the same names: any leak would be seen.
"""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from toolkit.decisions import Changed
from toolkit.errors import ToolError
from toolkit.workspace import Workspace

from .conftest import MARKER

INSIDE = b"this is inside"
WRITTEN = b"this was written"
PATHS = [
    *(
        "door/file",
        "leaf",
        "deep/er/door/file",
        "hop/file",
        "hop",
        "deep/hop/file",
        "deep/../door/file",
        "deep/er/leaf",
    ),
    *("hop/hop/file", "door/sub/file", "er.link/door/file", "door.link/file"),
]


@contextlib.contextmanager
def swapping(root, outside, seed):
    """Run a process that swaps what lies in *root*; afterwards the list holds how often it did."""
    swaps = []
    script = Path(__file__).with_name("swapper.py")
    command = [sys.executable, script, root, outside, str(seed)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            yield swaps
        finally:
            output, _ = process.communicate()
            swaps.append(int(output))


@pytest.fixture
def stage(scratch):
    """A tree with links to swap, and the same names outside."""
    outside, root = scratch / "outside", scratch / "root"
    for folder, content in (
        (outside, MARKER),
        (root / "door", INSIDE),
        (root / "deep" / "er" / "door", INSIDE),
        (root / "vendor", INSIDE),
    ):
        for path in ("file", "leaf", "hop", "sub/file", "door/file"):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
    (outside / "only_outside").write_bytes(MARKER)
    (root / "leaf").write_bytes(INSIDE)
    (root / "leaf.link").symlink_to("../outside/file")
    (root / "door.link").symlink_to("../outside")
    (root / "deep" / "door.link").symlink_to(outside)
    (root / "er.link").symlink_to(outside)
    (root / "hop").symlink_to("door")
    (root / "deep" / "hop").symlink_to("../door")
    return root, outside


def snapshot(folder):
    """Return everything outside, by name and content."""
    return {os.path.join(at, name): Path(at, name).read_bytes() for at, _, files in os.walk(folder) for name in files}


@pytest.mark.long
def test_no_byte_from_outside_is_ever_read(stage, way):
    """Eight thousand reads by each way: what was inside, or an error, and both happen."""
    root, outside = stage
    before = snapshot(outside)
    space = Workspace(root, way=way)
    draw = random.Random(1)
    counts = Counter()
    with swapping(root, outside, seed=1) as swaps:
        for _ in range(8_000):
            try:
                counts[space.read(draw.choice(PATHS))] += 1
            except ToolError as error:
                counts[type(error).__name__] += 1
    assert snapshot(outside) == before
    assert counts.keys() == {INSIDE, "Safety", "ToolError"}
    assert counts[INSIDE] > 500
    assert swaps[0] > 1_000


@pytest.mark.first_cases(1)
def test_no_file_outside_is_written_while_links_are_swapped(stage, way):
    """Two and a half thousand writes by each way change no file outside, and none in a read-only folder."""
    root, outside = stage
    before = snapshot(outside), snapshot(root / "vendor")
    space = Workspace(root, read_only=[root / "vendor"], way=way)
    draw = random.Random(2)
    counts = Counter()
    with swapping(root, outside, seed=2) as swaps:
        for number in range(2_500):
            path = draw.choice([*PATHS, f"door/new{number}", f"deep/er/door/{number}/new", f"hop/{number}/new"])
            try:
                old = space.write(path, WRITTEN, expected=draw.choice([..., ..., None, "0" * 64])).old
                assert old in {None, INSIDE, WRITTEN}
                counts["written"] += 1
            except ToolError as error:
                counts[type(error).__name__] += 1
    assert (snapshot(outside), snapshot(root / "vendor")) == before
    assert counts["written"] > 200
    assert counts["Safety"] > 100
    assert counts[Changed.__name__] > 50
    assert swaps[0] > 1_000
    left = [name for _, folders, files in os.walk(root) for name in (*folders, *files) if name.startswith(".toolkit-")]
    assert left == []


@pytest.mark.first_cases(1)
def test_no_name_outside_is_listed_while_links_are_swapped(stage, way):
    root, outside = stage
    space = Workspace(root, way=way)
    names = set()
    with swapping(root, outside, seed=3) as swaps:
        for _ in range(150):
            names.update(entry.name for entry in space.walk())
            for path in ("door", "deep/er/door", "hop", "deep/hop"):
                with contextlib.suppress(ToolError):
                    names.update(entry.name for entry in space.entries(path))
    assert "file" in names
    assert "only_outside" not in names
    assert swaps[0] > 1_000


def test_the_race_is_real(stage):
    """Resolving a path and then opening it does leak here, so the tests above can fail."""
    root, outside = stage
    inside = f"{root}/"
    draw = random.Random(4)
    with swapping(root, outside, seed=4):
        for _ in range(200_000):
            path = os.path.join(root, draw.choice(PATHS))
            with contextlib.suppress(OSError):
                if os.path.realpath(path).startswith(inside) and Path(path).read_bytes() == MARKER:
                    return
    pytest.fail("nothing leaked: the swaps came too seldom to show anything")
