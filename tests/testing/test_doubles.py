"""
The doubles: a recorder and what is asserted of it, a clock, builders.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from toolkit import Catalog, Dispatcher, RetryPolicy, Transient
from toolkit.results import ToolResult
from toolkit.testing import (
    FakeClock,
    Recorder,
    assert_called,
    check_catalog,
    check_tool,
    doubles,
    make_call,
    make_error,
    make_result,
    make_waiting,
)

from .laws import broken

pytestmark = pytest.mark.anyio


@pytest.fixture
def catalog():
    catalog = Catalog()

    @catalog.tool(read_only=True)
    async def add(a: int, b: int = 1) -> int:
        """Add two numbers."""
        return a + b

    return catalog


@pytest.fixture
async def recorder(catalog):
    """What three calls leave behind: a good one, a mended one, a refused one."""
    recorder = Recorder()
    async with Dispatcher(catalog, hooks=[recorder]) as dispatcher:
        await dispatcher.call("add", {"a": 1, "b": 2})
        await dispatcher.call("add", {"a": "5"})
        await dispatcher.call("add", {"b": 2})
    return recorder


async def test_calls_are_recorded_with_their_results(recorder):
    """Repaired arguments are shown as they ran, and refused calls are included."""
    assert [(call.name, call.arguments, call.result.kind) for call in recorder] == [
        ("add", {"a": 1, "b": 2}, "ok"),
        ("add", {"a": 5}, "ok"),
        ("add", {"b": 2}, "bad_args"),
    ]
    assert recorder.names() == ["add", "add", "add"]
    assert recorder.of("other") == []
    assert len(recorder) == 3
    recorder.clear()
    assert len(recorder) == 0


async def test_assert_called_finds_a_call(recorder):
    """It may be given the name, all or some arguments, the kind of the result, and the number of calls."""
    assert assert_called(recorder, "add").arguments == {"a": 1, "b": 2}
    assert assert_called(recorder, "add", {"a": 5}).result.value == 6
    assert assert_called(recorder, "add", {"b": 2}, partly=True, times=2).arguments == {"a": 1, "b": 2}
    assert assert_called(recorder, "add", kind="bad_args", times=1).arguments == {"b": 2}
    assert assert_called(recorder, "remove", times=0) is None


async def test_the_error_of_assert_called_has_all_calls_and_a_diff_with_the_nearest(recorder):
    with pytest.raises(AssertionError) as caught:
        assert_called(recorder, "add", {"a": 1, "b": 3})
    assert str(caught.value).splitlines() == [
        'expected add({"a": 1, "b": 3})',
        "what was called:",
        '  1. add({"a": 1, "b": 2}) -> ok',
        '  2. add({"a": 5}) -> ok',
        '  3. add({"b": 2}) -> bad_args',
        "the nearest call of add (- expected, + called):",
        "    {",
        '      "a": 1,',
        '  -   "b": 3',
        '  +   "b": 2',
        "    }",
    ]


async def test_partly_compares_only_the_expected_arguments(recorder):
    with pytest.raises(AssertionError) as caught:
        assert_called(recorder, "add", {"b": 7}, partly=True)
    assert str(caught.value).splitlines()[-4:] == ["    {", '  -   "b": 7', '  +   "b": 2', "    }"]


async def test_the_error_of_assert_called_says_that_only_the_kind_differs(recorder):
    with pytest.raises(AssertionError) as caught:
        assert_called(recorder, "add", {"a": 1}, partly=True, kind="waiting")
    assert str(caught.value).splitlines()[-1] == "the arguments fit, but it ended as `ok`"
    with pytest.raises(AssertionError) as caught:
        assert_called(recorder, "add", {"a": 1, "b": 2}, times=2)
    assert str(caught.value).splitlines()[-1] == '  3. add({"b": 2}) -> bad_args'


async def test_true_is_not_one(recorder):
    """Python takes them for equal; JSON does not."""
    with pytest.raises(AssertionError, match="expected add"):
        assert_called(recorder, "add", {"a": True, "b": 2})


async def test_the_error_has_the_expected_and_the_real_number_of_calls(recorder):
    with pytest.raises(AssertionError, match=r"expected add\(\.\.\.\) -> ok 3 times, but 2 times"):
        assert_called(recorder, "add", times=3, kind="ok")
    with pytest.raises(AssertionError, match="nothing was called"):
        assert_called(Recorder(), "add")


async def test_a_clock_moves_only_in_a_sleep(catalog):
    """Waits take no time, and are told."""
    clock = FakeClock()
    tries = []

    @catalog.tool(read_only=True)
    async def flaky() -> str:
        """Answer at the third try."""
        tries.append(clock())
        if len(tries) < 3:
            raise Transient("busy")
        return "here"

    retry = RetryPolicy(wait_initial=10.0, wait_max=60.0)
    async with Dispatcher(catalog, clock=clock, sleep=clock.sleep, chance=lambda: 1.0, retry=retry) as dispatcher:
        assert (await dispatcher.call("flaky")).text == "here"
    assert len(clock.slept) == 2
    assert clock.now == pytest.approx(1000.0 + sum(clock.slept))
    assert tries[-1] - tries[0] == pytest.approx(sum(clock.slept))


async def test_a_fake_clock_does_not_run_backwards():
    clock = FakeClock(5.0)
    clock.advance(2.5)
    assert clock() == 7.5
    with pytest.raises(ValueError, match="backwards"):
        clock.advance(-1)


async def test_calls_and_results_are_complete():
    """A missing field has the value that the dispatcher would give it."""
    call = make_call("read", {"path": "a"})
    assert (call.name, call.arguments, call.id) == ("read", {"path": "a"}, "call_1")
    result = make_result({"a": (1, 2)}, tool="read")
    assert (result.text, result.value, result.kind, result.tool) == ('{"a":[1,2]}', {"a": [1, 2]}, "ok", "read")
    assert make_result("x", text="shown").text == "shown"
    assert make_error("failed", "no").text == "error: tool failed: no\nTry another way, or tell the user."
    waiting = make_waiting("it deletes", tool="wipe", preview="everything")
    assert (waiting.kind, waiting.request.preview, waiting.request.call_id) == ("waiting", "everything", "call_1")


@pytest.mark.parametrize(
    "result", [make_result([1]), make_error("timeout"), make_waiting()], ids=["ok", "error", "waiting"]
)
async def test_built_results_can_be_stored(result):
    assert ToolResult.from_json(result.to_json()).to_json() == result.to_json()


def fail_assert_called():
    assert_called(Recorder(), "add")


def fail_check_tool():
    check_tool(broken.laws["divide_cake"], examples=5)


def fail_check_catalog():
    check_catalog(Catalog(broken.laws["divide_cake"]), examples=5)


@pytest.mark.parametrize("fail", [fail_assert_called, fail_check_tool, fail_check_catalog])
async def test_a_failed_assertion_shows_the_line_of_the_test(fail):
    with pytest.raises(AssertionError) as caught:
        fail()
    entries = caught.traceback.filter(caught)
    assert [entry.name for entry in entries] == [
        "test_a_failed_assertion_shows_the_line_of_the_test",
        fail.__name__,
    ]


@pytest.mark.parametrize("name", [*doubles.__all__, "ScriptedProvider"])
async def test_each_double_has_an_example_on_its_page(name):
    """`FakeClock` and friends documented with one example each."""
    page = (Path(__file__).parents[2] / "docs" / "testing.md").read_text("utf-8")
    examples = "\n".join(block.partition("```")[0] for block in page.split("```python")[1:])
    assert re.search(rf"\b{name}\(|\b{name}\b.*# ->", examples)
