"""What each mode makes of a call: promise 10's table, written out once more."""

from dataclasses import replace

import pytest

from toolkit.facts import Facts
from toolkit.permissions.modes import MODES, TABLE, check_mode
from toolkit.permissions.policy import find_row
from toolkit.spec import Tool

PROMISED = {
    "refused": {"plan": "deny", "default": "deny", "auto": "deny", "deny_unlisted": "deny", "bypass": "deny"},
    "asked": {"plan": "ask", "default": "ask", "auto": "ask", "deny_unlisted": "deny", "bypass": "allow"},
    "read_only": {"plan": "allow", "default": "allow", "auto": "allow", "deny_unlisted": "allow", "bypass": "allow"},
    "write": {"plan": "deny", "default": "ask", "auto": "allow", "deny_unlisted": "deny", "bypass": "allow"},
    "destructive": {"plan": "deny", "default": "ask", "auto": "ask", "deny_unlisted": "deny", "bypass": "allow"},
}


def test_the_table_is_the_promised_one():
    """Row by row, and in the promised order of modes."""
    assert PROMISED == TABLE
    assert MODES == ("plan", "default", "auto", "deny_unlisted", "bypass")


@pytest.mark.parametrize(
    ("facts", "row"),
    [
        (Facts(), "write"),
        (Facts(read_only=True), "read_only"),
        (Facts(destructive=True), "destructive"),
        (Facts(read_only=True, open_world=True), "read_only"),
        (Facts(destructive=True, idempotent=True), "destructive"),
        (Facts(idempotent=True, concurrency_safe=True), "write"),
    ],
)
def test_a_tool_is_judged_by_its_stated_facts(facts, row):
    """A tool without facts is a write."""
    tool = Tool.from_schema("do", "Do it.", {"type": "object"}, lambda arguments: None)
    assert find_row(replace(tool, facts=facts)) == row


@pytest.mark.parametrize("mode", MODES)
def test_each_of_the_five_modes_is_valid(mode):
    assert check_mode(mode) == mode


@pytest.mark.parametrize("mode", ["", "Plan", "yolo", None, True, 0, ["plan"], {"plan"}], ids=repr)
def test_an_unknown_mode_is_refused(mode):
    """The error names it, and the five that are."""
    with pytest.raises(ValueError, match="there is no mode .*; use one of plan, default, auto, deny_unlisted, bypass"):
        check_mode(mode)
