"""
`toolkit chat`: a conversation of several prompts, in a pipe and in a terminal.
"""

from __future__ import annotations

import contextlib
import re

import pytest

from tests.cli.kit import CANCEL, DONE, LOOK, model, words
from tests.cli.terminals import Terminal
from tests.providers.protocols import PROTOCOLS, Turn
from tests.providers.stub import KEY, Answer
from tests.skills.kit import write_skill
from toolkit.agent import Run
from toolkit.results import ToolCall

HELLO = Turn(text="Hello.")
REST = Turn(text="I rest.", calls=(ToolCall("sleep", {}, "s1"),))


@pytest.fixture(autouse=True)
def key(monkeypatch):
    """The key that the stub knows."""
    monkeypatch.setenv("MY_KEY", KEY)


def chat(stub, *further):
    """Return the command that talks with *stub*."""
    _, target, _, *rest = words(stub, *further)
    return ["chat", target, *rest]


def read_saved_run():
    with open("talk.json", "rb") as file:
        return Run.loads(file.read())


def test_each_line_is_a_prompt_of_one_conversation(shop):
    with model(HELLO, LOOK, DONE) as stub:
        ran = shop.run(*chat(stub), input="Good morning.\n\nWhich days\\\nare free?\n/exit\nnever read\n")
    assert ran.code == 0, ran.err
    assert [line for line in ran.out.splitlines() if line.startswith("  ") and "20" not in line] == [
        "  Hello.",
        "  I look it up.",
        "  It is done.",
    ]
    first, second, third = (str(request.body["messages"]) for request in stub.heard)
    assert "Good morning." in first
    assert "Hello." in second  # the model is told what was said before
    assert "Which days\\nare free?" in second
    assert "never read" not in third


def test_a_conversation_is_saved_after_each_prompt_and_goes_on(shop):
    """`toolkit chat` for a conversation, across two commands."""
    with model(HELLO, DONE) as stub:
        assert shop.run(*chat(stub, "--save", "talk.json"), input="Good morning.\n").code == 0
        assert read_saved_run().text == "Hello."
        assert shop.run(*chat(stub, "--resume", "talk.json"), input="And now?").code == 0
    assert "Good morning." in str(stub.heard[1].body["messages"])
    assert read_saved_run().text == "It is done."


def test_no_model_is_asked_if_the_input_is_empty(shop):
    with model() as stub:
        assert shop.run(*chat(stub), input="").code == 0
    assert stub.heard == []


def test_the_next_line_of_a_pipe_refuses_a_waiting_call(shop):
    """The model reads the refusal and the line together."""
    with model(CANCEL, DONE) as stub:
        ran = shop.run(*chat(stub, "--no-ask"), input="Cancel it.\nAnd now?\n")
    assert ran.code == 0, ran.err
    assert re.search(r"^waiting: `cancel` did not run \(request [0-9a-f]{32}\)$", ran.err, re.MULTILINE)
    assert "--save FILE keeps a request, and in a new run --mode or --rule permits such a call" in ran.err
    assert "the next line refuses what waits" in ran.err
    assert "✗ cancel  denied" in ran.out
    assert ran.out.splitlines()[-1] == "  It is done."
    _, results, prompt = stub.heard[1].body["messages"][-3:]
    assert "no person could be asked" in str(results)
    assert "And now?" in str(prompt)


def test_a_call_that_waits_at_the_end_of_a_pipe_can_be_answered_later(shop):
    """The exit code says that a call waits, and the saved file has the request. A command that cannot ask says the same."""
    with model(CANCEL) as stub:
        ran = shop.run(*chat(stub, "--no-ask", "--save", "talk.json"), input="Cancel it.\n")
        again = shop.run(*chat(stub, "--no-ask", "--resume", "talk.json"), input="")
    assert (ran.code, again.code, len(stub.heard)) == (7, 7, 1)
    (request,) = read_saved_run().requests
    for err in (ran.err, again.err):
        assert f"waiting: `cancel` did not run (request {request.id})" in err
        assert "answer in a terminal with --resume talk.json" in err


def test_a_line_that_refuses_a_waiting_call_may_name_a_skill(shop, tmp_path):
    """If its arguments are wrong, the call still waits."""
    write_skill(tmp_path / "config" / "toolkit" / "skills" / "plan.md", "arguments: [{name: month}]", "Plan {month}.")
    with model(CANCEL, DONE, CANCEL) as stub:
        assert shop.run(*chat(stub, "--no-ask"), input="Cancel it.\n/plan May\n").code == 0
        assert shop.run(*chat(stub, "--no-ask"), input="Cancel it.\n/plan\n").code == 7
    assert "Plan May." in str(stub.heard[1].body["messages"])


def test_a_server_that_does_not_stream_can_be_talked_with(shop):
    """It answers each prompt with one JSON object."""
    answers = [Answer(200, PROTOCOLS["anthropic"].whole(turn, "test-1")) for turn in (HELLO, DONE)]
    with model(*answers) as stub:
        ran = shop.run(*chat(stub), input="Good morning.\nAnd now?\n")
    assert (ran.code, ran.out.splitlines()) == (0, ["  Hello.", "  It is done."])


def test_a_skill_is_called_by_its_name(shop, tmp_path):
    """The user's skills honoured; wrong arguments are told, and the conversation goes on."""
    write_skill(tmp_path / "config" / "toolkit" / "skills" / "plan.md", "arguments: [{name: month}]", "Plan {month}.")
    with model(DONE) as stub:
        ran = shop.run(*chat(stub), input="/plan\n/plan May\n")
    assert ran.code == 0
    assert "error: " in ran.err
    assert "Plan May." in str(stub.heard[0].body["messages"])


def test_the_exit_code_is_that_of_the_last_prompt(shop, tmp_path):
    """A prompt that named a skill with wrong arguments got no answer, whether a model was asked before or not."""
    write_skill(tmp_path / "config" / "toolkit" / "skills" / "plan.md", "arguments: [{name: month}]", "Plan {month}.")
    with model(DONE) as stub:
        assert shop.run(*chat(stub), input="/plan\n").code == 3
        assert shop.run(*chat(stub), input="/plan May\n/plan\n").code == 3


def test_a_run_that_did_not_end_and_is_not_continued_has_an_exit_code(shop):
    """A run that was saved after a turn is `running` if its process was killed then."""
    with open("talk.json", "w") as file:
        file.write(Run(status="running", messages=()).dumps())
    with model() as stub:
        assert shop.run(*chat(stub, "--resume", "talk.json"), input="").code == 11


@pytest.mark.long
def test_the_user_is_asked_at_a_terminal_and_the_conversation_goes_on(shop):
    """Ctrl-D ends the conversation."""
    with (
        model(CANCEL, DONE, HELLO) as stub,
        contextlib.closing(Terminal(["-m", "toolkit", *chat(stub)], columns=120, MY_KEY=KEY)) as terminal,
    ):
        terminal.until_end("> ")
        terminal.type("Cancel it.\n")
        terminal.until("[y]es")
        terminal.type("y\n")
        terminal.until("It is done.")
        terminal.until_end("> ")
        terminal.type("Hi.\n")
        terminal.until("Hello.")
        terminal.until_end("> ")
        terminal.type("\x04")
        assert terminal.read_to_end() == 0
    assert "01 May is a working day" in terminal.written


@pytest.mark.long
def test_ctrl_c_breaks_off_an_answer_and_a_second_one_ends_the_conversation(shop):
    """The conversation before the answer is kept."""
    with (
        model(HELLO, REST, DONE) as stub,
        contextlib.closing(
            Terminal(["-m", "toolkit", *chat(stub, "--save", "talk.json")], columns=120, MY_KEY=KEY)
        ) as terminal,
    ):
        terminal.until_end("> ")
        terminal.type("Hi.\n")
        terminal.until("Hello.")
        terminal.until_end("> ")
        terminal.type("Wait.\n")
        terminal.until("sleep")  # the call has begun
        terminal.type("\x03")
        terminal.until("interrupted; the conversation goes on")
        terminal.until_end("> ")
        terminal.type("Go on.\n")
        terminal.until("It is done.")
        terminal.until_end("> ")
        terminal.type("\x03")
        assert terminal.read_to_end() == 0
    assert read_saved_run().text == "It is done."


def test_a_missing_key_ends_the_conversation_before_it_begins(shop, monkeypatch):
    """The message names the variable to set."""
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    ran = shop.run("chat", "tools.py", "--provider", "anthropic", "--model", "test-1", input="Good morning.\n")
    assert (ran.code, ran.out) == (13, "")
    assert ran.err.splitlines()[-1] == (
        "error: Anthropic needs a key, and there is none: set ANTHROPIC_API_KEY, or give `api_key=` (--key-from)"
    )


def test_a_refused_key_is_named_by_its_variable(shop, monkeypatch):
    """If the provider refuses the key of `--key-from`, the message names that variable."""
    monkeypatch.setenv("MY_KEY", "another")
    with model(HELLO) as stub:
        ran = shop.run(*chat(stub), input="Good morning.\n")
    assert ran.code == 13
    assert "refused the key from MY_KEY" in ran.out
