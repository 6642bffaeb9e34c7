"""
`edit` replaces exactly what was named, all of it or nothing, and says what was wrong otherwise.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from toolkit import BadArgs, Catalog, Context, Decision, Dispatcher, Permissions, Session, ToolError
from toolkit.builtin.files.changes import digest
from toolkit.builtin.files.edit_tool import edit_for
from toolkit.builtin.files.encodings import EditableText
from toolkit.builtin.files.read_tool import read_for
from toolkit.builtin.files.replacements import Edit, apply_edits
from toolkit.decisions import Changed, Precondition
from toolkit.workspace import Workspace

from ..patching import apply_diff
from .code_sample import CODE

pytestmark = pytest.mark.anyio

PATIENT = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def workspace(tmp_path):
    """A scratch folder with one file of code in it."""
    (tmp_path / "a.py").write_text(CODE)
    return Workspace(tmp_path, max_read_bytes=1_000_000, max_write_bytes=500_000)


@pytest.fixture
def dispatcher(workspace):
    """Makes dispatchers with `read` and `edit`, in a mode."""
    catalog = Catalog()
    catalog.add(read_for(workspace))
    catalog.add(edit_for(workspace))
    return lambda mode: Dispatcher(catalog, permissions=Permissions(mode), safety=workspace.safety())


@pytest.fixture
def edit(dispatcher):
    """Edit without being asked."""
    auto = dispatcher("auto")

    async def call(*edits, path="a.py", session=None):
        edit_arguments = [{"old": old, "new": new, **dict.fromkeys(further, True)} for old, new, *further in edits]
        return await auto.call("edit", {"path": path, "edits": edit_arguments}, session=session)

    return call


def edit_text(text, *edits, most_characters=10**9):
    edit_list = [Edit(old=old, new=new, replace_all=bool(further)) for old, new, *further in edits]
    return apply_edits(text, edit_list, "a.py", max_characters=most_characters)[0]


def test_edit_is_not_read_only_and_not_destructive(workspace):
    """It asks in default mode and not in auto mode."""
    facts = edit_for(workspace).facts
    assert (facts.read_only, facts.destructive, facts.group) == (False, False, "files")


# What it does.


async def test_one_place_is_replaced_and_shown(tmp_path, edit):
    """The answer says how many, and shows the difference; the file's mode stays."""
    (tmp_path / "a.py").chmod(0o755)
    result = await edit(("g():\n    return 1", "h():\n    return 2"))
    assert (tmp_path / "a.py").read_text() == CODE.replace("g():\n    return 1", "h():\n    return 2")
    assert (tmp_path / "a.py").stat().st_mode & 0o777 == 0o755
    assert result.text == (
        "Edited a.py: 1 replacement\n--- a/a.py\n+++ b/a.py\n@@ -2,5 +2,5 @@\n"
        "     return 1\n \n \n-def g():\n-    return 1\n+def h():\n+    return 2"
    )


async def test_replace_all_replaces_every_place(tmp_path, edit):
    result = await edit(("return 1", "return 2", "replace_all"))
    assert (tmp_path / "a.py").read_text() == CODE.replace("return 1", "return 2")
    assert result.text.startswith("Edited a.py: 2 replacements\n")


async def test_several_edits_are_made_together(tmp_path, edit):
    """Their order does not matter, because all refer to the original file."""
    result = await edit(("g()", "f()"), ("f()", "g()"), ("return 1", "pass", "replace_all"))
    assert (tmp_path / "a.py").read_text() == "def g():\n    pass\n\n\ndef f():\n    pass\n"
    assert result.text.startswith("Edited a.py: 4 replacements\n")


async def test_if_one_edit_fails_none_is_made(tmp_path, edit):
    """Every one that fails is named."""
    result = await edit(("g()", "h()"), ("return 1", "x"), ("nonsense", "y"))
    assert result.kind == "failed"
    assert "edits[1]: `old` appears 2 times, at lines 2, 6" in result.text
    assert "edits[2]: `old` does not appear in a.py" in result.text
    assert "edits[0]" not in result.text
    assert (tmp_path / "a.py").read_text() == CODE


small = st.text(st.sampled_from("ab\n"), max_size=12)


@given(small, st.text(st.sampled_from("ab\n"), min_size=1, max_size=3), small)
def test_an_edit_is_equal_to_str_replace(text, old, new):
    """This holds with `replace_all`, and without it if there is only one place."""
    assume(old in text)
    assert edit_text(text, (old, new, True)) == text.replace(old, new)
    if text.find(old) == text.rfind(old):
        assert edit_text(text, (old, new)) == text.replace(old, new)
    else:
        with pytest.raises(ToolError, match=r"appears \d+ times"):
            edit_text(text, (old, new))


@given(st.text(st.sampled_from("ab\n"), max_size=12), st.text(st.sampled_from("ab\n"), min_size=1, max_size=3), small)
def test_carriage_returns_make_no_difference(text, old, new):
    """A file with CRLF is edited like one with LF, and keeps its endings, however the edit is written."""
    assume(old in text)
    windows = text.replace("\n", "\r\n")
    # What comes into a file without a line's end has plain ones.
    expected = text.replace(old, new).replace("\n", "\r\n" if "\n" in text else "\n")
    assert edit_text(windows, (old, new, True)) == expected
    assert edit_text(windows, (old.replace("\n", "\r\n"), new.replace("\n", "\r\n"), True)) == expected


@given(st.lists(st.sampled_from(["one", "two", "three", "four", "\n"]), max_size=8), st.permutations(range(4)))
def test_the_order_of_edits_does_not_matter(words, order):
    """All are looked up in the original text, and either all are made or none."""
    text = " ".join(words)
    edits = [("one", "two", True), ("two", "three"), ("three", ""), ("four", "one\n", True)]

    def outcome(batch):
        try:
            return edit_text(text, *batch)
        except ToolError:
            return None

    assert outcome([edits[index] for index in order]) == outcome(edits)


@pytest.mark.unmeasured
@PATIENT
@given(
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30),
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5),
    st.data(),
)
async def test_the_difference_turns_the_old_into_the_new(tmp_path, edit, text, new, data):
    """Bytes outside the edit stay as they are."""
    start = data.draw(st.integers(0, len(text)))
    old = text[start : start + data.draw(st.integers(1, 6))]
    assume(old and old.replace("\r\n", "\n") != new.replace("\r\n", "\n") and not text.startswith("\ufeff"))
    (tmp_path / "a.py").write_bytes(text.encode())
    result = await edit((old, new, "replace_all"))
    after = (tmp_path / "a.py").read_bytes()
    if result.kind == "ok":
        assert apply_diff(text, result.text.partition("\n")[2]).encode() == after
    else:  # a piece that begins or ends between a carriage return and its newline
        assert "\r\n" in text
        assert after == text.encode()


@pytest.mark.parametrize(
    ("content", "edits", "changed"),
    [
        (b"a\r\nb\r\n", [("a\nb", "x\ny\nz")], b"x\r\ny\r\nz\r\n"),
        (b"a\r\nb\nc\n", [("b", "x\ny")], b"a\r\nx\ny\nc\n"),
        (b"a\r\nb\nc\n", [("a", "x\ny")], b"x\r\ny\r\nb\nc\n"),
        (b"a\r\nb\nc\n", [("a\nb\n", "")], b"c\n"),
        ("grün\n".encode("utf-16"), [("grün", "日本")], "日本\n".encode("utf-16")),
        ("grün\n".encode("cp1252"), [("grün", "größer")], "größer\n".encode("cp1252")),
        (b"\xef\xbb\xbfone\n", [("one", "two")], b"\xef\xbb\xbftwo\n"),
        (b"one", [("one", "")], b""),
    ],
)
async def test_an_edit_keeps_the_line_endings_and_the_encoding_of_a_file(tmp_path, edit, content, edits, changed):
    """The byte order mark stays, too."""
    (tmp_path / "a.py").write_bytes(content)
    result = await edit(*edits)
    assert result.kind == "ok", result.text
    assert (tmp_path / "a.py").read_bytes() == changed


# What it refuses.


@pytest.mark.parametrize(
    ("edits", "words"),
    [
        ([], "edits: there is nothing to do"),
        ([("", "x")], "edits[0].old: it is empty"),
        ([("x", "x")], "edits[0].new: it is the same as `old`"),
        ([("a\nb", "a\r\nb")], "edits[0].new: it differs from `old` only in line endings"),
        ([("f()", "h()"), ("x", "a\0")], "edits[1].new: it holds a NUL character"),
    ],
)
async def test_invalid_edits_are_refused_before_the_user_is_asked(dispatcher, edits, words):
    edit_arguments = [{"old": old, "new": new} for old, new in edits]
    result = await dispatcher("default").call("edit", {"path": "a.py", "edits": edit_arguments})
    assert result.kind == "bad_args"
    assert words in result.text


def test_the_function_of_the_edit_tool_refuses_invalid_edits(workspace):
    """There is no dispatcher that checks a call by hand."""
    tool = edit_for(workspace)
    with pytest.raises(BadArgs, match="it is empty"):
        tool.function("a.py", [Edit(old="", new="x")], context=Context(facts=tool.facts))


@pytest.mark.parametrize(
    ("text", "edits", "words"),
    [
        ("x\nx\nx\n", [("x", "y")], "`old` appears 3 times, at lines 1, 2, 3; give more"),
        ("x\n" * 30, [("x", "y")], "`old` appears 30 times, at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 20 more; give"),
        ("x x\nx\n", [("x", "y")], "`old` appears 3 times, at lines 1, 2; give more"),
        ("aaa", [("aa", "b")], "`old` appears 2 times, overlapping, from line 1 on"),
        ("abc\n", [("ab", "x"), ("bc", "y")], "edits[0] and edits[1] overlap at line 1 of a.py; make them one edit"),
        ("abc\n", [("abc", "x"), ("b", "y")], "edits[0] and edits[1] overlap"),
        ("abc\n", [("abc", "x"), ("abc", "y")], "edits[0] and edits[1] overlap"),
        (
            "abc\n",
            [("abc", "xyz"), ("xy", "")],
            "only in what another edit puts in; all are looked up in the file as it",
        ),
        ("a" * 100_001, [("a", "b", True)], "`old` appears more than 100,000 times, and one call changes 100,000"),
        (
            "ab" * 60_000,
            [("a", "c", True), ("b", "c", True)],
            "edits[1]: `old` appears more than 40,000 times, and one",
        ),
    ],
)
def test_an_ambiguous_edit_is_refused_with_the_places_and_the_remedy(text, edits, words):
    with pytest.raises(ToolError) as caught:
        edit_text(text, *edits)
    assert words in str(caught.value)


async def test_a_call_holds_a_hundred_edits_and_no_more(tmp_path, edit):
    """The schema says so, and the answer does; nothing is changed."""
    (tmp_path / "a.py").write_text("".join(f"<{number}>" for number in range(101)))
    edits = [(f"<{number}>", "") for number in range(101)]
    result = await edit(*edits)
    assert (result.kind, "edits: expected at most 100 items, got 101" in result.text) == ("bad_args", True)
    assert (await edit(*edits[1:])).text.startswith("Edited a.py: 100 replacements")
    assert (tmp_path / "a.py").read_text() == "<0>"


def test_the_schema_says_how_many_edits_there_may_be(workspace):
    """The schema has one piece, also if the record of an edit has another name."""
    schema = edit_for(workspace).schema
    assert schema["properties"]["edits"]["maxItems"] == 100
    assert schema["properties"]["edits"]["items"]["required"] == ["old", "new"]
    assert "$defs" not in schema


def test_the_function_itself_takes_a_hundred_too(workspace):
    """Called by hand there is no schema that is held against it."""
    tool = edit_for(workspace)
    with pytest.raises(BadArgs, match="101 are too many for one call, which takes 100; make several calls"):
        tool.function("a.py", [Edit(old="x", new="y")] * 101, context=Context(facts=tool.facts))


# Time.


@pytest.mark.parametrize(
    ("state", "words"),
    [({"deadline": 0.0}, "the time was up before a.py was changed, so it is as it was"), ({}, "it was cancelled")],
)
def test_an_abandoned_call_changes_no_file(tmp_path, workspace, state, words):
    """The time may be up, or the caller may be gone."""
    tool = edit_for(workspace)
    context = Context(facts=tool.facts, **state)
    if not state:
        context.stop.set()
    with pytest.raises(ToolError, match=words):
        tool.function("a.py", [Edit(old="g()", new="h()")], context=context)
    assert (tmp_path / "a.py").read_text() == CODE


def test_the_time_is_checked_before_each_edit():
    """This holds also when none of them is found, which takes longest."""
    looks = []

    def look():
        looks.append(True)
        if len(looks) == 3:
            raise ToolError("enough")

    with pytest.raises(ToolError, match="enough"):
        apply_edits(
            "abc", [Edit(old=f"x{number}", new="") for number in range(9)], "f", max_characters=9, before_edit=look
        )
    assert len(looks) == 3


class CountingText(str):
    """A text that counts the searches in it."""

    searches = 0

    def find(self, *arguments):
        self.searches += 1
        return super().find(*arguments)


def test_the_newline_of_a_long_line_is_searched_for_once():
    """A search for every place on the line would take the square of their number."""
    text = EditableText("\r\n" + "ab" * 500)
    text.plain = CountingText(text.plain)
    spans = [(start, start + 1, "c\nd") for start in range(1, 1001, 2)]
    assert text.replace_spans(spans).count("c\r\nd") == 500
    assert text.plain.searches == 1


def test_the_edit_tool_has_the_time_limit_of_the_workspace(tmp_path):
    assert edit_for(Workspace(tmp_path, timeout_seconds=7)).facts.timeout_seconds == 7


def test_help_is_given_for_the_first_few():
    """Looking for what is near takes long, and a call may hold any number of edits."""
    with pytest.raises(ToolError) as caught:
        edit_text(CODE, *((f"def h{number}():", "x") for number in range(9)))
    message = str(caught.value)
    assert (message.count("does not appear"), message.count("The file has")) == (9, 3)


def test_an_edit_cannot_make_a_file_larger_than_the_limit():
    """The size is known before the text is made, which could fill the memory."""
    with pytest.raises(ToolError, match="would get 100,000,000,000 characters, and the limit is 500"):
        edit_text("a" * 100_000, ("a", "x" * 1_000_000, True), most_characters=500)


@pytest.mark.parametrize(
    ("content", "edits", "words"),
    [
        (b"\0\1\2", [("a", "b")], "a.py is not a text file, and `edit` changes text"),
        ("grün\n".encode("cp1252"), [("gr", "日")], "encoded in Windows-1252, which has no '日'"),
        ("grün é\n".encode("cp1252"), [("grün", "Ã©"), (" é", "")], "it seemed to be Windows-1252, and would not any"),
        (b"x" * 1_000_001, [("x", "y")], "files of more than 1,000,000 are not changed here"),
    ],
)
async def test_a_file_that_cannot_be_edited_stays_unchanged(tmp_path, edit, content, edits, words):
    """The result says why."""
    (tmp_path / "a.py").write_bytes(content)
    result = await edit(*edits)
    assert result.kind == "failed"
    assert words in result.text
    assert (tmp_path / "a.py").read_bytes() == content


@pytest.mark.parametrize(
    ("path", "kind"),
    [("b.py", "failed"), ("folder", "failed"), ("../a.py", "safety"), (".env", "safety"), ("link", "safety")],
)
async def test_a_forbidden_path_is_not_edited(tmp_path, edit, path, kind):
    """The paths are missing files, folders, and files that are outside or protected. The result shows none of their content."""
    (tmp_path / "folder").mkdir()
    (tmp_path / ".env").write_text("KEY=1")
    (tmp_path / "link").symlink_to("/etc/passwd")
    result = await edit(("KEY", "x"), path=path)
    assert result.kind == kind
    assert "=1" not in result.text


async def test_a_missing_file_is_answered_with_write_or_a_similar_name(edit):
    text = (await edit(("a", "b"), path="unknown.txt")).text
    assert "unknown.txt does not exist; look for it with `glob` (a new file is made with `write`)" in text
    assert "a.pyy does not exist; did you mean 'a.py'?" in (await edit(("a", "b"), path="a.pyy")).text


async def test_editing_an_empty_file_is_refused_with_the_remedy(tmp_path, edit):
    (tmp_path / "empty").touch()
    text = (await edit(("a", "b"), path="empty")).text
    assert "empty is empty, so there is nothing to replace; write it with `write`" in text


async def test_an_edit_through_a_link_names_the_file(tmp_path, edit):
    """The one that was really changed."""
    (tmp_path / "link").symlink_to("a.py")
    text = (await edit(("g()", "h()"), path="link")).text
    assert text.endswith("(link leads to a.py, and that file was changed)")


# Approval.


async def test_a_person_is_shown_the_difference_that_an_edit_makes(tmp_path, dispatcher):
    """The edit is the one that the person approved."""
    asking = dispatcher("default")
    waiting = await asking.call("edit", {"path": "a.py", "edits": [{"old": "g()", "new": "h()"}]})
    assert "-def g():\n+def h():\n" in waiting.request.preview
    assert waiting.request.preconditions == (Precondition(path=str(tmp_path / "a.py"), sha256=digest(CODE.encode())),)
    assert (tmp_path / "a.py").read_text() == CODE
    done = await asking.resume(waiting.request.id, Decision.approve())
    assert done.text.startswith("Edited a.py: 1 replacement\n")
    assert (tmp_path / "a.py").read_text() == CODE.replace("g()", "h()")


async def test_agreement_to_another_file_asks_again(tmp_path, dispatcher):
    """The file changed between the answer and the question."""
    asking = dispatcher("default")
    waiting = await asking.call("edit", {"path": "a.py", "edits": [{"old": "g()", "new": "h()"}]})
    (tmp_path / "a.py").write_text(f"# theirs\n{CODE}")
    again = await asking.resume(waiting.request.id, Decision.approve())
    assert again.kind == "waiting"
    assert (tmp_path / "a.py").read_text() == f"# theirs\n{CODE}"
    assert (await asking.resume(again.request.id, Decision.approve())).kind == "ok"


async def test_an_edit_that_would_fail_does_not_ask(dispatcher):
    """The model is told at once, with the same help."""
    result = await dispatcher("default").call("edit", {"path": "a.py", "edits": [{"old": "xyz()", "new": "h()"}]})
    assert (result.kind, result.request) == ("failed", None)
    assert "`old` does not appear" in result.text


async def test_an_edit_without_a_file_does_not_ask(dispatcher):
    """There is nothing to show: the model is told at once."""
    result = await dispatcher("default").call("edit", {"path": "b.py", "edits": [{"old": "x", "new": "y"}]})
    assert (result.kind, result.request) == ("failed", None)
    assert "b.py does not exist" in result.text


class Growing(Workspace):
    """A workspace in which another program writes after every read."""

    def read(self, path, *, max_bytes=None):
        content = super().read(path, max_bytes=max_bytes)
        with open(os.path.join(self.root, path), "a") as file:
            file.write("# theirs\n")
        return content


def test_a_preview_is_of_one_file(tmp_path):
    """If the file changes during the look, the preview is not a mixture of both."""
    (tmp_path / "a.py").write_text(CODE)
    preview = edit_for(Growing(tmp_path)).facts.preview
    with pytest.raises(ToolError, match="is being changed by another program"):
        preview({"path": "a.py", "edits": [Edit(old="g()", new="h()")]})


@pytest.mark.parametrize(("agreed", "error"), [(True, Changed), (False, ToolError)])
def test_a_write_in_between_is_not_overwritten(tmp_path, agreed, error):
    """The user who agreed is asked again; without one, the model reads the file as it is now."""
    (tmp_path / "a.py").write_text(CODE)
    tool = edit_for(Growing(tmp_path))
    context = Context(facts=tool.facts)
    if agreed:
        context.permissions.preconditions = (Precondition(path=str(tmp_path / "a.py"), sha256=digest(CODE.encode())),)
    with pytest.raises(ToolError) as caught:
        tool.function("a.py", [Edit(old="g()", new="h()")], context=context)
    assert type(caught.value) is error
    assert (tmp_path / "a.py").read_text() == f"{CODE}# theirs\n"


# What the session has read.


async def test_a_file_that_changed_since_it_was_read_is_not_edited(tmp_path, dispatcher, edit):
    """The model has to read the file again first."""
    auto, session = dispatcher("auto"), Session()
    await auto.call("read", {"path": "a.py", "limit": 1}, session=session)
    (tmp_path / "a.py").write_text(f"# theirs\n{CODE}")
    refused = await edit(("g()", "h()"), session=session)
    assert refused.kind == "failed"
    assert "a.py has changed since it was last read here, so nothing was written; read it again" in refused.text
    await auto.call("read", {"path": "a.py"}, session=session)
    assert (await edit(("g()", "h()"), session=session)).kind == "ok"
    assert (await edit(("h()", "i()"), session=session, path=str(tmp_path / "a.py"))).kind == "ok"


async def test_a_file_that_was_never_read_can_be_edited(edit):
    """The exact text is proof enough."""
    assert (await edit(("g()", "h()"), session=Session())).kind == "ok"
