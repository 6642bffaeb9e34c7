"""
The command line in a real terminal: tables, colours, questions, and nothing foreign that acts.
"""

from __future__ import annotations

import contextlib
import json
import re
import subprocess

import pytest

from tests.cli.terminals import Terminal

HOSTILE = """
from toolkit import Catalog, Context, ToolError
catalog = Catalog()
EVIL = "\\x1b]0;owned\\x07\\x1b[2J\\rrm -rf \\u202e \\u200b p\\u0430ypal"

@catalog.tool(read_only=True, description=EVIL, group=EVIL, search_hint=EVIL, version=EVIL, examples=[{"text": EVIL}])
def evil(text: str = EVIL) -> str:
    return EVIL

@catalog.tool(read_only=True, description="x")
def fails(context: Context) -> str:
    context.report(message=EVIL)
    raise ToolError(EVIL)

@catalog.tool(destructive=True, description="x")
def asks(text: str) -> str:
    return text
"""

PARTS = '''
from toolkit import Catalog, Context
catalog = Catalog()

@catalog.tool(read_only=True)
def download(context: Context) -> str:
    """Download a file."""
    context.report(3, 4, "of the file")
    return "downloaded"
'''


@pytest.fixture
def terminal(shop):
    """Run the command line in a terminal, to its end."""
    with contextlib.ExitStack() as stack:

        def run(*words, **options):
            screen = stack.enter_context(contextlib.closing(Terminal(["-m", "toolkit", *words], **options)))
            screen.shop = shop
            return screen

        yield run


@pytest.mark.long
def test_a_list_is_a_table_in_colour(terminal):
    """It is as wide as the terminal, also if text has to be wrapped for it."""
    screen = terminal("list", "tools.py", columns=60)
    assert screen.read_to_end() == 0
    assert "\x1b[1m" in screen.written
    lines = screen.lines()
    assert all(len(line) <= 60 for line in lines)
    firsts = [line.split()[0] for line in lines if line[:1].isalpha()]
    assert firsts == ["the", "name", "free_days", "cancel", "order", "flaky", "sleep", "broken"]


@pytest.mark.long
@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_no_colour_is_used_where_none_is_wanted(terminal, environment):
    """`NO_COLOR` is kept to; so is a terminal that knows none."""
    coloured = re.compile(r"\x1b\[(?:\d+;)*(?:3[0-7]|9[0-7])m")
    usual = terminal("explain", "tools.py", "free_days", "year=2026")
    assert usual.read_to_end() == 0
    assert coloured.search(usual.written)
    plain = terminal("explain", "tools.py", "free_days", "year=2026", **environment)
    assert plain.read_to_end() == 0
    assert not coloured.search(plain.written)


@pytest.mark.long
def test_the_option_json_gives_json_in_a_terminal(terminal):
    screen = terminal("list", "tools.py", "--json")
    assert screen.read_to_end() == 0
    assert json.loads("".join(screen.lines()[1:]))[0]["name"] == "free_days"


def test_a_person_is_asked_and_the_result_is_the_output(terminal):
    """The tool runs after a yes. Standard output may be piped."""
    screen = terminal("call", "tools.py", "cancel", "day=2026-05-01", stdout=subprocess.PIPE)
    screen.until("[y]es")
    screen.type("y\n")
    assert screen.read_to_end() == 0
    assert json.loads(screen.output())["text"] == "01 May is a working day"
    assert "`cancel` asks for permission" in screen.lines()


@pytest.mark.long
def test_approving_ls_takes_one_screen_of_at_most_12_lines(terminal):
    """Approving `ls` takes one screen of at most 12 lines."""
    screen = terminal("call", "builtin", "bash", "command=ls", columns=80)
    screen.until("[e]dit: ")
    lines = screen.lines()
    assert len(lines) <= 12, lines
    assert "`bash` asks for permission" in lines
    assert "  | $ ls" in lines
    assert any(line.startswith("  | sandbox: ") for line in lines)
    screen.type("n\n\n")
    assert screen.read_to_end() == 5


@pytest.mark.long
def test_a_call_does_not_run_if_the_user_says_no(terminal):
    """The exit code says who refused."""
    screen = terminal("call", "tools.py", "cancel", "day=2026-05-01")
    screen.until("[y]es")
    screen.type("n\nnot today\n")
    assert screen.read_to_end() == 5
    assert "denied: not today" in "\n".join(screen.lines())


@pytest.mark.long
def test_a_call_waits_with_no_ask(terminal):
    screen = terminal("call", "tools.py", "cancel", "day=2026-05-01", "--no-ask")
    assert screen.read_to_end() == 7
    assert "asks for permission" not in screen.written


@pytest.mark.long
def test_ctrl_c_at_an_approval_prompt_says_that_the_call_did_not_run(terminal):
    """Ctrl-C at an approval prompt leaves the request open and says that the call did not run."""
    screen = terminal("call", "tools.py", "cancel", "day=2026-05-01")
    screen.until("[y]es")
    screen.type("\x03")
    assert screen.read_to_end() == 130
    assert "not answered, so it does not run; the request stays open" in screen.lines()
    assert screen.lines()[-1].startswith("error: interrupted; `cancel` did not run; --save FILE would have kept")
    assert "working day" not in screen.written


@pytest.mark.long
def test_resume_asks_again_about_a_call_that_was_saved(terminal):
    """Ctrl-C at an approval prompt leaves the request open, and `--resume` asks again, also for a single call."""
    screen = terminal("call", "tools.py", "cancel", "day=2026-05-01", "--save", "call.json")
    screen.until("[y]es")
    screen.type("\x03")
    assert screen.read_to_end() == 130
    message = "interrupted; `cancel` did not run; the request is open, and --resume call.json asks again"
    assert screen.lines()[-1] == f"error: {message}"
    again = terminal("call", "tools.py", "--resume", "call.json")
    again.until("[y]es")
    again.type("\x03")
    assert again.read_to_end() == 130
    again = terminal("call", "tools.py", "--resume", "call.json")
    again.until("[y]es")
    again.type("y\n")
    assert again.read_to_end() == 0
    assert "01 May is a working day" in again.lines()
    saved = json.loads((again.shop.folder / "call.json").read_text())
    assert (saved["kind"], saved["text"], saved["request"]) == ("ok", "01 May is a working day", None)
    over = again.shop.run("call", "tools.py", "--resume", "call.json")
    assert "the call is over, so there is nothing to continue" in over.err


@pytest.mark.long
def test_a_saved_call_that_was_altered_does_not_run(terminal):
    """The file is only data: if it shows another call than the store holds, an approval of it runs nothing."""
    shop = terminal("list", "tools.py").shop
    assert shop.run("call", "tools.py", "cancel", "day=2026-05-01", "--no-ask", "--save", "call.json").code == 7
    file = shop.folder / "call.json"
    file.write_text(file.read_text().replace("2026-05-01", "2026-12-24"))
    again = terminal("call", "tools.py", "--resume", "call.json")
    again.until("[y]es")
    again.type("y\n")
    assert again.read_to_end() != 0
    assert "altered; it cannot be used" in "\n".join(again.lines()).replace("\n", " ")
    assert "working day" not in again.written


@pytest.mark.long
def test_ctrl_c_ends_a_call_that_runs(terminal):
    """It is cancelled, and the command ends."""
    running = terminal("call", "tools.py", "sleep", "--trace")
    running.until("the module speaks")
    running.type("\x03")
    assert running.read_to_end() == 130
    assert running.lines()[-1] == "error: interrupted"


@pytest.mark.long
def test_progress_is_shown_in_a_terminal(terminal):
    screen = terminal("call", "tools.py", "flaky", "failures=0")
    assert screen.read_to_end() == 0
    assert "flaky: half way" in screen.lines()


@pytest.mark.long
def test_a_report_with_a_total_is_a_bar_while_the_call_runs(shop, terminal):
    """The bar disappears from the screen, and a pipe does not get it."""
    shop.write("parts.py", PARTS)
    screen = terminal("call", "parts.py", "download")
    assert screen.read_to_end() == 0
    assert "━" * 15 in screen.written
    assert "3/4 of the file" in screen.written
    assert "3/4" not in "".join(screen.lines())
    assert screen.lines()[-1] == "downloaded"
    assert "3/4" not in shop.run("call", "parts.py", "download").err


@pytest.mark.first_cases(1)
@pytest.mark.parametrize(
    "words",
    [
        ["list", "evil.py"],
        ["list", "evil.py", "--json"],
        ["show", "evil.py", "evil"],
        ["schema", "evil.py", "evil"],
        ["search", "evil.py", "paypal"],
        ["call", "evil.py", "evil"],
        ["call", "evil.py", "evil", "-o", "json"],
        ["call", "evil.py", "fails"],
        ["call", "evil.py", "asks", "text=\x1b[2J"],
        ["explain", "evil.py", "evil", "--rule", "deny evil(text=\x1b[2J)"],
        pytest.param(["check", "evil.py", "--examples", "5"], marks=pytest.mark.long),
        ["show", "evil.py", "\x1b[2J"],
        ["stats", "evil.jsonl"],
    ],
)
def test_foreign_text_is_escaped_on_the_terminal(terminal, shop, words):
    """Only colours and movements of the cursor are written, and other control characters are shown by their codes."""
    shop.write("evil.py", HOSTILE)
    line = {"version": 1, "at": 1.0, "event": "verdict", "tool": "\x1b[2J\u202e", "word": "\x1b[2J"}
    shop.write("evil.jsonl", json.dumps(line) + "\n")
    screen = terminal(*words, columns=400)
    if "asks" in words:
        screen.until("[y]es")
        screen.type("y\n")
    screen.read_to_end()
    assert screen.lines()  # it fails for every code that is no colour
    assert not re.search("[\u202e\u200b\x07\u0430](?! U)", screen.written.replace("‹\u0430 U+0430›", ""))
    assert "\x1b]" not in screen.written
    assert "Traceback" not in screen.written
