"""
`toolkit check`: laws and advice, printed.
"""

from __future__ import annotations

import pytest

GOOD = '''
from toolkit import Catalog
catalog = Catalog()

@catalog.tool(read_only=True)
def shout(text: str) -> str:
    """Say it loudly.

    Args:
        text: What to say.
    """
    print("shouting")
    return text.upper()
'''
ADVICE = GOOD.replace("read_only=True", "read_only=True, search_hint='loud.'")
BROKEN = GOOD.replace("return text.upper()", "return text[100]")
WRITES = BROKEN.replace("read_only=True", "")
BARE = """
def shout(text: str) -> str:
    return text.upper()

def _hidden(): ...
"""


@pytest.fixture
def run_check(shop):
    """Write a module, and check it."""

    def check(text, *words):
        shop.write("checked.py", text)
        return shop.run("check", "checked.py", "--examples", "5", *words)

    return check


EMPTY = {"tools": 1, "laws": [], "descriptions": [], "lints": [], "known": [], "refused": []}


def test_a_good_tool_passes(run_check):
    """The output of the tool itself goes to standard error."""
    ran = run_check(GOOD)
    assert (ran.code, ran.json) == (0, EMPTY)
    assert "shouting" in ran.err
    assert run_check(GOOD, "-o", "text").out == "1 tool, nothing to fix\n"


@pytest.mark.long
def test_a_broken_law_is_reported_with_the_smallest_arguments(run_check):
    """The report says what is wrong, where, and the remedy, and the exit code is 1."""
    ran = run_check(BROKEN)
    assert ran.code == 1
    (law,) = ran.json["laws"]
    assert (law["tool"], law["rule"], law["arguments"]) == ("shout", "declared-failures", {"text": ""})
    lines = run_check(BROKEN, "-o", "text").out.splitlines()
    assert lines[0] == "broken law declared-failures: `shout`"
    assert lines[1] == "  it raised IndexError: string index out of range"
    assert lines[2] == "  at checked.py:5"
    assert lines[3] == "  with {'text': ''}"
    assert lines[4].startswith("  remedy: ")
    assert lines[-1] == "1 tool: 1 broken law, 0 suggestions"


def test_advice_is_a_failure_only_with_strict(run_check):
    ran = run_check(ADVICE, "-o", "text")
    assert ran.code == 0
    assert ran.out.splitlines()[0] == "advice search-hint: `shout`, search_hint"
    assert ran.out.splitlines()[-1] == "1 tool: 0 broken laws, 1 suggestion"
    assert run_check(ADVICE, "--strict").code == 1


@pytest.mark.long
def test_only_read_only_tools_run_by_default(run_check):
    """`--run` names others, and `--no-run` runs none."""
    assert run_check(WRITES).code == 0
    assert run_check(WRITES, "--run", "shout").code == 1
    assert run_check(BROKEN, "--no-run").code == 0


def test_run_and_no_run_together_are_refused(run_check):
    ran = run_check(GOOD, "--run", "shout", "--no-run")
    assert (ran.code, ran.out) == (2, "")
    assert "contradict" in ran.err


def test_a_name_to_run_has_to_be_a_tool(run_check):
    """A misspelt one would be taken for one that has passed."""
    ran = run_check(GOOD, "--run", "shuot")
    assert (ran.code, ran.out) == (2, "")
    assert "'shuot', which is no tool" in ran.err


def test_undecorated_functions_are_checked_with_all(run_check):
    """The code is not changed for it."""
    assert run_check(BARE).code == 2
    ran = run_check(BARE, "--all", "--no-run")
    assert ran.json["tools"] == 1
    assert {remark["rule"] for remark in ran.json["descriptions"]} >= {"no-description"}


def test_a_parameter_without_a_description_is_reported_once(run_check):
    """The law and the lint find the same problem."""
    report = run_check(BARE, "--all", "--no-run").json
    assert [remark["rule"] for remark in report["descriptions"]].count("described") == 1


@pytest.mark.long
def test_a_known_violation_is_shown_and_does_not_count(run_check):
    """Laws and advice, with the author's words in place of the remedy; not even `--strict` minds."""
    why = "metadata={'known_violations': {'declared-failures': 'Nobody says less.', 'search-hint': 'It is loud.'}}"
    text = BROKEN.replace("read_only=True", f"read_only=True, search_hint='loud.', {why}")
    ran = run_check(text, "--strict")
    assert (ran.code, ran.json["laws"], ran.json["lints"]) == (0, [], [])
    assert [violation["explanation"] for violation in ran.json["known"]] == ["Nobody says less.", "It is loud."]
    lines = run_check(text, "-o", "text").out.splitlines()
    assert lines[0] == "known violation declared-failures: `shout`"
    assert lines[4] == "  reason: Nobody says less."
    assert lines[-1] == "1 tool, nothing to fix"


@pytest.mark.long
@pytest.mark.unmeasured
def test_the_same_seed_tries_the_same_calls(run_check):
    """So a finding can be found again."""
    assert run_check(BROKEN, "--seed", "7").out == run_check(BROKEN, "--seed", "7").out


MIXED = """
def fine(text: str) -> str:
    return text.upper()

def odd(callback: type, /, *rest: lambda: 1) -> str:
    return ""
"""


def test_all_reports_functions_that_cannot_be_tools(run_check):
    """`check --all` reports functions that cannot be tools, and counts missing descriptions apart from broken laws."""
    ran = run_check(MIXED, "--all", "--no-run")
    (refusal,) = ran.json["refused"]
    assert refusal["function"] == "odd"
    assert refusal["place"].endswith("checked.py:5")
    assert refusal["reason"]
    assert (ran.json["tools"], ran.json["laws"], len(ran.json["descriptions"])) == (1, [], 2)
    lines = run_check(MIXED, "--all", "--no-run", "-o", "text").out.splitlines()
    assert "no tool `odd`" in lines
    assert lines[-1].startswith("1 tool: 0 broken laws, 2 missing descriptions, ")
    assert lines[-1].endswith(", 1 function that cannot be a tool")


def test_check_all_reports_functions_that_cannot_be_tools(run_check):
    """This holds also if the module has no other functions."""
    ran = run_check("def odd(callback: type, /, *rest: lambda: 1) -> str:\n    return ''\n", "--all")
    assert (ran.code, ran.json["tools"], len(ran.json["refused"])) == (0, 0, 1)


def test_a_module_without_any_function_is_an_error(run_check):
    """There is nothing to check, which is seldom what was meant."""
    ran = run_check("x = 1\n", "--all")
    assert ran.code == 2
    assert "no public functions that could be tools" in ran.err


def test_a_tool_that_a_hook_watches_is_not_run(run_check, tmp_path):
    """The user's hooks honoured: the check does not make calls that a hook could have blocked."""
    (tmp_path / "config" / "toolkit").mkdir(parents=True)
    hooks = '[[hooks]]\non = "before"\ntools = "shout"\ncommand = "exit 2"\n'
    (tmp_path / "config" / "toolkit" / "toolkit.toml").write_text(hooks)
    ran = run_check(BROKEN)
    assert (ran.code, ran.json["laws"]) == (0, [])
    assert "`shout` is not run, because one of your hooks runs before its calls; --run shout runs it" in ran.err
    assert run_check(BROKEN, "--run", "shout").code == 1


def test_a_change_of_a_tool_is_reported_with_the_callers_that_break(run_check, shop):
    """A missing snapshot is an error, a change ends with 1, and an update accepts it."""
    snapshot = ("--no-run", "--examples", "5", "--snapshot", "tools.json")
    missing = run_check(GOOD, *snapshot)
    assert missing.code == 2
    assert "there is no snapshot tools.json yet" in missing.err
    first = run_check(GOOD, *snapshot, "--update-snapshot")
    assert (first.code, first.json) == (0, {**EMPTY, "snapshot": []})
    assert run_check(GOOD, *snapshot).code == 0
    changed = GOOD.replace("text: str", "text: int").replace("text.upper()", "str(text)")
    shop.write("changed.py", changed)  # a module is loaded once
    ran = shop.run("check", "changed.py", *snapshot, "-o", "text")
    assert ran.code == 1
    assert "breaks callers: `shout` parameter `text` does not take texts any more\n" in ran.out
    assert "compatible: `shout` parameter `text` takes integers too\n" in ran.out
    assert "--update-snapshot accepts the changes" in ran.err
    updated = shop.run("check", "changed.py", *snapshot, "--update-snapshot")
    assert (updated.code, updated.json["snapshot"][0]["breaks"]) == (0, True)
    assert shop.run("check", "changed.py", *snapshot).code == 0


def test_an_update_without_a_snapshot_is_a_mistake(run_check):
    assert "--update-snapshot needs the file" in run_check(GOOD, "--update-snapshot").err


def test_exceptions_that_a_dispatcher_classifies_count_as_declared(run_check, shop):
    source = """
from toolkit import Catalog, Dispatcher, ToolError

class LibraryError(Exception): ...

catalog = Catalog()

@catalog.tool(read_only=True)
def ask(word: str) -> str:
    \"\"\"Ask a library.

    Args:
        word: What to look for.
    \"\"\"
    raise LibraryError("no")

dispatcher = Dispatcher(catalog, classify={LibraryError: ToolError})
"""
    assert [violation["rule"] for violation in run_check(source, "--examples", "3").json["laws"]] == [
        "declared-failures"
    ]
    assert shop.run("check", "checked.py:dispatcher", "--examples", "3").json["laws"] == []
