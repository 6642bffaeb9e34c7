"""`grep`: what it finds, with ripgrep and without it, and what it never shows."""

from __future__ import annotations

import os
import random
import re
import shutil
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builtin.trees import plant, run_by_hand
from toolkit import Catalog, Dispatcher, Permissions
from toolkit.builtin.search.globs import Glob
from toolkit.builtin.search.grep_syntax import build_query
from toolkit.builtin.search.grep_tool import FILE_TYPES, FileType, grep_for
from toolkit.builtin.search.line_search import MAX_FILE_BYTES, FileMatches, search_file
from toolkit.builtin.search.ripgrep import Ripgrep, is_worth_it, ripgrep_for
from toolkit.builtin.time_limit import TimeLimit, TimeUp
from toolkit.context import Context
from toolkit.errors import BadArgs, Safety, ToolError
from toolkit.workspace import Workspace

pytestmark = pytest.mark.anyio

RG, XARGS, BWRAP = (shutil.which(name) for name in ("rg", "xargs", "bwrap"))
needs_rg = pytest.mark.skipif(not (RG and XARGS), reason="ripgrep (rg) or xargs is not installed: it was NOT tested")
# ripgrep only tells which files cannot match, and each search starts it in a sandbox.
ENGINES = [False, pytest.param(True, marks=[needs_rg, pytest.mark.long])]


@pytest.fixture(params=ENGINES, ids=["built-in", "ripgrep"])
def grep(request):
    """Search in a workspace, once with each engine."""

    def run(workspace, *arguments, **options):
        return run_by_hand(grep_for(workspace, ripgrep=request.param), *arguments, **options)

    return run


TREE = {
    "old.py": "import os\nprint(os)\n",
    "in/new.py": "# os\nimport sys\n",
    "in/note.md": "nothing of interest\nIMPORT\n",
}


def test_its_facts_let_it_run_in_plan_mode(tmp_path):
    """It is read-only, and belongs to the group of searches."""
    facts = grep_for(plant(tmp_path, {}), ripgrep=False).facts
    assert (facts.read_only, facts.destructive, facts.open_world, facts.group) == (True, False, False, "search")


def test_a_line_comes_with_its_path_and_number_and_the_newest_file_first(tmp_path, grep):
    """`path:N: line`."""
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


def test_lines_around_do_not_come_twice(tmp_path, grep):
    """Where they overlap they run together, and files are set apart."""
    workspace = plant(tmp_path, {"b": "x\n", "a": "x\n1\nx\n"})
    assert grep(workspace, "x", context_lines=2).split("\n") == ["a:1: x", "a-2- 1", "a:3: x", "--", "b:1: x"]


def test_names_alone(tmp_path, grep):
    """mode="files"."""
    assert grep(plant(tmp_path, TREE), "import", mode="files", ignore_case=True) == "in/note.md\nin/new.py\nold.py"


def test_numbers_alone(tmp_path, grep):
    """mode="count" counts lines, not matches."""
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
    """By a pattern of names or paths, by their kind, by where they are."""
    assert grep(plant(tmp_path, TREE), "import", mode="files", ignore_case=True, **options).split("\n") == files


def test_every_kind_of_file_has_a_pattern():
    """The names in the schema and the table are the same."""
    assert list(FILE_TYPES) == list(FileType.__args__)
    assert all(map(Glob, FILE_TYPES.values()))


def test_fixed_text_is_taken_as_it_is(tmp_path, grep):
    """No character of it means anything else."""
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
    """In the other modes it is files that count."""
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


def test_a_long_line_is_cut_around_what_was_found(tmp_path, grep):
    """And says how long it is."""
    workspace = plant(tmp_path, {"a": "-" * 5000 + "needle" + "-" * 5000, "b": "needle" + "-" * 5000})
    end, middle = grep(workspace, "needle").split("\n")
    assert middle.startswith("a:1: ... ---")
    assert "needle" in middle
    assert middle.endswith("... [cut: the line has 10,006 characters]")
    assert end.startswith("b:1: needle")
    assert len(end) < 500


def test_nothing_found_is_said(tmp_path, grep):
    """And what was not searched."""
    workspace = plant(tmp_path, {".gitignore": "build\nx\n", "build/a": "needle", "x": "needle"})
    assert grep(workspace, "needle").split("\n") == [
        "(nothing matches)",
        "(2 left out by .gitignore; ignored=true searches them)",
    ]
    assert grep(workspace, "needle", ignored=True) == "x:1: needle\nbuild/a:1: needle"


def test_a_file_that_is_named_is_searched_even_if_ignored(tmp_path, grep):
    """The caller asked for it by name."""
    assert grep(plant(tmp_path, {".gitignore": "x\n", "x": "needle"}), "needle", path="x") == "x:1: needle"


def test_binary_files_are_not_shown_but_told(tmp_path, grep):
    """Only those that match, by name."""
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


def test_line_ends_of_windows_are_no_part_of_a_line(tmp_path, grep):
    """`$` is before them; a lone one is shown as its code."""
    workspace = plant(tmp_path, {"a": b"one\r\ntwo\r\n\r\none\rtwo\r"})
    assert grep(workspace, "(one|two)$") == "a:1: one\na:2: two\na:4: one\\rtwo"
    assert grep(workspace, "^$", mode="count") == "a: 1"


def test_a_file_that_is_too_large_is_told(tmp_path, grep):
    """A file with a hole, so that the test is small."""
    workspace = plant(tmp_path, {"small": "needle", "large": "needle"})
    os.truncate(tmp_path / "large", MAX_FILE_BYTES + 1)
    assert grep(workspace, "needle").split("\n") == [
        "small:1: needle",
        "(1 larger than 20,000,000 bytes not searched: large)",
    ]


# What is never shown.

SECRETS = {
    ".env": "KEY=needle-secret\n",
    "in/.env": "needle-secret\n",
    ".ssh/id_rsa": "needle-secret\n",
    "server.pem": "needle-secret\n",
    "mine/x": "needle-secret\n",
    "open": "needle\n",
}


@pytest.mark.one_case_in(3)
@pytest.mark.parametrize("options", [{}, {"mode": "count"}, {"mode": "files"}, {"context_lines": 3}, {"ignored": True}])
def test_a_secret_is_never_shown_nor_told_to_match(tmp_path, grep, options):
    """Built-in patterns and the application's own; their names are told, whether they match or not."""
    plant(tmp_path, SECRETS)
    workspace = Workspace(tmp_path, protected=["mine/**"])
    text = grep(workspace, "needle", **options)
    assert "secret" not in text
    assert text.split("\n")[0].startswith("open")
    assert text.split("\n")[1] == "(3 protected files were not searched: server.pem, in/.env, .env)"
    assert grep(workspace, "no such text").split("\n")[1] == text.split("\n")[1]


@needs_rg
def test_ripgrep_is_not_given_a_secret(tmp_path):
    """It does not get the names of protected files, so it clears none of them."""
    workspace = plant(tmp_path, SECRETS)
    entries = [entry for entry in workspace.walk() if entry.kind == "file"]
    sieve = Ripgrep(workspace, rg=RG, xargs=XARGS, bwrap=None)
    cleared = sieve.find_files_without_match(build_query("no such text"), entries, TimeLimit(60, lambda: False))
    assert cleared == {"open", "mine/x"}


@needs_rg
@pytest.mark.skipif(BWRAP is None, reason="bubblewrap (bwrap) is not installed: the sandbox was NOT tested")
def test_ripgrep_sees_the_workspace_alone(tmp_path):
    """In its sandbox a program sees no secret, nothing outside, and writes nowhere."""
    outside = tmp_path / "outside"
    outside.write_text("needle")
    workspace = plant(tmp_path / "root", {"open": "needle", ".env": "needle"})
    spy = tmp_path / "root" / "spy"
    spy.write_text(
        "#!/bin/sh\n"
        f"cat {outside} .env >/dev/null 2>&1 && printf 'leak\\0'\n"
        "grep -q needle .env 2>/dev/null && printf 'secret\\0'\n"
        "touch made 2>/dev/null && printf 'wrote\\0'\n"
        "[ -r open ] && printf './open\\0'\n"
    )
    spy.chmod(0o755)
    sieve = Ripgrep(workspace, rg=str(spy), xargs=XARGS, bwrap=BWRAP)
    code, output = sieve._run([XARGS, "-0", str(spy)], b"x\0", TimeLimit(60, lambda: False))
    assert (code, output) == (0, b"./open\0")
    assert not (tmp_path / "root" / "made").exists()


def test_a_protected_file_that_is_named_is_refused(tmp_path, grep):
    """By the workspace itself."""
    with pytest.raises(Safety, match=".env"):
        grep(plant(tmp_path, SECRETS), "needle", path=".env")


def test_a_pipe_that_is_named_is_refused(tmp_path, grep):
    """The search does not wait for its content; among other files it is passed over."""
    workspace = plant(tmp_path, {"a": "needle"})
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ToolError, match="only files"):
        grep(workspace, "needle", path="pipe")
    assert grep(workspace, "needle") == "a:1: needle"


def test_links_are_not_followed(tmp_path, grep):
    """Neither out of the workspace nor within it."""
    (tmp_path / "outside").write_text("needle outside")
    workspace = plant(tmp_path / "root", {"a": "needle"})
    os.symlink("../outside", tmp_path / "root" / "out")
    os.symlink("a", tmp_path / "root" / "again")
    assert grep(workspace, "needle") == "a:1: needle"


@needs_rg
def test_what_ripgrep_reads_is_never_what_is_shown(tmp_path):
    """A file that becomes a link to the outside while ripgrep runs is read by the workspace, which refuses it."""
    (tmp_path / "outside").write_text("needle outside")
    workspace = plant(tmp_path / "root", {"a": "harmless", "b": "harmless"})
    entries = [entry for entry in workspace.walk() if entry.kind == "file"]
    os.remove(tmp_path / "root" / "a")
    os.symlink("../outside", tmp_path / "root" / "a")
    query, watch = build_query("needle"), TimeLimit(60, lambda: False)
    cleared = Ripgrep(workspace, rg=RG, xargs=XARGS, bwrap=None).find_files_without_match(query, entries, watch)
    assert cleared == {"b"}
    matches = search_file(workspace, entries[0], query, watch)
    assert isinstance(matches.refused, Safety)
    assert not matches.hits


async def test_a_rule_about_a_path_holds_for_every_file(tmp_path):
    """A file that a rule denies is not shown, nor that it matches, although the folder above it may be searched."""
    workspace = plant(tmp_path, {"in/a": "needle", "b": "needle"})
    catalog = Catalog()
    catalog.add(grep_for(workspace, ripgrep=False))
    permissions = Permissions("default", ["deny grep(path=in/**)"])
    result = await Dispatcher(catalog, permissions=permissions, safety=workspace.safety()).call(
        "grep", {"pattern": "needle"}
    )
    assert result.kind == "ok"
    assert result.text == "b:1: needle"


# The dialect.

REFUSED = {
    "": "it is empty",
    "a\nb": "one by one",
    "a\\nb": "one by one",
    "x" * 1001: "longer than 1,000",
    "\ud800": "half a character",
    "(?=a)b": "wider text",
    "(?<!a)b": "wider text",
    "(a)\\1": "refers back",
    "(?P<x>a)(?P=x)": "wider text",
    "(?>a)": "wider text",
    "(?x)a b": "(?i:...)",
    "(?#no)a": "(?i:...)",
    "(a)?(?(1)b|c)": "wider text",
    "a*+b": "atomic group or possessive repeat",
    "\\p{L}": "write the characters as a set",
    "[\\p{L}]": "write the characters as a set",
    "\\<word\\>": "edge of a word",
    "\\Aa": "write `^`",
    "a\\z": "write `$`",
    "\\N{DIGIT ONE}": "the character itself",
    "\\0": "\\x00",
    "[[:alpha:]]": "write `\\[`",
    "[a&&b]": "write `\\&`",
    "[a--b]": "write `\\-`",
    "[\\b]": "\\x08",
    "(a": "unterminated",
    "[a": "unterminated",
    "*a": "nothing to repeat",
    "a(?i)b": "not at the start",
    "\\h": "bad escape",
    "(((a{90}){90}){90})": "written out, are too long",
}


@pytest.mark.parametrize("pattern", REFUSED, ids=[repr(pattern_text)[:20] for pattern_text in REFUSED])
def test_what_is_not_of_the_dialect_is_refused_with_the_remedy(tmp_path, pattern):
    """What backtracking alone can do, and what engines read in their own ways."""
    with pytest.raises(BadArgs) as caught:
        run_by_hand(grep_for(plant(tmp_path, {"a": "a"}), ripgrep=False), pattern)
    assert str(caught.value).startswith("pattern: ")
    assert REFUSED[pattern] in str(caught.value)


@pytest.mark.one_case_in(3)
@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        ("interface{}", "x interface{} y"),
        ("(?i)KEY", "the key"),
        ("(?i:K)ey", "key"),
        ("a{2,3}b", "aab"),
        ("a{,2}b", "b"),
        ("[]x]", "]"),
        ("[^]x]", "a"),
        ("\\bÄpfel\\b", "zwei Äpfel."),
        ("\\d\\s\\w\\W\\D\\S", "1 a.ab"),
        ("(?P<name>a|b)c", "bc"),
        ("[\\[\\]]", "]"),
        ("\\x41\\u00e9", "Aé"),
        ("a.*?b", "a--b"),
        ("k", "\u212a"),
    ],
)
def test_what_is_of_the_dialect_is_found(tmp_path, grep, pattern, line):
    """By both engines, braces that repeat nothing and letters beyond ASCII included."""
    workspace = plant(tmp_path, {"a": line, "b": ""})
    assert grep(workspace, pattern, ignore_case=pattern == "k") == f"a:1: {line}"


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        ({"limit": 0}, "limit: has to be from 1 to 1000, got 0"),
        ({"context_lines": 21}, "context_lines: has to be from 0 to 20, got 21"),
        ({"glob": "[a"}, "glob: a `[` has no `]`"),
    ],
)
def test_bad_arguments_are_refused_with_the_remedy(tmp_path, arguments, remedy):
    """Called by hand as well as by a model."""
    with pytest.raises(BadArgs) as caught:
        run_by_hand(grep_for(plant(tmp_path, {}), ripgrep=False), "x", **arguments)
    assert remedy in str(caught.value)


async def test_a_model_is_told_what_is_wrong(tmp_path):
    """A kind of file that does not exist is refused by the schema, a pattern by the tool."""
    workspace = plant(tmp_path, {})
    catalog = Catalog()
    catalog.add(grep_for(workspace, ripgrep=False))
    dispatcher = Dispatcher(catalog, safety=workspace.safety())
    assert (await dispatcher.call("grep", {"pattern": "a", "file_type": "cobol"})).kind == "bad_args"
    assert (await dispatcher.call("grep", {"pattern": "(?=a)"})).kind == "bad_args"


# Time.


def test_no_pattern_stalls_it(tmp_path, grep):
    """What would keep `re` busy for years is answered at once, in a line as long as a file."""
    workspace = plant(tmp_path, {"a": "a" * 50_000 + "!\n" + "a" * 30 + "!\n", "b": "aab\n"})
    started = time.process_time()
    assert grep(workspace, "^(a|a)*b$") == "b:1: aab"
    assert grep(workspace, "(a*)*b$") == "b:1: aab"
    assert time.process_time() - started < 30


@pytest.mark.long
@pytest.mark.unmeasured
def test_a_line_that_cannot_be_decided_is_told(tmp_path):
    """The pattern has too many possibilities to follow on this line; the other lines count."""
    noise = "".join(random.Random(7).choices("ab", k=60_000))
    workspace = plant(tmp_path, {"a": f"{noise}\nd\n"})
    rows = run_by_hand(grep_for(workspace, ripgrep=False), "(?:a|b)*a(?:a|b){900}c|d").split("\n")
    assert rows[0] == "a:2: d"
    assert rows[1].startswith("(1 file has a line too long for this pattern")
    assert rows[1].endswith(": a:1)")


def test_it_stops_when_the_caller_is_gone(tmp_path, grep):
    """A cancelled call looks no further."""
    workspace = plant(tmp_path, {"x": ""})
    context = Context(facts=grep_for(workspace, ripgrep=False).facts)
    context.stop.set()
    with pytest.raises(ToolError, match="cancelled"):
        grep(workspace, "x", context=context)


def test_when_the_time_is_up_it_says_so(tmp_path):
    """Before the first file."""
    tool = grep_for(plant(tmp_path, {"x": ""}), ripgrep=False)
    context = Context(facts=tool.facts, deadline=time.monotonic() - 1)
    assert "the time was up before all files were listed" in run_by_hand(tool, "x", context=context)


def test_a_watch_looks_at_its_own_clock():
    """Up to the end nothing happens."""
    clock = iter([0.0, 5.0, 11.0])
    watch = TimeLimit(10, lambda: False, now=lambda: next(clock))
    watch.check()
    with pytest.raises(TimeUp):
        watch.check()


def test_when_the_time_is_up_midway_it_shows_what_it_has(tmp_path):
    """And how far it came."""
    workspace = plant(tmp_path, {"b": "x\n", "a": "x\n"})
    tool = grep_for(workspace, ripgrep=False)
    context = Context(facts=tool.facts)
    original = workspace.read

    def slow(path, **options):
        if path.endswith("/b"):
            raise TimeUp
        return original(path, **options)

    workspace.read = slow
    assert run_by_hand(tool, "x", context=context).split("\n") == [
        "a:1: x",
        "(the time was up after 1 of 2 files; narrow the path or the files)",
    ]


# Files that go away, or cannot be read.


def test_a_file_that_vanishes_is_told(tmp_path):
    """Between listing and reading."""
    workspace = plant(tmp_path, {"a": "x\n", "b": "x\n"})
    original = workspace.read

    def vanishing(path, **options):
        if path.endswith("/b"):
            os.remove(path)
        return original(path, **options)

    workspace.read = vanishing
    assert run_by_hand(grep_for(workspace, ripgrep=False), "x").split("\n") == [
        "a:1: x",
        "(1 file may not or cannot be read: b)",
    ]


def test_a_path_that_is_not_there_is_an_error(tmp_path, grep):
    """Not an empty answer."""
    with pytest.raises(ToolError, match="does not exist"):
        grep(plant(tmp_path, {}), "x", path="nowhere")


# ripgrep.


def test_without_ripgrep_we_search_alone(tmp_path):
    """This holds if it is not on PATH, is switched off, or has no sandbox and was not insisted on."""
    workspace = plant(tmp_path, {})
    empty = tmp_path / "bin"
    empty.mkdir()
    assert ripgrep_for(workspace, None, path=str(empty)) is None
    assert ripgrep_for(workspace, False) is None
    with pytest.raises(ValueError, match="`rg` and `xargs` is not on PATH"):
        ripgrep_for(workspace, True, path=str(empty))


def test_a_program_in_the_workspace_is_not_run(tmp_path):
    """A tool may have put it there, or a link to it."""
    workspace = plant(tmp_path / "root", dict.fromkeys(("rg", "xargs", "bwrap"), "#!/bin/sh\n"))
    for name in ("rg", "xargs", "bwrap"):
        (tmp_path / "root" / name).chmod(0o755)
    links = tmp_path / "bin"
    links.mkdir()
    for name in ("rg", "xargs", "bwrap"):
        (links / name).symlink_to(tmp_path / "root" / name)
    assert ripgrep_for(workspace, None, path=workspace.root) is None
    assert ripgrep_for(workspace, None, path=str(links)) is None


@needs_rg
def test_without_a_sandbox_it_runs_only_if_wanted(tmp_path):
    """The caller knows."""
    links = tmp_path / "bin"
    links.mkdir()
    for name, place in (("rg", RG), ("xargs", XARGS)):
        (links / name).symlink_to(place)
    workspace = plant(tmp_path / "root", {})
    assert ripgrep_for(workspace, None, path=str(links)) is None
    assert ripgrep_for(workspace, True, path=str(links)) is not None


def test_it_is_used_where_there_is_much_to_search(tmp_path):
    """Many files, or large ones."""
    plant(tmp_path, {"a": ""})
    (entry,) = Workspace(tmp_path).walk()
    assert not is_worth_it([entry])
    assert is_worth_it([entry] * 10_000)
    assert is_worth_it([entry._replace(size=50_000_000)])


@pytest.mark.parametrize("program", ["/bin/false", "/nowhere/xargs"])
def test_a_ripgrep_that_fails_clears_nothing_and_is_not_asked_again(tmp_path, program):
    """Then everything is searched as if it were not there."""
    workspace = plant(tmp_path, {"a": "x"})
    sieve = Ripgrep(workspace, rg="/bin/false", xargs=program, bwrap=None)
    entries = list(workspace.walk())
    assert sieve.find_files_without_match(build_query("y"), entries, TimeLimit(60, lambda: False)) == set()
    assert sieve.is_broken
    assert sieve.find_files_without_match(build_query("y"), entries, TimeLimit(60, lambda: False)) == set()


def test_a_sandbox_that_cannot_shut_everything_away_is_not_used(tmp_path):
    """Then we search alone."""
    # A folder takes six arguments, and one of this name is quickly judged.
    folders = [f"{number}/.ssh/" for number in range(1500)]
    workspace = plant(tmp_path, {**dict.fromkeys(folders), "a": "x"})
    sieve = Ripgrep(workspace, rg="rg", xargs="xargs", bwrap="bwrap")
    with pytest.raises(ToolError, match="more than bubblewrap can cover"):
        sieve._sandbox.command(["rg"], cwd=workspace.root, env={})
    assert (
        sieve.find_files_without_match(build_query("y"), list(workspace.walk()), TimeLimit(60, lambda: False)) == set()
    )
    assert sieve.is_broken


@needs_rg
def test_a_pattern_too_long_for_a_command_line_is_searched_without_it(tmp_path):
    """The answer is the same."""
    workspace = plant(tmp_path, {"a": "x"})
    sieve = Ripgrep(workspace, rg=RG, xargs=XARGS, bwrap=None)
    query = build_query("[^y]" * 240)
    assert sieve.find_files_without_match(query, list(workspace.walk()), TimeLimit(60, lambda: False)) == set()
    assert not sieve.is_broken


def test_a_ripgrep_that_hangs_is_ended(tmp_path):
    """When the time is up, with all that it started, and nothing is left behind."""
    workspace = plant(tmp_path, {"a": "x"})
    hanging = tmp_path / "hang"
    hanging.write_text("#!/bin/sh\ntrap '' TERM\necho $$ > pid\nsleep 600 & wait; wait\n")
    hanging.chmod(0o755)
    sieve = Ripgrep(workspace, rg="rg", xargs=str(hanging), bwrap=None)
    clock = iter([0.0] + [1.0] * 3 + [100.0] * 100)
    with pytest.raises(TimeUp):
        sieve.find_files_without_match(
            build_query("x"), list(workspace.walk()), TimeLimit(10, lambda: False, now=lambda: next(clock))
        )
    pid = int((tmp_path / "pid").read_text())
    # A process that was killed lives on until the system gets to it, which may take a while on a busy machine.
    until = time.monotonic() + 20
    while alive_in_group(pid) and time.monotonic() < until:
        os.sched_yield()
    assert alive_in_group(pid) == []


def alive_in_group(group):
    """The processes of a group, those left out that have ended and wait for their parent to notice."""
    pids = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as file:
                state, _, leader = file.read().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(leader) == group and state != "Z":
            pids.append(pid)
    return pids


# Random patterns over random files: a file that ripgrep clears has no line for us.

ATOMS = [
    "a",
    "b",
    "K",
    "k",
    "s",
    "é",
    "ſ",
    "İ",
    ".",
    "\\w",
    "\\W",
    "\\d",
    "\\s",
    "\\S",
    "\\b",
    "\\B",
    "^",
    "$",
    "[ab]",
    "[^a]",
    "[^é]",
    "[a-zé-ü]",
    "\ufffd",
    "\\x41",
    " ",
    "\\.",
    "\\r",
]
REPEATS = ["", "", "", "*", "+", "?", "{2}", "{0,2}", "{1,}", "*?"]


def _patterns(inner):
    return st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda two: f"(?:{two[0]}|{two[1]})"),
        st.tuples(inner, st.sampled_from(REPEATS)).map(lambda two: f"(?:{two[0]}){two[1]}"),
    )


PATTERNS = st.recursive(st.sampled_from(ATOMS), _patterns, max_leaves=6)
PIECES = [
    b"a",
    b"b",
    b"k",
    b"K",
    b"s",
    b"A",
    b" ",
    b".",
    b"1",
    b"\n",
    b"\n",
    b"\r\n",
    b"\r",
    "é".encode(),
    "É".encode(),
    "\u212a".encode(),
    "ſ".encode(),
    "ı".encode(),
    "İ".encode(),
    b"\xff",
    b"\xc3",
    b"\xe2\x84",
    b"\0",
    "\ufeff".encode(),
    "\ufffd".encode(),
    "\U0001f600".encode(),
]
FILES = st.lists(st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join), min_size=1, max_size=12)
MARKS = st.sampled_from([b"", b"", b"", "\ufeff".encode(), b"\xff\xfe", b"\xfe\xff"])


@pytest.mark.long
@pytest.mark.unmeasured
@needs_rg
@given(pattern=PATTERNS, files=FILES, mark=MARKS, ignore_case=st.booleans(), fixed=st.booleans())
@settings(max_examples=3 * settings().max_examples)
def test_ripgrep_clears_no_file_in_which_we_find_a_line(tmp_path_factory, pattern, files, mark, ignore_case, fixed):
    """This holds for all letters, invalid bytes, line endings and byte order marks."""
    root = tmp_path_factory.mktemp("sieve")
    workspace = plant(root, {str(number): mark + content for number, content in enumerate(files)})
    try:
        query = build_query(pattern, fixed=fixed, ignore_case=ignore_case)
        entries, watch = list(workspace.walk()), TimeLimit(60, lambda: False)
        sieve = Ripgrep(workspace, rg=RG, xargs=XARGS, bwrap=None)
        cleared = sieve.find_files_without_match(query, entries, watch)
        matching = {entry.path for entry in entries if search_file(workspace, entry, query, watch) != FileMatches()}
        assert not sieve.is_broken
        assert not cleared & matching
    finally:
        shutil.rmtree(root)


@pytest.mark.unmeasured
@needs_rg
@given(pattern=PATTERNS, files=FILES, ignore_case=st.booleans())
@settings(max_examples=15)
@pytest.mark.long
def test_the_whole_answer_is_the_same(tmp_path_factory, pattern, files, ignore_case):
    """Through the tool, sandbox included."""
    root = tmp_path_factory.mktemp("same")
    workspace = plant(root, {f"{number % 3}/{number}": content for number, content in enumerate(files)})
    try:
        without_ripgrep, with_ripgrep = (
            run_by_hand(grep_for(workspace, ripgrep=with_program), pattern, ignore_case=ignore_case, context_lines=1)
            for with_program in (False, True)
        )
        assert without_ripgrep == with_ripgrep
    finally:
        shutil.rmtree(root)


@given(pattern=PATTERNS, text=st.text(alphabet="abkKséſı A1.\r", max_size=30), ignore_case=st.booleans())
def test_a_line_is_found_as_re_finds_it(tmp_path_factory, pattern, text, ignore_case):
    """The shortcuts before the search (a text that every match holds, the whole file at once) change nothing."""
    root = tmp_path_factory.mktemp("re")
    workspace = plant(root, {"x": f"{text}\nother\n"})
    try:
        (entry,) = workspace.walk()
        matches = search_file(
            workspace, entry, build_query(pattern, ignore_case=ignore_case), TimeLimit(60, lambda: False)
        )
        flags = re.IGNORECASE if ignore_case else re.NOFLAG
        lines = [text.removesuffix("\r"), "other"]
        assert list(matches.hits) == [number for number, line in enumerate(lines) if re.search(pattern, line, flags)]
    finally:
        shutil.rmtree(root)


@needs_rg
def test_ripgrep_clears_what_surely_does_not_match(tmp_path):
    """Otherwise it would be of no use."""
    workspace = plant(tmp_path, {"a": "alpha", "b": "beta", "c": "é", "in/~x": "gamma", "in/ d\n": "delta"})
    entries = [entry for entry in workspace.walk() if entry.kind == "file"]
    sieve = Ripgrep(workspace, rg=RG, xargs=XARGS, bwrap=None)
    assert sieve.find_files_without_match(build_query("al\\w+"), entries, TimeLimit(60, lambda: False)) == {
        "b",
        "c",
        "in/~x",
        "in/ d\n",
    }
