"""The journal keeps runs and steps, and lets only the newest activation write."""

from __future__ import annotations

import pytest

from toolkit.durable.errors import DurableError, RunTakenOver


def test_a_run_is_created_once(journal):
    """The second creation returns the first run, and says that it is not new."""
    row, is_new = journal.create("a/b", "agent", {"prompt": "go"}, principal="ada", deadline=9, now=1)
    again, is_new_again = journal.create("a/b", "agent", {"prompt": "go"}, principal="ada", now=2)
    assert (is_new, is_new_again) == (True, False)
    assert row == again == journal.get("a/b")
    assert (row.status, row.epoch, row.deadline, row.principal) == ("queued", 0, 9.0, "ada")
    assert len(row.secret) == 32
    assert row.secret not in repr(row)


@pytest.mark.parametrize(
    ("kind", "prompt", "principal", "problem"),
    [
        ("flow:x", "go", None, "of kind 'agent', not 'flow:x'"),
        ("agent", "stop", None, r"with another input \(`prompt` differs\) already; give another id"),
        ("agent", "go", "eve", "of the principal None, not 'eve'"),
    ],
)
def test_an_id_belongs_to_one_run(journal, kind, prompt, principal, problem):
    """An id that is taken by another run is refused, and the message says what differs."""
    journal.create("r", "agent", {"prompt": "go"}, now=1.0)
    with pytest.raises(DurableError, match=problem) as raised:
        journal.create("r", kind, {"prompt": prompt}, principal=principal, now=2.0)
    assert raised.value.why == "changed"


@pytest.mark.parametrize("run_id", ["", None, 7, "x" * 201, "a\0b", "a\ud800"])
def test_an_id_that_no_database_keeps_is_refused(journal, run_id):
    """The id is a text of 1 to 200 characters that can be written in UTF-8."""
    with pytest.raises(DurableError, match="id") as raised:
        journal.create(run_id, "agent", {}, now=1.0)
    assert raised.value.why == "id"


@pytest.mark.parametrize("run_id", ["a/b%2F", "x" * 200, "\U0001f600 ü\n", "' OR 1=1 --", "%s ? {filters}"])
def test_an_unusual_id_is_kept(journal, run_id):
    """Slashes, spaces, quotes and other scripts are part of an id like any other character."""
    journal.create(run_id, "agent", {}, now=1.0)
    journal.activate(run_id, worker="w", now=2.0, max_lives=3)
    journal.begin(run_id, 1, f"{run_id}/call/1", {}, now=3.0)
    assert [row.id for row in journal.list()] == [run_id]
    assert list(journal.read_steps(run_id)) == [f"{run_id}/call/1"]


def test_steps_are_kept_with_their_seconds(run):
    """A step is "began" until it has a record, and the run adds up how long its steps took."""
    run.finish("r", 1, "r/reply/1", {"version": 1, "text": "\0\ud800ü"}, seconds=1.5, now=3.0)
    run.begin("r", 1, "r/call/1", {"tool": "edit"}, now=4.0)
    assert run.read_steps("r")["r/call/1"].state == "began"
    run.finish("r", 1, "r/call/1", {"version": 1}, seconds=2, now=5.0)
    run.begin("r", 1, "r/call/2", {"tool": "edit"}, now=6.0)
    steps = run.read_steps("r")
    assert [(step.key, step.state) for step in steps.values()] == [
        ("r/call/1", "done"),
        ("r/call/2", "began"),
        ("r/reply/1", "done"),
    ]
    assert steps["r/reply/1"].record == {"version": 1, "text": "\0\ud800ü"}
    assert (steps["r/call/1"].began_at, steps["r/call/1"].finished_at) == (4.0, 5.0)
    assert run.get("r").seconds == 3.5


def test_a_step_begins_once(run):
    """A key that is taken stops the second process before its effect, in the same activation and in the next."""
    run.begin("r", 1, "r/call/1", {}, now=3.0)
    with pytest.raises(RunTakenOver, match="was begun already"):
        run.begin("r", 1, "r/call/1", {}, now=3.0)
    run.activate("r", worker="w", now=4.0, max_lives=3)
    with pytest.raises(RunTakenOver, match="was begun already"):
        run.begin("r", 2, "r/call/1", {}, now=5.0)


def test_a_beginning_is_taken_back(run):
    """A step that did not take effect after all may begin, now and in the next activation."""
    for _ in range(2):
        run.begin("r", 1, "r/call/1", {}, now=3.0)
        run.take_back("r", 1, "r/call/1")
        assert run.read_steps("r") == {}
    run.take_back("r", 1, "r/call/2")


def test_only_the_newest_activation_can_take_back_a_begun_step(run):
    """A step that has a record, or that an earlier activation began, stays."""
    run.begin("r", 1, "r/call/1", {}, now=3.0)
    run.begin("r", 1, "r/call/2", {}, now=3.0)
    run.finish("r", 1, "r/call/2", {"n": 1}, seconds=0, now=3.0)
    run.take_back("r", 1, "r/call/2")
    run.activate("r", worker="w", now=4.0, max_lives=3)
    run.take_back("r", 1, "r/call/1")
    run.take_back("r", 2, "r/call/1")
    assert {key: step.state for key, step in run.read_steps("r").items()} == {"r/call/1": "began", "r/call/2": "done"}


def test_a_step_with_a_record_keeps_the_record(run):
    """A second record, a beginning and a second beginning are refused."""
    run.finish("r", 1, "r/call/1", {"n": 1}, seconds=0, now=3.0)
    with pytest.raises(RunTakenOver, match="has a record already"):
        run.finish("r", 1, "r/call/1", {"n": 2}, seconds=0, now=3.0)
    with pytest.raises(RunTakenOver, match="was begun already"):
        run.begin("r", 1, "r/call/1", {}, now=3.0)
    with pytest.raises(RunTakenOver, match="has a record already"):
        run.begin_again("r", 1, "r/call/1", now=3.0)
    assert run.read_steps("r")["r/call/1"].record == {"n": 1}


def test_an_older_activation_cannot_write(run):
    """
    After the next activation, the process of the one before cannot begin or finish a step, note an event, or end the
    run.
    """
    run.begin("r", 1, "r/call/1", {}, now=3.0)
    run.activate("r", worker="v", now=4.0, max_lives=3)
    with pytest.raises(RunTakenOver, match="this process has activation 1, and the newest is 2"):
        run.begin("r", 1, "r/call/2", {}, now=5.0)
    with pytest.raises(RunTakenOver):
        run.finish("r", 1, "r/call/1", {}, seconds=0, now=5.0)
    with pytest.raises(RunTakenOver):
        run.begin_again("r", 1, "r/call/1", now=5.0)
    with pytest.raises(RunTakenOver):
        run.note("r", 1, "x", {}, now=5.0)
    with pytest.raises(RunTakenOver):
        run.end("r", 1, "done", {}, used_decisions=(), now=5.0)
    assert [step.state for step in run.read_steps("r").values()] == ["began"]


def test_an_activation_that_has_ended_can_not_write(run):
    """A task that was forgotten in an activation that has ended records nothing."""
    run.end("r", 1, "waiting", {}, used_decisions=(), now=3.0)
    with pytest.raises(RunTakenOver, match="has ended: the run is waiting"):
        run.begin("r", 1, "r/call/1", {}, now=4.0)


def test_a_step_begins_again_in_a_later_activation(run):
    """A step that may be repeated is begun again once in each activation, and each beginning is an event."""
    with pytest.raises(RunTakenOver, match="was not begun"):
        run.begin_again("r", 1, "r/call/1", now=3.0)
    run.begin("r", 1, "r/call/1", {"tool": "fetch"}, now=3.0)
    with pytest.raises(RunTakenOver, match="was begun already"):
        run.begin_again("r", 1, "r/call/1", now=3.0)
    run.activate("r", worker="w", now=4.0, max_lives=3)
    run.begin_again("r", 2, "r/call/1", now=5.0)
    run.finish("r", 2, "r/call/1", {}, seconds=1, now=6.0)
    events = [(event.number, event.epoch, event.kind, event.at) for event in run.read_events("r")]
    assert events == [
        (1, 0, "created", 1.0),
        (2, 1, "activated", 2.0),
        (3, 1, "began", 3.0),
        (4, 2, "activated", 4.0),
        (5, 2, "began", 5.0),
        (6, 2, "finished", 6.0),
    ]


def test_events_stay_in_order_if_the_clock_jumps_back(run):
    """The order is that in which things happened, also if the clock was wrong."""
    run.finish("r", 1, "r/reply/1", {}, seconds=0, now=1000.0)
    run.begin("r", 1, "r/call/1", {"tool": "x"}, now=10.0)
    run.note("r", 1, "slow", {"n": 1}, now=-5.0)
    run.finish("r", 1, "r/call/1", {}, seconds=0, now=0.0)
    run.end("r", 1, "done", {}, used_decisions=(), now=1e300)
    assert [event.kind for event in run.read_events("r")] == [
        "created",
        "activated",
        "finished",
        "began",
        "slow",
        "finished",
        "ended",
    ]


def test_a_run_that_is_cut_off_too_often_fails(run):
    """The third activation that is cut off is the last one, until the run is retried."""
    run.activate("r", worker="w", now=3.0, max_lives=3)
    assert run.activate("r", worker="w", now=4.0, max_lives=3).lives == 2
    row = run.activate("r", worker="w", now=5.0, max_lives=3)
    assert (row.status, row.epoch, row.lives) == ("failed", 4, 3)
    assert "cut off 3 times in a row" in row.problem
    with pytest.raises(DurableError) as raised:
        run.activate("r", worker="w", now=6.0, max_lives=3)
    assert raised.value.why == "over"
    row = run.retry("r", now=7.0)
    assert (row.status, row.lives, row.problem) == ("queued", 0, "")
    assert run.activate("r", worker="w", now=8.0, max_lives=3).status == "running"


def test_an_activation_that_ends_gives_the_lives_back(run):
    """Only activations in a row count."""
    assert run.activate("r", worker="w", now=3.0, max_lives=3).lives == 1
    assert run.end("r", 2, "waiting", {}, used_decisions=(), now=4.0).lives == 0
    assert run.activate("r", worker="w", now=5.0, max_lives=3).lives == 0


def test_an_activation_may_name_the_epoch_before_it(run):
    """A worker that was given a run late does not take it from the one that has it."""
    with pytest.raises(RunTakenOver, match="its epoch is 1, not 0"):
        run.activate("r", worker="v", now=3.0, max_lives=3, epoch=0)
    assert run.get("r").worker == "w"
    assert run.activate("r", worker="v", now=3.0, max_lives=3, epoch=1).worker == "v"


def test_a_run_that_is_given_back_is_queued(run):
    """A worker that ends in good order costs the run no life."""
    run.activate("r", worker="w", now=3.0, max_lives=3)
    row = run.give_back("r", 2, now=4.0)
    assert (row.status, row.lives, row.worker) == ("queued", 0, "")
    with pytest.raises(RunTakenOver):
        run.give_back("r", 2, now=5.0)
    assert run.activate("r", worker="w", now=6.0, max_lives=3).lives == 0


def test_a_problem_may_be_any_text(run):
    """A character that a database cannot keep becomes an escape, so the end of a run is always recorded."""
    assert run.end("r", 1, "failed", {}, used_decisions=(), problem="\0\ud800ü", now=3.0).problem == "\\0\\ud800ü"
    assert run.read_events("r")[-1].data == {"status": "failed", "problem": "\\0\\ud800ü"}
    run.retry("r", now=4.0)
    assert run.cancel("r", "\0", now=5.0).problem == "\\0"


def test_decisions_wait_for_an_activation(run):
    """A decision stays until an activation says that it has used it, and is taken once."""
    run.end("r", 1, "waiting", {"requests": ["q", "p"]}, used_decisions=(), now=3.0)
    row = run.decide("r", {"q": {"approve": True}}, now=4.0)
    assert row.decisions == {"q": {"approve": True}}
    assert run.activate("r", worker="w", now=5.0, max_lives=3).decisions == {"q": {"approve": True}}
    run.decide("r", {"p": {"approve": False}}, now=5.5)
    row = run.end("r", 2, "waiting", {}, used_decisions=["q"], now=6.0)
    assert row.decisions == {"p": {"approve": False}}
    for request in ("q", "p"):
        with pytest.raises(DurableError, match=f"the request '{request}' of the run 'r' has a decision") as raised:
            run.decide("r", {request: {}}, now=7.0)
        assert raised.value.why == "answered"


CHANGES = {
    "decide": lambda run: run.decide("r", {"q": {}}, now=4.0),
    "cancel": lambda run: run.cancel("r", "", now=4.0),
    "retry": lambda run: run.retry("r", now=4.0),
    "activate": lambda run: run.activate("r", worker="w", now=4.0, max_lives=3),
}
"""What a run that is over refuses."""


@pytest.mark.parametrize("change", CHANGES)
def test_a_run_that_is_over_cannot_be_changed(run, change):
    """The error says how the run ended."""
    run.end("r", 1, "done", {}, used_decisions=(), now=3.0)
    with pytest.raises(DurableError, match="the run 'r' is done") as raised:
        CHANGES[change](run)
    assert raised.value.why == "over"


def test_a_cancelled_run_stops_its_process(run):
    """Cancelling takes the next epoch, and says why; to cancel twice changes nothing."""
    row = run.cancel("r", "too late", now=3.0)
    assert (row.status, row.epoch, row.problem) == ("cancelled", 2, "too late")
    assert run.cancel("r", "again", now=4.0) == row
    with pytest.raises(RunTakenOver):
        run.finish("r", 1, "r/reply/1", {}, seconds=0, now=5.0)
    assert [event.kind for event in run.read_events("r")] == ["created", "activated", "cancelled"]


def test_a_retried_run_continues_where_it_waited(run):
    """The outcome of the failure is dropped, and that of the last pause is back."""
    run.end("r", 1, "waiting", {"saved": 1}, used_decisions=(), now=3.0)
    run.activate("r", worker="w", now=4.0, max_lives=3)
    row = run.end("r", 2, "failed", {"error": "x"}, used_decisions=(), now=5.0)
    assert row.outcome == run.get("r").outcome == {"error": "x"}
    assert run.retry("r", now=6.0).outcome == run.get("r").outcome == {"saved": 1}
    with pytest.raises(DurableError) as raised:
        run.retry("r", now=7.0)
    assert raised.value.why == "busy"


def test_an_activation_ends_with_a_status_of_an_end(run):
    """A run does not become "queued" or "running" by the end of an activation."""
    with pytest.raises(ValueError, match="cannot end as 'running'"):
        run.end("r", 1, "running", {}, used_decisions=(), now=3.0)


@pytest.mark.parametrize("change", CHANGES)
def test_a_run_with_a_plan_is_over(run, change):
    """The run cannot be changed, and purging removes it."""
    run.end("r", 1, "planned", {"plan": "p"}, used_decisions=(), now=3.0)
    with pytest.raises(DurableError, match="is planned") as raised:
        CHANGES[change](run)
    assert raised.value.why == "over"
    assert run.get("r").outcome == {"plan": "p"}
    assert run.purge(before=5.0) == 1


def test_purge_deletes_runs_that_are_over(journal):
    """Runs that ended before that time are gone with all their rows; the others stay."""
    for run_id, status, now in (("old", "done", 10.0), ("new", "failed", 20.0), ("open", "waiting", 5.0)):
        journal.create(run_id, "agent", {}, now=1.0)
        journal.activate(run_id, worker="w", now=2.0, max_lives=3)
        journal.finish(run_id, 1, f"{run_id}/reply/1", {}, seconds=1, now=3.0)
        journal.end(run_id, 1, status, {}, used_decisions=(), now=now)
    assert journal.purge(before=20.0) == 1
    assert [row.id for row in journal.list()] == ["open", "new"]
    row, is_new = journal.create("old", "agent", {}, now=30.0)
    assert is_new
    assert row.seconds == 0
    assert journal.read_steps("old") == {}
    assert len(journal.read_events("old")) == 1


def test_workers_beat(journal):
    """A beat raises the counter of its worker alone."""
    journal.beat("a", {"host": "x"})
    journal.beat("b", {})
    journal.beat("a", {})
    assert journal.read_workers() == {"a": 2, "b": 1}
    journal.remove_worker("a")
    assert journal.read_workers() == {"b": 1}


def test_the_queue_of_a_run_is_the_one_that_was_noted_last(journal):
    """A person may move a run; what there is no note of is None."""
    for run_id in ("b", "t"):
        journal.create(run_id, "agent", {}, queue="billing", now=1.0)
    journal.note("b", 0, "moved", {"queue": "other-one"}, now=5.0)
    assert [journal.find_queue(run_id) for run_id in ("b", "t", "none")] == ["other-one", "billing", None]
