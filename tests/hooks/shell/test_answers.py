"""
What a command may print, and how it is told what is wrong with it.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.hooks import Ask, Deny, Halt, Modify, Proceed, Replace
from toolkit.hooks.shell.answers import HookFailed, read_answer
from toolkit.hooks.shell.process import HookCommandResult
from toolkit.hooks.shell.records import POINTS


def answer(stdout: object, event: str = "before", code: int = 0, stderr: bytes = b""):
    """Return what a command says that prints this."""
    data = stdout if isinstance(stdout, bytes) else json.dumps(stdout).encode()
    return read_answer(HookCommandResult(code=code, stdout=data, stderr=stderr), event)


def problem(stdout: object, event: str = "before", **options) -> str:
    """Return what is wrong with the words of a command that prints this."""
    with pytest.raises(HookFailed) as caught:
        answer(stdout, event, **options)
    return str(caught.value)


@pytest.mark.parametrize(
    ("printed", "outcome"),
    [
        (b"", Proceed()),
        (b" \n\t", Proceed()),
        ({"action": "proceed"}, Proceed()),
        ({"action": "modify", "arguments": {}}, Modify({})),
        ({"action": "deny", "reason": " no\n"}, Deny("no")),
        ({"action": "ask", "reason": "sure?"}, Ask("sure?")),
        ({"action": "halt", "reason": "stop"}, Halt("stop")),
        ({"action": "replace", "result": None}, Replace(None)),
    ],
)
def test_an_answer_becomes_an_outcome(printed, outcome):
    """No output is an outcome as well."""
    assert answer(printed) == outcome


@pytest.mark.parametrize(
    ("printed", "wrong"),
    [
        (b"ok", "what it printed cannot be read (not JSON: Expecting value at line 1, column 1)"),
        (b"\xff", "not UTF-8"),
        (b'{"action": "proceed"} {"action": "deny"}', "Extra data"),
        (b'{"action": "deny", "action": "proceed"}', 'the key "action" stands twice'),
        (b'{"action": "replace", "result": NaN}', "NaN is not JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"action": "replace", "result": ' + b"[" * 70 + b"]" * 70 + b"}", "cannot be taken: "),
        (b'{"action": "replace", "result": "\\ud800"}', "cannot be taken: result: "),
        ([1], "JSON that is no object"),
        (None, "JSON that is no object"),
        ({}, 'JSON without "action"; write one of proceed, modify, deny, replace, ask, halt'),
        ({"Action": "proceed"}, 'JSON without "action"'),
        ({"action": "allow"}, "\"action\": 'allow' is not known; write one of"),
        ({"action": "Deny"}, "did you mean `deny`?"),
        ({"action": ["deny"]}, "\"action\": ['deny'] is not known"),
        ({"action": "proceed", "reason": "x"}, "\"proceed\" has nothing else; remove 'reason'"),
        (
            {"action": "deny", "reason": "x", "arguments": {}},
            "\"deny\" has `reason` and nothing else; remove 'arguments'",
        ),
        ({"action": "deny"}, '"deny" needs `reason`; it is missing'),
        ({"action": "modify"}, '"modify" needs `arguments`; it is missing'),
        ({"action": "replace"}, '"replace" needs `result`; it is missing'),
        ({"action": "modify", "arguments": []}, "`arguments` has to be an object"),
        ({"action": "ask", "reason": "  "}, "`reason` has to be a text that says why"),
        ({"action": "halt", "reason": 1}, "`reason` has to be a text that says why"),
    ],
)
def test_the_problem_of_an_invalid_answer_is_described(printed, wrong):
    assert wrong in problem(printed)


@pytest.mark.parametrize(
    ("event", "action"),
    [
        ("after", "modify"),
        ("after", "ask"),
        ("agent_start", "replace"),
        ("agent_start", "ask"),
        ("run_ended", "deny"),
        ("person_asked", "halt"),
    ],
)
def test_an_action_that_an_event_does_not_allow_is_refused(event, action):
    """The message lists the actions that are possible then."""
    assert "write one of proceed" in problem({"action": action, "reason": "x"}, event)


@pytest.mark.parametrize(
    ("code", "wrong"),
    [
        (1, "it exited with code 1"),
        (3, "it exited with code 3"),
        (127, "it exited with code 127"),
        (-9, "it was ended by SIGKILL"),
        (-63, "it was ended by signal 63"),
    ],
)
@pytest.mark.parametrize("event", POINTS)
def test_another_exit_code_is_a_failure(code, wrong, event):
    assert problem({"action": "proceed"}, event, code=code, stderr=b" oh\n") == f"{wrong}: oh"


def test_a_stopped_command_has_no_answer():
    """This holds even if it printed one before."""
    with pytest.raises(HookFailed, match="too long"):
        read_answer(
            HookCommandResult(code=None, stdout=b'{"action": "proceed"}', stderr=b"", stop_reason="too long"), "before"
        )


def test_reasons_are_bounded_and_can_be_sent():
    """Junk is replaced, and a novel is cut."""
    outcome = answer(b"", code=2, stderr=b"\xff\0x" + b"y" * 10_000)
    assert isinstance(outcome, Deny)
    assert outcome.reason.startswith("\ufffd\ufffdxy")
    assert len(outcome.reason) == 4000
    assert answer({"action": "deny", "reason": "y" * 10_000}) == Deny("y" * 3996 + " ...")


@given(st.binary() | st.text().map(lambda text: text.encode("utf-8", "replace")), st.sampled_from(POINTS))
def test_junk_is_a_failure_or_silence(data, event):
    """No output of a command raises another error."""
    ended = HookCommandResult(code=0, stdout=data, stderr=data)
    if data.strip():
        with pytest.raises(HookFailed):
            read_answer(ended, event)
    else:
        assert read_answer(ended, event) == Proceed()


@given(
    st.dictionaries(
        st.text(st.characters(codec="utf-8")), st.integers() | st.text(st.characters(codec="utf-8")), max_size=4
    )
)
def test_printed_arguments_and_results_are_read_unchanged(value):
    assert answer({"action": "modify", "arguments": value}) == Modify(value)
    assert answer({"action": "replace", "result": value}, "after") == Replace(value)
