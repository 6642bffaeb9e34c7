"""`glob`: what it lists, in which order, and what it leaves out."""

from __future__ import annotations

import os
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builtin.trees import plant, run_by_hand
from toolkit import Catalog, Dispatcher, Permissions
from toolkit.builtin.search.glob_tool import glob_for
from toolkit.builtin.search.globs import Glob, expand_braces
from toolkit.context import Context
from toolkit.errors import BadArgs, Safety, ToolError

pytestmark = pytest.mark.anyio


def list_paths(workspace, *arguments, **options):
    return run_by_hand(glob_for(workspace), *arguments, **options).split("\n")


TREE = {"src/": "", "src/a.py": "", "src/in/b.py": "", "src/in/c.ts": "", "README.md": "", "d.tsx": ""}


def test_glob_runs_in_plan_mode(tmp_path):
    """It is read-only, and belongs to the group of searches."""
    facts = glob_for(plant(tmp_path, {})).facts
    assert (facts.read_only, facts.destructive, facts.open_world, facts.group) == (True, False, False, "search")


async def test_glob_runs_in_plan_mode_through_a_dispatcher(tmp_path):
    """Without arguments it lists the root, folders included."""
    workspace = plant(tmp_path, TREE)
    catalog = Catalog()
    catalog.add(glob_for(workspace))
    dispatcher = Dispatcher(catalog, permissions=Permissions("plan"), safety=workspace.safety())
    result = await dispatcher.call("glob", {})
    assert (result.kind, set(result.text.split("\n"))) == ("ok", {"src/", "README.md", "d.tsx"})


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        ("*.md", {"README.md"}),
        ("./*.md", {"README.md"}),
        ("src/*", {"src/a.py", "src/in/"}),
        ("**/*.py", {"src/a.py", "src/in/b.py"}),
        ("**/*.{ts,tsx}", {"src/in/c.ts", "d.tsx"}),
        ("src/**/b.py", {"src/in/b.py"}),
        ("src/**", {"src/a.py", "src/in/", "src/in/b.py", "src/in/c.ts"}),
        ("**/", {"src/", "src/in/"}),
        ("*/", {"src/"}),
        ("src/[!b].p?", {"src/a.py"}),
        ("{src/in/*.ts,*.md}", {"src/in/c.ts", "README.md"}),
        ("README\\.md", {"README.md"}),
        ("readme.md", {"(nothing matches)", "(`readme.md` looks in one folder; `**/readme.md` looks at any depth)"}),
        ("s[r/]c/a.py", {"src/a.py"}),
        ("*/*/*/*", {"(nothing matches)"}),
    ],
)
def test_a_pattern_takes_whole_paths(tmp_path, pattern, paths):
    """Stars stay in their name, two of them cross folders, braces choose, a slash at the end wants folders."""
    assert set(list_paths(plant(tmp_path, TREE), pattern)) == paths


def test_the_newest_comes_first(tmp_path):
    """The file that changed last is probably the wanted one. Equal times go by name."""
    workspace = plant(tmp_path, {"b": "", "c": "", "a": ""})
    os.utime(tmp_path / "b", (1, 1))
    os.utime(tmp_path / "c", (1, 1))
    assert list_paths(workspace) == ["a", "b", "c"]


def test_paths_are_relative_to_the_workspace_and_not_to_the_searched_folder(tmp_path):
    """So they can be given to `read` as they are."""
    assert list_paths(plant(tmp_path, TREE), "*.py", path="src/in") == ["src/in/b.py"]


def test_an_absolute_folder_is_fine_if_it_is_inside(tmp_path):
    """Models like to write whole paths."""
    assert list_paths(plant(tmp_path, TREE), "*.py", path=str(tmp_path / "src")) == ["src/a.py"]


def test_results_are_bounded_and_say_how_many_more(tmp_path):
    """A note after the last path."""
    workspace = plant(tmp_path, {f"{number:02}": "" for number in range(30)})
    rows = list_paths(workspace, limit=10)
    assert rows[:2] == ["29", "28"]
    assert rows[10:] == ["(20 more; narrow the pattern or the path, or raise the limit)"]


def test_ignored_files_are_counted_and_not_listed_by_default(tmp_path):
    workspace = plant(tmp_path, {".gitignore": "build\n", "build/x": "", "y": ""})
    assert set(list_paths(workspace, "**")) == {
        ".gitignore",
        "y",
        "(1 left out by .gitignore; ignored=true lists them)",
    }
    assert "build/x" in list_paths(workspace, "**", ignored=True)


def test_the_git_folder_is_never_listed(tmp_path):
    assert list_paths(plant(tmp_path, {".git/config": "", "x": ""}), "**", ignored=True) == ["x"]


def test_secrets_are_listed_by_name(tmp_path):
    """The names are not secret, but the content of a protected folder is."""
    rows = list_paths(plant(tmp_path, {".env": "KEY=1", ".ssh/id_rsa": "key"}), "**")
    assert set(rows) == {".env", ".ssh/"}


def test_links_are_listed_and_not_followed(tmp_path):
    """A link to a parent folder causes no circle."""
    workspace = plant(tmp_path, {"in/x": ""})
    os.symlink("..", tmp_path / "in" / "up")
    assert set(list_paths(workspace, "**")) == {"in/", "in/x", "in/up"}


def test_a_name_cannot_pretend_to_be_two(tmp_path):
    """Newlines and bytes that are no text are shown as codes; a `~` is not taken for a home."""
    workspace = plant(tmp_path, {"a\nb": "", "~x": ""})
    with open(os.fsencode(tmp_path) + b"/\xff", "wb"):
        pass
    assert set(list_paths(workspace)) == {"a\\nb", "./~x", "\\udcff"}


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        ({"pattern": ""}, "pattern: it is empty; write `*`"),
        ({"pattern": "/etc/*"}, "give the folder as `path`"),
        ({"pattern": "../*"}, "leaves the folder with `..`"),
        ({"pattern": "[ab"}, "a `[` has no `]`"),
        ({"pattern": "[[:x:]]"}, "there is no class [:x:]; there are alnum"),
        ({"pattern": "[[:alpha"}, "a `[` has no `]`"),
        ({"pattern": "[/]"}, "no characters that a name can have"),
        ({"pattern": "a\\"}, "ends in a backslash"),
        ({"pattern": "a" * 1001}, "longer than 1,000"),
        ({"pattern": "a\0"}, "NUL"),
        ({"pattern": "{a,b}" * 8}, "more than 100 patterns"),
        ({"pattern": "{a,b" + "{c,{d,e}}" * 20 + "}"}, "write fewer"),
        ({"limit": 0}, "limit: has to be from 1 to 2,000, got 0"),
    ],
)
def test_bad_arguments_are_refused_with_the_remedy(tmp_path, arguments, remedy):
    """Called by hand as well as by a model."""
    with pytest.raises(BadArgs) as caught:
        list_paths(plant(tmp_path, {}), **arguments)
    assert remedy in str(caught.value)


async def test_all_wrong_arguments_are_reported_together(tmp_path):
    workspace = plant(tmp_path, {})
    catalog = Catalog()
    catalog.add(glob_for(workspace))
    result = await Dispatcher(catalog, safety=workspace.safety()).call("glob", {"pattern": "/x", "limit": 0})
    assert result.kind == "bad_args"
    assert "limit" in result.text
    assert "pattern" in result.text


def test_a_folder_outside_is_refused(tmp_path):
    """The workspace itself refuses it for every caller."""
    with pytest.raises(Safety):
        list_paths(plant(tmp_path / "in", {"x": ""}), path="..")


def test_a_file_given_as_the_folder_is_an_error(tmp_path):
    with pytest.raises(ToolError, match="x is not a folder; give the folder that it is in as `path`"):
        list_paths(plant(tmp_path, {"x": ""}), path="x")


def test_a_missing_folder_is_answered_with_the_nearest_name(tmp_path):
    with pytest.raises(ToolError, match="'srcs' does not exist; did you mean 'src'"):
        list_paths(plant(tmp_path, TREE), path="srcs")


def test_an_empty_folder_needs_no_advice(tmp_path):
    """There is nothing at any depth."""
    assert list_paths(plant(tmp_path, {"x/": ""}), path="x") == ["(nothing matches)"]


def test_only_ignored_entries_that_could_match_are_counted(tmp_path):
    """A log file does not count for a search for code, and a folder that may hold code does."""
    workspace = plant(tmp_path, {".gitignore": "*.log\nbuild\n", "x.log": "", "build/y.py": "", "z.py": ""})
    assert list_paths(workspace, "*.py") == ["z.py"]
    assert list_paths(workspace, "**/*.py") == ["z.py", "(1 left out by .gitignore; ignored=true lists them)"]


def test_glob_stops_when_the_caller_is_gone(tmp_path):
    tool = glob_for(plant(tmp_path, {"x": ""}))
    context = Context(facts=tool.facts)
    context.stop.set()
    with pytest.raises(ToolError, match="cancelled"):
        run_by_hand(tool, context=context)


def test_the_answer_says_that_the_time_was_up(tmp_path):
    tool = glob_for(plant(tmp_path, {"x": ""}))
    context = Context(facts=tool.facts, deadline=time.monotonic() - 1)
    assert "the time was up" in run_by_hand(tool, context=context)


def test_a_flat_pattern_does_not_walk_the_tree(tmp_path):
    """Folders that cannot hold a match are not opened: one without rights would be seen by its rules file."""
    workspace = plant(tmp_path, {"a/b/c/x": "", "d": ""})
    paths = []
    original = workspace.read
    workspace.read = lambda path, **options: paths.append(os.path.relpath(path, tmp_path)) or original(path, **options)
    list_paths(workspace, "a/*")
    assert paths == [".gitignore", "a/.gitignore"]


@pytest.mark.parametrize(
    ("pattern", "alternatives"),
    [
        ("{a,b}c", ["ac", "bc"]),
        ("{a,{b,c}}", ["a", "b", "c"]),
        ("{a}", ["{a}"]),
        ("{a,b", ["{a,b"]),
        ("a,b}", ["a,b}"]),
        ("\\{a,b}", ["\\{a,b}"]),
        ("[{,}]", ["[{,}]"]),
        ("[{a,b}", ["[a", "[b"]),
        ("{,x}y", ["y", "xy"]),
        ("{a,a}", ["a"]),
    ],
)
def test_braces_are_written_out(pattern, alternatives):
    """This holds also inside one another; what is escaped, in a set or without a comma stands for itself."""
    assert expand_braces(pattern) == alternatives


@given(st.text(alphabet="ab/.*é", min_size=1, max_size=30))
def test_an_escaped_path_matches_itself_alone(path):
    """Every special character can be taken as it is."""
    glob = Glob("".join(f"\\{character}" for character in path))
    assert glob.matches(path)
    assert not glob.matches(path + "a")


def test_a_hostile_pattern_does_not_stall():
    started = time.process_time()
    assert not Glob("*a" * 40 + "b").matches("a" * 4000)
    assert not Glob("**/a/" * 20 + "b").matches("a/" * 2000 + "a")
    assert time.process_time() - started < 20


@pytest.mark.parametrize(
    "rules",
    ["".join(f"?{number}\n" for number in range(1_001)), f"a*{'b' * 30_000}\n", "a\n" * 300_000],
    ids=["too many", "too long", "too large"],
)
def test_a_note_names_a_gitignore_file_that_does_not_count_in_full(tmp_path, grep, rules):
    """Files that its rules would leave out are in the result, so the model has to know."""
    workspace = plant(tmp_path, {"src/.gitignore": rules, "src/y": "needle\n"})
    note = "(too large or with too many rules, so not all of it counts: src/.gitignore)"
    assert list_paths(workspace, "**/y") == ["src/y", note]
    assert grep(workspace, "needle").split("\n") == ["src/y:1: needle", note]
