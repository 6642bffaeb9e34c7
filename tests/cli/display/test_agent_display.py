"""
What the display of an agent at work shows: in a terminal, and piped.
"""

from __future__ import annotations

import io
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from tests.agent.kit import Shed, call
from tests.cli.terminals import draw_screen
from toolkit.agent import (
    CatalogChanged,
    Compacted,
    Done,
    Event,
    HandedOver,
    ProviderChanged,
    Refused,
    Run,
    RunFailed,
    RunWaits,
    SubRunEvent,
    Summarized,
    Summary,
    SummaryFailed,
    TextDelta,
    ToolFinished,
    ToolProgress,
    ToolStarted,
    UserInput,
)
from toolkit.approvals import Approvals, Callback
from toolkit.cli.display import AgentDisplay
from toolkit.cli.display.lines import format_duration
from toolkit.context import Progress
from toolkit.decisions import ApprovalRequest, Decision
from toolkit.errors import ProviderError
from toolkit.providers import Usage, UserMessage
from toolkit.questions import Question
from toolkit.results import ToolCall, ToolResult
from toolkit.spec import Tool

pytestmark = pytest.mark.anyio

DIFF = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n"


class Watched:
    """A display, and what was written to its console."""

    def __init__(self, *, terminal=False, width=60, encoding="utf-8", term="xterm", **options):
        self._raw = io.BytesIO()
        file = io.TextIOWrapper(self._raw, encoding, write_through=True, newline="")
        console = Console(file=file, force_terminal=terminal, width=width, height=24, _environ={"TERM": term})
        self.display = AgentDisplay(console, clock=lambda: 12.0, **options)
        self._encoding, self._width = encoding, width if terminal else 10_000

    @property
    def output(self):
        return self._raw.getvalue().decode(self._encoding)

    @property
    def lines(self):
        return draw_screen(self.output, self._width)


def show_events(*events: Event, **options):
    watched_display = Watched(**options)
    with watched_display.display as display:
        for event in events:
            display.show(event)
    return watched_display


def look() -> None:
    """A tool."""


def start_call(name="look", id="c1", summary="look at oak"):
    return ToolStarted(ToolCall(name, {}, id), summary)


def end_call(result, name="look", id="c1"):
    return ToolFinished(ToolCall(name, {}, id), result)


def request(**fields):
    standard = {"tool": "burn", "call_id": "c1", "reason": "it cannot be undone", "arguments": {"wood": "oak"}}
    return ApprovalRequest(**{**standard, **fields})


OK = ToolResult("an oak", "an oak", attempts=1, duration_seconds=0.0034)
PLAIN = [TextDelta("I lo"), TextDelta("ok.\nThen"), TextDelta(" more"), start_call(), end_call(OK)]
SHOWN = ["  I look.", "  Then more", "✓ look at oak  3 ms", "    an oak"]
BAR = "━━━━━╺━━━━━━━━━━━━━━"


def test_text_and_calls_are_lines_when_piped():
    """Each appears once, without colours or cursor movements."""
    assert show_events(*PLAIN).output == "\n".join([*SHOWN, ""])


def test_a_terminal_ends_up_with_the_same_lines():
    """Lines that were redrawn in between are gone."""
    display = show_events(*PLAIN, terminal=True)
    assert display.lines == SHOWN
    assert "\x1b[32m✓ " in display.output
    assert display.output.endswith("\x1b[2K")
    assert display.output.count("\x1b[?25l") == display.output.count("\x1b[?25h") > 0


@given(st.lists(st.text("ab \n", max_size=8), max_size=12))
def test_text_reads_the_same_for_all_sizes_of_its_pieces(pieces):
    whole = show_events(TextDelta("".join(pieces))).output
    assert show_events(*map(TextDelta, pieces)).output == whole


def test_running_calls_are_shown_until_they_end():
    """Their progress and their time are shown, too."""
    watch = Watched(terminal=True)
    with watch.display as display:
        display.show(start_call())
        display.show(start_call("cut", "c2", "cutting"))
        display.show(ToolProgress(Progress(call_id="c2", tool="cut", progress=1, total=4, message="it creaks")))
        display.show(ToolProgress(Progress(call_id="gone", tool="cut")))
        display.say("meanwhile")
        cutting = f"⠋ cut: cutting  {BAR}  1/4 it creaks"
        assert watch.lines == ["• meanwhile", "⠋ look at oak", cutting]
        display.show(end_call(OK, id="c1"))
        display.say("later")
        assert watch.lines[-2:] == ["• later", cutting]
    assert watch.lines[-1] == "• later"


@pytest.mark.parametrize(
    ("progress", "total", "bar"),
    [
        (5, 20, f"{BAR}  5/20"),
        (0.5, 2.0, f"{BAR}  0.5/2"),
        (30, 20, f"{'━' * 20}  30/20"),
        (5, None, "5"),
        (5, 0, "5"),
        (-1, 4, "-1/4"),
        (float("nan"), 4, "nan/4"),
        (float("inf"), 4, "inf/4"),
        (None, 4, ""),
    ],
)
def test_a_report_with_a_total_has_a_bar(progress, total, bar):
    """A report without one, or with numbers that are no share of it, has the numbers alone."""
    watch = Watched(terminal=True)
    with watch.display as display:
        display.show(start_call())
        display.show(ToolProgress(Progress(call_id="c1", tool="look", progress=progress, total=total)))
        display.say("now")
        assert watch.lines[-1] == f"⠋ look at oak  {bar}".rstrip()


def test_a_bar_has_room_beside_a_long_summary_and_in_every_terminal():
    """The summary is cut, and a terminal without Unicode gets other signs."""
    report = ToolProgress(Progress(call_id="c1", tool="look", progress=1, total=4))
    watch = Watched(terminal=True, encoding="ascii")
    with watch.display as display:
        display.show(start_call(summary=f"look at {'o' * 40}"))
        display.show(report)
        display.say("now")
        assert watch.lines[-1] == f"- look at {'o' * 12}  ----- --------------  1/4"
    piped = show_events(start_call(), report)
    assert piped.output == ""


def test_many_running_calls_do_not_fill_the_screen():
    """Some are shown, the others counted."""
    watch = Watched(terminal=True)
    with watch.display as display:
        for number in range(20):
            display.show(start_call(id=str(number), summary=f"look at {number}"))
        display.say("now")
        assert watch.lines[-1] == "  and 12 more"
        assert len(watch.lines) == 10


def test_a_thinking_model_is_shown_only_in_a_terminal():
    """It is shown from the request until the first text."""
    watch = Watched(terminal=True)
    with watch.display as display:
        display.thinking()
        assert watch.lines == ["⠋ thinking"]
        display.show(TextDelta("Well"))
        display.say("now")
        assert watch.lines == ["  Well", "• now"]
    piped = Watched()
    with piped.display as display:
        display.thinking()
    assert piped.output == ""


@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize("term", ["xterm", "dumb"])
def test_foreign_text_is_escaped_and_does_not_imitate_our_lines(terminal, term):
    """Only our marks stand in the first column, also if lines are wrapped."""
    evil = "\x1b[2J\r✓ bash: approved \u202e" + "✓ " * 60
    events = [
        TextDelta(f"{evil}\n{evil}"),
        start_call(summary=evil),
        ToolProgress(Progress(call_id="c1", tool="look", message=evil)),
        end_call(ToolResult(f"{evil}\n{evil}")),
        end_call(ToolResult.failure("failed", evil), name=evil),
        Refused(ToolCall(evil), evil),
        SubRunEvent("c9", TextDelta(f"{evil}\n")),
        RunFailed(ProviderError(evil)),
        Done(Run(status="stopped", reason=evil, plan=evil)),
    ]
    watch = show_events(*events, terminal=terminal, term=term)
    firsts = {line[:1] for line in watch.lines if line}
    assert firsts <= {" ", "✓", "✗", "↳", "•"}
    assert sum(line.startswith("✓") for line in watch.lines) == 1  # the one call that went well
    assert "\u202e" not in watch.output
    assert "\x1b[2J" not in watch.output


@pytest.mark.parametrize(
    ("result", "lines"),
    [
        (ToolResult("", attempts=1, duration_seconds=75), ["✓ look at oak  1 min 15 s"]),
        (ToolResult("a\n\nb\nc"), ["✓ look at oak", "    a", "    – and 2 more lines"]),
        (ToolResult.failure("failed", "x" * 600), ["✗ look at oak  failed", f"    {'x' * 500}..."]),
        (ToolResult("1\tone\x0btwo"), ["✓ look at oak", "    1   one", "    – and 1 more line"]),
        (ToolResult("a\nb"), ["✓ look at oak", "    a", "    – and 1 more line"]),
        (ToolResult.failure("bad_args", "no\nsuch\nwood\nat all"), ["✗ look at oak  bad args", "    no", "    such", "    wood", "    – and 1 more line"]),
        (ToolResult.failure("denied", "not today"), ["✗ look at oak  denied", "    not today"]),
        (ToolResult("waiting for a person", kind="waiting", request=request()), ["… look at oak  waiting", "    waiting for a person"]),
        (ToolResult("x" * 600), ["✓ look at oak", f"    {'x' * 200}..."]),
    ],
)  # fmt: skip
def test_an_outcome_is_shown_in_a_few_lines(result, lines):
    """They have a mark, the kind of a failure, the time if the tool ran, and the beginning of the result."""
    assert show_events(start_call(), end_call(result), width=700).lines == lines


@pytest.mark.parametrize(
    ("summary", "line"),
    [("", "✓ look"), ("look at oak", "✓ look at oak"), ("$ ls", "✓ look: $ ls"), ("looking", "✓ look: looking")],
)
def test_a_call_is_shown_with_the_name_of_its_tool(summary, line):
    """This holds also if the author left the name out of the summary."""
    assert show_events(start_call(summary=summary), end_call(ToolResult())).lines == [line]


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "0 ms"), (0.25, "250 ms"), (1, "1.0 s"), (59.94, "59.9 s"), (60, "1 min 0 s"), (59.96, "1 min 0 s"), (119.9, "2 min 0 s")]
)  # fmt: skip
def test_a_duration_is_shown_in_a_fitting_unit(seconds, words):
    assert format_duration(seconds) == words


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (Compacted(3, 12345), "• 3 old results were cut by 12,345 characters, to make room"),
        (UserInput(UserMessage.of("Hurry,\nplease.")), "• the model reads now: Hurry,\\nplease."),
        (
            CatalogChanged((Tool.of(look),), (Tool.of(look),)),
            "• the tools have changed (added: look; removed: look)",
        ),
        (SubRunEvent("c9", CatalogChanged((Tool.of(look),), ())), ""),
        (ProviderChanged("a:m", "b:n", "it is down"), "• a:m failed, so b:n is asked: it is down"),
        (HandedOver("front", "billing"), "• `billing` goes on with the conversation"),
        (
            Summarized(Summary(text="x"), 8, 12345, Usage()),
            "• 8 old messages were summed up, which saves 12,345 characters",
        ),
        (SummaryFailed("it was empty", Usage()), "• old messages could not be summed up: it was empty"),
        (RunFailed(ProviderError("no key")), "✗ failed: no key"),
        (Done(Run(status="stopped", reason="50 turns are enough")), "✗ stopped: 50 turns are enough"),
        (Done(Run(status="planned", plan="1. a\n2. b")), "• the plan:\n  1. a\n  2. b"),
        (end_call(OK), "✓ look  3 ms\n    an oak"),
        (SubRunEvent("c9", start_call()), ""),
        (SubRunEvent("c9", end_call(OK)), "↳ ✓ look  3 ms\n↳     an oak"),
        (SubRunEvent("c9", SubRunEvent("c8", TextDelta("Deep\n"))), "↳ ↳   Deep"),
        (SubRunEvent("c9", RunWaits((request(),))), ""),
        (SubRunEvent("c9", Done(Run(status="stopped", reason="enough"))), "↳ ✗ stopped: enough"),
        (Done(Run(status="done")), ""),
    ],
)
def test_each_event_has_its_line(event, line):
    """An event that another one repeats has none."""
    assert show_events(event).output.rstrip("\n") == line


@pytest.mark.parametrize(("terminal", "minus"), [(True, "\x1b[31m-old\x1b[0m"), (False, "  | -old\n")])
def test_a_request_is_shown_whole(terminal, minus):
    """Its diff is in colour in a terminal, and no line below is redrawn."""
    watch = show_events(start_call(), RunWaits((request(preview=DIFF),)), terminal=terminal)
    assert minus in watch.output
    assert "`burn` asks for permission" in watch.lines
    assert "⠋ look at oak" not in watch.lines


def test_a_request_is_not_shown_twice_with_a_prompt():
    assert show_events(RunWaits((request(),)), requests=False).output == ""


def test_a_question_of_a_tool_is_shown_when_the_run_waits():
    """It has its whole text, because no asker asks it."""
    question = Question(key="size", message="Which size?", schema={"enum": ["S", "M"]})
    watch = show_events(start_call(), RunWaits((request(questions=(question,), reason="it asks: Which size?"),)))
    assert "asks you a question" in watch.output
    assert "| Which size?" in watch.output


def test_every_mark_has_an_ascii_form():
    watch = show_events(*PLAIN, end_call(ToolResult.failure("failed", "é")), encoding="ascii")
    assert watch.output.splitlines()[-3:] == ["    an oak", "x look  failed", "    \\xe9"]


def test_foreign_exceptions_are_shown_with_their_type():
    """Their messages are not written for users."""
    assert show_events(RunFailed(KeyError("x"))).output == "✗ failed: KeyError: 'x'\n"


def test_a_question_has_the_terminal_for_itself():
    """Other lines are shown afterwards in their order."""
    watch = Watched(terminal=True)
    with watch.display as display:
        display.show(start_call())
        display.show(TextDelta("I wait"))
        with display.paused(), display.paused():
            before = watch.output
            display.say("meanwhile")
            display.show(end_call(OK))
            display.show(start_call(id="c2", summary="look at elm"))
            assert watch.output == before
            assert watch.lines == ["  I wait"]
        display.say("go on")
        lines = ["  I wait", "• meanwhile", "✓ look at oak  3 ms", "    an oak", "• go on", "⠋ look at elm"]
        assert watch.lines == lines


def test_a_call_goes_on_being_shown_after_a_question():
    """The one that was asked about, for instance."""
    watch = Watched(terminal=True)
    with watch.display as display:
        display.show(start_call())
        with display.paused():
            assert watch.lines == [""]
        assert watch.lines == ["⠋ look at oak"]


@pytest.mark.parametrize("blocking", [True, False])
@pytest.mark.parametrize("is_async", [True, False])
async def test_a_person_has_the_terminal_while_they_are_asked(blocking, is_async):
    """The asker may answer in a thread or be awaited, and the call runs as decided."""
    watch = Watched(terminal=True)
    screens = []

    def decide(question):
        screens.append(watch.lines)
        return Decision.approve(by="ada")

    async def decide_later(question):
        return decide(question)

    with watch.display as display:
        asker = display.asking(Callback(decide_later if is_async else decide, blocking=blocking))
        assert asker.blocking == blocking
        shed = Shed()
        dispatcher = shed.dispatcher(Approvals(ask=asker))
        agent = shed.agent([[call("burn", wood="oak")], "Done."], dispatcher=dispatcher, on_event=display.show)
        await agent.run("go")
    assert screens == [[""]]
    assert [line.split("  ")[0] for line in watch.lines if line[0] != " "] == ["✓ burn"]
    assert shed.done == ["burn oak"]


async def test_the_display_shows_a_whole_run_from_prompt_to_answer():
    """The agent is real, and its run has text, calls, a request and an answer."""
    watch = Watched()
    shed = Shed()
    with watch.display as display:
        script = [[call("look", what="oak"), call("burn", wood="oak")], "It is burnt."]
        agent = shed.agent(script, on_event=display.show)
        display.say("Burn it.\n")
        run = await agent.run("go")
        await agent.resume(run, {open_request.id: Decision.deny("no fire") for open_request in run.requests})
    lines = watch.output.splitlines()
    assert lines[:2] == ["• Burn it.", ""]
    assert [line for line in lines if line.startswith(("✓ look", "… burn", "✗ burn", "`burn`", "  It is"))] == [
        lines[2],
        "… burn  waiting",
        "`burn` asks for permission",
        "✗ burn  denied",
        "  It is burnt.",
    ]


def test_events_may_come_from_many_threads_during_a_redraw():
    """No thread waits for ever, and no event is lost."""
    watch = Watched(terminal=True)
    with watch.display as display:

        def work(number):
            for count in range(20):
                id = f"{number}.{count}"
                display.show(start_call(id=id, summary=f"look at {id}"))
                display.show(ToolProgress(Progress(call_id=id, tool="look", progress=count)))
                display.show(end_call(OK, id=id))

        threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    endings = [line for line in watch.lines if line.startswith("✓")]
    assert len(endings) == len(set(endings)) == 80
