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
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import pytest

from toolkit import Catalog, Context, Dispatcher, Permissions, Safety, Session, ToolCall, ToolError
from toolkit.builtin import edit_for, glob_for, grep_for, read_for, write_for
from toolkit.builtin.files.replacements import Edit
from toolkit.workspace import Workspace
from toolkit.workspace.open_beneath import kernel_has_openat2
from toolkit.workspace.writing import WriteResult

from .mover import DOOR, KEPT

pytestmark = pytest.mark.anyio

TIMES = int(os.environ.get("TOOLKIT_RACES", "1"))
NAMES = ("a", "b", "c", "d.txt", "e.txt")
MARKER = "this was outside"
SECRET = "TOKEN=hunter2"
WORDS = ("inside", "within", "written")
ONLY_OUTSIDE = "only-outside.txt"


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


def plant(folder, draw, text, *, outside=None, depth=0):
    """A random tree of folders, files and links under the usual names; *outside* is where their doors lead."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in NAMES:
        door = None if outside is None else outside / name
        if name.endswith(".txt"):
            (folder / name).write_text(f"{text}\n" * draw.randrange(1, 4))
        elif depth < 2 and (depth == 0 or draw.random() < 0.6):
            plant(folder / name, draw, text, outside=door, depth=depth + 1)
        else:
            (folder / name).symlink_to(draw.choice([*NAMES, "..", "../a", "../../b/d.txt"]))
            continue
        if door is not None:
            (folder / f"{name}{DOOR}").symlink_to(door)


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


@contextlib.contextmanager
def moving(root, outside, seed):
    """A process that moves what lies in *root* about; afterwards the list holds how often it did."""
    moves = []
    command = [sys.executable, "-P", Path(__file__).with_name("mover.py"), root, outside, str(seed)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()  # it has listed the names, before any tool has made another
        try:
            yield moves
        finally:
            moves.append(int(process.communicate()[0]))


def snapshot(folder):
    """Everything in a folder, by name, with its content."""
    return {
        os.path.join(at, name): Path(at, name).read_bytes() if Path(at, name).is_file() else None
        for at, folders, files in os.walk(folder)
        for name in (*folders, *files)
    }


def random_path(draw, root, paths):
    """A path that may lead anywhere by now: mostly one that led to a file when the tree was planted."""
    names = draw.choice(paths).split("/")
    if draw.random() < 0.3:
        names = [draw.choice((*NAMES, KEPT)) for _ in range(draw.randrange(1, 5))]
    if draw.random() < 0.05:
        names.insert(draw.randrange(len(names)), "..")
    path = "/".join(names)
    return f"{root}/{path}" if draw.random() < 0.1 else path


def random_call(draw, root, paths, number):
    """A tool, and what a model might send it."""
    path = random_path(draw, root, paths)
    name = draw.choices(["read", "write", "edit", "glob", "grep"], [10, 6, 4, 1, 1])[0]
    old, new = draw.sample(WORDS, 2)
    match name:
        case "read":
            return name, {"path": path}
        case "write":
            fresh = f"{os.path.dirname(path) or '.'}/x{number % 9}/new.txt" if draw.random() < 0.2 else path
            return name, {"path": fresh, "content": f"{WORDS[2]}\n"}
        case "edit":
            return name, {"path": path, "edits": [{"old": old, "new": new, "replace_all": True}]}
        case "glob":
            return name, {"path": draw.choice([".", path]), "pattern": draw.choice(["**/*", "*", "a/**"])}
    return name, {"path": draw.choice([".", path]), "pattern": draw.choice(["i", "outside", "TOKEN"])}


def tools_in(workspace):
    """Return the tools of *workspace*, which ask for no approval."""
    catalog = Catalog(
        read_for(workspace),
        write_for(workspace),
        edit_for(workspace),
        glob_for(workspace),
        grep_for(workspace, ripgrep=False),
    )
    return Dispatcher(catalog, permissions=Permissions("bypass"), safety=workspace.safety())


def files_in(root):
    """Return the files of a tree that is not moved yet, by their paths from *root*."""
    return sorted(str(path.relative_to(root)) for path in root.rglob("*.txt") if not path.is_symlink())


def by_hand(tool, arguments, session):
    """Return how a call of the function itself ends, and what it says; the path was not judged before."""
    if "edits" in arguments:
        arguments = {**arguments, "edits": [Edit(**edit) for edit in arguments["edits"]]}
    try:
        context = Context(facts=tool.facts, call=ToolCall(tool.name, session=session))
        return "ok", repr(tool.function(**arguments, context=context))
    except ToolError as error:
        return "safety" if isinstance(error, Safety) else "failed", str(error)


async def race_calls(dispatcher, root, paths, draw, count):
    """Call tools *count* times; how they ended, by tool and kind, and every answer that tells of the outside."""
    ends, leaks = Counter(), []
    session = Session()
    for number in range(count):
        if number % 50 == 0:
            session = Session()  # a new one has read nothing, so that it may write
        name, arguments = random_call(draw, root, paths, number)
        if number % 10:
            kind, reply = by_hand(dispatcher.catalog[name], arguments, session)
        else:
            result = await dispatcher.call(name, arguments, session=session)
            kind, reply = result.kind, repr(result.to_json())
        ends[name, kind] += 1
        if any(text in reply for text in (MARKER, SECRET, ONLY_OUTSIDE)):
            leaks.append((name, arguments, reply))
    return ends, leaks


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
async def test_the_race_is_real(stage):
    """With a workspace that resolves and then opens, answers leak and the outside is changed: the test can fail."""
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
