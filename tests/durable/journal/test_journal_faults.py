"""A failure between any two writes: a change of the journal is done as a whole, once, or not at all."""

from __future__ import annotations

import copy
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from tests.durable.journal.faulty_database import FaultyDatabase
from tests.durable.journal.journal_model import JournalModel, RefusedError
from tests.example_counts import limit_examples
from tests.steps.crashing_steps import Killed
from toolkit.durable.errors import DurableError
from toolkit.durable.journal.run_journal import Journal
from toolkit.durable.journal.statements import RUNS
from toolkit.storage.postgres_database import PostgresDatabase
from toolkit.storage.sqlite_database import SQLiteDatabase

MAX_LIVES = 3
RUN_IDS = st.sampled_from(["a", "b/c"])
KEYS = st.sampled_from(["k1", "k2"])
EPOCHS = st.integers(-1, 1)
TIMES = st.sampled_from([0.0, 5.0, 10.0, 1e9])
REQUESTS = st.sampled_from(["q1", "q2", "q3"])
FAULTS = st.one_of(
    st.just((None, 0)),
    st.tuples(st.sampled_from(["kill before", "kill after", "cut"]), st.integers(1, 9)),
    st.just(("repeat", 0)),
)
# Memory is as good as a disk here, and faster.
FOLDER = "/dev/shm" if Path("/dev/shm").is_dir() else None


class JournalMachine(RuleBasedStateMachine):
    """A journal and its model. Each rule does the same to both, with or without a fault."""

    can_cut = False

    def open(self):
        """Return the database."""
        raise NotImplementedError

    @initialize()
    def start(self):
        """Open the journal."""
        self.model = JournalModel()
        self.number = 0
        self.reopen()

    @rule()
    def reopen(self):
        """Go on in another process, whose clock may be behind."""
        if hasattr(self, "database"):
            self.database.close()
        self.database = FaultyDatabase(self.open())
        self.journal = Journal(self.database)

    def do(self, fault, change_journal, change_model):
        """Change both, and compare what came of it."""
        if fault[0] == "cut" and not self.can_cut:
            fault = ("repeat", 0)
        self.database.fault, self.database.position = fault
        expected = copy.deepcopy(self.model)
        refusal = None
        try:
            result = change_model(expected)
        except RefusedError as error:
            refusal = error.why
            expected = self.model
        try:
            actual = change_journal(self.journal)
        except DurableError as error:
            if error.why != refusal:
                raise
        except Killed:
            # The change was committed as a whole, or not at all.
            self.database.fault = None
            if self.find_difference(expected):
                assert self.find_difference(self.model) is None
                return
        else:
            assert refusal is None, refusal
            if isinstance(result, int):
                assert fault[0] == "repeat" or actual == result
        self.database.fault = None
        self.model = expected

    @rule(fault=FAULTS, run=RUN_IDS, now=TIMES)
    def create(self, fault, run, now):
        """Create a run."""
        self.do(fault, lambda j: j.create(run, "agent", {}, now=now), lambda m: m.create(run, now))

    @rule(fault=FAULTS, run=RUN_IDS, now=TIMES)
    def activate(self, fault, run, now):
        """Take a run."""
        self.do(
            fault,
            lambda j: j.activate(run, worker="w", now=now, max_lives=MAX_LIVES),
            lambda m: m.activate(run, now, MAX_LIVES),
        )

    def find_epoch(self, run, difference):
        """Return the epoch of a run, or one beside it."""
        return self.model.runs[run].epoch + difference if run in self.model.runs else 1

    @rule(fault=FAULTS, run=RUN_IDS, older=EPOCHS, key=KEYS, now=TIMES)
    def begin(self, fault, run, older, key, now):
        """Begin a step."""
        epoch = self.find_epoch(run, min(older, 0))
        self.do(fault, lambda j: j.begin(run, epoch, key, {}, now=now), lambda m: m.begin(run, epoch, key))

    @rule(fault=FAULTS, run=RUN_IDS, older=EPOCHS, key=KEYS, now=TIMES)
    def begin_again(self, fault, run, older, key, now):
        """Begin a step again."""
        epoch = self.find_epoch(run, min(older, 0))
        self.do(fault, lambda j: j.begin_again(run, epoch, key, now=now), lambda m: m.begin_again(run, epoch, key))

    @rule(fault=FAULTS, run=RUN_IDS, older=EPOCHS, key=KEYS, now=TIMES)
    def finish(self, fault, run, older, key, now):
        """Finish a step, with a record of its own."""
        epoch = self.find_epoch(run, min(older, 0))
        self.number += 1
        record = {"n": self.number}
        self.do(
            fault,
            lambda j: j.finish(run, epoch, key, record, seconds=1, now=now),
            lambda m: m.finish(run, epoch, key, record),
        )

    @rule(fault=FAULTS, run=RUN_IDS, older=EPOCHS, now=TIMES)
    def note(self, fault, run, older, now):
        """Add an event."""
        epoch = self.find_epoch(run, min(older, 0))
        self.do(fault, lambda j: j.note(run, epoch, "slow", {}, now=now), lambda m: m.note(run, epoch, "slow"))

    @rule(
        fault=FAULTS,
        run=RUN_IDS,
        older=EPOCHS,
        status=st.sampled_from(["waiting", "planned", "done", "stopped", "failed"]),
        used=st.lists(REQUESTS, max_size=2),
        now=TIMES,
    )
    def end(self, fault, run, older, status, used, now):
        """End an activation."""
        epoch = self.find_epoch(run, min(older, 0))
        self.number += 1
        outcome = {"n": self.number}
        self.do(
            fault,
            lambda j: j.end(run, epoch, status, outcome, used_decisions=used, now=now),
            lambda m: m.end(run, epoch, status, outcome, used, now),
        )

    @rule(fault=FAULTS, run=RUN_IDS, older=EPOCHS, now=TIMES)
    def give_back(self, fault, run, older, now):
        """Give a run back."""
        epoch = self.find_epoch(run, min(older, 0))
        self.do(fault, lambda j: j.give_back(run, epoch, now=now), lambda m: m.give_back(run, epoch, now))

    @rule(fault=FAULTS, run=RUN_IDS, requests=st.sets(REQUESTS, min_size=1, max_size=2), now=TIMES)
    def decide(self, fault, run, requests, now):
        """Decide on requests."""
        decisions = {request: {"approve": True} for request in requests}
        self.do(fault, lambda j: j.decide(run, decisions, now=now), lambda m: m.decide(run, decisions, now))

    @rule(fault=FAULTS, run=RUN_IDS, now=TIMES)
    def cancel(self, fault, run, now):
        """Cancel a run."""
        self.do(fault, lambda j: j.cancel(run, "", now=now), lambda m: m.cancel(run, now))

    @rule(fault=FAULTS, run=RUN_IDS, now=TIMES)
    def retry(self, fault, run, now):
        """Retry a run."""
        self.do(fault, lambda j: j.retry(run, now=now), lambda m: m.retry(run, now))

    @rule(fault=FAULTS, run=RUN_IDS, now=TIMES)
    def execute(self, fault, run, now):
        """Carry out the plan of a run."""
        order = {"prompt": "Go.", "mode": "default"}
        self.do(fault, lambda j: j.execute(run, order, now=now), lambda m: m.execute(run, order, now))

    @rule(fault=FAULTS, before=TIMES)
    def purge(self, fault, before):
        """Purge old runs."""
        self.do(fault, lambda j: j.purge(before=before), lambda m: m.purge(before))

    @invariant()
    def is_like_the_model(self):
        """Compare the journal with the model: both hold the same."""
        if hasattr(self, "journal"):
            assert self.find_difference(self.model) is None

    def find_difference(self, model):
        """Return a text that says where the journal differs from *model*; None if it does not."""
        rows = {row.id: row for row in self.journal.list()}
        if rows.keys() != model.runs.keys():
            return f"runs: {rows.keys()} {model.runs.keys()}"
        for run_id, run in model.runs.items():
            row = rows[run_id]
            actual = (row.status, row.epoch, row.lives, row.outcome, row.decisions, row.updated_at, row.seconds)
            seconds = float(len(run.records))
            expected = (
                run.status, run.epoch, run.lives, run.shown_outcome, run.decisions, run.updated_at, seconds,
            )  # fmt: skip
            if actual != expected:
                return f"run {run_id}: {actual} {expected}"
            steps = self.journal.read_steps(run_id)
            states = {key: "done" if key in run.records else "began" for key in {**run.began, **run.records}}
            if {key: step.state for key, step in steps.items()} != states:
                return f"steps of {run_id}: {steps} {states}"
            if {key: step.record for key, step in steps.items() if step.record is not None} != run.records:
                return f"records of {run_id}: {steps} {run.records}"
            events = [(event.epoch, event.kind, event.key) for event in self.journal.read_events(run_id)]
            if sorted(map(repr, events)) != sorted(map(repr, run.events)):
                return f"events of {run_id}: {events} {run.events}"
        return None

    def teardown(self):
        """Close the journal."""
        if hasattr(self, "database"):
            self.database.close()


def build_sqlite_machine():
    """Return a machine whose journal is in a SQLite file."""

    class SQLiteMachine(JournalMachine):
        def open(self):
            if not hasattr(self, "folder"):
                self.folder = tempfile.mkdtemp(dir=FOLDER)
            return SQLiteDatabase(f"{self.folder}/runs.sqlite", RUNS)

        def teardown(self):
            super().teardown()
            shutil.rmtree(self.folder, ignore_errors=True)

    return SQLiteMachine


def build_postgres_machine(url):
    """Return a machine whose journal is in PostgreSQL."""

    class PostgresMachine(JournalMachine):
        can_cut = True

        def open(self):
            database = PostgresDatabase(url, RUNS)
            if not hasattr(self, "database"):
                database.change(
                    lambda execute: execute("TRUNCATE toolkit_runs, toolkit_steps, toolkit_events, toolkit_workers", ())
                )
            return database

    return PostgresMachine


def test_faults_in_sqlite():
    """A few random histories of a journal in a SQLite file agree with the model."""
    run_state_machine_as_test(build_sqlite_machine(), settings=settings(max_examples=3, stateful_step_count=20))


@pytest.mark.long
@pytest.mark.unmeasured
def test_many_faults_in_sqlite():
    """Many random histories of a journal in a SQLite file agree with the model."""
    run_state_machine_as_test(
        build_sqlite_machine(), settings=settings(max_examples=limit_examples(300), stateful_step_count=40)
    )


@pytest.mark.long
@pytest.mark.unmeasured
def test_faults_in_postgres(postgres_url):
    """Random histories of a journal in PostgreSQL agree with the model."""
    run_state_machine_as_test(
        build_postgres_machine(postgres_url), settings=settings(max_examples=8, stateful_step_count=30)
    )
