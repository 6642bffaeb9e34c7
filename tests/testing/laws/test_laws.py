"""
Each law is broken once, and caught; good tools break none.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
from collections.abc import AsyncIterator, Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Annotated

import annotated_types as at
import pytest

from toolkit import BadArgs, Catalog, CatalogError, Context, Inject, ToolError, ToolResult, tool
from toolkit.content import TextPart
from toolkit.spec import Tool
from toolkit.testing import LawsBroken, Violation, broken_laws, check_catalog, check_tool, lint

from . import broken


@pytest.fixture(scope="module")
def findings(tmp_path_factory):
    """Everything that is found in the broken catalog, with `add_note` named to be run."""
    folder = tmp_path_factory.mktemp("diary")
    (folder / "page.txt").write_text("Dear diary\n")
    os.environ["BROKEN_FOLDER"] = str(folder)
    try:
        return broken_laws(
            broken.laws,
            run=["add_note"],
            folder=folder,
            state=lambda: list(broken.state),
            examples=25,
            timeout_seconds=3.0,
        )
    finally:
        del os.environ["BROKEN_FOLDER"]


@pytest.mark.long
@pytest.mark.parametrize(("name", "rule"), broken.LAWS, ids=["-".join(names) for names in broken.LAWS])
def test_a_broken_law_is_caught_and_named(findings, name, rule):
    """The violation has the tool, the place and the remedy."""
    violations = [violation for violation in findings if (violation.tool, violation.rule) == (name, rule)]
    assert [violation.place for violation in violations][:1] == [broken.LAWS[name, rule]]
    assert all(violation.message and violation.remedy for violation in violations)
    assert rule in str(violations[0])
    assert name in str(violations[0])


@pytest.mark.long
def test_every_finding_in_the_broken_catalog_is_intended(findings):
    """Destructive tools and those that reach outside have not run."""
    unexpected = [violation for violation in findings if (violation.tool, violation.rule) not in broken.LAWS]
    assert unexpected == []


@pytest.mark.long
def test_the_smallest_arguments_are_shown():
    """No guest at all, a heavy parcel, the shortest word."""
    catalog = broken.laws.filtered(lambda tool: tool.name in ("divide_cake", "weigh_parcel", "whisper_secret"))
    arguments_by_tool = {violation.tool: violation.arguments for violation in broken_laws(catalog, examples=25)}
    assert arguments_by_tool["divide_cake"] == {"guests": 0}
    assert arguments_by_tool["weigh_parcel"] == {"heavy": True}
    assert arguments_by_tool["whisper_secret"] == {"word": ""}


def test_the_same_seed_finds_the_same():
    """Another one may find it elsewhere."""
    catalog = broken.laws.filtered(lambda candidate: candidate.name in ("divide_cake", "whisper_secret"))
    assert broken_laws(catalog, seed=7, examples=10) == broken_laws(catalog, seed=7, examples=10)


def test_findings_are_raised_together():
    """`check_catalog` tells all of them, and their laws in the first line."""
    catalog = broken.laws.filtered(lambda candidate: candidate.name in ("divide_cake", "paint_fence"))
    with pytest.raises(LawsBroken) as caught:
        check_catalog(catalog, examples=5)
    assert [violation.rule for violation in caught.value.violations] == ["described", "declared-failures"]
    first, *rest = str(caught.value).splitlines()
    assert first == "2 laws are broken: described, declared-failures"
    assert "`paint_fence`, parameter `colour`: nothing says what it is for [described]" in rest
    assert "    arguments: {'guests': 0}" in rest


def test_a_law_that_is_not_named_draws_no_arguments():
    drawn = []

    @tool(catalog=None, validate=drawn.append)
    def count(number: int) -> None:
        """Count something."""

    (violation,) = broken_laws(Catalog(count), laws=["described"])
    assert (violation.rule, drawn) == ("described", [])


class LibraryError(Exception):
    """What a library raises."""


def ask_library(word: str) -> str:
    """
    Ask a library.

    Args:
        word: What to look for.
    """
    raise LibraryError(f"no {word}")


def test_an_exception_that_is_declared_is_not_a_bug():
    """The rules are those of a dispatcher. An exception that they do not name still counts."""
    tool = Tool.described(ask_library, read_only=True)
    with pytest.raises(
        LawsBroken, match="it raised LibraryError: no .*\n.*\n.*\n.*classify=\\{LibraryError: ToolError"
    ):
        check_tool(tool, examples=2, on_note=str)
    check_tool(tool, examples=2, classify={LibraryError: ToolError}, on_note=str)
    with pytest.raises(LawsBroken, match="LibraryError"):
        check_tool(tool, examples=2, classify={KeyError: ToolError}, on_note=str)


def test_long_arguments_are_cut_in_the_message():
    """The violation itself has all of them."""
    violation = Violation(tool="t", rule="output", message="m", remedy="r", arguments={"text": "x" * 5_000})
    assert "... (5,012 characters)" in str(violation)
    assert len(str(violation)) < 1_200
    assert len(violation.to_json()["arguments"]["text"]) == 5_000


def test_a_tool_that_may_change_something_runs_only_if_it_is_named():
    """Such a tool states no fact, is destructive, or needs approval."""
    ran = []
    catalog = Catalog()

    @catalog.tool
    def plain() -> None:
        """Do something plain."""
        ran.append("plain")

    @catalog.tool(destructive=True)
    def wipe() -> None:
        """Remove everything there is."""
        ran.append("wipe")

    @catalog.tool(read_only=True, approval="always")
    def list_locks() -> None:
        """Look at what is locked."""
        ran.append("list_locks")

    @catalog.tool(read_only=True)
    def harmless() -> None:
        """See what time it is."""
        ran.append("harmless")

    check_catalog(catalog, examples=5)
    assert set(ran) == {"harmless"}
    ran.clear()
    check_catalog(catalog, run=False, examples=5)
    assert ran == []
    check_catalog(catalog, run=["wipe"], examples=5)
    assert set(ran) == {"harmless", "wipe"}


def test_a_name_that_no_tool_has_is_refused():
    """A misspelt name would run no tool, and the author would not know."""
    with pytest.raises(CatalogError, match="'wpie', which is no tool"):
        broken_laws(Catalog(), run=["wpie"])
    with pytest.raises(TypeError, match="names of the tools"):
        broken_laws(Catalog(), run=True)
    with pytest.raises(TypeError, match="names of the tools"):
        broken_laws(Catalog(), run="wipe")


def test_a_good_tool_breaks_no_law(tmp_path):
    """A function is enough; it is run if it is read-only, or if the caller says so."""

    @tool(read_only=True, catalog=None)
    async def shout(text: str, *, times: Annotated[int, "How often."] = 1) -> str:
        """
        Say it louder.

        Args:
            text: What is said.
        """
        if not 0 <= times <= 100:
            raise BadArgs("the text is too long")
        return text.upper() * times

    check_tool(shout, folder=tmp_path, examples=10)


def test_running_a_tool_can_be_forced_or_prevented():
    """The option of the caller counts, not the facts of the tool."""
    ran = []

    def plain(n: Annotated[int, "A number."]) -> int:
        """Count something."""
        ran.append(n)
        return n

    check_tool(plain, examples=5)
    assert ran == []
    check_tool(plain, run=True, examples=5)
    assert ran
    ran.clear()
    check_tool(Tool.described(plain, read_only=True), run=False, examples=5)
    assert ran == []


def test_resources_can_be_given_to_a_check():
    """They fill `Inject` parameters. Without them the tool cannot run, and the error says so."""

    class Store:
        def count(self) -> int:
            return 3

    @tool(read_only=True, catalog=None)
    def stock(store: Inject[Store]) -> int:
        """Count what is there."""
        return store.count()

    check_tool(stock, resources={Store: Store()}, examples=5)
    with pytest.raises(LawsBroken, match="cannot be run here"):
        check_tool(stock, examples=5)


def test_an_intermittent_fault_is_reported():
    """It cannot be made smaller."""
    turns = itertools.count()

    @tool(read_only=True, catalog=None)
    def moody(n: Annotated[int, "A number."]) -> int:
        """Answer, most of the time."""
        if next(turns) == 3:
            raise RuntimeError("not today")
        return n

    with pytest.raises(LawsBroken, match="RuntimeError: not today"):
        check_tool(moody, examples=20)


@pytest.mark.parametrize(
    "value",
    [ToolResult("done"), TextPart("a"), [TextPart("a"), 1], {"a": (1, {2})}, None],
    ids=["result", "part", "parts", "containers", "nothing"],
)
def test_a_result_with_a_json_form_keeps_the_laws(value):
    """Results and parts that a tool built are allowed, too."""

    @tool(read_only=True, catalog=None)
    def give():
        """Hand something over."""
        return value

    check_tool(give, examples=3)


def test_an_annotation_with_an_unknown_name_breaks_a_law():
    """The tool has no schema that could be checked."""

    def later(place: Nowhere) -> None:  # noqa: F821 -- that is the fault
        """Take what is not there."""

    (violation,) = broken_laws(Catalog(later))
    assert violation.rule == "valid-schema"
    assert "Nowhere" in violation.message


def test_a_finding_is_not_logged_as_well(caplog):
    """The traceback of a tool that raises is part of the finding."""
    with caplog.at_level(logging.DEBUG, logger="toolkit"), pytest.raises(LawsBroken):
        check_tool(broken.laws["divide_cake"], examples=3)
    assert caplog.records == []
    logging.getLogger("toolkit").info("later")
    assert [record.message for record in caplog.records] in (["later"], [])


def test_a_finding_can_be_printed_and_sent():
    """Foreign text cannot act in a terminal, and everything is plain JSON."""
    violation = Violation(tool="t", rule="r", message="\x1b[2Jgone", remedy="do", arguments={"a": 1})
    assert "\x1b" not in str(violation)
    assert violation.to_json() == {
        "tool": "t", "rule": "r", "place": "", "message": "\x1b[2Jgone", "remedy": "do", "arguments": {"a": 1},
        "explanation": "", "location": "",
    }  # fmt: skip


def test_a_broken_law_names_file_and_line(tmp_path, monkeypatch):
    """A broken law names file and line."""
    (violation,) = broken_laws(Catalog(broken.laws["divide_cake"]), examples=5)
    file, _, line = violation.location.rpartition(":")
    source = Path(file).read_text("utf-8").splitlines()
    assert Path(file).name == "broken.py"
    assert any("def divide_cake" in text for text in source[int(line) - 1 : int(line) + 2])
    assert f"\n    at {violation.location}\n" in str(LawsBroken([violation]))
    monkeypatch.chdir(Path(broken.__file__).parent)
    (nearer,) = broken_laws(Catalog(broken.laws["divide_cake"]), examples=5)
    assert nearer.location == f"broken.py:{line}"
    monkeypatch.chdir(tmp_path)
    (farther,) = broken_laws(Catalog(broken.laws["divide_cake"]), examples=5)
    assert farther.location == f"{broken.__file__}:{line}"
    assert farther.to_json()["location"] == farther.location


@pytest.mark.filterwarnings("ignore:.*no parameter has a type:toolkit.ToolkitWarning")
def test_a_lint_names_file_and_line_too():
    """A broken law names file and line; so does advice, and a tool without a function of its own names none."""

    def say_and_shout() -> None:
        """Say it, and louder."""

    assert {Path(finding.location.rpartition(":")[0]).name for finding in lint(Catalog(say_and_shout))} == {
        "test_laws.py"
    }
    assert {violation.location for violation in broken_laws(Catalog(Tool.of(len)))} <= {""}


@pytest.mark.long
def test_an_edge_value_breaks_a_tool_that_does_not_handle_it():
    """A tool that takes the next day fails for `date.max`."""

    @tool(read_only=True, catalog=None)
    def next_day(day: Annotated[date, "Which day."]) -> date:
        """Tell the day after."""
        return day + timedelta(days=1)

    with pytest.raises(LawsBroken) as caught:
        check_tool(next_day)
    (violation,) = caught.value.violations
    assert (violation.rule, violation.arguments) == ("declared-failures", {"day": "9999-12-31"})


def test_a_parameter_without_a_description_is_reported():
    """`true` for a schema says nothing; a definition's own description counts."""
    schema = {
        "type": "object",
        "properties": {"any": True, "node": {"$ref": "#/$defs/Node"}},
        "$defs": {"Node": {"type": "null", "description": "A node."}},
    }
    taking = Tool.from_schema("take", "Take something.", schema, lambda arguments: None)
    assert [violation.place for violation in broken_laws(Catalog(taking), examples=5)] == ["parameter `any`"]


def test_files_written_twice_are_compared(tmp_path):
    """An idempotent tool without a state of its own is checked by its files."""

    @tool(idempotent=True, catalog=None)
    def append() -> None:
        """Add a line to a file."""
        with (tmp_path / "log").open("a") as file:
            file.write("x")

    with pytest.raises(LawsBroken, match="the second time log changed"):
        check_tool(append, run=True, folder=tmp_path, examples=3)


def test_streams_are_watched():
    """A stream that ends is accepted. One that does not end is closed when its time is over."""

    @tool(read_only=True, catalog=None)
    async def ticks(forever: Annotated[bool, "Whether it goes on."]) -> AsyncIterator[int]:
        """Tick once, or for ever."""
        yield 1
        while forever:
            yield 2

    @tool(read_only=True, catalog=None)
    def tocks(count: Annotated[int, "How many.", at.Ge(0), at.Le(3)]) -> Iterator[int]:
        """Tock a few times."""
        yield from range(count)

    check_tool(tocks, examples=5)
    with pytest.raises(LawsBroken) as caught:
        check_tool(ticks, examples=5, timeout_seconds=0.3)
    (violation,) = caught.value.violations
    assert (violation.rule, violation.arguments) == ("ends-in-time", {"forever": True})


def test_a_result_may_contain_itself():
    """A list in itself has a kind of JSON form, and does not keep the kit busy."""
    circle: list = []
    circle.append(circle)

    @tool(read_only=True, catalog=None)
    def give():
        """Hand something over."""
        return circle

    check_tool(give, examples=3)


def test_a_tool_whose_arguments_cannot_be_drawn_breaks_only_one_law():
    """The laws about decoding and running report no violation."""

    @tool(read_only=True, catalog=None, validate=lambda arguments: "never")
    def never(n: Annotated[int, "A number."]) -> int:
        """Take nothing."""
        return n

    with pytest.raises(LawsBroken) as caught:
        check_tool(never, examples=3)
    assert [violation.rule for violation in caught.value.violations] == ["keeps-its-promise"]


def test_a_tool_that_cancels_itself_is_reported():
    """No caller had asked for the cancellation."""

    @tool(read_only=True, catalog=None)
    async def leave() -> None:
        """Go away."""
        raise asyncio.CancelledError

    with pytest.raises(LawsBroken, match="it ended as 'cancelled'"):
        check_tool(leave, examples=3)


def test_many_tools_with_one_description_are_named_once_each():
    """Each is compared with the first of them, and not with all others."""
    catalog = Catalog()
    for number in range(5):
        catalog.tool(lambda: None, name=f"ring_{number}", description="Ring the bell of the door.")
    catalog.tool(lambda: None, name="unlike", description="Count all the apples in a basket.")

    violations = [violation for violation in broken_laws(catalog, examples=1) if violation.rule == "told-apart"]
    assert [(violation.tool, violation.place) for violation in violations] == [
        (f"ring_{number}", "beside `ring_0`") for number in range(1, 5)
    ]


@pytest.mark.parametrize(("stated", "rules"), [(None, ["ends-in-time"]), (60.0, []), (0.05, [])])
def test_a_tool_that_states_its_limit_is_held_to_that_elsewhere(stated, rules):
    """A dispatcher ends it; the check does not wait that long."""

    @tool(read_only=True, catalog=None, timeout_seconds=stated)
    async def wait() -> None:
        """Wait for ever."""
        await asyncio.Event().wait()

    violations = broken_laws(Catalog(wait), examples=3, timeout_seconds=0.2)
    assert [violation.rule for violation in violations] == rules


def test_every_law_calls_a_tool_in_a_session():
    sessions = []

    def look(context: Context) -> str:
        """Look around."""
        sessions.append(context.session)
        return "nothing"

    check_tool(Tool.described(look, read_only=True), examples=5)
    assert {session.id for session in sessions} >= {"session-1", "session-2"}


def test_the_headline_counts_a_law_once():
    violation = Violation(tool="f", rule="described", message="m", remedy="r")
    other = Violation(tool="f", rule="output", message="m", remedy="r")
    assert str(LawsBroken([violation])).startswith("1 law is broken: described\n")
    assert str(LawsBroken([violation] * 3)).startswith("1 law is broken: described (3 times)\n")
    assert str(LawsBroken([violation, other] * 2)).startswith(
        "2 laws are broken: described (2 times), output (2 times)"
    )
