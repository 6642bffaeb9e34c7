"""Where the keys of a TOML document stand."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.settings.toml_files import TomlFile, find_lines

DOCUMENT = '''\
# a comment = with a sign
mode = "plan"   # [not.a.table]

[limits]
max_turns = 3
"a.b" . 'c' = { x = 1, y = [1, 2] }

[commands]
allow = [  # "no entry"
    "npm test", "ls",
    """
git
status""",

    'a # b',
]
deny = ["rm:*"]

[[hooks]]
on = "before"
[[hooks]]
command = \'\'\'
x = 1
\'\'\'\'
on = ["after"]
[hooks.deep]
key = [[1, 2],
  [3]]
'''


def test_each_key_and_each_entry_has_its_line():
    """Comments, texts of several lines, lists and lists of tables are passed over correctly."""
    tomllib.loads(DOCUMENT)
    lines = find_lines(DOCUMENT)
    assert lines == {
        ("mode",): 2,
        ("limits",): 4,
        ("limits", "max_turns"): 5,
        ("limits", "a.b"): 6,
        ("limits", "a.b", "c"): 6,
        ("commands",): 8,
        ("commands", "allow"): 9,
        ("commands", "allow", 0): 10,
        ("commands", "allow", 1): 10,
        ("commands", "allow", 2): 11,
        ("commands", "allow", 3): 15,
        ("commands", "deny"): 17,
        ("commands", "deny", 0): 17,
        ("hooks",): 19,
        ("hooks", 0): 19,
        ("hooks", 0, "on"): 20,
        ("hooks", 1): 21,
        ("hooks", 1, "command"): 22,
        ("hooks", 1, "on"): 25,
        ("hooks", 1, "on", 0): 25,
        ("hooks", 1, "deep"): 26,
        ("hooks", 1, "deep", "key"): 27,
        ("hooks", 1, "deep", "key", 0): 27,
        ("hooks", 1, "deep", "key", 1): 28,
    }


NAMES = st.sampled_from(["a", "b", "c-1", '"x y"', "'d.e'", '"\\u00e9"'])
VALUES = st.sampled_from(
    ["1", "-2.5", "true", "1979-05-27T07:32:00Z", '"x"', '"a = [1]\\n\\""', "'#'", '"""\n[a]\nb = 1\n"""', "'''\n'''"]
    + ["[]", "[1,\n 2, # ]\n]", '["a", [\n"b"]]', "{ a = 1, b.c = [2] }", "[{ a = '}' },\n{ b = 2 }]", '""', '""""""']
)
PAIRS = st.tuples(st.lists(NAMES, min_size=1, max_size=2).map(" . ".join), VALUES).map(" = ".join)
HEADERS = st.lists(NAMES, min_size=1, max_size=3).map(".".join)
LINES = st.lists(
    PAIRS | HEADERS.map("[{}]".format) | HEADERS.map("[[{}]] # x".format) | st.sampled_from(["", "# c = 1", "  "]),
    max_size=8,
)


def paths_of(value, path=()):
    """Yield the path of every key and every entry in a document, but for what is in inline values."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from paths_of(inner, (*path, key))


@given(LINES)
def test_a_key_is_on_the_first_line_with_which_the_document_has_it(lines):
    """Shorter documents do not have the key."""
    valid = []  # the statements that can stand one after the other
    for line in lines:
        try:
            tomllib.loads("\n".join([*valid, line]))
        except tomllib.TOMLDecodeError:
            continue
        valid.append(line)
    key_lines = find_lines("\n".join(valid))
    before = set()
    number = 1
    for at, line in enumerate(valid):
        after = set(paths_of(tomllib.loads("\n".join(valid[: at + 1]))))
        last = number + line.count("\n")
        for path in after - before:
            if path in key_lines:
                assert number <= key_lines[path] <= last
        # What is not found is inside an inline table or a list in a list.
        for path in after - before - key_lines.keys() - {()}:
            assert any(path[:length] in key_lines for length in range(1, len(path)))
        before, number = after, last + 1
    assert key_lines.keys() <= before


def test_a_toml_file_has_the_line_of_a_setting(tmp_path):
    """An inline setting has the line of its table."""
    path = tmp_path / "a.toml"
    path.write_text("\ufeffa = 1\r\n[b]\r\nc = { d = 2 }\r\n", encoding="utf-8", newline="")
    file = TomlFile(path, [])
    places = [file.place_of(*key) for key in [("a",), ("b",), ("b", "c", "d"), ("e",), ()]]
    assert places == [f"{path}:1", f"{path}:2", f"{path}:3", str(path), str(path)]


@pytest.mark.parametrize("letter", ["[", '"', "'", "\\", "#", "="])
def test_a_long_file_takes_no_longer_than_its_length(letter):
    """A hostile file cannot stall the reader."""
    text = (
        f'a = """{letter if letter not in (chr(34), chr(92)) else "x" * 10}' + "x" * 200_000 + '"""\n' + "b = 1\n" * 1
    )
    assert find_lines(text)[("b",)] == 2
