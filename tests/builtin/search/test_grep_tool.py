"""`grep`: what it finds, with ripgrep and without it."""

from __future__ import annotations

import os

import pytest

from tests.builtin.trees import plant, run_by_hand
from toolkit.builtin.search.globs import Glob
from toolkit.builtin.search.grep_tool import FILE_TYPES, FileType, grep_for
from toolkit.builtin.search.line_search import MAX_FILE_BYTES

pytestmark = pytest.mark.anyio


TREE = {
    "old.py": "import os\nprint(os)\n",
    "in/new.py": "# os\nimport sys\n",
    "in/note.md": "nothing of interest\nIMPORT\n",
}


def test_grep_runs_in_plan_mode(tmp_path):
    """It is read-only, and belongs to the group of searches."""
    facts = grep_for(plant(tmp_path, {}), ripgrep=False).facts
    assert (facts.read_only, facts.destructive, facts.open_world, facts.group) == (True, False, False, "search")


def test_matching_lines_have_path_and_number_and_the_newest_file_comes_first(tmp_path, grep):
    assert grep(plant(tmp_path, TREE), "import") == "in/new.py:2: import sys\nold.py:1: import os"


def test_equally_old_files_go_by_name(tmp_path, grep):
    """The order is always the same."""
    workspace = plant(tmp_path, {"b": "x\n", "a": "x\n"})
    for name in "ab":
        os.utime(tmp_path / name, (1, 1))
    assert grep(workspace, "x") == "a:1: x\nb:1: x"


def test_lines_around_are_marked_and_gaps_shown(tmp_path, grep):
    """`path-N- line`, and `--` where lines are left out."""
    workspace = plant(tmp_path, {"a": "1\nx\n2\n3\n4\n5\nx\n"})
    assert grep(workspace, "x", context_lines=1).split("\n") == [
        "a-1- 1", "a:2: x", "a-3- 2", "--", "a-6- 5", "a:7: x",
    ]  # fmt: skip


def test_context_lines_are_not_shown_twice(tmp_path, grep):
    """Overlapping lines run together, and files are set apart."""
    workspace = plant(tmp_path, {"b": "x\n", "a": "x\n1\nx\n"})
    assert grep(workspace, "x", context_lines=2).split("\n") == ["a:1: x", "a-2- 1", "a:3: x", "--", "b:1: x"]


def test_mode_files_lists_only_paths(tmp_path, grep):
    assert grep(plant(tmp_path, TREE), "import", mode="files", ignore_case=True) == "in/note.md\nin/new.py\nold.py"


def test_mode_count_counts_lines(tmp_path, grep):
    assert grep(plant(tmp_path, TREE), "o", mode="count") == "in/note.md: 1\nin/new.py: 2\nold.py: 2"


@pytest.mark.one_case_in(3)
@pytest.mark.parametrize(
    ("options", "files"),
    [
        ({"glob": "*.py"}, ["in/new.py", "old.py"]),
        ({"glob": "in/*.py"}, ["in/new.py"]),
        ({"glob": "./*.py"}, ["old.py"]),
        ({"glob": "*.{md,py}"}, ["in/note.md", "in/new.py", "old.py"]),
        ({"glob": "n*.py", "path": "in"}, ["in/new.py"]),
        ({"file_type": "py"}, ["in/new.py", "old.py"]),
        ({"file_type": "docs"}, ["in/note.md"]),
        ({"file_type": "py", "glob": "in/**"}, ["in/new.py"]),
        ({"path": "in"}, ["in/note.md", "in/new.py"]),
        ({"path": "old.py"}, ["old.py"]),
    ],
)
def test_files_can_be_chosen(tmp_path, grep, options, files):
    """The options are patterns of names or paths, the kind, and the folder."""
    assert grep(plant(tmp_path, TREE), "import", mode="files", ignore_case=True, **options).split("\n") == files


def test_every_kind_of_file_has_a_pattern():
    """The names in the schema and the table are the same."""
    assert list(FILE_TYPES) == list(FileType.__args__)
    assert all(map(Glob, FILE_TYPES.values()))


def test_no_character_of_a_fixed_text_is_special(tmp_path, grep):
    workspace = plant(tmp_path, {"a": "a.b(c)*\naxb(c)\n"})
    assert grep(workspace, "a.b(c)*", fixed=True) == "a:1: a.b(c)*"


def test_results_are_bounded_and_say_how_many_more(tmp_path, grep):
    """Lines of a file that is shown in part, and files that are not shown at all."""
    workspace = plant(tmp_path, {"c": "x\n", "b": "x\nx\n", "a": "x\nx\nx\n"})
    rows = grep(workspace, "x", limit=2).split("\n")
    assert rows == [
        "a:1: x",
        "a:2: x",
        "(4 more matching lines in 2 more files; narrow the pattern or the path, or raise the limit)",
    ]


@pytest.mark.parametrize("mode", ["files", "count"])
def test_rows_are_bounded_and_say_how_many_more(tmp_path, grep, mode):
    """The limit counts files in the modes `files` and `count`."""
    workspace = plant(tmp_path, {"c": "x\n", "b": "x\nx\n", "a": "x\n"})
    assert grep(workspace, "x", limit=1, mode=mode).split("\n") == [
        "a" if mode == "files" else "a: 1",
        "(2 more files; narrow the pattern or the path, or raise the limit)",
    ]


def test_a_line_that_is_there_as_context_is_not_counted_again(tmp_path, grep):
    """Beyond the limit, but next to a line within it."""
    workspace = plant(tmp_path, {"a": "x\nx\nx\n"})
    assert grep(workspace, "x", limit=1, context_lines=1).split("\n") == [
        "a:1: x",
        "a:2: x",
        "(1 more matching line; narrow the pattern or the path, or raise the limit)",
    ]


def test_there_is_an_end_to_counting(tmp_path):
    """A hundred thousand lines more are enough to know."""
    workspace = plant(tmp_path, {"b": "x\n", "a": "x\n" * 100_001})
    assert "(at least 100,000 more matching lines; narrow" in run_by_hand(
        grep_for(workspace, ripgrep=False), "x", limit=1
    )


def test_text_is_bounded_under_any_limit(tmp_path):
    """Many files with long lines do not flood the conversation."""
    workspace = plant(tmp_path, {f"{number:03}": "x" * 400 for number in range(400)})
    text = run_by_hand(grep_for(workspace, ripgrep=False), "x", limit=1000)
    assert len(text) < 40_000
    assert "more files" in text


def test_a_long_line_is_cut_around_the_match(tmp_path, grep):
    """The row has the length of the line."""
    workspace = plant(tmp_path, {"a": "-" * 5000 + "needle" + "-" * 5000, "b": "needle" + "-" * 5000})
    end, middle = grep(workspace, "needle").split("\n")
    assert middle.startswith("a:1: ... ---")
    assert "needle" in middle
    assert middle.endswith("... [cut: the line has 10,006 characters]")
    assert end.startswith("b:1: needle")
    assert len(end) < 500


def test_an_answer_without_matches_counts_the_files_that_were_not_searched(tmp_path, grep):
    workspace = plant(tmp_path, {".gitignore": "build\nx\n", "build/a": "needle", "x": "needle"})
    assert grep(workspace, "needle").split("\n") == [
        "(nothing matches)",
        "(2 left out by .gitignore; ignored=true searches them)",
    ]
    assert grep(workspace, "needle", ignored=True) == "x:1: needle\nbuild/a:1: needle"


def test_a_file_that_is_named_is_searched_even_if_ignored(tmp_path, grep):
    """The caller asked for it by name."""
    assert grep(plant(tmp_path, {".gitignore": "x\n", "x": "needle"}), "needle", path="x") == "x:1: needle"


def test_matching_binary_files_are_named_and_not_shown(tmp_path, grep):
    workspace = plant(tmp_path, {"a.bin": b"\0\1needle\n", "b.bin": b"\0\1other\n", "c": "other"})
    assert grep(workspace, "needle").split("\n") == [
        "(nothing matches)",
        "(1 binary file matches and is not shown: a.bin)",
    ]


def test_other_encodings_are_found(tmp_path, grep):
    """UTF-16 by its mark, UTF-8 with one, and bytes that are no UTF-8 at all."""
    workspace = plant(
        tmp_path,
        {
            "a": "needle é\n".encode("utf-16"),
            "b": "needle é\n".encode("utf-8-sig"),
            "c": b"needle \xe9\n",
            "d": "needle é\r\nneedle é".encode("utf-16-be").join([b"\xfe\xff", b""]),
        },
    )
    assert grep(workspace, "^needle .$").split("\n") == [
        "d:1: needle é", "d:2: needle é", "c:1: needle \ufffd", "b:1: needle é", "a:1: needle é",
    ]  # fmt: skip


def test_line_ends_of_windows_are_not_part_of_a_line(tmp_path, grep):
    """`$` is before them; a lone one is shown as its code."""
    workspace = plant(tmp_path, {"a": b"one\r\ntwo\r\n\r\none\rtwo\r"})
    assert grep(workspace, "(one|two)$") == "a:1: one\na:2: two\na:4: one\\rtwo"
    assert grep(workspace, "^$", mode="count") == "a: 1"


def test_a_note_names_a_file_that_is_too_large(tmp_path, grep):
    """A file with a hole, so that the test is small."""
    workspace = plant(tmp_path, {"small": "needle", "large": "needle"})
    os.truncate(tmp_path / "large", MAX_FILE_BYTES + 1)
    assert grep(workspace, "needle").split("\n") == [
        "small:1: needle",
        "(1 larger than 20,000,000 bytes not searched: large)",
    ]
