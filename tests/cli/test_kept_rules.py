"""
"Always" answers, kept in the user's settings.
"""

from __future__ import annotations

import contextlib
import json
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.terminals import Terminal
from toolkit.cli.kept_rules import UserRules, _add_rule
from toolkit.decisions import ApprovalRequest, Grant
from toolkit.errors import ToolkitError
from toolkit.settings.trust import configuration_folder


def request(*askers, tool="bash"):
    return ApprovalRequest(tool=tool, call_id="c1", reason="it asks", asked_by=askers)


@pytest.mark.parametrize(
    ("text", "rule"), [("bash(npm test:*)", "bash(npm test:*)"), ("", None), ("bash(", None), ("a\nb", None)]
)
def test_the_rule_of_the_grant_is_offered(text, rule):
    """A text that is no rule would spoil the file, and a grant without a rule has none to offer."""
    grant = Grant(tool="0" * 64, scope="tool", rule=text)
    assert UserRules().rule_for(request("mode `default`"), grant) == rule


@pytest.mark.parametrize("askers", [["rule `ask bash`"], ["mode `default`", "fact `open_world`"], []])
def test_a_rule_that_would_change_nothing_is_not_offered(askers):
    """An allow rule answers only for the mode."""
    assert UserRules().rule_for(request(*askers), Grant(tool="0" * 64, scope="tool", rule="bash")) is None


RULES = st.text(
    st.characters(min_codepoint=32, max_codepoint=0x2FF, blacklist_characters="\x7f"), min_size=1, max_size=20
)


@given(
    st.lists(RULES, max_size=4, unique=True),
    RULES,
    st.sampled_from(["", "# mine\n", 'mode = "plan"\n', "[limits]\nmax_turns = 3\n"]),
)
def test_a_rule_is_added_and_the_rest_stays(rules, rule, head):
    """The file may have any content, and every line of it stays."""
    entries = ",\n".join(f"  {json.dumps(text, ensure_ascii=False)}" for text in rules)
    text = f"{head}[rules] # mine\nallow = [ # commands\n{entries}\n] # the end\nask = []\n" if rules else head
    changed = _add_rule(text, rule)
    assert changed is not None
    data = tomllib.loads(text)
    expected = {**data.get("rules", {}), "allow": rules if rule in rules else [rule, *rules]}
    assert tomllib.loads(changed) == {**data, "rules": expected}
    assert all(line in changed for line in ("# commands", "# the end") if line in text)


@pytest.mark.parametrize(
    "text",
    [
        '[rules]\nallow = "bash"\n',
        "rules = 3",
        "[rules]\nallow = [\n",
        "rules.allow = []",
        '[rules]\nx = """\nallow = [\n"""\nallow = []\n',
    ],
)
def test_a_file_that_is_not_understood_is_not_changed(tmp_path, text):
    """The message has the line to add by hand."""
    path = tmp_path / "toolkit.toml"
    path.write_text(text)
    with pytest.raises(ToolkitError, match='add it by hand under \\[rules\\]: allow = \\["bash"\\]'):
        UserRules(path).keep("bash")
    assert path.read_text() == text


def test_a_rule_is_kept_once(tmp_path):
    """Only the user can read a new file."""
    rules = UserRules(tmp_path / "config" / "toolkit.toml")
    for rule in ("bash(ls:*)", "bash(ls:*)", "write"):
        rules.keep(rule)
    assert tomllib.loads(rules.path.read_text())["rules"]["allow"] == ["write", "bash(ls:*)"]
    assert rules.path.stat().st_mode & 0o077 == 0


@pytest.mark.long
@pytest.mark.parametrize("answer", ["y", ""])
def test_an_always_answer_is_saved_if_the_user_agrees(shop, answer):
    """It is saved in the settings of the user."""
    call = ["-m", "toolkit", "call", "tools.py", "cancel", "day=2026-05-01"]
    with contextlib.closing(Terminal(call)) as terminal:
        terminal.until("[y]es")
        terminal.type("a\n")
        terminal.until("go back: ")
        terminal.type("1\n")
        terminal.until("this session only: ")
        terminal.type(f"{answer}\n")
        assert terminal.read_to_end() == 0
    assert (configuration_folder() / "toolkit.toml").exists() is bool(answer)
    assert shop.run(*call[2:], "--no-ask").code == (0 if answer else 7)
