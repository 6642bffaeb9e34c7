"""
Calls from the command line, and who decides about them.
"""

from __future__ import annotations

import json
import runpy

import pytest

from toolkit import Decision, Dispatcher
from toolkit.approvals import Approvals, SQLiteApprovals
from toolkit.cli.exit_codes import EXITS, RUN_EXITS, VERDICT_EXITS
from toolkit.policies.audit import AuditLog
from toolkit.results import KINDS, ToolResult

LOGINS = '''
from toolkit import AuthNeeded, AuthRequest, Catalog

catalog = Catalog()


@catalog.tool(read_only=True)
def issues() -> str:
    """List issues."""
    raise AuthNeeded(AuthRequest(provider="tracker"))
'''


def test_a_piped_call_prints_its_result_as_json(shop):
    result = shop.run("call", "tools.py", "free_days", "year=2026", "after=2026-02-01").json
    assert (result["kind"], result["value"], result["text"]) == ("ok", ["2026-05-01"], '["2026-05-01"]')


def test_text_output_is_the_text_that_a_model_would_read(shop):
    """Text that the tool prints goes to standard error."""
    ran = shop.run("call", "tools.py", "holidays", "year=2026", "-o", "text")
    assert (ran.code, ran.out) == (0, '["2026-01-01","2026-05-01"]\n')
    assert "the tool speaks" in ran.err


def test_text_output_of_none_is_a_note(shop):
    shop.write(
        "quiet.py",
        "from toolkit import tool\n\n\n"
        '@tool(read_only=True)\ndef check() -> None:\n    """Check."""\n\n\n'
        '@tool(read_only=True)\ndef say() -> str:\n    """Say."""\n    return "null"\n',
    )
    ran = shop.run("call", "quiet.py", "check", "-o", "text")
    assert (ran.code, ran.out, ran.err) == (0, "", "the tool returned nothing\n")
    assert shop.run("call", "quiet.py", "check").json["value"] is None
    assert shop.run("call", "quiet.py", "say", "-o", "text").out == "null\n"


def test_text_is_not_escaped_in_a_pipe(shop):
    """The reader of a pipe is a program."""
    assert shop.run("call", "tools.py", "flaky", "-o", "text").out == "\x1b[31mred\n\n"


@pytest.mark.parametrize(
    ("words", "input"),
    [
        (["--arguments", '{"year": 2026, "country": "FR"}'], None),
        (["-"], '{"year": 2026, "country": "FR"}'),
        (["--arguments", "-"], '{"year": 2026, "country": "FR"}'),
        (["year=2026", "country=FR"], None),
        (["year:=2026", 'country:="FR"'], None),
    ],
)
def test_arguments_are_given_in_one_of_three_ways(shop, words, input):
    """They are words, JSON, or standard input."""
    assert shop.run("call", "tools.py", "free_days", *words, input=input).json["kind"] == "ok"


@pytest.mark.parametrize("words", [["year=1", "--arguments", "{}"], ["-", "year=1"], ["-", "--arguments", "{}"]])
def test_two_ways_at_once_are_refused(shop, words):
    """It would be unclear which one counts."""
    ran = shop.run("call", "tools.py", "free_days", *words, input="{}")
    assert (ran.code, ran.out) == (2, "")
    assert "in more than one way; use NAME=VALUE, --arguments or -, one of them" in ran.err


@pytest.mark.parametrize("command", ["call", "explain"])
def test_json_is_about_the_output(shop, command):
    """An object after it is refused with what to write; alone it is short for `--output json`."""
    ran = shop.run(command, "tools.py", "free_days", "--json", '{"year": 2026}')
    assert (ran.code, ran.out) == (2, "")
    assert "write --arguments '{...}' (--json is about the output)" in ran.err
    words = (command, "tools.py", "free_days", "year=2026")
    assert shop.run(*words, "--json").json.keys() == shop.run(*words, "-o", "json").json.keys()


def test_a_repeated_argument_is_a_list(shop):
    """Nested values are given as JSON."""
    ran = shop.run(
        "call", "tools.py", "order", 'items={"sku": "a", "tags": []}', "notes=5", "notes=x", "total=2", "--mode", "auto"
    )
    assert ran.json["text"] == "1 ['5', 'x'] 2.0"


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["free_days"], 3, "year"),
        (["free_days", "year=2026", "country=GB"], 3, 'country: expected "DE" or "FR", got "GB"'),
        (["free_days", "year"], 3, "'year' is no argument; write name=value"),
        (["free_days", "--arguments", "[]"], 3, "arguments are a JSON object"),
        (["broken"], 1, "it is broken"),
        (["free_days", "year=0"], 1, "ValueError: year 0 is out of range"),
        (["flaky", "failures=9"], 9, "busy"),
        (["sleep", "--timeout", "0.01"], 8, "timed out"),
        (["cancel", "day=2026-05-01", "--mode", "plan"], 5, "in mode `plan` only read-only tools run"),
        (["cancel", "day=2026-05-01", "--rule", "deny cancel"], 5, "a rule says deny"),
        (
            ["cancel", "day=2026-05-01", "--no-ask"],
            7,
            "answer in a terminal, or permit it with --mode or --rule, unless a dispatcher of the target asks",
        ),
        (["cancel", "day=2026-05-01", "--rule", "allow cancel"], 0, ""),
        (["cancel", "day=2026-05-01", "--mode", "bypass"], 0, ""),
    ],
)
def test_the_exit_code_shows_how_a_call_ended(shop, words, code, says):
    """Standard error has the reason and the remedy."""
    ran = shop.run("call", "tools.py", *words)
    assert ran.code == code
    assert says in ran.err


def test_a_result_that_is_an_error_is_json_on_standard_output(shop):
    """Standard error has the words."""
    ran = shop.run("call", "tools.py", "broken")
    assert (ran.json["kind"], ran.json["error"]["message"]) == ("failed", "it is broken")
    assert shop.run("call", "tools.py", "broken", "-o", "text").out == ""


def test_every_kind_of_result_has_a_different_exit_code():
    """None of them is that of a wrong command line."""
    assert set(EXITS) == KINDS
    assert len(set(EXITS.values())) == len(EXITS)
    assert 2 not in {*EXITS.values(), *VERDICT_EXITS.values(), *RUN_EXITS.values()}


def test_a_trace_lists_repairs_and_retries_and_attempts_on_standard_error(shop):
    ran = shop.run("call", "tools.py", "free_days", "Year=2026", "--trace")
    assert 'repaired: year: took the key "Year" for "year"' in ran.err
    assert "ok after 1 attempt in " in ran.err
    retried = shop.run("call", "tools.py", "flaky", "--trace").err
    assert "retry: attempt 1 failed (busy); tried again after" in retried
    assert "ok after 2 attempts in " in retried
    assert "half way" not in retried  # progress is for terminals
    assert "repaired" not in shop.run("call", "tools.py", "free_days", "Year=2026").err


FAILING = '''
from toolkit import Catalog, ToolError
catalog = Catalog()

@catalog.tool(read_only=True)
def expected() -> None:
    """Fail as a library does."""
    raise FileNotFoundError("no \\x1b[2Jtea")

@catalog.tool(read_only=True)
def on_purpose() -> None:
    """Fail on purpose."""
    raise ToolError("no tea")
'''


@pytest.mark.parametrize("name", ["expected", "on_purpose"])
def test_debug_shows_the_traceback_of_a_tool_that_fails(shop, name):
    """Without the option there is one line. Escape codes of the tool are not written in either case."""
    shop.write("failing.py", FAILING)
    plain, debug = shop.run("call", "failing.py", name), shop.run("call", "failing.py", name, "--debug")
    assert (plain.code, debug.code) == (1, 1)
    assert "Traceback" not in plain.err
    assert f"in {name}" in debug.err
    assert debug.err.count("Traceback") == 1
    assert "\x1b" not in debug.err


def test_the_rules_of_the_project_count(shop):
    """Their allow rules count only once the folder is trusted, and a note says so."""
    shop.write(".toolkit/toolkit.toml", '[rules]\ndeny = ["free_days(year=1999)"]\nallow = ["cancel"]\n')
    assert shop.run("call", "tools.py", "free_days", "year=1999").code == 5
    ran = shop.run("call", "tools.py", "cancel", "day=2026-05-01", "--no-ask")
    assert ran.code == 7
    assert "ignored: rules.allow = cancel (project, " in ran.err


def test_the_mode_of_the_user_applies_to_a_call(shop, tmp_path):
    path = tmp_path / "config" / "toolkit" / "toolkit.toml"
    path.parent.mkdir(parents=True)
    path.write_text('mode = "plan"\n')
    assert shop.run("call", "tools.py", "cancel", "day=2026-05-01").code == 5
    assert shop.run("call", "tools.py", "cancel", "day=2026-05-01", "--mode", "bypass").code == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [(["--rule", "perhaps cancel"], "error: "), (["--audit", "no/such/folder.jsonl"], "the audit log")],
)
def test_an_invalid_rule_or_log_ends_the_command_before_the_call(shop, words, says):
    ran = shop.run("call", "tools.py", "free_days", "year=2026", *words)
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err
    assert "the tool speaks" not in ran.err


@pytest.mark.long
def test_a_rule_that_can_never_match_causes_a_warning(shop):
    ran = shop.process("call", "tools.py", "free_days", "year=2026", "--rule", "deny cancle")
    assert "\nwarning: rule `deny cancle`: there is no tool `cancle`; did you mean `cancel`?\n" in f"\n{ran.err}"


def test_a_rule_file_with_a_mistake_ends_the_command(shop):
    """Because the rules in it would be missing."""
    shop.write(".toolkit/toolkit.toml", "[rules]\ndeny = 5")
    ran = shop.run("call", "tools.py", "free_days", "year=2026")
    assert (ran.code, ran.out) == (2, "")
    assert "rules.deny: has to be a list" in ran.err


def test_calls_are_recorded_in_an_audit_log(shop):
    shop.run("call", "tools.py", "free_days", "year=2026", "--audit", "calls.jsonl")
    assert [line["event"] for line in AuditLog.read("calls.jsonl")] == ["verdict", "intent", "outcome"]


def test_pictures_are_noted_and_not_printed(shop):
    """Their bytes are in the JSON output."""
    shop.write(
        "pictures.py",
        """
from toolkit import Catalog
from toolkit.content import AudioPart, ImagePart, ResourcePart
catalog = Catalog()

@catalog.tool(read_only=True)
def play() -> list[AudioPart | ResourcePart]:
    '''Play.'''
    return [AudioPart(b"bytes", "audio/wav"), ResourcePart("memo:1", "Buy milk.")]

@catalog.tool(read_only=True)
def draw() -> ImagePart:
    '''Draw.'''
    return ImagePart(b"bytes", "image/png")
""",
    )
    ran = shop.run("call", "pictures.py", "draw", "-o", "text")
    assert ran.code == 0
    assert "the result also has an image, which --json shows" in ran.err
    assert shop.run("call", "pictures.py", "draw").json["parts"]
    ran = shop.run("call", "pictures.py", "play", "-o", "text")
    assert ran.out == "[audio/wav, 5 bytes]\n[resource memo:1]\nBuy milk.\n"
    assert "the result also has sound, which --json shows" in ran.err
    assert "the result also has a resource, which --json shows" in ran.err


def test_a_call_that_waits_for_credentials_is_not_offered_a_rule(shop):
    """No rule could permit it."""
    shop.write("logins.py", LOGINS)
    ran = shop.run("call", "logins.py", "issues")
    assert ran.code == 7
    assert ran.err == "waiting for credentials: credentials of tracker are needed\n"


@pytest.mark.parametrize(
    ("words", "code", "word"),
    [
        (["free_days", "year=2026"], 0, "allow"),
        (["cancel", "day=2026-05-01"], 7, "ask"),
        (["cancel", "day=2026-05-01", "--mode", "plan"], 5, "deny"),
        (["cancel", "--arguments", '{"day": "2026-05-01"}', "--rule", "deny cancel"], 5, "deny"),
    ],
)
def test_a_verdict_is_explained(shop, words, code, word):
    """The tool does not run."""
    ran = shop.run("explain", "tools.py", *words)
    assert (ran.code, ran.json["word"]) == (code, word)
    assert {"by", "reason", "findings"} < set(ran.json)
    assert "the tool speaks" not in ran.err
    text = shop.run("explain", "tools.py", *words, "-o", "text")
    assert (text.code, text.out.splitlines()[0]) == (code, f"{word} by {ran.json['by']}: {ran.json['reason']}")


def test_explain_lists_every_finding_with_the_decisive_one_first(shop):
    """Each finding has a line."""
    ran = shop.run("explain", "tools.py", "cancel", "day=2026-05-01", "--rule", "ask cancel", "-o", "text")
    assert ran.out.splitlines() == [
        "ask by rule `ask cancel`: a rule says ask: cancel; `cancel` cannot be undone, and mode `default` asks first",
        "  ask by mode `default`: `cancel` cannot be undone, and mode `default` asks first",
    ]


def test_arguments_that_do_not_fit_cannot_be_explained(shop):
    """They are refused as in a call."""
    assert shop.run("explain", "tools.py", "cancel", "day=never").code == 3


def test_the_standard_output_of_a_process_is_only_json(shop):
    """Without a terminal the user is not asked, and a call that needs approval waits."""
    ran = shop.process("call", "tools.py", "cancel", "-", input=json.dumps({"day": "2026-05-01"}))
    assert (ran.code, ran.json["kind"]) == (7, "waiting")
    assert "waiting for approval" in ran.err


def test_a_rule_that_another_tool_evades_is_reported(shop):
    """The warning stands below the verdict in the text, and in the JSON."""
    shop.write(
        "files.py",
        "from pathlib import Path\nfrom typing import Annotated\nfrom toolkit import Catalog, Writes\n"
        "catalog = Catalog()\n\n\n"
        "@catalog.tool\ndef write(path: Annotated[Path, Writes]) -> str:\n    'Write a file.'\n    return 'x'\n\n\n"
        "@catalog.tool\ndef edit(path: Annotated[Path, Writes]) -> str:\n    'Change a file.'\n    return 'x'\n",
    )
    words = ("explain", "files.py", "edit", "path=src/a", "--mode", "bypass", "--rule", "deny write(path=src/**)")
    warning = (
        "`deny write(path=src/**)` does not stop `edit`, which writes files too; write `deny access:write(src/**)`"
    )
    assert shop.run(*words).json["warnings"] == [warning]
    assert shop.run(*words, "-o", "text").out.splitlines()[-1] == f"  warning: {warning}"


@pytest.fixture
def saved_call(shop):
    """The file of a call that waits."""
    ran = shop.run("call", "tools.py", "cancel", "day=2026-05-01", "--no-ask", "--save", "call.json")
    assert ran.code == 7
    assert "answer in a terminal with --resume call.json, or permit it with --mode or --rule" in ran.err
    return shop.folder / "call.json"


def test_a_saved_call_of_a_dispatcher_outlives_the_command(shop):
    """A dispatcher without a store of its own keeps its requests in memory, so they are kept beside the saved call."""
    shop.write(
        "program.py",
        "from toolkit import Catalog, Dispatcher\n\ncatalog = Catalog()\n\n\n"
        "@catalog.tool(destructive=True)\ndef wipe() -> str:\n    'Remove all.'\n    return 'gone'\n\n\n"
        "dispatcher = Dispatcher(catalog)\n",
    )
    ran = shop.run("call", "program.py:dispatcher", "wipe", "--no-ask", "--save", "call.json")
    assert ran.code == 7
    catalog = runpy.run_path(str(shop.folder / "program.py"))["catalog"]
    store = SQLiteApprovals(shop.folder / "call.json.approvals.sqlite")
    dispatcher = Dispatcher(catalog, approvals=Approvals(store))
    assert dispatcher.resume_sync(ran.json["request"]["id"], Decision.approve()).value == "gone"


@pytest.mark.parametrize("words", [(), ("--mode", "bypass"), ("--rule", "allow cancel")])
def test_a_resumed_call_needs_the_answer_of_a_person(shop, saved_call, words):
    """No mode or rule is named as a remedy, because none answers the request."""
    ran = shop.run("call", "tools.py", "--resume", "call.json", "--no-ask", *words)
    assert ran.code == 7
    assert ran.err.rstrip().endswith("; answer in a terminal with --resume call.json")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--resume", "call.json", "--save", "other.json"), "give --save or --resume, not both"),
        (("cancel", "--resume", "call.json"), "a resumed call has its tool and its arguments; leave them out"),
        (("--resume", "call.json", "--arguments", "{}"), "a resumed call has its tool and its arguments"),
        (("--resume", "tools.py"), "tools.py holds no call"),
        (("--resume", "missing.json"), "missing.json cannot be read"),
        (("cancel", "--save", "call.json"), "call.json exists already; continue it with --resume"),
        (("cancel", "--save", "missing/call.json"), "missing is no folder"),
        ((), "Missing argument 'NAME'; 'toolkit list TARGET' shows the names"),
    ],
)
def test_mistakes_with_saved_calls_name_the_remedy(shop, saved_call, words, message):
    """Each wrong use of `--save` and `--resume` has its own message, and the saved call is unchanged."""
    before = saved_call.read_text()
    ran = shop.run("call", "tools.py", *words)
    assert ran.code != 0
    assert message in " ".join(ran.err.split())
    assert saved_call.read_text() == before


def test_a_call_that_is_resumed_without_a_person_still_waits(shop, saved_call):
    """With `--no-ask` the request stays open, and the exit code says so."""
    ran = shop.run("call", "tools.py", "--no-ask", "--resume", "call.json")
    assert (ran.code, ToolResult.from_json(json.loads(saved_call.read_text())).request.tool) == (7, "cancel")


COSTLY = '''
from toolkit import Catalog

catalog = Catalog()


@catalog.tool(cost=lambda arguments: 0.04 * arguments["count"], read_only=True, aliases=["draw"])
def paint(count: int) -> str:
    """Paint pictures."""
    return "painted"


@catalog.tool(cost=0.5)
def frame() -> str:
    """Frame a picture."""
    return "framed"
'''


def test_a_call_shows_the_alias_and_the_cost(shop):
    """They are in the JSON beside the name of the tool, and lines of the trace."""
    shop.write("costly.py", COSTLY)
    result = shop.run("call", "costly.py", "draw", "count=2").json
    assert (result["tool"], result["alias"], result["cost"]) == ("paint", "draw", 0.08)
    assert "alias" not in shop.run("call", "costly.py", "paint", "count=2").json
    trace = shop.run("call", "costly.py", "draw", "count=2", "--trace", "-o", "text").err.splitlines()
    assert trace[-2] == "alias: draw of paint"
    assert trace[-1].startswith("ok after 1 attempt in ")
    assert trace[-1].endswith(", costs $0.08")


def test_the_cost_of_a_tool_is_shown_before_a_call(shop):
    """`list`, `show` and `explain` show it, and a rule may compare it."""
    shop.write("costly.py", COSTLY)
    assert [tool["facts"]["cost"] for tool in shop.run("list", "costly.py").json] == ["by arguments", 0.5]
    assert "facts: writes, costs $0.50" in shop.run("show", "costly.py", "frame", "-o", "text").out
    assert "facts: read-only, costs by its arguments" in shop.run("show", "costly.py", "paint", "-o", "text").out
    ran = shop.run("explain", "costly.py", "paint", "count=5", "--rule", "deny paint(cost>0.10)", "-o", "text")
    assert (ran.code, "  costs $0.20" in ran.out.splitlines()) == (5, True)
    assert shop.run("explain", "costly.py", "paint", "count=1").json["cost"] == 0.04
