"""
Who lives, who is dead, and who cannot be seen.
"""

from __future__ import annotations

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.approvals.processes import line, running
from toolkit.storage.process_owner import has_mark, is_alive, is_owner, is_this_process, owner, remove_mark

needs_proc = pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="this system tells no beginnings")


def change_parts(text, **parts):
    """Return an owner with other parts."""
    names = ("machine", "pid", "began", "token")
    return "/".join(parts.get(name, part) for name, part in zip(names, text.split("/"), strict=True))


@pytest.fixture
def child():
    """A process that lives, and its owner text."""
    with running("live") as process:
        yield process, line(process)


def test_this_process_is_alive():
    """Its name does not change."""
    assert owner() == owner()
    assert is_alive(owner()) is True


def test_a_mark_does_not_change_the_life_of_a_process(child):
    """A text with a mark lives and dies with its process, and the mark can be compared."""
    process, text = child
    marked = owner(mark="m")
    assert (remove_mark(marked), is_this_process(marked), is_owner(marked)) == (owner(), True, True)
    assert is_alive(marked) is True
    assert is_alive(f"{text}#m") is True
    assert not is_this_process(f"{text}#m")
    assert [has_mark(marked, "m"), has_mark(marked, "n"), has_mark(owner(), ""), has_mark(owner(), "m")] == [
        True,
        False,
        False,
        False,
    ]
    process.kill()
    process.wait()
    assert is_alive(f"{text}#m") is False


def test_threads_that_ask_at_once_get_one_name(tmp_path):
    """Otherwise the claim of one thread would count as that of a dead process, and its call would run twice."""
    for trial in range(20):
        folder, barrier = str(tmp_path / str(trial)), threading.Barrier(8)

        def ask(folder=folder, barrier=barrier):
            barrier.wait()
            return owner(proc=folder)

        with ThreadPoolExecutor(8) as threads:
            names = {future.result() for future in [threads.submit(ask) for _ in range(8)]}
        assert names == {owner(proc=folder)}


def test_another_process_is_alive_until_it_ends(child):
    """It counts as dead from the moment at which it is gone."""
    process, text = child
    assert is_alive(text) is True
    process.kill()
    process.wait()
    assert is_alive(text) is False


@needs_proc
def test_unreaped_process_is_dead(child):
    """It still has a number, but does not run any more."""
    process, text = child
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert is_alive(text) is False


@needs_proc
def test_a_process_with_the_same_number_and_another_start_is_another_one(child):
    _, text = child
    assert is_alive(change_parts(text, began="1")) is False


def test_an_unknown_start_time_does_not_mean_death(child):
    """The process with the number counts as alive then."""
    _, text = child
    assert is_alive(change_parts(text, began="")) is True


def test_an_earlier_process_with_our_number_is_dead():
    """Each process has its own token."""
    assert is_alive(change_parts(owner(), token="0" * 16)) is False


def test_a_process_of_another_machine_is_not_known_to_be_alive_or_dead():
    assert is_alive(change_parts(owner(), machine="0" * 16)) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "the dead",
        change_parts(owner(), pid="0"),
        change_parts(owner(), pid="-1"),
        change_parts(owner(), pid="9" * 10),
    ]
    + [change_parts(owner(), pid="1²"), change_parts(owner(), token=""), owner() + "\n", owner() + "/1"],
)
def test_a_text_that_names_no_process_is_not_known_to_be_alive_or_dead(text):
    assert is_alive(text) is None


def test_only_the_number_counts_without_a_process_list(child, tmp_path):
    """A process with this number counts as alive. Without one, the owner is dead."""
    process, text = child
    here = owner(proc=str(tmp_path))
    assert is_alive(here, proc=str(tmp_path)) is True
    other = change_parts(here, pid=text.split("/")[1], token=text.split("/")[3])
    assert is_alive(other, proc=str(tmp_path)) is True
    process.kill()
    process.wait()
    assert is_alive(other, proc=str(tmp_path)) is False


@pytest.mark.parametrize(
    ("stat", "alive"),
    [
        ("4 (sh) S {}", True),
        ("4 (a) Z 1) R (b) S {}", True),
        ("4 (sh) Z {}", False),
        ("4 (a) S (b) X {}", False),
        ("4 (a\n) S {}", True),
        ("", False),
    ],
)
@pytest.mark.parametrize("began", ["77", ""])
def test_a_name_that_looks_like_a_state_deceives_nobody(tmp_path, stat, alive, began):
    """A program may call itself what it likes."""
    here = owner(proc=str(tmp_path))
    (tmp_path / "999999999").mkdir()
    (tmp_path / "999999999" / "stat").write_text(stat.format("0 " * 18 + "77 0 0"))
    assert is_alive(change_parts(here, pid="999999999", began=began), proc=str(tmp_path)) is alive


@pytest.mark.skipif(sys.platform != "linux", reason="numbers go higher elsewhere")
def test_unused_process_number_is_dead():
    """No process can have one above the kernel's limit."""
    assert is_alive(change_parts(owner(), pid="999999999")) is False
