"""
`grep` and `glob` on a tree of 50,000 files, beside ripgrep and `find`; `read` in a file of 2 GB, beside `sed`.

All are asked for what they do best: names alone, nothing checked. Ours also judge each path, read
through the workspace, keep to `.gitignore`, and sort by age.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from typing import Any

from toolkit.builtin.files.read_tool import read_for
from toolkit.builtin.search.glob_tool import glob_for
from toolkit.builtin.search.grep_tool import grep_for
from toolkit.context import Context
from toolkit.spec import Tool
from toolkit.workspace import Workspace

from .timing import Row, best_of, ratio

__all__ = ["rows"]

FOLDERS = 500
FILES = 100
TEXT = "import os\n\ndef thing_{folder}_{file}(x):\n    return os.path.join(x, '{file}')\n\n"


def _plant(root: str) -> None:
    for folder in range(FOLDERS):
        place = os.path.join(root, f"part_{folder // 25}", f"folder_{folder}")
        os.makedirs(place)
        for file in range(FILES):
            with open(os.path.join(place, f"file_{file}.py"), "w") as text:
                text.write(TEXT.format(folder=folder, file=file) * 10)
    with open(os.path.join(root, ".gitignore"), "w") as text:
        text.write("*.pyc\n__pycache__/\n/build\nnode_modules/\n*.log\n.venv/\n")


def _called(tool: Tool, *arguments: str, **options: Any) -> Callable[[], str]:
    function: Callable[..., str] = tool.function
    return lambda: function(*arguments, **options, context=Context(facts=tool.facts))


def _run(*argv: str) -> Callable[[], bytes]:
    return lambda: subprocess.run(argv, capture_output=True, check=True).stdout


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as root:
        _plant(root)
        found = _measured(root)
    with tempfile.TemporaryDirectory() as root:
        return found + _of_a_large_file(root)


LINE = b"a line of a long log, number such and such, with a little text\n"
LARGE_BYTES = 2_000_000_000


def _of_a_large_file(root: str) -> list[Row]:
    """A hundred lines at three places; `sed` is told to stop after them."""
    block = LINE * 100_000
    with open(os.path.join(root, "large.log"), "wb") as file:
        file.writelines(block for _ in range(LARGE_BYTES // len(block)))
    count = LARGE_BYTES // len(block) * 100_000
    read = read_for(Workspace(root))
    found: list[Row] = []
    for place, first in (("start", 1), ("middle", count // 2), ("end", count - 100)):
        sed = _run("sed", "-n", f"{first},{first + 99}p;{first + 99}q", os.path.join(root, "large.log"))
        best = best_of({"sed": sed, "read": _called(read, "large.log", offset=first, limit=100)}, number=1, rounds=3)
        found.append((f"100 lines at the {place} of 2 GB: sed", best["sed"], None, ""))
        what = f"100 lines at the {place} of 2 GB: read"
        found.append((what, best["read"], ratio(best["read"], best["sed"]), "of sed (at most 1)"))
    return found


def _measured(root: str) -> list[Row]:
    workspace = Workspace(root)
    rg = shutil.which("rg")
    pattern = r"thing_499_\d+\("
    ours: dict[str, Callable[[], object]] = {
        "grep, built in": _called(grep_for(workspace, ripgrep=False), pattern, mode="files", limit=1000),
        "glob `**/*_7.py`": _called(glob_for(workspace), "**/*_7.py", limit=2000),
        "glob `*`": _called(glob_for(workspace), "*"),
    }
    theirs: dict[str, Callable[[], object]] = {"find": _run("find", root, "-name", "*_7.py")}
    if rg:
        ours["grep, with ripgrep"] = _called(grep_for(workspace, ripgrep=True), pattern, mode="files", limit=1000)
        theirs["ripgrep"] = _run(rg, "--no-config", "-l", "--sort=none", pattern, root)
        same = {str(ours[each]()) for each in ("grep, built in", "grep, with ripgrep")}
        assert len(same) == 1, "the engines do not give the same answer"
        assert len(same.pop().split("\n")) == FILES
    best = best_of({**theirs, **ours}, number=1, rounds=5)
    found: list[Row] = [(f"{name}, a program of its own", best[name], None, "") for name in theirs]
    for name in ours:
        other = "find" if name.startswith("glob") else "ripgrep"
        found.append((name, best[name], ratio(best[name], best[other]) if other in best else None, f"of {other}"))
    return found
