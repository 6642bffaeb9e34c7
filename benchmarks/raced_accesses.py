"""
File tools at work while another process moves files, folders and links about.

What lies outside the workspace holds a marker: a byte of it in an answer, or a change outside, is a violation.
"""

from __future__ import annotations

import logging
import os
import random
import tempfile
from collections import Counter
from pathlib import Path

from .violations import Report

__all__ = ["run"]

_CALLS = 2_500
_MEMORY = "/dev/shm"  # what is flushed there costs nothing


async def run(count: int, *, seed: int = 7) -> Report:
    """Make *count* raced accesses, and report how they ended."""
    from tests.properties import raced_tools as races  # needs pytest
    from toolkit.workspace import Workspace
    from toolkit.workspace.open_beneath import kernel_has_openat2

    logging.disable(logging.CRITICAL)
    ways = ["openat2", "walk"] if kernel_has_openat2() else ["walk"]
    kinds, violations, moved = Counter[str](), list[str](), 0
    for number, start in enumerate(range(0, count, _CALLS)):
        way, own_seed = ways[number % len(ways)], seed + number
        with tempfile.TemporaryDirectory(dir=_MEMORY if os.access(_MEMORY, os.W_OK) else None) as folder:
            root, outside = _plant(Path(folder), own_seed)
            before = _snapshot(outside), _snapshot(root / races.KEPT)
            dispatcher = races.tools_in(Workspace(root, read_only=[root / races.KEPT], way=way))
            known, draw = races.files_in(root), random.Random(own_seed)
            with races.moving(root, outside, own_seed) as moves:
                ends, leaks = await races.race_calls(dispatcher, root, known, draw, min(_CALLS, count - start))
            dispatcher.close()
            moved += moves[0]
            for (_, kind), times in ends.items():
                kinds[kind] += times
            violations += [f"seed {own_seed}, {way}: `{name}` {arguments}: {said}" for name, arguments, said in leaks]
            if (_snapshot(outside), _snapshot(root / races.KEPT)) != before:
                violations.append(f"seed {own_seed}, {way}: something outside was changed")
    logging.disable(logging.NOTSET)
    shown = ", ".join(f"{kind} {times:,}" for kind, times in kinds.most_common())
    return Report(f"{count:,} accesses ({shown}) raced with {moved:,} moves, by {' and '.join(ways)}", violations)


def _snapshot(folder: Path) -> dict[str, bytes | str | None]:
    """Return everything in a folder by name: the content of files, and where links lead; no link is followed."""
    found: dict[str, bytes | str | None] = {}
    for at, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(at, name)
            found[str(path)] = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
    return found


def _plant(folder: Path, seed: int) -> tuple[Path, Path]:
    """Make a random tree to race in, and another like it outside."""
    from tests.properties import raced_tools as races

    folder = Path(os.path.realpath(folder))
    draw, root, outside = random.Random(seed), folder / "root", folder / "outside"
    races.plant(root, draw, races.WORDS[0], outside=outside)
    races.plant(outside, draw, races.MARKER)
    for place in (outside, outside / "a"):
        (place / races.ONLY_OUTSIDE).write_text(races.MARKER)
    races.plant(root / races.KEPT, draw, races.WORDS[0])
    (root / races.KEPT / ".env").write_text(races.SECRET)
    return root, outside
