"""
Let several pytest processes share the files of the tests: each takes the next file when it has finished one.

`python -m tests` loads this plugin into each of its workers. `TESTS_QUEUE` names a folder with the list of the files.
A worker takes a file by creating a file with its number in that folder, which only one of them can do. Start-up is paid
once a worker, and the fixtures of the session live as long as the worker does.

A worker takes the files of one folder of `tests/` after the other, because they import the same packages: the SDK of a
provider takes a second. When each folder has a worker, it helps with the files that are left.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import chain, pairwise
from pathlib import Path

import pytest

HERE = Path(__file__).parent
LIST = "files"
"""The name of the list in the folder of the queue: one path a line."""


def pytest_configure(config):
    """Let pytest collect the first file of the queue in place of the folder `tests`."""
    files = take_files(Path(os.environ["TESTS_QUEUE"]))
    config.args = [file for file in [next(files, None)] if file]
    config.pluginmanager.register(_FileQueue(files, config.args))


def take_files(queue: Path) -> Iterator[str]:
    """Yield the files of *queue* that no other process has taken, first those of folders that none has begun."""
    files = (queue / LIST).read_text(encoding="utf-8").splitlines()
    folders = [os.path.relpath(file, HERE).split(os.sep)[0] for file in files]
    for begun in dict.fromkeys(folders):
        if _take(queue / f"folder {begun}"):
            own = [number for number, folder in enumerate(folders) if folder == begun]
            yield from (files[number] for number in own if _take(queue / str(number)))
    yield from (file for number, file in enumerate(files) if _take(queue / str(number)))


def _take(path: Path) -> bool:
    """Create the file *path*, and return whether no other process had done so."""
    try:
        path.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


class _FileQueue:
    """Run the tests of one file after the other."""

    def __init__(self, files, first):
        self._files = files
        self._folders = {}
        self._way = _find_way(first)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session):
        """Run the tests. A file is collected before the last test of the one before it, so that fixtures stay."""
        count = 0
        for item, next_item in pairwise(chain(self._collect(session), [None])):
            count += 1
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=next_item)
            if session.shouldfail:
                raise session.Failed(session.shouldfail)
            if session.shouldstop:
                raise session.Interrupted(session.shouldstop)
        session.testscollected = count
        return True

    def _collect(self, session):
        yield from session.items
        for file in self._files:
            session.config.args = [file]
            self._way = _find_way([file])
            session.config.hook.pytest_collection(session=session)
            yield from session.items

    @pytest.hookimpl(tryfirst=True)
    def pytest_ignore_collect(self, collection_path):
        """Pass over what lies beside the way to the file. pytest would make a node of each, once for every file."""
        return None if collection_path in self._way else True

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_directory(self, path):
        """Return the first node of a folder each time: the fixtures of its conftest belong to that node."""
        node = yield
        return self._folders.setdefault(path, node)


def _find_way(files):
    """Return *files* and the folders that they are in."""
    paths = [Path(file) for file in files]
    return {*paths, *(folder for path in paths for folder in path.parents)}
