"""
DBOS as the engine of durable runs, on SQLite or PostgreSQL.

A job is a DBOS workflow, which calls the worker's function and has no steps of its own. Only public functions of DBOS
are used. Clients need no worker: `enqueue`, `withdraw` and `take_back` go through a `DBOSClient`, and a process can
have any number of those. A worker needs the `DBOS` object, of which a process can have one. So a process can have one
worker.

DBOS gets its own threads, and no event loop of the user: its workflow is a plain function, and DBOS is started in a
thread without a loop. It writes its log to the logger "dbos", to which it adds no handler here. It has no signal
handlers.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dbos import DBOS, DBOSClient, WorkflowStatus
from dbos import error as dbos_errors
from sqlalchemy.exc import SQLAlchemyError

from .._plumbing.forks import unlock_in_children
from .database_address import hide_password
from .dbos_json import JsonSerializer, refuse_pickles
from .dbos_tables import prepare_tables
from .engine import MAX_PRIORITY, Engine, Perform, RunJob, RunLimits
from .errors import DurableError

__all__ = ["DbosEngine"]

_WORKFLOW = "toolkit.activation"
_VERSION = 1
"""The version of the workflow. A job of another version is left to the workers of that version."""

_UNFINISHED = ("ENQUEUED", "DELAYED", "PENDING")
_MAX_IDS = 500
_NO_PRINCIPAL = "-"
_MAX_ATTEMPTS = 20

_log = logging.getLogger("toolkit")
_lock = unlock_in_children(threading.Lock())
_worker_engine: DbosEngine | None = None
_workflow: Callable[[str], None] | None = None


class _Abandoned(BaseException):
    """Leaves a workflow without an outcome. DBOS records one for every other exception and for every return."""


class DbosEngine(Engine):
    """
    The engine of one database. `Engine` says what its methods do.

    Runs of different queues (*name*) in one database have different workers. `place` is the address without password.
    """

    def __init__(self, url: str, *, name: str = "toolkit", poll_seconds: float = 0.1) -> None:
        self._url = url
        self.place = hide_password(url)
        self._name = name
        self._version = _version_of(name)
        self._poll_seconds = poll_seconds
        self._serializer = JsonSerializer()
        self._worker: _Worker | None = None
        self._resources = contextlib.ExitStack()
        _leave_logging_alone()
        with _translated_errors():
            prepare_tables(url)
            self._client = DBOSClient(
                system_database_url=url,
                serializer=self._serializer,
                application_name=name,
                retry_connection_errors=False,
            )

    # For every process.

    def enqueue(self, job: RunJob) -> None:
        with _translated_errors():
            earlier = self._find_earlier(job)
            queue = job.queue or (earlier and earlier.queue_name) or self._name
            options: dict[str, Any] = {
                "workflow_name": _WORKFLOW,
                "queue_name": queue,
                "application_name": queue,
                "workflow_id": job.id,
                "workflow_id_reuse_policy": "reject",
                "app_version": _version_of(queue),
                "priority": _choose_priority(job, earlier),
                # A queue with a limit for each principal delivers only jobs that have one.
                "queue_partition_key": job.principal or _NO_PRINCIPAL,
            }
            if job.delay_seconds > 0:
                options["delay_seconds"] = job.delay_seconds
            for _ in range(_MAX_ATTEMPTS):
                try:
                    self._client.enqueue(options, job.run_id)  # type: ignore[arg-type]  # a TypedDict, in two steps
                except dbos_errors.DBOSWorkflowIDInUseError:
                    if self._reuse(job, queue):
                        return
                else:
                    return
            raise DurableError(f"the job {job.id!r} could not be enqueued: others remove it all the time", why="busy")

    def _reuse(self, job: RunJob, queue: str) -> bool:
        """Return whether a job with the id of *job* will be delivered when and where it should; if not, remove it."""
        status = self._read_status(job.id)
        if status is None:
            return False  # it was removed just now
        is_delayed = status.status == "DELAYED"
        is_elsewhere = status.status != "PENDING" and status.queue_name != queue
        if status.status not in _UNFINISHED or is_elsewhere or (is_delayed and not job.delay_seconds):
            # Workers look once a second for jobs whose delay is over, and much more often for new ones.
            self._client.delete_workflows([job.id])
            return False
        if is_delayed:
            self._client.set_workflow_delay(job.id, delay_seconds=job.delay_seconds)
        return True

    def _find_earlier(self, job: RunJob) -> WorkflowStatus | None:
        """Return the job that *job* is made from once more, or the job before it."""
        statuses = (None if job_id is None else self._read_status(job_id) for job_id in (job.id, job.after))
        return next(filter(None, statuses), None)

    def _read_status(self, job_id: str) -> WorkflowStatus | None:
        return next(iter(self._list(workflow_ids=[job_id])), None)

    def _list(self, **filters: Any) -> Sequence[WorkflowStatus]:
        return self._client.list_workflows(load_input=False, load_output=False, **filters)

    def find_missing(self, job_ids: Sequence[str]) -> Sequence[str]:
        present: set[str] = set()
        with _translated_errors():
            for ids in _split(job_ids):
                statuses = self._list(workflow_ids=ids, status=["ENQUEUED", "PENDING"])
                present |= {status.workflow_id for status in statuses}
        return [job_id for job_id in job_ids if job_id not in present]

    def list_busy_workers(self) -> Collection[str]:
        with _translated_errors():
            statuses = self._list(status="PENDING", name=_WORKFLOW, queue_name=self._name)
        return {status.executor_id for status in statuses if status.executor_id is not None}

    def withdraw(self, job_ids: Sequence[str]) -> None:
        with _translated_errors():
            for ids in _split(job_ids):
                waiting = self._list(workflow_ids=ids, status=["ENQUEUED", "DELAYED"])
                if waiting:
                    self._client.cancel_workflows([status.workflow_id for status in waiting])

    def take_back(self, worker: str) -> Sequence[str]:
        with _translated_errors():
            statuses = self._list(executor_id=worker, status="PENDING", name=_WORKFLOW)
            job_ids = [status.workflow_id for status in statuses]
            for ids in _split(job_ids):
                self._client.resume_workflows(ids, queue_name=self._name)
        return job_ids

    def forget(self, job_ids: Sequence[str]) -> None:
        with _translated_errors():
            for ids in _split(job_ids):
                self._client.delete_workflows(ids)

    def close(self) -> None:
        self.stop_worker()
        self._client.destroy()

    # For a worker.

    def start_worker(self, worker: str, perform: Perform, limits: RunLimits) -> None:
        global _worker_engine  # noqa: PLW0603 -- a process can have one DBOS object
        with _lock:
            if _worker_engine is not None:
                raise DurableError(
                    f"this process has a worker for {_worker_engine.place!r} already, and DBOS can have one in a "
                    "process; stop that one first, or start this one in another process",
                    why="busy",
                )
            self._worker = _Worker(worker, perform)
            _worker_engine = self
            try:
                with _translated_errors():
                    self._register_queue(limits)
                    self._launch(worker, limits)
            except BaseException:
                _worker_engine = self._worker = None
                raise

    def _launch(self, worker: str, limits: RunLimits) -> None:
        _register_workflow()
        DBOS(
            config={
                "name": self._name,
                "system_database_url": self._url,
                "executor_id": worker,
                "application_version": self._version,
                "serializer": self._serializer,
                "log_level": logging.getLogger("dbos").level,  # type: ignore[typeddict-item]  # it takes both
                "sys_db_pool_size": max(5, limits.concurrency),
            }
        )
        if DBOS.executor_id != worker:
            # There was a DBOS object. It keeps its configuration, and it is not ours to change.
            raise DurableError(
                "this process uses DBOS for something else, and DBOS can have one database in a process; start the "
                "worker in a process of its own",
                why="busy",
            )
        self._resources.enter_context(refuse_pickles())
        try:
            DBOS.listen_queues([self._name])
            DBOS.launch()
        except BaseException:
            DBOS.destroy()
            self._resources.close()
            raise

    def _register_queue(self, limits: RunLimits) -> None:
        total, per_principal = limits.total_concurrency, limits.per_principal
        concurrency = limits.concurrency if total is None else min(limits.concurrency, total)
        before = self._client.retrieve_queue(self._name)
        if before is not None and before.worker_concurrency not in (None, concurrency):
            _log.warning(
                "the workers of the queue %r had a concurrency of %s, and have %s from now on",
                self._name,
                before.worker_concurrency,
                concurrency,
            )
        self._client.register_queue(
            self._name,
            worker_concurrency=concurrency,
            global_concurrency=total,
            partition_concurrency=per_principal
            if total is None or per_principal is None
            else min(per_principal, total),
            limiter=None if limits.rate is None else {"limit": limits.rate[0], "period": limits.rate[1]},
            polling_interval_sec=self._poll_seconds,
            on_conflict="always_update",
        )

    def deliver(self, run_id: str) -> None:
        """Let the worker do the current job, which is about *run_id*. DBOS calls this method in a thread."""
        job_id, worker = DBOS.workflow_id, self._worker
        if worker is None or job_id is None or not isinstance(run_id, str):
            raise DurableError(f"the job {job_id!r} is not one of this engine", why="value")
        delivery = "return" if worker.has_stopped else worker.perform(run_id)
        with _translated_errors():
            if delivery == "return":
                self._client.resume_workflows([job_id], queue_name=self._name)
                raise _Abandoned
            if delivery == "lost" and not self._owns(worker.id, job_id):
                raise _Abandoned  # DBOS would wait in this thread until the other worker has done the job
            if worker.has_stopped:
                # DBOS cannot write any more that the workflow has ended.
                self._client.cancel_workflows([job_id])
                raise _Abandoned

    def _owns(self, worker_id: str, job_id: str) -> bool:
        status = self._read_status(job_id)
        return status is not None and status.status == "PENDING" and status.executor_id == worker_id

    def stop_worker(self) -> None:
        global _worker_engine  # noqa: PLW0603 -- as above
        with _lock:
            if _worker_engine is not self or self._worker is None:
                return
            self._worker.has_stopped = True
            DBOS.destroy()
            self._resources.close()
            _worker_engine = self._worker = None


@dataclass(slots=True, eq=False)
class _Worker:
    """The worker of this process."""

    id: str
    perform: Perform
    has_stopped: bool = False


def _forget_worker() -> None:
    global _worker_engine  # noqa: PLW0603 -- as above
    _worker_engine = None


if hasattr(os, "register_at_fork"):
    # The threads of DBOS have stayed in the parent, so a child has no worker. DBOS itself is of no use there.
    os.register_at_fork(after_in_child=_forget_worker)


def _register_workflow() -> None:
    global _workflow  # noqa: PLW0603 -- DBOS has one table of workflows in a process
    if _workflow is None:
        # The runs have limits of their own for how often they are begun.
        _workflow = DBOS.workflow(name=_WORKFLOW, max_recovery_attempts=None)(_deliver_job)


def _deliver_job(run_id: str) -> None:
    engine = _worker_engine
    if engine is None:
        raise _Abandoned  # the worker was stopped meanwhile, and `take_back` puts its jobs back
    engine.deliver(run_id)


def _leave_logging_alone() -> None:
    """Keep DBOS from writing its log to the console: it adds a handler of its own if its logger has none."""
    logger = logging.getLogger("dbos")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.WARNING)  # it reports every start and every table that it makes


@contextlib.contextmanager
def _translated_errors() -> Iterator[None]:
    """Raise a `DurableError` with `why="store"` in place of the errors of DBOS and of the database."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error, dbos_errors.DBOSException, OSError) as error:
        first_line = str(error).strip().partition("\n")[0]
        raise DurableError(f"the engine's database cannot be used: {first_line}", why="store") from error


def _version_of(queue: str) -> str:
    """Return the version of the jobs of *queue*. Its name belongs to one application, and each queue is one."""
    return f"{queue}-{_VERSION}"


def _choose_priority(job: RunJob, earlier: WorkflowStatus | None) -> int:
    """Return the number of the priority: DBOS begins with the lowest, and takes 1 and above."""
    if job.priority is not None:
        return 1 + MAX_PRIORITY - job.priority
    return (earlier and earlier.priority) or 1 + MAX_PRIORITY


def _split(ids: Sequence[str]) -> Iterator[list[str]]:
    """Yield *ids* in lists that are short enough for one statement."""
    for start in range(0, len(ids), _MAX_IDS):
        yield list(ids[start : start + _MAX_IDS])
