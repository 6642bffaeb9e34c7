"""Calls and runs that go on in another process: after an answer of a person, and after `kill -9`."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

pytest.importorskip("toolkit.durable", reason="the extra `durable` is not installed")

from tests.killed_children import ROOT
from tests.telemetry.traced_process import build_dispatcher, build_durable, go_on
from toolkit import Decision
from toolkit.cli.commands.trace import build_tree, read_spans, walk_tree

pytestmark = [pytest.mark.anyio, pytest.mark.long]


def run_process(folder, verb):
    """Let a process work in *folder*, and return how it has ended, and what it has said."""
    command = [sys.executable, "-m", "tests.telemetry.traced_process", str(folder), verb]
    done = subprocess.run(command, cwd=ROOT, check=False, timeout=300, stdout=subprocess.PIPE, text=True)
    return done.returncode, done.stdout


def read_tree(folder):
    """Return the spans in the order of the tree, and fail if a line cannot be read."""
    unreadable: list[int] = []
    spans = [(depth, span) for span, depth, _ in walk_tree(build_tree(read_spans(folder / "run.jsonl", unreadable)))]
    assert unreadable == []
    return spans


async def test_an_approval_that_is_answered_in_a_second_process_is_linked(tmp_path):
    code, request_id = run_process(tmp_path, "wait")
    assert code == 0
    assert (await build_dispatcher(tmp_path).resume(request_id, Decision.approve())).kind == "ok"
    (_, waited), (_, resumed) = read_tree(tmp_path)
    assert (waited.kind, resumed.kind, resumed.links) == ("waiting", "ok", [waited.span])
    assert waited.trace != resumed.trace


async def test_a_run_with_a_flow_inside_goes_on_after_a_kill(tmp_path):
    """
    Its spans are complete, the run and the call have links to their waits, and finished steps are not recorded
    again.
    """
    async with build_durable(tmp_path) as durable:
        assert (await durable.run("go", id="r1")).status == "waiting"
    assert run_process(tmp_path, "die")[0] == -signal.SIGKILL
    assert (await go_on(build_durable(tmp_path))).status == "done"
    spans = read_tree(tmp_path)
    waited = [span for _, span in spans if (span.name, span.kind) == ("execute_tool publish", "waiting")]
    done = [span for _, span in spans if (span.name, span.kind) == ("execute_tool publish", "ok")]
    runs = [span for _, span in spans if span.name == "invoke_agent boss"]
    assert [run.kind for run in runs] == ["waiting", "done"]
    assert runs[1].links == [waited[0].span]
    assert len(done) == 1
    assert [span.name for _, span in spans].count("execute_tool edit") == 1
    top = ["invoke_agent boss", "execute_tool release", "invoke_workflow release", "execute_tool publish"]
    by_id = {(span.trace, span.span): span for _, span in spans}
    path, span = [], done[0]
    while span is not None:
        path.insert(0, span.name)
        span = by_id.get((span.trace, span.parent))
    assert path == top


async def test_a_killed_run_that_never_waited_is_linked_to_its_beginning(tmp_path):
    """The span of the killed process was never written, but that of the question to the model was."""
    assert run_process(tmp_path, "fall")[0] == -signal.SIGKILL
    assert (await go_on(build_durable(tmp_path, asks=False))).status == "done"
    spans = [span for _, span in read_tree(tmp_path)]
    [run] = [span for span in spans if span.name == "invoke_agent boss"]
    chat_span = next(span for span in spans if span.name == "chat scripted")
    assert run.links == [chat_span.parent]
    assert run.trace != chat_span.trace
