"""The workers of `python -m tests` share the files among them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.__main__ import HERE, SECONDS, fill_queue
from tests.file_queue import LIST, take_files

CONFTEST = """
import pytest

@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("session")
"""
TEST = "def test_{name}(folder):\n    (folder / '{name}').touch()\n    assert len(list(folder.iterdir())) == {count}\n"


def test_a_file_is_taken_by_only_one_worker(tmp_path):
    (tmp_path / LIST).write_text("".join(f"test_{number}.py\n" for number in range(5)))
    first, second = take_files(tmp_path), take_files(tmp_path)
    files = [next(first), next(second), next(second), *first, *second]
    assert files == [f"test_{number}.py" for number in range(5)]


def test_a_worker_stays_in_a_folder_and_helps_in_others_when_all_have_begun(tmp_path):
    files = ["a/test_1.py", "b/test_2.py", "a/test_3.py", "b/test_4.py", "test_5.py", "b/test_6.py"]
    (tmp_path / LIST).write_text("".join(f"{HERE}/{file}\n" for file in files))
    first, second = take_files(tmp_path), take_files(tmp_path)
    stems = [Path(next(worker)).stem for worker in (first, second, first, first, first, second)]
    assert stems == ["test_1", "test_2", "test_3", "test_5", "test_4", "test_6"]
    assert [*first, *second] == []


def test_the_slowest_file_is_taken_first(tmp_path):
    fill_queue(tmp_path / "queue", "quick", [HERE / "values"])
    files = [Path(line).relative_to(HERE).as_posix() for line in (tmp_path / "queue" / LIST).read_text().splitlines()]
    seconds = json.loads(SECONDS.read_text())
    recorded = [seconds[file]["quick"] for file in files if "quick" in seconds.get(file, {})]
    assert recorded == sorted(recorded, reverse=True)
    assert sorted(files) == sorted(path.relative_to(HERE).as_posix() for path in (HERE / "values").rglob("test_*.py"))


@pytest.mark.long
def test_a_worker_keeps_session_fixtures_and_goes_on_after_a_broken_file(tmp_path):
    queue, tests = tmp_path / "queue", tmp_path / "tests"
    for folder in (queue, tests):
        folder.mkdir()
    (tests / "conftest.py").write_text(CONFTEST)
    (tests / "test_one.py").write_text(TEST.format(name="one", count=1))
    (tests / "test_broken.py").write_text("import nowhere\n")
    (tests / "test_two.py").write_text(TEST.format(name="two", count=2))
    (queue / LIST).write_text("".join(f"{tests}/test_{name}.py\n" for name in ("one", "broken", "two")))
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "tests.file_queue", f"--rootdir={tests}"]
    environment = {**os.environ, "TESTS_QUEUE": str(queue), "PYTHONPATH": str(HERE.parent)}
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tests, env=environment)
    assert run.returncode == 1
    assert "2 passed" in run.stdout
    assert "1 error" in run.stdout
