"""
`/name text` at the start of a prompt.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.skills.kit import Desk
from toolkit.errors import BadArgs
from toolkit.skills.commands import named_skill

ARGUMENTS = """
arguments:
  - path
  - {name: depth, type: integer, default: 2}
  - {name: note, required: false}
"""


@pytest.fixture
def expanded(desk):
    """The skills to expand: free, with several arguments, with one, with a list, with none."""
    desk.write("review.md", "aliases: [check]", "Review {input}!")
    desk.write("deep.md", ARGUMENTS, "{path} at {depth}: {note}")
    desk.write("one.md", "arguments: [path]", "<{path}>")
    desk.write("tags.md", "arguments: [{name: tags, type: list}]", "<{tags}>")
    desk.write("plain.md", "arguments: []", "Just do it.")
    assert desk.problems == []
    return desk.skills.expanded


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("/review src/a.py", "Review src/a.py!"),
        ("  /review\tsrc/a.py\n", "Review src/a.py!"),
        ("/review two words\nand a line", "Review two words\nand a line!"),
        ("/review", "Review !"),
        ("/check {input} 'x'", "Review {input} 'x'!"),
        ("/deep a.py", "a.py at 2: "),
        ("/deep a.py 3 and the rest  of it", "a.py at 3: and the rest  of it"),
        ("/deep 'a b.py' 3", "a b.py at 3: "),
        ('/deep "a \'b\'.py"', "a 'b'.py at 2: "),
        ('/deep a"b 3', 'a"b at 3: '),
        ("/deep {depth} 3", "{depth} at 3: "),
        ("/one 'a b' c", "<'a b' c>"),
        ("/tags a b", '<["a", "b"]>'),
        ('/tags ["a b"]', '<["a b"]>'),
        ("/plain", "Just do it."),
    ],
)  # fmt: skip
def test_a_skill_is_written_out_with_what_follows_it(expanded, prompt, expected):
    """Words go to the arguments in order, the rest to the last one."""
    assert expanded(prompt) == expected


@pytest.mark.parametrize(
    "prompt",
    [
        "", "review a", "/", "//review a", "/ review a", "/reviewer a", "/review/a", "/usr/bin/env", "/look oak", "/review: a",
        "please /review a", "first\n/review a", "/revi\x00ew a",
    ],
)  # fmt: skip
def test_any_other_prompt_stays_as_it_is(expanded, prompt):
    """A path, a tool, a name further down: only a skill at the start counts."""
    assert expanded(prompt) == prompt


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        ("/deep", "/deep: path: required, but missing"),
        ("/deep a.py deep", "/deep: depth: expected an integer"),
        ("/one", "/one: path: required, but missing"),
        ("/plain text", "/plain: input: "),
        ("/tags 3", "/tags: tags: expected"),
    ],
)
def test_what_does_not_fit_is_told_to_whoever_typed_it(expanded, prompt, words):
    """With the name of the skill."""
    with pytest.raises(BadArgs) as caught:
        expanded(prompt)
    assert str(caught.value).startswith(words)


@given(st.text())
def test_a_prompt_that_does_not_begin_with_a_slash_is_never_looked_at(text):
    """Whatever else is in it."""
    assert named_skill(f"x{text}") is None


@given(st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}", fullmatch=True), st.text())
def test_the_name_and_the_text_are_taken_apart(name, text):
    """And nothing but the space around the text is lost."""
    assert named_skill(f"/{name} {text}") == (name, text.strip())


def test_expanding_reads_and_changes_nothing(tmp_path):
    """It is the same twice, and no tool has run."""
    desk = Desk(tmp_path / "skills")
    desk.write("cut.it.md", "tools: [cut]", "Cut {input}.")
    assert desk.skills.expanded("/cut.it oak") == desk.skills.expanded("/cut.it oak") == "Cut oak."
    assert desk.shed.done == []
