"""The text of a rule: how it is read and written, and which mistakes are refused."""

from __future__ import annotations

import contextlib
import pickle
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.permissions.rule_kit import bash, build_request
from toolkit.permissions.rules import Rule, RuleError, read_rule

# What is refused.


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "names no tool"),
        (" read", "spaces"),
        ("read ", "spaces"),
        ("read write", "spaces"),
        ("bash(npm test) ", "spaces"),
        ("read(", "parentheses"),
        ("read)", "not opened"),
        ("read(a))", "parentheses"),
        ("read(a)(b)", "parentheses"),
        ("read((a)", "parentheses"),
        ("read()", "write `read` for every call"),
        ("read(  )", "pattern is missing"),
        ("read(path=)", "pattern is missing"),
        ("(npm test)", "something is missing"),
        ("re$d", "64 of A-Z"),
        ("réad", "64 of A-Z"),
        ("1read", "64 of A-Z"),
        ("r" * 65, "64 of A-Z"),
        ("bash:*", "command prefix"),
        ("group:", "group:files"),
        ("group:a/b", "no origin"),
        ("/read", "something is missing"),
        ("mcp:github/", "something is missing"),
        ("read\n", "printable"),
        ("read(a\0b)", "printable"),
        ("read(\u202ea)", "printable"),
        ("read(" + "a" * 3000 + ")", "2000"),
        ("web_fetch(url=docs.python.org/**)", "begins with its scheme"),
        ("web_fetch(https://docs*.python.org/**)", "whole label"),
        ("web_fetch(https://me@python.org/**)", "user info"),
        ("bash(git push | sh:*)", "simple command"),
        ("bash(command=git *)", "as `:*`"),
        ("bash('npm test:*)", "quotes"),
        ("write(path=src/**x)", "stands alone"),
        ("write(path=~root/x)", "home folder"),
        ("paint(cost>ten)", "is no number of US dollars; write `paint(cost>0.10)`"),
        ("paint(cost>=-1)", "is no number of US dollars"),
        ("paint(cost<$1)", "is no number of US dollars"),
        ("paint(cost>)", "is no number of US dollars"),
        ("access:write(cost>1)", "an access has none; write `*(cost>1)`"),
    ],
)
def test_a_mistake_is_refused_with_its_remedy(text, message):
    """The message names the rule, and what would be right."""
    with pytest.raises(RuleError, match=r"^rule ") as caught:
        Rule("deny", text)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("text", ["mcp:*/read", "mcp:git?ub/read"])
def test_an_allow_rule_names_one_origin(text):
    """A person who trusts tools from elsewhere has to name their origin."""
    with pytest.raises(RuleError, match="one origin"):
        Rule("allow", text)
    Rule("deny", text)


@pytest.mark.parametrize("word", ["permit", "Allow", "", None])
def test_a_rule_with_an_unknown_word_is_refused(word):
    with pytest.raises(RuleError, match="allow, ask or deny"):
        Rule(word, "read")


@pytest.mark.parametrize("text", ["", "read", "denyread", "Deny read", "deny", "deny ", "deny  read", None, 5])
def test_a_rule_text_that_does_not_begin_with_a_word_and_one_space_is_refused(text):
    with pytest.raises(RuleError):
        read_rule(text)


def test_a_rule_that_is_not_text_is_refused():
    """A TOML file can hold anything."""
    with pytest.raises(RuleError, match="names no tool"):
        Rule("deny", 5)


_NAMES = st.from_regex(r"(?:group:|mcp:[a-z]{1,5}/|dist:a-b/)?[a-z_][a-z0-9_.*?-]{0,8}", fullmatch=True)
_PATTERNS = st.none() | st.text("abc */.-=:(x)?", min_size=1, max_size=20)


@given(word=st.sampled_from(["allow", "ask", "deny"]), name=_NAMES, pattern=_PATTERNS)
def test_a_rule_can_be_written_and_read_again(word, name, pattern):
    """Every valid rule comes back equal."""
    try:
        rule = Rule(word, name if pattern is None else f"{name}({pattern})", "somewhere")
    except RuleError:
        return
    again = read_rule(str(rule), source="elsewhere")
    assert again == rule
    assert hash(again) == hash(rule)
    assert (again.argument, again.pattern, again.names_where) == (rule.argument, rule.pattern, rule.names_where)
    assert again.source == "elsewhere"


@given(st.text(max_size=60))
def test_any_text_is_read_as_a_rule_or_raises_a_rule_error(text):
    with contextlib.suppress(RuleError):
        assert read_rule(f"deny {text}").text == text


@pytest.mark.parametrize(
    ("text", "needs_arguments", "names_where"),
    [
        ("read", False, False),
        ("group:web", False, False),
        ("mcp:github/*", False, True),
        ("fetch(*)", True, False),
        ("fetch(url=*)", True, False),
        ("bash(:*)", True, False),
        ("fetch(https://python.org/**)", True, True),
        ("write(path=src/**)", True, True),
    ],
)
def test_a_rule_has_flags_for_arguments_and_addresses(text, needs_arguments, names_where):
    """
    They show whether the arguments matter, and whether the rule names an address. A rule for any address names
    none.
    """
    rule = Rule("allow", text)
    assert (rule.needs_arguments, rule.names_where) == (needs_arguments, names_where)


def test_a_rule_is_a_value():
    """It can be copied with another source, and can be sent."""
    rule = Rule("deny", "bash(git push:*)", "here")
    assert replace(rule, source="there") == rule
    assert pickle.loads(pickle.dumps(rule)).matches(build_request(bash, {"command": "git push"}))
    assert (str(rule), repr(rule)) == (
        "deny bash(git push:*)",
        "Rule(word='deny', text='bash(git push:*)', source='here')",
    )
