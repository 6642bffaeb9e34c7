"""Long texts are cut between two records of their data, and say how many are left."""

from __future__ import annotations

import csv
import io
import json
import re
import sys

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from toolkit.calls.record_cuts import find_cut
from toolkit.calls.truncation import truncate_text
from toolkit.values.text_limits import TextLimit

NOTE = re.compile(
    r"(?P<body>.*?)(?P<dots>\.\.\.)?\n?\[truncated: (?P<shown>[\d,]+) of (?P<total>[\d,]+) (?P<noun>.*)\]", re.DOTALL
)
WORDS = st.text(alphabet=st.sampled_from("abc é字𝄞,\"'|{}[]:\\"), min_size=1, max_size=12)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1, max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
PLACES = st.integers(1, 400)
LIMITS = st.builds(TextLimit, st.integers(70, 300), st.integers(70, 300))


def cut_text(text, limit):
    """Return what is shown of *text*, and the numbers and the noun of the note."""
    if isinstance(limit, int):
        limit = TextLimit(limit, 2**62)
    assert not limit.allows(text)
    cut = truncate_text(text, limit)
    assert limit.allows(cut)
    note = NOTE.fullmatch(cut)
    shown_count, total = (int(note[name].replace(",", "")) for name in ("shown", "total"))
    assert shown_count <= total
    body = note["body"]
    # The line break before the note may be that of the last line, or one of the note itself.
    whole_body = f"{body}\n" if text.startswith(f"{body}\n") and not note["dots"] else body
    assert text.startswith(whole_body)
    return whole_body, shown_count, total, note["noun"]


def dump(value, indent):
    return json.dumps(value, ensure_ascii=False, indent=indent, separators=None if indent else (",", ":"))


# Properties of all texts.


@given(st.text(alphabet=st.sampled_from('ab \n,|"[]{}:#-`é字𝄞\ud83d\ude00\\'), min_size=71, max_size=400), LIMITS)
def test_any_text_keeps_to_its_limit(text, limit):
    """The limit counts characters or bytes, with the note. The shown text is the beginning."""
    assume(not limit.allows(text))
    body, shown_count, total, noun = cut_text(text, limit)
    assert noun != "characters" or (shown_count, total) == (len(body), len(text))


@given(st.text(min_size=71, max_size=400), LIMITS)
def test_cutting_twice_equals_cutting_once(text, limit):
    """A text that fits is not cut."""
    assume(not limit.allows(text))
    assert limit.allows(truncate_text(text, limit))
    assert find_cut(text, len(text)).end == len(text)


@given(st.lists(JSON_VALUES, min_size=3, max_size=60), PLACES, st.sampled_from([None, 1, 4]))
def test_a_list_is_cut_between_its_items(values, max_end, indent):
    """The shown text is a list of whole items when its bracket is closed."""
    text = dump(values, indent)
    assume(max_end < len(text))
    cut = find_cut(text, max_end)
    assert find_cut(text, max_end, values) == cut  # the value saves the work of parsing, and changes nothing
    if len(dump(values[:1], indent)) - (indent is not None) <= max_end:
        assert (cut.total, cut.noun, cut.place) == (len(values), "items", "")
        assert json.loads(text[: cut.end].removesuffix(",") + "]") == values[: cut.shown]
    else:
        assert (cut.noun, cut.place) != ("items", "")


@given(st.dictionaries(WORDS, WORDS, min_size=5, max_size=60), PLACES)
def test_an_object_is_cut_between_its_keys(values, max_end):
    text = dump(values, None)
    key, value = next(iter(values.items()))
    assume(len(dump({key: value}, None)) <= max_end < len(text))
    cut = find_cut(text, max_end)
    assert find_cut(text, max_end, values) == cut
    assert (cut.noun, cut.total) == ("keys", len(values))
    assert json.loads(text[: cut.end].removesuffix(",") + "}") == dict(list(values.items())[: cut.shown])


@given(st.lists(st.dictionaries(WORDS, JSON_VALUES, min_size=1, max_size=2), min_size=4, max_size=60), PLACES)
def test_json_lines_are_cut_between_records(records, max_end):
    text = "\n".join(dump(record, None) for record in records)
    assume(text.index("\n") < max_end < len(text))
    cut = find_cut(text, max_end)
    assert (cut.noun, cut.total) == ("records", len(records))
    assert list(map(json.loads, text[: cut.end].split("\n")[:-1])) == records[: cut.shown]


CELLS = st.text(alphabet=st.sampled_from('abé,"\n;|'), max_size=8)


@given(st.lists(st.tuples(CELLS, CELLS, st.integers(0, 99)), min_size=20, max_size=60), st.integers(40, 200))
def test_a_table_is_cut_between_its_rows(rows, max_end):
    """This holds also if a cell has a line break. The head is no row."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerows([("name", "note", "count"), *[("x", "y", "1")] * 3, *rows])
    text = file.getvalue()
    cut = find_cut(text, max_end)
    assert (cut.noun, cut.total) == ("rows", len(rows) + 3)
    assert list(csv.reader(io.StringIO(text[: cut.end], newline="")))[4:] == [
        [*map(str, row)] for row in rows[: max(0, cut.shown - 3)]
    ]


ENTRIES = st.lists(st.sampled_from(["started", "failed\n  at line 3\n  at line 7", "é字"]), min_size=20, max_size=40)


@given(ENTRIES, st.integers(70, 400))
def test_a_log_is_cut_between_its_entries(entries, max_end):
    """A traceback belongs to the entry before it."""
    lines = [f"2026-01-02 03:04:05,678 INFO {entry}" for entry in entries]
    text = "\n".join(lines)
    cut = find_cut(text, max_end)
    assert (cut.noun, cut.total) == ("entries", len(entries))
    assert text[: cut.end].rstrip("\n") == "\n".join(lines[: cut.shown])


BLOCKS = st.lists(
    st.sampled_from(
        ["Some text.", "- one\n- two", "```\ncode\n\nmore\n```", "## Part", "| a | b |\n|---|---|\n| 1 | 2 |"]
    ),
    min_size=20,
    max_size=40,
)


@given(BLOCKS, st.integers(12, 150), st.sampled_from(["\n\n", "\n\n\n"]))
def test_markdown_is_cut_between_its_paragraphs(blocks, max_end, gap):
    """A block of code is never left open."""
    text = gap.join(["# Title", *blocks])
    cut = find_cut(text, max_end)
    assert (cut.noun, cut.total) == ("paragraphs", len(blocks) + 1)
    assert text[: cut.end].rstrip("\n") == gap.join(["# Title", *blocks][: cut.shown])


@given(st.lists(st.text(alphabet="ab é字", max_size=15), min_size=40, max_size=80), LIMITS)
def test_other_texts_are_cut_between_their_lines(lines, limit):
    text = "\n".join(["one", *lines])
    assume(not limit.allows(text))
    body, shown_count, total, noun = cut_text(text, limit)
    if noun == "lines":
        assert total == text.count("\n") + (not text.endswith("\n"))
        assert body.count("\n") == shown_count


@pytest.mark.parametrize(
    "make",
    [
        lambda count: json.dumps([{"id": number} for number in range(count)]),
        lambda count: json.dumps({"page": 1, "rows": [{"id": number} for number in range(count)]}),
        lambda count: "\n".join(json.dumps({"id": number}) for number in range(count)),
        lambda count: "a,b\n" + '1,"x\ny"\n' * count,
        lambda count: "a,b\n" + "1,2\n" * count,
        lambda count: "2026-01-02 03:04:05 INFO x\n" * count,
        lambda count: "# Title\n\n" + "Some text.\n\n" * count,
        lambda count: "line\n" * count,
        lambda count: "x" * count,
        lambda count: "[" * count,
        lambda count: "\\" * count,
    ],
)
def test_the_work_grows_with_the_length_alone(make):
    """Counted in calls of functions, of which most texts need a fixed number."""

    def count_calls(text):
        calls = 0

        def count(frame, event, argument):
            nonlocal calls
            calls += event in ("call", "c_call")

        sys.setprofile(count)
        try:
            find_cut(text, 300)
        finally:
            sys.setprofile(None)
        return calls

    assert count_calls(make(40_000)) <= 4 * count_calls(make(10_000)) + 20


# Examples.


def test_the_note_has_the_units_of_the_data():
    text = json.dumps([{"id": number} for number in range(100_000)])
    assert truncate_text(text, TextLimit(80, 2**62)) == '[{"id": 0}, {"id": 1},\n[truncated: 2 of 100,000 items]'


@pytest.mark.parametrize(
    ("data", "noun"),
    [
        ({"page": 1, "rows": list(range(999)), "next": 2}, "items in `rows`"),
        ({"data": {"items": [{"a": 1}] * 99}}, "items in `data.items`"),
        ([[list(range(999))]], "items in `[0][0]`"),
        ({"a": 1, "b": 2, "rest": "x" * 999}, "keys"),
        ({"short": "x" * 60, "rows": list(range(999))}, "keys"),
        ([1, {"rows": list(range(999))}], "items"),
        ({"`; ignore all": list(range(999))}, "items"),
        ({"x" * 61: list(range(999))}, "items"),
        ({"a": [], "b": {}, "c": list(range(999))}, "items in `c`"),
    ],
)
def test_the_list_that_is_most_of_the_data_is_cut(data, noun):
    """A key that could pass for our words is not named."""
    assert cut_text(json.dumps(data), 160)[3] == noun
    assert all(find_cut(json.dumps(data), end) == find_cut(json.dumps(data), end, data) for end in range(200))


def test_the_place_of_the_records_is_part_of_the_limit():
    data = {"a_rather_long_name_of_a_key": list(range(999))}
    nouns = {cut_text(json.dumps(data), limit)[3] for limit in range(85, 200)}
    assert nouns == {"characters", "items in `a_rather_long_name_of_a_key`"}


@pytest.mark.parametrize(
    ("text", "noun", "total"),
    [
        ("| a | b |\n|---|:--|\n" + "| 1 | 2 |\n" * 50, "rows", 50),
        (" id | name\n----+------\n" + "  1 | x\n" * 50, "rows", 50),
        ("+----+\n| id |\n+----+\n" + "| 12 |\n" * 50, "rows", 50),
        ("NAME  AGE\n----  ---\n" + "Ada   36\n" * 50, "rows", 50),
        ("id\tname\n" + "1\tx\n" * 50, "rows", 50),
        ("1;2;3\n" * 50, "rows", 50),
        ('a,b\n"open,1\n' + "2,3\n" * 50, "lines", 52),
        ("Title\n-----\n" + "some words\n" * 50, "lines", 52),
        ("[INFO] fine\n" * 50, "entries", 50),
        ("Jan  2 03:04:05 host fine\n" * 50, "entries", 50),
        ("INFO alone\n" + "x\n" * 99, "lines", 100),
        ("just words\r\n" * 50, "lines", 50),
        ('{"a": 1}\nnot JSON\n' * 50, "lines", 100),
    ],
)
def test_the_kind_of_a_text_is_recognized(text, noun, total):
    assert cut_text(text, 160)[2:] == (total, noun)


@pytest.mark.parametrize(
    "text",
    [
        '["' + "x" * 999 + '"]',
        '{"a": "' + "x" * 999 + '"}',
        "[" * 999,
        "[" * 99_999 + "]" * 99_999,
        "[1" + "1" * 9999 + "]",
    ],
)
def test_a_record_that_is_too_long_is_cut_between_characters(text):
    """A record that cannot be read as JSON is cut as text."""
    body, shown_count, total, noun = cut_text(text, 160)
    assert (body, total, noun) == (text[:shown_count], len(text), "characters")


@pytest.mark.parametrize(
    ("text", "noun"),
    [
        (json.dumps({"id": 1, "text": "word " * 1999}), "characters"),
        (json.dumps({"id": 1, "text": "word " * 1999}, indent=2), "characters"),
        (json.dumps([1, "word " * 1999]), "characters"),
        ('{"n": 1}\n{"text": "' + "word " * 1999 + '"}\n', "characters"),
        ("a,b\n1,2\n3," + "word " * 1999 + "\n4,5\n", "characters"),
        ("INFO one\nINFO two\n" + "at file.py\n" * 1999 + "INFO end\n", "lines"),
        ("# List\n\n" + "- item\n" * 1999, "lines"),
    ],
)
def test_a_long_record_after_short_ones_is_shown_in_part(text, noun):
    """Otherwise the model would read no text of a page in `{"id": 1, "text": "..."}`."""
    shown, _, _, used_noun = cut_text(text, 4000)
    assert used_noun == noun
    assert len(shown) > 3900


@given(st.integers(1, 2900), st.integers(3000, 9000))
def test_records_of_one_size_are_never_cut(size, max_end):
    text = json.dumps(["x" * size] * (20_000 // size))
    assert find_cut(text, max_end).noun == "items"


@pytest.mark.parametrize(
    ("text", "noun"), [('[1,{"a":2},3' + ",4" * 99 + "]", "items"), ("INFO x\n at y\n" * 99, "entries")]
)
def test_a_byte_order_mark_hides_no_records(text, noun):
    assert cut_text(f"\ufeff{text}", 120)[3] == noun


def test_a_record_of_many_lines_is_cut_after_a_line():
    text = json.dumps([{f"key {number}": number for number in range(99)}], indent=1)
    body, shown_count, _, noun = cut_text(text, 160)
    assert (noun, body.count("\n")) == ("keys in `[0]`", shown_count + 2)
    assert cut_text("{\n" + "broken\n" * 99, 160)[3] == "lines"


def test_a_long_line_after_a_short_one_is_shown():
    """Otherwise the model would read almost no text."""
    body, shown_count, _, noun = cut_text("// licence\n" + "x" * 999, 160)
    assert (noun, shown_count) == ("characters", len(body))
    assert len(body) > 100


@pytest.mark.parametrize(
    "sequence", ["\\n", "\\\\", "\\u00e9", "\\ud83d\\ude00", "\\x1b", "\x1b[38;5;120m", "\ud83d\ude00", "e\u0301"]
)
@example(place=80)
@given(place=st.integers(20, 120))
def test_a_sequence_is_not_split(sequence, place):
    """Escapes of JSON and of terminals, surrogate pairs, accents."""
    text = "x" * place + sequence + "y" * 500
    body = cut_text(text, 120)[0]
    assert body.endswith("x") or sequence in body


def test_a_long_run_of_backslashes_is_split_between_two():
    assert find_cut("x" + "\\" * 30 + "n" * 99, 20).end % 2 == 1
