"""Questions on a real terminal, and the askers that stand in for one."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import io
import json
import os
import pty
import re
import select
import subprocess
import sys
import termios
import textwrap
import threading
from pathlib import Path

import pytest

from toolkit.approvals.askers import Callback, DenyAll
from toolkit.approvals.terminal.prompt import TerminalPrompt
from toolkit.approvals.terminal.screens import Screen
from toolkit.decisions import Decision
from toolkit.questions import Question

from .prompt_kit import DIFF, HOSTILE, request

# A terminal of one's own, and a process that asks on it.

ASKING = """
    import json, os, sys
    from toolkit.approvals.terminal.prompt import TerminalPrompt
    from toolkit.decisions import ApprovalRequest
    prompt = TerminalPrompt()
    for asked in json.load(open(sys.argv[1])):
        decision = prompt.ask(ApprovalRequest.from_json(asked))
        words = [decision.approved, decision.reason, decision.arguments, bool(decision.by)] if decision else [None] * 4
        print(json.dumps(words))
"""


class Terminal:
    """A pseudo-terminal with a process on it that asks about *requests*; its standard streams are elsewhere."""

    def __init__(self, path, *requests, columns=60, **environment):
        (path / "requests").write_text(json.dumps([pending.to_json() for pending in requests]))
        self._mine, self._theirs = pty.openpty()
        termios.tcsetwinsize(self._mine, (24, columns))
        environ = {"PATH": os.environ["PATH"], "TERM": "xterm", "PYTHONPATH": os.getcwd(), **environment}
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                textwrap.dedent(TAKE_TERMINAL + ASKING),
                str(path / "requests"),
                os.ttyname(self._theirs),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env=environ,
        )
        self.shown = ""

    def until(self, words):
        """Read until *words* are on the screen."""
        start = len(self.shown)
        while words not in self.shown[start:]:
            assert select.select([self._mine], [], [], 20)[0], self.shown
            self.shown += os.read(self._mine, 65536).decode(errors="replace")

    def type(self, text):
        os.write(self._mine, text.encode())

    def press_ctrl_c(self):
        """Press it once the process waits: Python misses a signal between its last look and the start of a read."""
        while Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()[0] != "S":
            os.sched_yield()
        self.type("\x03")

    def answers(self):
        """Return what the process made of what was typed."""
        output, errors = self._process.communicate(timeout=30)
        assert not errors, errors.decode()
        return [json.loads(line) for line in output.splitlines()]

    def close(self):
        self._process.kill()
        self._process.communicate()
        os.close(self._mine)
        os.close(self._theirs)


@pytest.fixture
def terminal(tmp_path):
    """Make a terminal on which requests are asked."""
    with contextlib.ExitStack() as stack:
        yield lambda *requests, **options: stack.enter_context(
            contextlib.closing(Terminal(tmp_path, *requests, **options))
        )


TAKE_TERMINAL = """
    import fcntl, os, sys, termios
    handle = os.open(sys.argv[2], os.O_RDWR)
    fcntl.ioctl(handle, termios.TIOCSCTTY, 0)
"""


def test_a_real_terminal_is_asked_though_the_streams_are_elsewhere(terminal, tmp_path):
    """Yes, no with a reason, and an edit, each typed; the diff is coloured."""
    editor = tmp_path / "editor.py"
    editor.write_text("import sys; open(sys.argv[1], 'w').write('{\"path\": \"typed\"}')")
    question = request(preview=DIFF)
    screen = terminal(question, question, question, EDITOR=f"{sys.executable} {editor}")
    screen.until("[e]dit: ")
    screen.type("y\n")
    screen.until("[e]dit: ")
    screen.type("n\n")
    screen.until("left empty: ")
    screen.type("no time\n")
    screen.until("[e]dit: ")
    screen.type("e\n")
    assert screen.answers() == [
        [True, "", None, True],
        [False, "no time", None, True],
        [True, "", {"path": "typed"}, True],
    ]
    assert "\x1b[31m-old\x1b[0m" in screen.shown


def test_a_real_terminal_never_sees_raw_foreign_text(terminal):
    """No foreign escape, bidi or control character arrives, and long lines stay behind the bar."""
    long = "  " + "x" * 56 + "May it run? [y]es: "
    clean = HOSTILE.replace("\ud800", "")
    screen = terminal(request(preview=f"{clean}\n{long}", reason=clean * 3), NO_COLOR="1")
    screen.until("[e]dit: ")
    screen.type("q\n")
    assert screen.answers() == [[False, "", None, True]]
    lines = screen.shown.split("\r\n")
    assert all(re.fullmatch(r"[\x20-\x7e]{0,60}", line) for line in lines[:-1])
    assert sum(line.startswith("May it run?") for line in lines) == 1


def test_text_typed_before_the_question_is_not_an_answer(terminal):
    """A yes that was meant for another program approves no call."""
    screen = terminal(request(), request())
    screen.until("[e]dit: ")
    screen.type("n\n\ny\ny\ny\n")
    screen.until("[e]dit: ")
    screen.type("\x04")
    assert screen.answers() == [[False, "", None, True], [False, "no answer came", None, True]]


def test_ctrl_c_at_a_real_terminal_leaves_the_request_open(terminal):
    """The process goes on."""
    screen = terminal(request(), request())
    screen.until("[e]dit: ")
    screen.press_ctrl_c()
    screen.until("[e]dit: ")
    screen.type("y\n")
    assert [answer[:2] for answer in screen.answers()] == [[None, None], [True, ""]]


@pytest.fixture
def pair():
    """A pseudo-terminal in this process: our end, and the name of the other."""
    mine, theirs = pty.openpty()
    termios.tcsetwinsize(mine, (24, 40))
    yield mine, os.ttyname(theirs)
    os.close(mine)
    os.close(theirs)


def on_screen(mine):
    """Read what is shown, up to the question."""
    output = b""
    while not output.endswith(b"dit: "):
        output += os.read(mine, 65536)
    return output.decode()


def test_long_lines_are_wrapped_behind_the_bar(pair, monkeypatch):
    """Their width on the screen counts. A wide letter takes two cells, and a tab up to eight."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    mine, name = pair
    question = request(reason="r" * 50, preview=f"@\n@@ -1 +1 @@\n+{'x' * 40}\n+{'漢' * 20}\n+\ty\n+")
    prompt = TerminalPrompt(input=io.StringIO("q\n"), terminal=name, by="ada")
    assert prompt.ask(question) == Decision.deny(by="ada")
    output = on_screen(mine).split("\r\n")
    assert [re.sub(r"\x1b\[\d+m", "", line) for line in output[2:]] == [
        "  because:",
        f"  | {'r' * 36}",
        f"  | {'r' * 14}",
        '  with: {"path": "x"}',
        "  which would do:",
        "  | @",
        "  | @@ -1 +1 @@",
        f"  | +{'x' * 35}",
        f"  | {'x' * 5}",
        f"  | +{'漢' * 17}",
        f"  | {'漢' * 3}",
        "  | +\ty",
        "  | +",
        "May it run? [y]es, [n]o, [e]dit: ",
    ]
    assert f"  | \x1b[32m{'x' * 5}\x1b[0m" in output


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_an_environment_variable_turns_colours_off(pair, monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    mine, terminal = pair
    TerminalPrompt(input=io.StringIO("q\n"), terminal=terminal).ask(request(preview=DIFF))
    assert "\x1b" not in on_screen(mine)


def test_an_answer_typed_on_the_named_terminal_counts(pair):
    mine, name = pair
    output = io.StringIO()
    prompt = TerminalPrompt(output=output, terminal=name, by="ada")
    asking = threading.Thread(target=lambda: decisions.append(prompt.ask(request())))
    decisions = []
    os.write(mine, b"y\n")  # too early
    asking.start()
    while "[e]dit: " not in output.getvalue():
        pass
    os.write(mine, b"n\n\n")
    asking.join()
    assert decisions == [Decision.deny(by="ada")]


class Gone(io.StringIO):
    """A stream whose other side is not there any more."""

    def readline(self, *_):
        raise OSError(5, "Input/output error")

    write = readline


@pytest.mark.parametrize("options", [{"input": Gone()}, {"output": Gone()}], ids=["input", "output"])
def test_a_terminal_that_is_closed_denies_the_request(options):
    """No person has seen the request, or no person can answer it."""
    decision = TerminalPrompt(**{"input": io.StringIO("y\n"), "output": io.StringIO(), **options}, by="ada").ask(
        request()
    )
    assert decision == Decision.deny("no person could be asked: [Errno 5] Input/output error", by="ada")


def test_an_answer_that_is_not_text_denies_the_request():
    """It cannot have been a yes."""
    answers = io.TextIOWrapper(io.BytesIO(b"\xff\n"), encoding="utf-8")
    decision = TerminalPrompt(input=answers, output=io.StringIO()).ask(request())
    assert not decision.approved


def test_the_standard_streams_replace_a_missing_terminal(tmp_path, monkeypatch, capsys):
    """If they are missing as well, the answer is no."""
    prompt = TerminalPrompt(terminal=str(tmp_path / "none"), by="ada")
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    assert prompt.ask(request()) == Decision.approve(by="ada")
    assert "May it run?" in capsys.readouterr().out
    monkeypatch.setattr(sys, "stdin", None)
    assert prompt.ask(request()) == Decision.deny("there is no person to ask", by="nobody")


def test_a_user_without_a_name_is_the_terminal(monkeypatch):
    """The audit log needs a name."""

    def raise_no_user():
        raise KeyError("uid not found")

    monkeypatch.setattr("getpass.getuser", raise_no_user)
    assert TerminalPrompt(input=io.StringIO("y\n"), output=io.StringIO()).ask(request()).by == "the terminal"


def test_the_prompt_uses_the_standard_streams_without_a_terminal(tmp_path):
    """The process has no terminal, and its input ends."""
    (tmp_path / "requests").write_text(json.dumps([request().to_json()] * 2))
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(ASKING), str(tmp_path / "requests")],
        input="y\n",
        capture_output=True,
        text=True,
        check=True,
        start_new_session=True,
    )
    assert ended.stdout.count("[true,") == 1
    assert ended.stdout.count('[false, "no answer came",') == 1


def test_the_answer_is_no_without_streams(tmp_path):
    """A service has no person to ask."""
    script = "import sys; sys.stdin = sys.stdout = None\n" + textwrap.dedent(ASKING).replace(
        "print(", "sys.stderr.write("
    )
    (tmp_path / "requests").write_text(json.dumps([request().to_json()]))
    ended = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "requests")],
        capture_output=True,
        text=True,
        check=True,
        start_new_session=True,
    )
    assert ended.stderr == '[false, "there is no person to ask", null, true]'


@pytest.mark.parametrize(
    ("answer", "decision"),
    [
        (True, Decision.approve(by="bot", principal="bob")),
        (False, Decision.deny(by="bot", principal="bob")),
        (None, None),
        (Decision.deny("no"), Decision.deny("no")),
    ],
)
def test_a_callback_can_answer(answer, decision):
    """It may return a decision, a bool or None, at once or when awaited."""
    questions = []

    async def later(question):
        questions.append(question)
        return answer

    question = request(principal="bob")
    assert Callback(lambda question: answer, by="bot").ask(question) == decision
    assert asyncio.run(await_value(Callback(later, by="bot").ask(question))) == decision
    assert questions == [question]


async def await_value(awaitable):
    return await awaitable


@pytest.mark.parametrize("answer", ["no", 1, 0, {}])
def test_an_invalid_answer_of_a_callback_approves_no_call(answer):
    """Python treats a text that says no as true."""
    with pytest.raises(TypeError, match="the callback for `write` answered with"):
        Callback(lambda question: answer).ask(request())


def test_a_callback_that_is_not_a_function_is_refused():
    with pytest.raises(TypeError, match="got str"):
        Callback("yes")


def test_askers_state_whether_they_block():
    """The dispatcher runs blocking askers in a thread."""
    assert TerminalPrompt.blocking
    assert not Callback(bool).blocking
    assert Callback(bool, blocking=True).blocking


def test_deny_all_denies_every_request():
    """The model reads the reason."""
    decision = Decision.deny("there is no person to ask", by="nobody", principal="bob")
    assert DenyAll().ask(request(principal="bob")) == decision
    assert DenyAll("closed at night").ask(request()).reason == "closed at night"


@pytest.mark.parametrize(("length", "is_whole"), [(20_000, True), (20_001, False)])
def test_a_question_that_is_too_long_is_cut_with_a_note(length, is_whole):
    """The request then does not count as shown."""
    output = io.StringIO()
    asked = dataclasses.replace(request(), questions=(Question(key="q", message="x" * length, schema={}),))
    assert Screen(output, colour=False).show(asked, 0.0) is is_whole
    assert ("(cut: 20,000 of 20,001 characters shown)" in output.getvalue()) is not is_whole
