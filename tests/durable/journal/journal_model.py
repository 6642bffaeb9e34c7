"""A journal as plain dictionaries: what the real one has to do, without a database and without its code."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["JournalModel", "RefusedError"]

OVER = ("planned", "done", "stopped", "failed", "cancelled")


class RefusedError(Exception):
    """The model refuses; `why` is the word that the journal has to give."""

    def __init__(self, why):
        super().__init__(why)
        self.why = why


@dataclass
class ModelRun:
    """A run."""

    status: str = "queued"
    epoch: int = 0
    lives: int = 0
    outcome: dict | None = None
    paused: dict | None = None
    decisions: dict = field(default_factory=dict)
    answered: set = field(default_factory=set)
    updated_at: float = 0.0
    began: dict = field(default_factory=dict)
    records: dict = field(default_factory=dict)
    events: list = field(default_factory=list)

    @property
    def shown_outcome(self):
        """What a reader of the run gets as its outcome."""
        return self.paused if self.outcome is None else self.outcome


class JournalModel:
    """All runs by their ids."""

    def __init__(self):
        self.runs = {}

    def _require(self, run_id):
        if run_id not in self.runs:
            raise RefusedError("unknown")
        return self.runs[run_id]

    def _require_newest(self, run_id, epoch):
        run = self._require(run_id)
        if run.epoch != epoch or run.status != "running":
            raise RefusedError("fenced")
        return run

    def _log(self, run, kind, key=None):
        run.events.append((run.epoch, kind, key))

    def create(self, run_id, now):
        if run_id not in self.runs:
            self.runs[run_id] = ModelRun(updated_at=now)
            self._log(self.runs[run_id], "created")

    def activate(self, run_id, now, max_lives):
        run = self._require(run_id)
        if run.status in OVER:
            raise RefusedError("over")
        run.lives += run.status == "running"
        run.epoch += 1
        run.status = "failed" if run.lives >= max_lives else "running"
        run.updated_at = now
        self._log(run, "activated")

    def begin(self, run_id, epoch, key):
        run = self._require_newest(run_id, epoch)
        if key in run.began or key in run.records:
            raise RefusedError("fenced")
        run.began[key] = epoch
        self._log(run, "began", key)

    def begin_again(self, run_id, epoch, key):
        run = self._require_newest(run_id, epoch)
        if key in run.records or run.began.get(key, epoch) >= epoch:
            raise RefusedError("fenced")
        run.began[key] = epoch
        self._log(run, "began", key)

    def finish(self, run_id, epoch, key, record):
        run = self._require_newest(run_id, epoch)
        if key in run.records:
            raise RefusedError("fenced")
        run.records[key] = record
        self._log(run, "finished", key)

    def note(self, run_id, epoch, kind):
        run = self._require(run_id)
        if run.epoch != epoch:
            raise RefusedError("fenced")
        self._log(run, kind)

    def end(self, run_id, epoch, status, outcome, used, now):
        run = self._require_newest(run_id, epoch)
        if status in ("waiting", "planned"):
            run.paused, run.outcome = outcome, None
        else:
            run.outcome = outcome
        run.status, run.lives, run.updated_at = status, 0, now
        run.decisions = {request: decision for request, decision in run.decisions.items() if request not in used}
        self._log(run, "waiting" if status == "waiting" else "ended")

    def give_back(self, run_id, epoch, now):
        run = self._require_newest(run_id, epoch)
        run.status, run.lives, run.updated_at = "queued", 0, now
        self._log(run, "given_back")

    def decide(self, run_id, decisions, now):
        run = self._require(run_id)
        if run.status in OVER:
            raise RefusedError("over")
        if run.answered & decisions.keys():
            raise RefusedError("answered")
        run.answered |= decisions.keys()
        run.decisions.update(decisions)
        run.updated_at = now
        self._log(run, "decided")

    def cancel(self, run_id, now):
        run = self._require(run_id)
        if run.status == "cancelled":
            return
        if run.status in OVER:
            raise RefusedError("over")
        run.status, run.updated_at = "cancelled", now
        run.epoch += 1
        self._log(run, "cancelled")

    def retry(self, run_id, now):
        run = self._require(run_id)
        if run.status in ("done", "planned"):
            raise RefusedError("over")
        if run.status not in OVER:
            raise RefusedError("busy")
        run.status, run.outcome, run.lives, run.updated_at = "queued", None, 0, now
        self._log(run, "retried")

    def execute(self, run_id, order, now):
        run = self._require(run_id)
        if run.status != "planned":
            raise RefusedError("over")
        run.status, run.outcome, run.lives, run.updated_at = "queued", None, 0, now
        run.decisions["(plan)"] = order
        self._log(run, "executed")

    def purge(self, before):
        old = [key for key, run in self.runs.items() if run.status in OVER and run.updated_at < before]
        for key in old:
            del self.runs[key]
        return len(old)
