"""
`/name text` on a line of a prompt.
"""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.skills.kit import Desk
from toolkit.errors import BadArgs, ToolError
from toolkit.skills.slash_commands import expand_commands

ARGUMENTS = """
arguments:
  - path
  - {name: depth, type: integer, default: 2}
  - {name: note, required: false}
"""


@pytest.fixture
def expand(desk):
    """The skills to expand: free, with several arguments, with one, with a list, with none."""
    desk.write("review.md", "aliases: [check]", "Review {input}!")
    desk.write("deep.md", ARGUMENTS, "{path} at {depth}: {note}")
    desk.write("one.md", "arguments: [path]", "<{path}>")
    desk.write("tags.md", "arguments: [{name: tags, type: list}]", "<{tags}>")
    desk.write("plain.md", "arguments: []", "Just do it.")
    desk.write("nested.md", "arguments: []", "/review a\n/plain")
    assert desk.problems == []
    return desk.skills.expanded


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("/review src/a.py", "Review src/a.py!"),
        ("   /review\tsrc/a.py \n", "Review src/a.py!\n"),
        ("/review two words\nand a line", "Review two words!\nand a line"),
        ("First this:\n/review a\r\n\n/check b\rThen that.", "First this:\nReview a!\r\n\nReview b!\rThen that."),
        ("/review /review a", "Review /review a!"),
        ("/one /plain\n/plain", "</plain>\nJust do it."),
        ("```\n/review a\n```\n/review b", "```\n/review a\n```\nReview b!"),
        ("~~~~ sh\n~~~\n/review a\n~~~~~\n/review b", "~~~~ sh\n~~~\n/review a\n~~~~~\nReview b!"),
        ("```not `a fence\n/review b", "```not `a fence\nReview b!"),
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
def test_a_skill_is_expanded_with_the_words_after_it(expand, prompt, expected):
    """Words go to the arguments in order, and the rest to the last one."""
    assert expand(prompt) == expected


@pytest.mark.parametrize(
    "prompt",
    [
        "", "review a", "/", "//review a", "/ review a", "/reviewer a", "/review/a", "/usr/bin/env", "/look oak", "/review: a",
        "please /review a", "/revi\x00ew a", "> /review a", "- /review a", "`/review a`", "    /review a", "\t/review a",
        "see\n/usr/bin\n/usr/bin/env x\n", "```\n/review a", "``` py\n/review a\n~~~\n/review b\n``` c\n/review d",
        "a\x0b/review a", "a\u2028/review a",
    ],
)  # fmt: skip
def test_any_other_prompt_is_not_changed(expand, prompt):
    """Only a skill at the start of a line counts, and not a path, a tool, code, or a name after a word."""
    assert expand(prompt) == prompt


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
def test_arguments_that_do_not_fit_are_reported_to_the_user(expand, prompt, words):
    """The report names the skill."""
    with pytest.raises(BadArgs) as caught:
        expand(prompt)
    assert str(caught.value).startswith(words)


@given(st.lists(st.text()).map("\n".join))
def test_a_prompt_without_commands_is_the_same_to_the_letter(text):
    """This holds for any other text in it."""
    assert expand_commands(text, lambda name, words: None) == text


@given(
    st.text().filter(lambda text: not _starts_a_block(text)),
    st.from_regex(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}", fullmatch=True),
    st.text().map(lambda text: re.sub(r"[\r\n]", "", text)),
    st.text(),
)
def test_only_the_line_of_a_skill_is_replaced(before, name, text, after):
    """Only the space around the text is lost."""
    commands = []

    def write_out(command, words):
        commands.append((command, words))
        return "<made>"

    expanded_text = expand_commands(f"{before}\n/{name} {text}\nx{after}", write_out)
    assert (name, text.strip()) in commands
    assert "\n<made>\nx" in expanded_text
    assert expand_commands(f"x{text}", write_out) == f"x{text}"


def _starts_a_block(text):
    return "```" in text or "~~~" in text


def test_an_expanded_text_is_not_expanded_again(expand):
    """A line of the text of a skill is not a command."""
    assert expand("/nested") == "/review a\n/plain"


def test_many_long_skills_are_too_much(tmp_path):
    """A short prompt cannot become an endless one."""
    desk = Desk(tmp_path / "skills")
    desk.write("long.md", "arguments: []", "x" * 50_000)
    assert len(desk.skills.expanded("/long\n" * 20)) == 1_000_020
    with pytest.raises(ToolError, match="1,000,000 are allowed"):
        desk.skills.expanded("/long\n" * 21)


def test_expanding_a_prompt_changes_nothing(tmp_path):
    """It has the same result twice, and no tool runs."""
    desk = Desk(tmp_path / "skills")
    desk.write("cut.it.md", "tools: [cut]", "Cut {input}.")
    assert desk.skills.expanded("/cut.it oak") == desk.skills.expanded("/cut.it oak") == "Cut oak."
    assert desk.shed.done == []
