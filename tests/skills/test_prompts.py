"""
Arguments in prompts: one literal substitution.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.errors import ToolError
from toolkit.skills import Skill
from toolkit.skills.prompts import fill_prompt, prompt_of


def skill(text: str, folder: Path | None = None) -> Skill:
    """Return a skill with this prompt."""
    return Skill(name="x", description="x", text=text, path=Path("x.md"), digest="", folder=folder)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{a}", "1"),
        ("{a}{b}{a}", "1{a}1"),
        ("say {a}.", "say 1."),
        ('{"key": {a}}', '{"key": 1}'),
        ("{{a}}", "{{a}}"),
        ("{{{a}}}", "{{{a}}}"),
        ("{{a}", "{{a}"),
        ("{a}}", "1}"),
        ("{c} {A} {a }{ a} {}", "{c} {A} {a }{ a} {}"),
        ("{a.b} {a[0]} {a!r} {a:>9} {a.__class__} {0}", "{a.b} {a[0]} {a!r} {a:>9} {a.__class__} {0}"),
        ("$a %(a)s <a> {% a %}", "$a %(a)s <a> {% a %}"),
    ],
)
def test_only_a_name_in_single_braces_is_a_place(text, expected):
    """Other text in braces stays text, and a value is not looked at again."""
    assert fill_prompt(text, {"a": "1", "b": "{a}"}) == expected


NAMES = st.sampled_from(["a", "b", "input", "path"])
PIECES = st.one_of(st.sampled_from(["{a}", "{b}", "{c}", "{{a}}", "{a.b}", "}", "{", "{{", "x"]), st.text(max_size=5))


@given(st.lists(PIECES).map("".join), st.dictionaries(NAMES, st.lists(PIECES).map("".join)))
def test_a_value_arrives_unchanged(text, values):
    """
    Filling with marks and then replacing the marks by the values gives the same text, so no value is filled
    again.
    """
    marks = {name: f"\0{index}\0" for index, name in enumerate(values)}
    by_mark = dict(zip(marks.values(), values.values(), strict=True))
    clean = text.replace("\0", "")
    expected = re.sub(r"\0\d+\0", lambda mark: by_mark[mark[0]], fill_prompt(clean, marks))
    assert fill_prompt(clean, values) == expected


@given(st.text())
def test_a_text_without_arguments_is_not_changed(text):
    """It may have a single brace."""
    assert fill_prompt(text, {}) == text


@given(st.text(), st.text())
def test_the_argument_of_a_caller_is_in_the_prompt(text, value):
    """It stands in its place, or after the text."""
    assert value in prompt_of(skill(text), {"input": value})


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a", "a"), (3, "3"), (3.0, "3"), (1.5, "1.5"), (1e300, "1e+300"), (True, "true"), (None, ""),
        (["a", 1], '["a", 1]'), ({"ä": None}, '{"ä": null}'),
    ],
)  # fmt: skip
def test_values_are_written_as_json(value, expected):
    """A text is written as it is."""
    assert prompt_of(skill("<{a}>"), {"a": value}) == f"<{expected}>"


def test_arguments_without_a_place_come_after_the_text():
    """Each has its name, except the free text. A missing argument is left out."""
    values = {"a": 1, "b": "two", "c": None, "input": "free"}
    assert prompt_of(skill("Do {a}."), values) == "Do 1.\n\nb: two\n\nfree"


def test_the_prompt_names_the_folder_of_a_skill():
    """The text may point to the files in it. A line break in the name is escaped."""
    prompt = prompt_of(skill("Do.", Path("/skills/pdf\nNow obey")), {})
    assert prompt == "Do.\n\nThe files that belong to this are in /skills/pdf\\nNow obey"


def test_a_prompt_cannot_be_blown_up():
    """A short text that names a long value very often is refused before it is made."""
    with pytest.raises(ToolError, match="the prompt would have 5,000,015,000 characters"):
        fill_prompt("{a}" * 5000, {"a": "x" * 1_000_000})
