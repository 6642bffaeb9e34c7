"""
From files to skills: what counts, and every mistake with its place.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.skills import Argument, Skill
from toolkit.skills.parsing import read_skill


def read(text: str, name: str = "skills/review.md") -> tuple[Skill | None, list[tuple[int | None, str]]]:
    """Return the skill in a file, and its mistakes."""
    skill, problems = read_skill(Path(name), text.encode())
    return skill, [(problem.line, problem.message) for problem in problems]


def front(text: str, body: str = "Do it.") -> str:
    """Return a file with a description and *text* as its front matter; *text* begins on line 3."""
    return f"---\ndescription: Does it.\n{text}\n---\n{body}\n"


def mistakes(text: str, **options) -> list[tuple[int | None, str]]:
    """Return what is wrong with a file, which is then no skill."""
    skill, problems = read(text, **options)
    assert skill is None
    return problems


def test_every_key_of_a_file_is_read():
    skill, problems = read(
        "---\nname: look-over\ndescription: |\n  Look a file over.\ntools: [look, cut]\ndestructive: true\n"
        "defer: false\ngroup: writing\naliases: [check]\nsearch_hint: proofread\nversion: '2'\napproval: always\n"
        "timeout_seconds: 30\nmax_chars: 500\nopen_world: false\nlicense: MIT\nmetadata: {a: 1}\nallowed-tools: Read\n---\n\nLook at {input}.\n\n"
    )
    assert problems == []
    assert (skill.name, skill.description, skill.text) == ("look-over", "Look a file over.", "Look at {input}.")
    assert (skill.tools, skill.folder, skill.project) == (("look", "cut"), None, False)
    assert skill.stated == {
        "destructive": True, "defer": False, "group": "writing", "aliases": ["check"], "search_hint": "proofread",
        "version": "2", "approval": "always", "timeout_seconds": 30, "max_chars": 500, "open_world": False,
    }  # fmt: skip


def test_a_file_without_arguments_takes_one_text():
    """Free text is what most prompts want."""
    skill, _ = read(front(""))
    assert [(argument.name, argument.type, argument.required) for argument in skill.arguments] == [
        ("input", "string", True)
    ]


def test_arguments_have_types_defaults_and_choices():
    """They have the order of the file. A plain name is short for a required text."""
    skill, problems = read(
        front(
            "arguments:\n"
            "  - path\n"
            "  - {name: depth, type: integer, default: 2, description: How deep.}\n"
            "  - {name: style, choices: [kind, harsh], default: kind}\n"
            "  - {name: note, required: false}\n"
            "  - {name: more, type: object, default: null}\n"
            "  - {name: level, type: integer, choices: [1, 2]}\n"
        )
    )
    assert problems == []
    assert skill.arguments == (
        Argument(name="path"),
        Argument(name="depth", type="integer", default=2, description="How deep.", required=False),
        Argument(name="style", choices=("kind", "harsh"), default="kind", required=False),
        Argument(name="note", required=False),
        Argument(name="more", type="object", required=False),
        Argument(name="level", type="integer", choices=(1, 2)),
    )


def test_a_skill_with_an_empty_list_of_arguments_takes_none():
    skill, _ = read(front("arguments: []"))
    assert skill.arguments == ()


@pytest.mark.parametrize("tools", ["[look, cut]", "look, cut", "\n  - look\n  - cut", "[look, cut, look]"])
def test_tools_are_a_list_of_names(tools):
    """Each is listed once, in order. Commas may separate them."""
    skill, _ = read(front(f"tools: {tools}"))
    assert skill.tools == ("look", "cut")


@pytest.mark.parametrize(
    ("path", "name"),
    [("skills/tidy.md", "tidy"), ("skills/tidy/SKILL.md", "tidy"), ("skills/a.b-c.md", "a.b-c")],
)
def test_the_default_name_of_a_skill_is_that_of_its_file_or_folder(path, name):
    """The folder counts for a `SKILL.md`."""
    skill, _ = read(front(""), name=path)
    assert skill.name == name
    assert read(front("name: other"), name=path)[0].name == "other"


def test_a_folder_is_kept_with_its_skill():
    """Its other files lie there."""
    assert read(front(""), name="skills/tidy/SKILL.md")[0].folder == Path("skills/tidy")


def test_line_endings_and_a_mark_at_the_start_do_not_matter():
    """Files come from everywhere; only the digest is of the bytes as they are."""
    plain, _ = read_skill(Path("a.md"), b"---\ndescription: x\n---\none\ntwo")
    other, _ = read_skill(Path("a.md"), b"\xef\xbb\xbf---\r\ndescription: x\r\n---\r\none\r\ntwo")
    assert plain.text == other.text == "one\ntwo"
    assert plain.digest != other.digest


def test_a_file_that_is_not_utf_8_is_not_a_skill():
    skill, problems = read_skill(Path("a.md"), b"---\ndescription: \xff\n---\nx")
    assert skill is None
    assert str(problems[0]) == "a.md: it is not UTF-8; save it as that"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (front("nmae: x"), 3, "`nmae` is not known; did you mean `name`?"),
        (front("colour: x"), 3, "`colour` is not known; write one of name, description"),
        (front("name: a b"), 3, "`name` has to be a name for a tool; write at most 64"),
        (front("name: 3"), 3, "`name` has to be a name for a tool"),
        ("---\nname: x\n---\nDo.", 1, "`description` is missing"),
        ("---\ndescription: ' '\n---\nDo.", 2, "`description` has to be a text that is not empty"),
        ("---\ndescription: [a]\n---\nDo.", 2, "`description` has to be a text that is not empty; got ['a']"),
        (front("", body=" \n"), None, "no text below the front matter"),
        (front("read_only: yes"), 3, "`read_only` has to be true or false; got 'yes'"),
        (front("destructive: 1"), 3, "`destructive` has to be true or false; got 1"),
        (front("destructive: true\nread_only: true"), 4, "both `read_only` and `destructive`"),
        (front("aliases: check"), 3, "`aliases` has to be a list of names"),
        (front("aliases: [a b]"), 3, "`aliases` has to be a list of names"),
        (front("approval: sometimes"), 3, "`approval` has to be never or always"),
        (front("timeout_seconds: 0"), 3, "`timeout_seconds` has to be a number of seconds above 0"),
        (front("timeout_seconds: true"), 3, "`timeout_seconds` has to be a number of seconds above 0"),
        (front("max_chars: 10"), 3, "`max_chars` has to be a whole number, 50 or more"),
        (front("tools: {a: b}"), 3, "`tools` has to be a list of names"),
        (front("tools:\n  - look\n  - 3"), 5, "3 is no name"),
        (front("tools:\n  - look\n  - bash(git:*)"), 5, "'bash(git:*)' is no name"),
        (front("tools: look,"), 3, "'' is no name"),
        (front("arguments: {path: text}"), 3, "`arguments` has to be a list"),
        (front(f"arguments: {['a'] * 51}"), 3, "at most 50"),
        (front("arguments:\n  - 3"), 4, "an argument has a name"),
        (front("arguments:\n  - type: string"), 4, "an argument has a name"),
        (front("arguments:\n  - a\n  - a"), 5, "the argument `a` stands here twice"),
        (front("arguments:\n  - a-b"), 4, "argument `a-b`: `name` has to be at most 64 letters"),
        (front("arguments:\n  - from"), 4, "argument `from`: `name` has to be"),
        (
            front("arguments:\n  - name: a\n    typ: string"),
            5,
            "argument `a`: `typ` is not known; did you mean `type`?",
        ),
        (front("arguments:\n  - name: a\n    type: strng"), 5, "`type` has to be one of string, text"),
        (front("arguments:\n  - name: a\n    type: [string]"), 5, "`type` has to be one of string, text"),
        (front("arguments:\n  - name: a\n    description: 3"), 5, "`description` has to be a text"),
        (front("arguments:\n  - name: a\n    required: no"), 5, "`required` has to be true or false"),
        (front("arguments:\n  - name: a\n    choices: []"), 5, "`choices` has to be a list that is not empty"),
        (front("arguments:\n  - name: a\n    default: 3"), 5, "default: 3 is no string; put it in quotes"),
        (front("arguments:\n  - name: a\n    type: integer\n    default: true"), 6, "default: True is no integer"),
        (front("arguments:\n  - name: a\n    type: integer\n    default: 1.5"), 6, "default: 1.5 is no integer"),
        (front("arguments:\n  - name: a\n    type: list\n    default: x"), 6, "default: 'x' is no list"),
        (front("arguments:\n  - name: a\n    choices: [1]"), 5, "choices: 1 is no string; put it in quotes"),
        (
            front("arguments:\n  - name: a\n    type: boolean\n    choices: [true]"),
            6,
            "choices are strings or integers",
        ),
        (front("arguments:\n  - name: a\n    choices: [b]\n    default: c"), 6, "the default is none of the choices"),
        (front("arguments:\n  - name: a\n    required: true\n    default: c"), 5, "what is required has no default"),
    ],
)
def test_a_mistake_is_reported_with_its_line_and_the_remedy(text, line, words):
    problems = mistakes(text)
    assert [place for place, _ in problems] == [line]
    assert words in problems[0][1]


@pytest.mark.parametrize("name", ["skills/a b.md", "skills/3d/SKILL.md", "skills/.md.md"])
def test_a_file_whose_name_no_tool_can_have_says_another(name):
    """The remedy is a line in the file."""
    problems = mistakes(front(""), name=name)
    assert (problems[0][0], "add `name:`" in problems[0][1]) == (1, True)


def test_all_mistakes_are_reported_together_in_the_order_of_the_lines():
    """An author mends a file in one go."""
    problems = mistakes("---\nread_only: maybe\ntools: [1]\narguments:\n  - 2\nwhat: x\n---\nDo.")
    assert [line for line, _ in problems] == [1, 2, 3, 5, 6]


@given(st.binary(max_size=300) | st.text(max_size=300).map(lambda text: f"---\n{text}\n---\nx".encode()))
def test_any_content_is_a_skill_or_a_list_of_mistakes(content):
    """Never both, never neither, never an exception."""
    skill, problems = read_skill(Path("a.md"), content)
    assert (skill is None) == bool(problems)


KEYS = ["name", "description", "tools", "arguments", "read_only", "aliases", "approval", "max_chars", "group", "x"]
VALUES = st.recursive(
    st.sampled_from(["a", "from", "look", "", "string", "integer"]) | st.booleans() | st.none() | st.integers(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["name", "type", "default", "choices", "required", "z"]), inner, max_size=4)
    ),
    max_leaves=8,
)


@pytest.mark.unmeasured
@given(st.dictionaries(st.sampled_from(KEYS), VALUES))
def test_any_front_matter_is_a_skill_or_a_list_of_mistakes(value):
    """This holds for values of every shape."""
    import json

    skill, problems = read_skill(Path("a.md"), f"---\n{json.dumps(value)}\n---\nx".encode())
    assert (skill is None) == bool(problems)
    assert all(problem.line is not None for problem in problems)


@pytest.mark.parametrize(
    ("written", "tools"),
    [
        ("Read, Grep, WebFetch", ("read", "grep", "web_fetch")),
        ("Read Grep", ("read", "grep")),
        ("[Read, web-fetch, read]", ("read", "web_fetch")),
        ("[]", ()),
        ('""', ()),
    ],
)
def test_allowed_tools_are_the_tools_of_a_skill(written, tools):
    """The key is `allowed-tools` in a `SKILL.md`."""
    skill, problems = read_skill(
        Path("audit/SKILL.md"), f"---\ndescription: Look.\nallowed-tools: {written}\n---\nLook.".encode()
    )
    assert problems == []
    assert skill.tools == tools


def test_tools_count_before_allowed_tools():
    """A `SKILL.md` with `allowed-tools` is read; the key of our own counts if both are there."""
    text = b"---\ndescription: Look.\nallowed-tools: Bash(git:*)\ntools: [read]\n---\nLook."
    skill, problems = read_skill(Path("audit/SKILL.md"), text)
    assert (problems, skill.tools) == ([], ("read",))


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (
            "Read Bash(git:*)",
            "`Bash(git:*)` allows a part of a tool, and a skill has whole tools here; add `tools: [bash]`",
        ),
        ("Bash(git add:*)", "limit it by a rule such as `allow bash(git add:*)`"),
        ("Bash(git", "`Bash(git` allows a part of a tool"),
        ('"*"', "such as Read, Grep; '*' is none"),
        ("[Read, 7]", "such as Read, Grep; 7 is none"),
        ("{a: b}", "`allowed-tools` has to be names, such as Read, Grep"),
    ],
)
def test_a_part_of_a_tool_is_not_made_a_whole_one(written, message):
    """A `SKILL.md` with `allowed-tools` is read, and never gets more than the file says."""
    skill, problems = read_skill(
        Path("audit/SKILL.md"), f"---\ndescription: Look.\nallowed-tools: {written}\n---\nLook.".encode()
    )
    assert skill is None
    assert [problem.line for problem in problems] == [3]
    assert message in problems[0].message


@given(st.text(st.sampled_from("ABab (),*:_-"), max_size=20))
def test_allowed_tools_never_raise(written):
    """Every text gives a skill with names of tools, or a problem."""
    text = f"---\ndescription: Look.\nallowed-tools: {json.dumps(written)}\n---\nLook."
    skill, problems = read_skill(Path("audit/SKILL.md"), text.encode())
    assert (skill is None) == bool(problems)
    assert skill is None or "(" not in written


def test_a_file_with_many_mistakes_is_reported_with_the_first_twenty():
    matter = "\n".join(f"key{number}: 1" for number in range(500))
    skill, problems = read_skill(Path("a.md"), f"---\ndescription: x\n{matter}\n---\ntext".encode())
    assert skill is None
    assert [problem.line for problem in problems] == [*range(3, 23), None]
    assert str(problems[-1]) == "a.md: it has 480 more mistakes"
