"""
An agent at work, as whoever watches sees it: in a terminal, and piped.
"""

from __future__ import annotations

import io
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from tests.agent.kit import Shed, call
from tests.cli.terminals import drawn
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
    def written(self):
        return self._raw.getvalue().decode(self._encoding)

    @property
    def lines(self):
        return drawn(self.written, self._width)


def watched(*events: Event, **options):
    made = Watched(**options)
    with made.display as display:
        for event in events:
            display.show(event)
    return made


def named() -> None:
    """A tool."""


def started(name="look", id="c1", summary="look at oak"):
    return ToolStarted(ToolCall(name, {}, id), summary)


def ended(result, name="look", id="c1"):
    return ToolFinished(ToolCall(name, {}, id), result)


def request(**fields):
    given = {"tool": "burn", "call_id": "c1", "reason": "it cannot be undone", "arguments": {"wood": "oak"}}
    return ApprovalRequest(**{**given, **fields})


OK = ToolResult("an oak", "an oak", attempts=1, duration_seconds=0.0034)
PLAIN = [TextDelta("I lo"), TextDelta("ok.\nThen"), TextDelta(" more"), started(), ended(OK)]
SHOWN = ["  I look.", "  Then more", "✓ look at oak  3 ms", "    an oak"]
BAR = "━━━━━╺━━━━━━━━━━━━━━"


def test_text_and_calls_are_lines_when_piped():
    """Each once, without colours or a cursor that moves."""
    assert watched(*PLAIN).written == "\n".join([*SHOWN, ""])


def test_a_terminal_ends_up_with_the_same_lines():
    """Whatever was redrawn in between is gone."""
    shown = watched(*PLAIN, terminal=True)
    assert shown.lines == SHOWN
    assert "\x1b[32m✓ " in shown.written
    assert shown.written.endswith("\x1b[2K")
    assert shown.written.count("\x1b[?25l") == shown.written.count("\x1b[?25h") > 0


@given(st.lists(st.text("ab \n", max_size=8), max_size=12))
def test_text_reads_the_same_however_it_comes_in_pieces(pieces):
    """Lines are lines, wherever the pieces were cut."""
    whole = watched(TextDelta("".join(pieces))).written
    assert watched(*map(TextDelta, pieces)).written == whole


def test_running_calls_are_shown_while_they_run():
    """With what they report and how long they take; not once they have ended."""
    made = Watched(terminal=True)
    with made.display as display:
        display.show(started())
        display.show(started("cut", "c2", "cutting"))
        display.show(ToolProgress(Progress(call_id="c2", tool="cut", progress=1, total=4, message="it creaks")))
        display.show(ToolProgress(Progress(call_id="gone", tool="cut")))
        display.say("meanwhile")
        cutting = f"⠋ cut: cutting  {BAR}  1/4 it creaks"
        assert made.lines == ["• meanwhile", "⠋ look at oak", cutting]
        display.show(ended(OK, id="c1"))
        display.say("later")
        assert made.lines[-2:] == ["• later", cutting]
    assert made.lines[-1] == "• later"


@pytest.mark.parametrize(
    ("progress", "total", "shown"),
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
def test_a_report_with_a_total_has_a_bar(progress, total, shown):
    """A report without one, or with numbers that are no share of it, has the numbers alone."""
    made = Watched(terminal=True)
    with made.display as display:
        display.show(started())
        display.show(ToolProgress(Progress(call_id="c1", tool="look", progress=progress, total=total)))
        display.say("now")
        assert made.lines[-1] == f"⠋ look at oak  {shown}".rstrip()


def test_a_bar_has_room_beside_a_long_summary_and_in_every_terminal():
    """The summary is cut, and a terminal without Unicode gets other signs."""
    report = ToolProgress(Progress(call_id="c1", tool="look", progress=1, total=4))
    made = Watched(terminal=True, encoding="ascii")
    with made.display as display:
        display.show(started(summary=f"look at {'o' * 40}"))
        display.show(report)
        display.say("now")
        assert made.lines[-1] == f"- look at {'o' * 12}  ----- --------------  1/4"
    piped = watched(started(), report)
    assert piped.written == ""


def test_many_running_calls_do_not_fill_the_screen():
    """Some are shown, the others counted."""
    made = Watched(terminal=True)
    with made.display as display:
        for number in range(20):
            display.show(started(id=str(number), summary=f"look at {number}"))
        display.say("now")
        assert made.lines[-1] == "  and 12 more"
        assert len(made.lines) == 10


def test_a_model_that_thinks_is_shown_in_a_terminal_only():
    """From when it was asked until it speaks."""
    made = Watched(terminal=True)
    with made.display as display:
        display.thinking()
        assert made.lines == ["⠋ thinking"]
        display.show(TextDelta("Well"))
        display.say("now")
        assert made.lines == ["  Well", "• now"]
    piped = Watched()
    with piped.display as display:
        display.thinking()
    assert piped.written == ""


@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize("term", ["xterm", "dumb"])
def test_nothing_foreign_acts_or_passes_for_a_line_of_ours(terminal, term):
    """No escape of theirs is written, and only our marks stand in the first column, also where lines are wrapped."""
    evil = "\x1b[2J\r✓ bash: approved \u202e" + "✓ " * 60
    events = [
        TextDelta(f"{evil}\n{evil}"),
        started(summary=evil),
        ToolProgress(Progress(call_id="c1", tool="look", message=evil)),
        ended(ToolResult(f"{evil}\n{evil}")),
        ended(ToolResult.failure("failed", evil), name=evil),
        Refused(ToolCall(evil), evil),
        SubRunEvent("c9", TextDelta(f"{evil}\n")),
        RunFailed(ProviderError(evil)),
        Done(Run(status="stopped", reason=evil, plan=evil)),
    ]
    shown = watched(*events, terminal=terminal, term=term)
    firsts = {line[:1] for line in shown.lines if line}
    assert firsts <= {" ", "✓", "✗", "↳", "•"}
    assert sum(line.startswith("✓") for line in shown.lines) == 1  # the one call that went well
    assert "\u202e" not in shown.written
    assert "\x1b[2J" not in shown.written


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
def test_an_outcome_is_told_in_a_few_lines(result, lines):
    """A mark, the kind unless it went well, the time if it ran, and the beginning of what came of it."""
    assert watched(started(), ended(result), width=700).lines == lines


@pytest.mark.parametrize(
    ("summary", "line"),
    [("", "✓ look"), ("look at oak", "✓ look at oak"), ("$ ls", "✓ look: $ ls"), ("looking", "✓ look: looking")],
)
def test_a_call_is_told_with_the_name_of_its_tool(summary, line):
    """Also where its author left it out."""
    assert watched(started(summary=summary), ended(ToolResult())).lines == [line]


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "0 ms"), (0.25, "250 ms"), (1, "1.0 s"), (59.94, "59.9 s"), (60, "1 min 0 s"), (59.96, "1 min 0 s"), (119.9, "2 min 0 s")]
)  # fmt: skip
def test_times_are_for_people(seconds, words):
    """In the unit that fits."""
    assert format_duration(seconds) == words


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (Compacted(3, 12345), "• 3 old results were cut by 12,345 characters, to make room"),
        (UserInput(UserMessage.of("Hurry,\nplease.")), "• the model reads now: Hurry,\\nplease."),
        (
            CatalogChanged((Tool.of(named),), (Tool.of(named),)),
            "• the tools have changed (added: named; removed: named)",
        ),
        (SubRunEvent("c9", CatalogChanged((Tool.of(named),), ())), ""),
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
        (ended(OK), "✓ look  3 ms\n    an oak"),
        (SubRunEvent("c9", started()), ""),
        (SubRunEvent("c9", ended(OK)), "↳ ✓ look  3 ms\n↳     an oak"),
        (SubRunEvent("c9", SubRunEvent("c8", TextDelta("Deep\n"))), "↳ ↳   Deep"),
        (SubRunEvent("c9", RunWaits((request(),))), ""),
        (SubRunEvent("c9", Done(Run(status="stopped", reason="enough"))), "↳ ✗ stopped: enough"),
        (Done(Run(status="done")), ""),
    ],
)
def test_each_event_has_its_line(event, line):
    """Or none, where another event tells it."""
    assert watched(event).written.rstrip("\n") == line


@pytest.mark.parametrize(("terminal", "minus"), [(True, "\x1b[31m-old\x1b[0m"), (False, "  | -old\n")])
def test_a_request_is_shown_whole(terminal, minus):
    """With its diff, in colour in a terminal; and nothing is redrawn below it."""
    shown = watched(started(), RunWaits((request(preview=DIFF),)), terminal=terminal)
    assert minus in shown.written
    assert "`burn` asks for permission" in shown.lines
    assert "⠋ look at oak" not in shown.lines


def test_a_request_is_left_to_whoever_asks():
    """Where they show it themselves."""
    assert watched(RunWaits((request(),)), requests=False).written == ""


def test_a_question_of_a_tool_is_shown_when_the_run_waits():
    """With its whole text, because no asker asks it."""
    question = Question(key="size", message="Which size?", schema={"enum": ["S", "M"]})
    shown = watched(started(), RunWaits((request(questions=(question,), reason="it asks: Which size?"),)))
    assert "asks you a question" in shown.written
    assert "| Which size?" in shown.written


def test_plain_letters_do_where_a_terminal_knows_no_others():
    """Every mark has an ASCII one."""
    shown = watched(*PLAIN, ended(ToolResult.failure("failed", "é")), encoding="ascii")
    assert shown.written.splitlines()[-3:] == ["    an oak", "x look  failed", "    \\xe9"]


def test_foreign_exceptions_are_named():
    """What is not worded for people is told with its type."""
    assert watched(RunFailed(KeyError("x"))).written == "✗ failed: KeyError: 'x'\n"


def test_while_somebody_asks_the_terminal_is_theirs():
    """What happens meanwhile is kept, and shown afterwards in its order."""
    made = Watched(terminal=True)
    with made.display as display:
        display.show(started())
        display.show(TextDelta("I wait"))
        with display.paused(), display.paused():
            before = made.written
            display.say("meanwhile")
            display.show(ended(OK))
            display.show(started(id="c2", summary="look at elm"))
            assert made.written == before
            assert made.lines == ["  I wait"]
        display.say("go on")
        told = ["  I wait", "• meanwhile", "✓ look at oak  3 ms", "    an oak", "• go on", "⠋ look at elm"]
        assert made.lines == told


def test_a_call_goes_on_being_shown_after_a_question():
    """The one that was asked about, for instance."""
    made = Watched(terminal=True)
    with made.display as display:
        display.show(started())
        with display.paused():
            assert made.lines == [""]
        assert made.lines == ["⠋ look at oak"]


@pytest.mark.parametrize("blocking", [True, False])
@pytest.mark.parametrize("is_async", [True, False])
async def test_an_asker_has_the_terminal_while_they_ask(blocking, is_async):
    """Also one that answers in a thread, or is awaited; and the call runs as they decide."""
    made = Watched(terminal=True)
    shown = []

    def decide(asked):
        shown.append(made.lines)
        return Decision.approve(by="ada")

    async def decide_later(asked):
        return decide(asked)

    with made.display as display:
        asker = display.asking(Callback(decide_later if is_async else decide, blocking=blocking))
        assert asker.blocking == blocking
        shed = Shed()
        dispatcher = shed.dispatcher(Approvals(ask=asker))
        agent = shed.agent([[call("burn", wood="oak")], "Done."], dispatcher=dispatcher, on_event=display.show)
        await agent.run("go")
    assert shown == [[""]]
    assert [line.split("  ")[0] for line in made.lines if line[0] != " "] == ["✓ burn"]
    assert shed.done == ["burn oak"]


async def test_a_whole_run_is_told_from_its_prompt_to_its_answer():
    """With a real agent: text, calls, a request, the answer."""
    made = Watched()
    shed = Shed()
    with made.display as display:
        script = [[call("look", what="oak"), call("burn", wood="oak")], "It is burnt."]
        agent = shed.agent(script, on_event=display.show)
        display.say("Burn it.\n")
        run = await agent.run("go")
        await agent.resume(run, {each.id: Decision.deny("no fire") for each in run.requests})
    lines = made.written.splitlines()
    assert lines[:2] == ["• Burn it.", ""]
    assert [line for line in lines if line.startswith(("✓ look", "… burn", "✗ burn", "`burn`", "  It is"))] == [
        lines[2],
        "… burn  waiting",
        "`burn` asks for permission",
        "✗ burn  denied",
        "  It is burnt.",
    ]


def test_events_may_come_from_many_threads_while_it_is_redrawn():
    """Nothing waits for ever, and nothing is lost."""
    made = Watched(terminal=True)
    with made.display as display:

        def work(number):
            for count in range(20):
                id = f"{number}.{count}"
                display.show(started(id=id, summary=f"look at {id}"))
                display.show(ToolProgress(Progress(call_id=id, tool="look", progress=count)))
                display.show(ended(OK, id=id))

        threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    told = [line for line in made.lines if line.startswith("✓")]
    assert len(told) == len(set(told)) == 80
