"""
Where commands write, and how their errors are told.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import subprocess
import sys
import warnings

import pytest

from toolkit.cli.failures import Failure, report_errors
from toolkit.cli.output import Output
from toolkit.errors import BadArgs, CatalogError, ToolkitError, ToolkitWarning, UnknownTool


class Screen(io.StringIO):
    """A terminal, as far as a program asks."""

    encoding = "utf-8"

    def isatty(self):
        return True


def capture_output(act, *, terminal=True, **options):
    """Return what *act* writes with an output of its own."""
    stream = Screen() if terminal else io.StringIO()
    with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(io.StringIO()):
        act(Output(**options))
    return stream.getvalue()


@pytest.mark.parametrize(
    ("terminal", "shape", "piped", "is_json"),
    [
        (True, "auto", "json", False),
        (False, "auto", "json", True),
        (False, "auto", "text", False),
        (True, "json", "json", True),
        (False, "text", "json", False),
    ],
)
def test_a_terminal_gets_text_and_a_pipe_gets_json_by_default(terminal, shape, piped, is_json):
    errors = []
    capture_output(lambda output: errors.append(output.is_json), terminal=terminal, requested_format=shape, piped=piped)
    assert errors == [is_json]


def test_json_is_json_in_both_and_visible_in_a_terminal(monkeypatch):
    """Letters stay letters for people; programs get ASCII, which every pipe can carry."""
    monkeypatch.setenv("NO_COLOR", "1")
    data = {"a": "ä\x1b\u202e", "b": [1]}
    assert json.loads(capture_output(lambda output: output.json(data), terminal=False)) == data
    text = capture_output(lambda output: output.json(data))
    assert '"ä\\u001b\\u202e"' in text


def test_text_is_visible_in_a_terminal_and_itself_in_a_pipe():
    """The reader of a pipe gets the text itself."""
    assert capture_output(lambda output: output.text("a\x1b[2J\nb")) == "a\\x1b[2J\nb\n"
    assert capture_output(lambda output: output.text("a\x1b[2J\nb"), terminal=False) == "a\x1b[2J\nb\n"


def test_markup_in_a_table_is_shown_as_text():
    assert (
        capture_output(lambda output: output.table(["a"], [["[red]x[/red] :smile:"]])).splitlines()[2].rstrip()
        == "[red]x[/red] :smile:"
    )


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (CatalogError("x"), 2),
        (ToolkitError("x"), 2),
        (UnknownTool("x"), 4),
        (BadArgs("x"), 3),
        (KeyboardInterrupt(), 130),
    ],
)
def test_an_error_of_ours_ends_in_one_line_with_its_exit_code(error, code, capsys):
    """There is no traceback."""
    with pytest.raises(Failure) as caught, report_errors(debug=False):
        raise error
    assert caught.value.exit_code == code
    caught.value.show()
    assert capsys.readouterr().err.strip().startswith("error: ")


def test_a_bug_is_not_hidden():
    """An unexpected exception is raised as it is."""
    with pytest.raises(KeyError), report_errors(debug=False):
        raise KeyError("x")


def test_our_warnings_are_one_line_and_others_are_unchanged(capsys):
    """Escape codes in a warning are made visible."""
    errors = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *_: errors.append(str(message))
        with report_errors(debug=False):
            warnings.warn("look \x1b[2J", ToolkitWarning, stacklevel=1)
            warnings.warn("theirs", UserWarning, stacklevel=1)
    assert capsys.readouterr().err == "warning: look \\x1b[2J\n"
    assert errors == ["theirs"]


@pytest.mark.parametrize("debug", [True, False])
def test_log_records_are_shown_only_with_debug(debug):
    """The traceback of a failing tool is such a record."""
    log = logging.getLogger("toolkit")
    before = list(log.handlers)
    with report_errors(debug=debug):
        assert any(isinstance(handler, logging.NullHandler) for handler in set(log.handlers) - set(before)) is not debug
    assert log.handlers == before


LOUD = '''
import os
import subprocess
import sys

from toolkit import tool

os.write(1, b"module\\n")
sys.__stdout__.write("kept\\n")


@tool(read_only=True)
def loud() -> str:
    """Start a program, which prints."""
    subprocess.run(["echo", "program"], check=True)
    os.write(1, b"descriptor\\n")
    return "done"
'''


def test_what_a_program_of_a_tool_prints_is_not_in_the_output_of_the_command(shop):
    """It inherits the descriptor of standard output, whatever `sys.stdout` is. JSON with a word before it is no JSON."""
    shop.write("loud.py", LOUD)
    ran = shop.process("call", "loud.py", "loud", PYTHONUNBUFFERED="")
    assert (ran.code, ran.json["value"]) == (0, "done")
    assert ran.err.splitlines() == ["module", "program", "descriptor", "kept"]


def test_what_a_module_prints_while_it_loads_is_not_among_the_messages_of_a_server(shop):
    """A line that is no message ends the connection of some clients."""
    shop.write("loud.py", LOUD)
    ran = shop.process("serve", "loud.py", input='{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n', PYTHONUNBUFFERED="")
    assert [json.loads(line)["id"] for line in ran.out.splitlines()] == [1]
    assert ran.err.splitlines() == ["module", "kept"]


@pytest.mark.parametrize(("closed", "shown"), [("<&-", "done"), ("2>&-", "done"), (">&-", ""), ("<&- >&- 2>&-", "")])
def test_a_command_works_without_a_standard_stream(shop, closed, shown):
    """Cron jobs and daemons may have none. The next file that is opened would have its number, and get what it gets."""
    shop.write("loud.py", LOUD)
    words = f"{sys.executable} -m toolkit call loud.py loud --output text {closed}"
    ran = subprocess.run(words, shell=True, cwd=shop.folder, capture_output=True, text=True, check=False)  # noqa: S602 -- our words
    assert (ran.returncode, ran.stdout.strip()) == (0, shown)
    assert "Traceback" not in ran.stderr
