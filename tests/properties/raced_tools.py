"""Tools that run while their folder changes under them, and what they may never answer."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

from toolkit import Catalog, Context, Dispatcher, Permissions, Safety, Session, ToolCall, ToolError
from toolkit.builtin import edit_for, glob_for, grep_for, read_for, write_for
from toolkit.builtin.files.replacements import Edit

from .mover import DOOR, KEPT

NAMES = ("a", "b", "c", "d.txt", "e.txt")
MARKER = "this was outside"
SECRET = "TOKEN=hunter2"
WORDS = ("inside", "within", "written")
ONLY_OUTSIDE = "only-outside.txt"


def plant(folder, draw, text, *, outside=None, depth=0):
    """Plant a random tree of folders, files and links under the usual names; *outside* is where their doors lead."""
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


@contextlib.contextmanager
def moving(root, outside, seed):
    """Run a process that moves what lies in *root* about; afterwards the list holds how often it did."""
    moves = []
    command = [sys.executable, "-P", Path(__file__).with_name("mover.py"), root, outside, str(seed)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()  # it has listed the names, before any tool has made another
        try:
            yield moves
        finally:
            moves.append(int(process.communicate()[0]))


def random_path(draw, root, paths):
    """Return a path that may lead anywhere by now: mostly one that led to a file when the tree was planted."""
    names = draw.choice(paths).split("/")
    if draw.random() < 0.3:
        names = [draw.choice((*NAMES, KEPT)) for _ in range(draw.randrange(1, 5))]
    if draw.random() < 0.05:
        names.insert(draw.randrange(len(names)), "..")
    path = "/".join(names)
    return f"{root}/{path}" if draw.random() < 0.1 else path


def random_call(draw, root, paths, number):
    """Return a tool, and what a model might send it."""
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
