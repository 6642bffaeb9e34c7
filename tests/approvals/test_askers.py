"""
A person sees everything, deceived by nothing, and only a clear yes is one.
"""

from __future__ import annotations

import asyncio
import contextlib
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
from hypothesis import given
from hypothesis import strategies as st

from toolkit.approvals.askers import Callback, DenyAll
from toolkit.approvals.terminal.conversation import run_editor
from toolkit.approvals.terminal.prompt import TerminalPrompt
from toolkit.decisions import ApprovalRequest, AuthRequest, Decision, Grant

TOOL = Grant(tool="id", scope="tool", shown="every call of `write`")
FOLDER = Grant(tool="id", scope="folder", target="/src")
COMMAND = Grant(tool="id", scope="command", target="git push")
DIFF = "--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n-old\n+new\n"


def request(**options):
    """A request with what the test is about."""
    given = {"tool": "write", "call_id": "c1", "reason": "it writes", "arguments": {"path": "x"}, "created_at": 1000.0}
    return ApprovalRequest(**{**given, **options})


def answered(text, asked=None, *, edit=None, now=1000.0, **options):
    """What *text*, typed in answer to a request, decides; and what was shown."""
    output = io.StringIO()
    prompt = TerminalPrompt(input=io.StringIO(text), output=output, edit=edit, by="ada", clock=lambda: now, **options)
    return prompt.ask(request() if asked is None else asked), output.getvalue()


@pytest.mark.parametrize(
    ("text", "decision"),
    [
        ("y\n", Decision.approve(by="ada")),
        ("YES\n", Decision.approve(by="ada")),
        ("n\nnot today\n", Decision.deny("not today", by="ada")),
        ("no\n\n", Decision.deny(by="ada")),
        ("n\n", Decision.deny(by="ada")),
        ("q\n", Decision.deny(by="ada")),
        ("", Decision.deny("no answer came", by="ada")),
        ("\nmaybe\ny\n", Decision.approve(by="ada")),
        ("a\n2\n", Decision.approve(grant=FOLDER, by="ada")),
        ("always\n7\n1\n", Decision.approve(grant=TOOL, by="ada")),
        ("a\n\ny\n", Decision.approve(by="ada")),
        ("a\n", Decision.deny("no answer came", by="ada")),
    ],
)
def test_each_answer_is_what_it_says(text, decision):
    """Yes, no and why, always and what; the end of input is a no, and anything else is asked again."""
    assert answered(text, request(grants=(TOOL, FOLDER)))[0] == decision


@given(st.text())
def test_nothing_but_a_yes_approves(text):
    """Whatever is typed."""
    decision, _ = answered(text)
    words = {line.strip().lower() for line in re.split(r"\n|\r\n?", text)}
    assert not decision.approved or words & {"y", "yes"}


def test_what_is_not_understood_is_said():
    """With the answers that are."""
    assert "'m\\\\x1b' is not an answer; the answers are: y, yes, n, no, q, quit, e, edit" in answered("m\x1b\ny\n")[1]


def test_a_decision_is_made_for_the_principal_who_asked():
    """The dispatcher refuses any other."""
    decisions = [answered(text, request(principal="bob", grants=(TOOL,)))[0] for text in ("y\n", "n\n", "a\n1\n", "")]
    assert [decision.principal for decision in decisions] == ["bob"] * 4


def test_grants_are_shown_in_words():
    """Before one is given."""
    shown = answered("a\n\nq\n", request(grants=(TOOL, FOLDER, COMMAND)))[1]
    assert "  1  every call of `write`, for the rest of the session\n" in shown
    assert "  2  everything under /src, for the rest of the session\n" in shown
    assert "  3  commands that start with git push, for the rest of the session\n" in shown
    bare = Grant(tool="id", scope="tool")
    assert "every call of it, for" in answered("a\n\nq\n", request(grants=(bare,)))[1]


@pytest.mark.parametrize(
    "asked",
    [
        request(),
        request(grants=(TOOL,), is_cut=True, preview="preview cut: 1 of 2 characters shown"),
        request(grants=(TOOL,), arguments={"content": "x" * 30_000}),
    ],
    ids=["no grants", "cut preview", "cut arguments"],
)
def test_always_is_not_offered_for_what_was_not_shown_whole(asked):
    """Nor where there is nothing to grant; the word is no answer then."""
    decision, shown = answered("a\n1\n", asked)
    assert decision == Decision.deny("no answer came", by="ada")
    assert "lways" not in shown


def test_everything_that_matters_is_shown():
    """Who asks, why, with what, what was mended, what it would do, and until when."""
    asked = request(
        asked_by=("rule `write`", "mode `default`"),
        repairs=('path: "x" for ["x"]',),
        principal="bob",
        waits_for="c0",
        preview=DIFF,
        grants=(TOOL,),
        expires_at=1000.0 + 150,
    )
    expected = """
        `write` asks for permission
          because: it writes
          asked by: rule `write`, mode `default`
          on behalf of: bob
          after: c0
          mended before: path: "x" for ["x"]
          can be answered for: 2 minutes
          with:
          | {
          |   "path": "x"
          | }
          which would do:
          | --- a/x
          | +++ b/x
          | @@ -1,1 +1,1 @@
          | -old
          | +new
        May it run? [y]es, [n]o, [a]lways, [e]dit: """
    assert answered("y\n", asked)[1] == textwrap.dedent(expected)


def test_a_request_for_credentials_shows_whose_and_where():
    """There is nothing to edit and nothing to grant."""
    auth = AuthRequest(provider="github", scopes=("repo", "user"), url="https://example.org/login", reason="to push")
    decision, shown = answered("e\na\ny\n", request(auth=auth, arguments={}, grants=(TOOL,)))
    assert decision == Decision.approve(by="ada")
    for line in (
        "`write` needs credentials\n",
        "  credentials of: github\n",
        "  which permit: repo, user\n",
        "  given at: https://example.org/login\n",
        "  needed for: to push\n",
        "Have the credentials been given? [y]es, [n]o: ",
    ):
        assert line in shown
    assert "credentials of: x\n" in answered("y\n", request(auth=AuthRequest(provider="x")))[1]


HOSTILE = "\x1b[2J\x1b]0;title\x07\r\u202e\u200b\x9b31m\ud800"


def test_no_foreign_text_reaches_the_terminal_raw():
    """Wherever it stands."""
    grant = Grant(tool=HOSTILE, scope="tool", shown=HOSTILE)
    asked = request(
        tool=HOSTILE,
        reason=HOSTILE,
        asked_by=(HOSTILE,),
        repairs=(HOSTILE,),
        principal=HOSTILE,
        waits_for=HOSTILE,
        preview=f"{DIFF}+{HOSTILE}",
        grants=(grant,),
        arguments={HOSTILE: [HOSTILE]},
        auth=None,
    )
    auth = AuthRequest(provider=HOSTILE, scopes=(HOSTILE,), url=HOSTILE, reason=HOSTILE)
    shown = answered("a\n\nq\n", asked)[1] + answered("q\n", request(auth=auth))[1]
    assert not re.search(r"[^\x20-\x7e\n]", shown)


def test_no_foreign_line_passes_for_one_of_ours():
    """What stands behind the bar is not asked by the prompt."""
    forged = "\nMay it run? [y]es, [n]o: y\n"
    shown = answered("q\n", request(reason=forged, preview=forged, arguments={"text": forged}))[1]
    assert [line for line in shown.split("\n") if line.startswith("May it run?")] == [
        "May it run? [y]es, [n]o, [e]dit: "
    ]


def test_edited_arguments_are_approved():
    """Just those, to be judged anew."""
    decision, _ = answered("e\n", edit=lambda text: text.replace('"x"', '"y"'))
    assert decision == Decision.approve(arguments={"path": "y"}, by="ada")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "not changed: not JSON: Expecting property name"),
        ("[]", "not changed: the arguments have to be a JSON object"),
        ('{"a": NaN}', "not changed: NaN is not JSON"),
        ('{"a": "\\ud800"}', "not changed: a: the text holds half of a surrogate pair"),
        ('{"a": 1, "a": 2}', 'not changed: the key "a" stands twice'),
        ('{"a": "[redacted]"}', "not changed: write the value in place of [redacted]"),
        ('{"path":"x"}', "nothing was changed"),
    ],
)
def test_arguments_that_cannot_be_used_are_asked_for_again(text, words):
    """With what is wrong; what was typed is not lost."""
    drafts = []

    def edit(draft):
        drafts.append(draft)
        return text

    decision, shown = answered("e\ne\nq\n", edit=edit)
    assert not decision.approved
    assert shown.count(words) == 2
    assert drafts[1] == (drafts[0] if words == "nothing was changed" else text)


def test_one_and_true_are_not_the_same_arguments():
    """Python's equality is not JSON's."""
    decision, _ = answered("e\n", request(arguments={"force": 1}), edit=lambda text: '{"force": true}')
    assert decision.arguments == {"force": True}
    assert decision.arguments["force"] is True


def test_what_an_editor_would_hide_is_escaped_in_it():
    """The text is JSON, and JSON has codes for it."""
    drafts = []
    answered("e\nq\n", request(arguments={"a": "\u202eé"}), edit=lambda text: drafts.append(text) or text)
    answered("e\nq\n", request(arguments={"a": "é"}), edit=lambda text: drafts.append(text) or text)
    assert drafts == ['{\n  "a": "\\u202e\\u00e9"\n}', '{\n  "a": "é"\n}']


def test_the_editor_gets_a_private_file(tmp_path):
    """$VISUAL before $EDITOR, with its options; the file is the user's alone and gone afterwards."""
    script = tmp_path / "editor.py"
    script.write_text(
        "import os, sys\n"
        "path = sys.argv[2]\n"
        f"open({str(tmp_path / 'seen')!r}, 'w').write(f'{{path}} {{os.stat(path).st_mode & 0o777:o}} {{sys.argv[1]}}')\n"
        "text = open(path, encoding='utf-8').read()\n"
        "open(path, 'w', encoding='utf-8').write(text.replace('é', 'ü'))\n"
    )
    environment = {"VISUAL": f"'{sys.executable}' '{script}' --wait", "EDITOR": "false"}
    with open(os.devnull) as answers:
        assert run_editor("{é}", answers, io.StringIO(), environment=environment) == "{ü}"
    path, mode, option = (tmp_path / "seen").read_text().split()
    assert (mode, option) == ("600", "--wait")
    assert not os.path.exists(path)


@pytest.mark.parametrize(
    ("environment", "words"),
    [({}, "no editor is known"), ({"EDITOR": "false"}, "the editor ended with 1"), ({"EDITOR": "'"}, "No closing")],
)
def test_an_editor_that_fails_changes_nothing(environment, words):
    """And says so."""
    with pytest.raises(ValueError, match=words):
        run_editor("{}", io.StringIO(), io.StringIO(), environment=environment)


def test_an_editor_that_is_not_there_is_said():
    """And the person is asked again."""

    def edit(text):
        return run_editor(text, io.StringIO(), io.StringIO(), environment={"EDITOR": "/no/such/editor"})

    decision, shown = answered("e\ny\n", edit=edit)
    assert "not changed: [Errno 2] No such file or directory: '/no/such/editor'" in shown
    assert decision.approved


class Interrupted(io.StringIO):
    """An input at which a person presses Ctrl-C."""

    def readline(self, *_):
        raise KeyboardInterrupt


def test_an_interrupt_leaves_the_request_open():
    """Ctrl-C at an approval prompt leaves the request open and says that the call did not run."""
    output = io.StringIO()
    prompt = TerminalPrompt(input=Interrupted(), output=output, by="ada")
    assert prompt.ask(request()) is None
    assert output.getvalue().endswith("not answered, so it does not run; the request stays open\n")


def test_a_request_nobody_can_answer_any_more_is_not_asked():
    """The caller reports that it is too late."""
    decision, shown = answered("y\n", request(expires_at=1500.0), now=1500.0)
    assert (decision, shown) == (None, "")


def test_much_time_is_not_spoken_of():
    """A person who is asked now need not know that they could answer tomorrow."""
    assert "can be answered for" not in answered("q\n", request(expires_at=1000.0 + 86_400))[1]


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.5, "a moment"), (30, "30 seconds"), (119, "119 seconds"), (7300, "2 hours"), (43_100, "11 hours")],
)
def test_the_time_left_is_shown_roughly(seconds, words):
    """In the unit a person would use."""
    assert f"can be answered for: {words}\n" in answered("q\n", request(expires_at=1000.0 + seconds))[1]


@pytest.mark.parametrize(("colour", "is_coloured"), [(True, True), (False, False), (None, False)])
def test_colours_are_for_terminals(colour, is_coloured):
    """A caller may ask for them as well."""
    shown = answered("q\n", request(preview=DIFF), colour=colour)[1]
    assert ("  | \x1b[31m-old\x1b[0m\n  | \x1b[32m+new\x1b[0m\n" in shown) is is_coloured
    assert ("\x1b" in shown) is is_coloured


def test_only_a_diff_is_coloured():
    """A list of points is not one."""
    assert "| - a point\n" in answered("q\n", request(preview="- a point"), colour=True)[1]


def test_letters_a_terminal_does_not_know_are_escaped():
    """It would fail to show the request at all."""
    raw = io.BytesIO()
    output = io.TextIOWrapper(raw, encoding="ascii")
    prompt = TerminalPrompt(input=io.StringIO("y\n"), output=output, by="ada")
    assert prompt.ask(request(reason="é")).approved
    output.flush()
    assert b"because: \\xe9" in raw.getvalue()


def test_prompts_come_one_after_the_other():
    """Two requests on one screen could not be told apart."""
    inside, most = [], []

    class Slow(io.StringIO):
        def readline(self, *_):
            inside.append(1)
            most.append(len(inside))
            threading.Event().wait(0.001)
            inside.pop()
            return "y\n"

    prompts = [TerminalPrompt(input=Slow(), output=io.StringIO(), by="ada") for _ in range(5)]
    threads = [threading.Thread(target=prompt.ask, args=(request(),)) for prompt in prompts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 5


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
        (path / "requests").write_text(json.dumps([each.to_json() for each in requests]))
        self._mine, self._theirs = pty.openpty()
        termios.tcsetwinsize(self._mine, (24, columns))
        given = {"PATH": os.environ["PATH"], "TERM": "xterm", "PYTHONPATH": os.getcwd(), **environment}
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
            env=given,
        )
        self.shown = ""

    def until(self, words):
        """Read until *words* are on the screen."""
        seen = len(self.shown)
        while words not in self.shown[seen:]:
            assert select.select([self._mine], [], [], 20)[0], self.shown
            self.shown += os.read(self._mine, 65536).decode(errors="replace")

    def type(self, text):
        os.write(self._mine, text.encode())

    def press_ctrl_c(self):
        """Once the process waits: Python does not notice a signal between its last look and the start of a read."""
        while Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()[0] != "S":
            os.sched_yield()
        self.type("\x03")

    def answers(self):
        """What the process made of it."""
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
    asked = request(preview=DIFF)
    screen = terminal(asked, asked, asked, EDITOR=f"{sys.executable} {editor}")
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
    """Of what is foreign no escape, bidi or control character arrives; long lines stay behind the bar."""
    long = "  " + "x" * 56 + "May it run? [y]es: "
    clean = HOSTILE.replace("\ud800", "")
    screen = terminal(request(preview=f"{clean}\n{long}", reason=clean * 3), NO_COLOR="1")
    screen.until("[e]dit: ")
    screen.type("q\n")
    assert screen.answers() == [[False, "", None, True]]
    lines = screen.shown.split("\r\n")
    assert all(re.fullmatch(r"[\x20-\x7e]{0,60}", line) for line in lines[:-1])
    assert sum(line.startswith("May it run?") for line in lines) == 1


def test_what_was_typed_before_the_question_does_not_answer_it(terminal):
    """A yes meant for something else approves nothing."""
    screen = terminal(request(), request())
    screen.until("[e]dit: ")
    screen.type("n\n\ny\ny\ny\n")
    screen.until("[e]dit: ")
    screen.type("\x04")
    assert screen.answers() == [[False, "", None, True], [False, "no answer came", None, True]]


def test_ctrl_c_at_a_real_terminal_leaves_the_request_open(terminal):
    """And the process goes on."""
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
    """What was shown, up to the question."""
    shown = b""
    while not shown.endswith(b"dit: "):
        shown += os.read(mine, 65536)
    return shown.decode()


def test_long_lines_are_wrapped_behind_the_bar(pair, monkeypatch):
    """By what they take on the screen: a wide letter takes two cells, a tab up to eight."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    mine, name = pair
    asked = request(reason="r" * 50, preview=f"@\n@@ -1 +1 @@\n+{'x' * 40}\n+{'漢' * 20}\n+\ty\n+")
    prompt = TerminalPrompt(input=io.StringIO("q\n"), terminal=name, by="ada")
    assert prompt.ask(asked) == Decision.deny(by="ada")
    shown = on_screen(mine).split("\r\n")
    assert [re.sub(r"\x1b\[\d+m", "", line) for line in shown[2:]] == [
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
    assert f"  | \x1b[32m{'x' * 5}\x1b[0m" in shown


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_who_wants_no_colours_gets_none(pair, monkeypatch, name, value):
    """Even on a terminal."""
    monkeypatch.setenv(name, value)
    mine, terminal = pair
    TerminalPrompt(input=io.StringIO("q\n"), terminal=terminal).ask(request(preview=DIFF))
    assert "\x1b" not in on_screen(mine)


def test_a_terminal_that_is_typed_on_answers(pair):
    """In the process that asks."""
    mine, name = pair
    output = io.StringIO()
    prompt = TerminalPrompt(output=output, terminal=name, by="ada")
    asking = threading.Thread(target=lambda: found.append(prompt.ask(request())))
    found = []
    os.write(mine, b"y\n")  # too early
    asking.start()
    while "[e]dit: " not in output.getvalue():
        pass
    os.write(mine, b"n\n\n")
    asking.join()
    assert found == [Decision.deny(by="ada")]


class Gone(io.StringIO):
    """A stream whose other side is not there any more."""

    def readline(self, *_):
        raise OSError(5, "Input/output error")

    write = readline


@pytest.mark.parametrize("options", [{"input": Gone()}, {"output": Gone()}], ids=["input", "output"])
def test_a_terminal_that_is_gone_denies(options):
    """No person has seen the request, or no person can answer it."""
    decision = TerminalPrompt(**{"input": io.StringIO("y\n"), "output": io.StringIO(), **options}, by="ada").ask(
        request()
    )
    assert decision == Decision.deny("no person could be asked: [Errno 5] Input/output error", by="ada")


def test_an_answer_that_is_no_text_denies():
    """It cannot have been a yes."""
    answers = io.TextIOWrapper(io.BytesIO(b"\xff\n"), encoding="utf-8")
    decision = TerminalPrompt(input=answers, output=io.StringIO()).ask(request())
    assert not decision.approved


def test_the_standard_streams_stand_in_for_a_terminal(tmp_path, monkeypatch, capsys):
    """Where there is none; and where there are none either, the answer is no."""
    prompt = TerminalPrompt(terminal=str(tmp_path / "none"), by="ada")
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    assert prompt.ask(request()) == Decision.approve(by="ada")
    assert "May it run?" in capsys.readouterr().out
    monkeypatch.setattr(sys, "stdin", None)
    assert prompt.ask(request()) == Decision.deny("there is no person to ask", by="nobody")


def test_a_user_without_a_name_is_the_terminal(monkeypatch):
    """The audit log needs a name."""

    def nobody():
        raise KeyError("uid not found")

    monkeypatch.setattr("getpass.getuser", nobody)
    assert TerminalPrompt(input=io.StringIO("y\n"), output=io.StringIO()).ask(request()).by == "the terminal"


def test_without_a_terminal_the_standard_streams_are_used(tmp_path):
    """A process with no terminal at all, whose input ends."""
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


def test_where_there_are_no_streams_at_all_the_answer_is_no(tmp_path):
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
def test_a_callback_answers(answer, decision):
    """With a decision, a yes or no, or not at all; at once, or when awaited."""
    seen = []

    async def later(asked):
        seen.append(asked)
        return answer

    asked = request(principal="bob")
    assert Callback(lambda asked: answer, by="bot").ask(asked) == decision
    assert asyncio.run(awaited(Callback(later, by="bot").ask(asked))) == decision
    assert seen == [asked]


async def awaited(found):
    return await found


@pytest.mark.parametrize("answer", ["no", 1, 0, {}])
def test_a_callback_that_answers_with_something_else_approves_nothing(answer):
    """A text that says no is true to Python."""
    with pytest.raises(TypeError, match="the callback for `write` answered with"):
        Callback(lambda asked: answer).ask(request())


def test_a_callback_has_to_be_a_function():
    """Said where it is given."""
    with pytest.raises(TypeError, match="got str"):
        Callback("yes")


def test_askers_say_whether_they_block():
    """The dispatcher calls those in a thread."""
    assert TerminalPrompt.blocking
    assert not Callback(bool).blocking
    assert Callback(bool, blocking=True).blocking


def test_deny_all_denies_all():
    """With a reason that the model reads."""
    decision = Decision.deny("there is no person to ask", by="nobody", principal="bob")
    assert DenyAll().ask(request(principal="bob")) == decision
    assert DenyAll("closed at night").ask(request()).reason == "closed at night"
