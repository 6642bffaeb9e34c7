"""An agent in a real terminal: approvals, plans, and Ctrl-C."""

from __future__ import annotations

import signal

import pytest

from tests.cli.kit import CANCEL, DONE, LOOK, model, words
from tests.providers.protocols import Turn
from tests.providers.stub import Silent
from toolkit.approvals import SQLiteApprovals
from toolkit.results import ToolCall

from .agent_runs import again, read_saved_run, resume_run, watch_run

pytestmark = pytest.mark.usefixtures("key")


@pytest.mark.long
def test_the_user_is_asked_in_a_terminal_and_sees_the_call(shop):
    """The display pauses for the question, and only lines are left afterwards."""
    with model(LOOK, CANCEL, DONE) as stub, watch_run(stub) as terminal:
        terminal.until("[y]es")
        assert [line for line in terminal.lines() if "asks for permission" in line] == ["`cancel` asks for permission"]
        terminal.type("y\n")
        assert terminal.read_to_end() == 0
    lines = terminal.lines()
    ours = [line.split("  ")[0] for line in lines if line[:1] in "✓✗•"]
    assert [line for line in ours if line] == ["✓ free_days", "✓ cancel"]
    assert "    01 May is a working day" in lines
    assert "  It is done." in lines
    assert "\x1b[?25h" in terminal.written  # the cursor is back
    assert "thinking" not in "\n".join(lines)


@pytest.mark.long
@pytest.mark.parametrize(("answer", "is_done"), [("y\n", True), ("n\n", False), ("\n", False)])
def test_a_plan_is_executed_if_the_user_agrees(shop, answer, is_done):
    """Only a clear yes counts."""
    plan = Turn(calls=(ToolCall("exit_plan", {"plan": "1. Look it up."}, "p1"),))
    with model(plan, LOOK, DONE) as stub, watch_run(stub, "--mode", "plan") as terminal:
        terminal.until("Carry out this plan? [y]es, [n]o: ")
        terminal.type(answer)
        assert terminal.read_to_end() == 0
    assert ("  It is done." in terminal.lines()) is is_done
    assert len(stub.heard) == (3 if is_done else 1)


@pytest.mark.long
def test_ctrl_c_ends_a_run_and_restores_the_terminal(shop):
    """The cursor is back, and the exit code is that of an interrupt."""
    with model(Silent()) as stub, watch_run(stub) as terminal:
        terminal.until("thinking")
        terminal.type("\x03")
        assert terminal.read_to_end() == 130
    assert terminal.lines()[-1] == "error: interrupted"
    assert terminal.written.count("\x1b[?25l") == terminal.written.count("\x1b[?25h")


@pytest.mark.long
def test_ctrl_c_is_not_an_answer_to_a_plan(shop):
    """
    It ends the command, and the plan is not executed. Keys that were typed before the question do not count
    either.
    """
    plan = Turn(calls=(ToolCall("exit_plan", {"plan": "1. Look it up."}, "p1"),))
    with model(plan, LOOK, DONE) as stub, watch_run(stub, "--mode", "plan") as terminal:
        terminal.type("y\ny\n")
        terminal.until("Carry out this plan? [y]es, [n]o: ")
        terminal.type("\x03")
        assert terminal.read_to_end() == 130
    assert len(stub.heard) == 1


@pytest.mark.long
@pytest.mark.parametrize(("answer", "ending"), [("y\n", "01 May is a working day"), ("n\n\n", "denied")])
def test_a_resumed_run_asks_for_the_approval_that_is_missing(shop, answer, ending):
    """It goes on to its end with the answer."""
    with model(CANCEL, DONE) as stub:
        assert shop.run(*words(stub, "--no-ask", "--save", "run.json")).code == 7
        with resume_run(stub) as terminal:
            terminal.until("[y]es")
            terminal.type(answer)
            assert terminal.read_to_end() == 0
    assert ending in terminal.written
    assert (read_saved_run().status, read_saved_run().text) == ("done", "It is done.")


@pytest.mark.long
def test_a_saved_plan_is_shown_again_and_executed_once(shop):
    """The user has to agree. A copy of the file is not a second plan."""
    plan = Turn(calls=(ToolCall("exit_plan", {"plan": "1. Look it up."}, "p1"),))
    with model(plan, LOOK, DONE) as stub:
        shop.run(*words(stub, "--mode", "plan", "--no-ask", "--save", "run.json"))
        planned = (shop.folder / "run.json").read_text()
        with resume_run(stub) as terminal:
            terminal.until("Carry out this plan? [y]es, [n]o: ")
            terminal.type("y\n")
            assert terminal.read_to_end() == 0
        assert "  1. Look it up." in terminal.lines()
        assert read_saved_run().text == "It is done."
        (shop.folder / "run.json").write_text(planned)
        with resume_run(stub) as terminal:
            terminal.until("Carry out this plan? [y]es, [n]o: ")
            terminal.type("y\n")
            assert terminal.read_to_end() == 2
    assert "was carried out already" in terminal.written
    assert len(stub.heard) == 3


@pytest.mark.long
def test_a_run_that_ctrl_c_interrupts_is_saved(shop):
    """The saved run has all messages and results, and can be continued."""
    rest = Turn(text="I rest.", calls=(ToolCall("sleep", {}, "s1"),))
    with model(rest, DONE) as stub:
        with watch_run(stub, "--save", "run.json") as terminal:
            terminal.until("sleep")  # it has begun
            terminal.type("\x03")
            assert terminal.read_to_end() == 130
        assert [type(message).__name__ for message in read_saved_run().messages][-2:] == [
            "AssistantMessage",
            "ToolMessage",
        ]
        assert shop.run(*again(stub)).code == 0
    assert read_saved_run().text == "It is done."


# Ctrl-C at an approval prompt.


def pending(shop):
    return [request.tool for request in SQLiteApprovals(shop.folder / "run.json.approvals.sqlite").pending()]


@pytest.mark.long
@pytest.mark.parametrize("is_typed", [True, False])
def test_ctrl_c_at_an_approval_prompt_leaves_the_request_open_and_resume_asks_again(shop, is_typed):
    """
    Ctrl-C at an approval prompt leaves the request open and says that the call did not run, and `--resume` asks again.
    """
    with model(CANCEL, DONE) as stub:
        with watch_run(stub, "--save", "run.json") as terminal:
            terminal.until("[y]es")
            if is_typed:
                terminal.type("\x03")
            else:
                terminal.signal(signal.SIGINT)
            assert terminal.read_to_end() == 130
        message = "interrupted; `cancel` did not run; the request is open, and --resume run.json asks again"
        assert terminal.lines()[-1] == f"error: {message}"
        assert "working day" not in terminal.written
        assert (read_saved_run().status, [request.tool for request in read_saved_run().requests]) == (
            "waiting",
            ["cancel"],
        )
        assert pending(shop) == ["cancel"]
        with resume_run(stub) as terminal:
            terminal.until("[y]es")
            terminal.type("y\n")
            assert terminal.read_to_end() == 0
    assert "01 May is a working day" in terminal.written
    assert (read_saved_run().text, pending(shop)) == ("It is done.", [])


@pytest.mark.long
def test_ctrl_c_while_resume_asks_does_not_change_the_run(shop):
    """The request stays open."""
    with model(CANCEL, DONE) as stub:
        assert shop.run(*words(stub, "--no-ask", "--save", "run.json")).code == 7
        before = (shop.folder / "run.json").read_text()
        with resume_run(stub) as terminal:
            terminal.until("[y]es")
            terminal.type("\x03")
            assert terminal.read_to_end() == 130
        assert "`cancel` did not run" in terminal.lines()[-1]
        assert (shop.folder / "run.json").read_text() == before
        assert pending(shop) == ["cancel"]
        with resume_run(stub) as terminal:
            terminal.until("[y]es")
            terminal.type("y\n")
            assert terminal.read_to_end() == 0
    assert read_saved_run().text == "It is done."
