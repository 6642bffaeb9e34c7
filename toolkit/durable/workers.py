"""
The life signs of workers, and the work that dead workers leave behind.

Each host that works on runs raises its counter in the journal from a thread of its own, so that a tool that blocks the
event loop does not make it look dead. It watches the counters of the others. A worker is dead if its counter does not
change for `takeover_seconds` by the clock of the observer, or at once if it was a process of this machine that has
ended. So clocks of different machines are never compared. A worker that was taken for dead and lives is harmless: its
activations are fenced off, and it stops them when it sees so.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from .._plumbing.forks import unlock_in_children
from ..storage.process_owner import is_alive
from .errors import DurableError
from .journal.run_journal import Journal

__all__ = ["BEATS_PER_TAKEOVER", "Heart", "Observer"]

BEATS_PER_TAKEOVER = 5
"""How often a worker shows that it lives within the time after which it is taken for dead."""

_log = logging.getLogger("toolkit")


class Observer:
    """
    Tells dead workers from living ones, by counters that stay the same for *takeover_seconds*.

    The time between two looks counts for at most *max_gap_seconds*. Without that, an observer that was frozen would
    take all others for dead when it goes on.
    """

    def __init__(
        self, takeover_seconds: float, max_gap_seconds: float, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._takeover_seconds = takeover_seconds
        self._max_gap_seconds = max_gap_seconds
        self._clock = clock
        self._looked_at: float | None = None
        self._counters: Mapping[str, int] = {}
        self._silent_seconds: dict[str, float] = {}

    def look(self, counters: Mapping[str, int]) -> None:
        """Take note of the *counters* of all workers, as they are now."""
        now = self._clock()
        gap = 0.0 if self._looked_at is None else min(now - self._looked_at, self._max_gap_seconds)
        self._silent_seconds = {
            worker: self._silent_seconds.get(worker, 0.0) + gap if self._counters.get(worker) == counter else 0.0
            for worker, counter in counters.items()
        }
        self._looked_at, self._counters = now, dict(counters)

    def is_dead(self, worker: str, counters: Mapping[str, int]) -> bool:
        """
        Return whether *worker* is dead: it has no counter, its process has ended, or it is silent.

        *counters* have to be newer than the knowledge that *worker* was at work, because it may be new.
        """
        is_silent = self._silent_seconds.get(worker, 0.0) >= self._takeover_seconds
        return worker not in counters or is_alive(worker.partition(".")[0]) is False or is_silent

    def find_dead(self) -> Collection[str]:
        """Return the workers that have a counter, and are dead."""
        counters = self._counters
        return [worker for worker in counters if self.is_dead(worker, counters)]


@dataclass(eq=False)
class Heart:
    """
    A thread that raises the counter of this worker, and calls functions of its host at every beat.

    *describe* returns what the journal says about this worker, for people. An exception of *on_beat* is logged.
    """

    journal: Journal
    worker: str
    observer: Observer
    _: KW_ONLY
    beat_seconds: float
    describe: Callable[[], Mapping[str, Any]]
    on_beat: Callable[[], None]
    _has_to_stop: threading.Event = field(init=False, default_factory=threading.Event)
    _thread: threading.Thread | None = field(init=False, default=None)
    _lock: threading.Lock = field(init=False, default_factory=lambda: unlock_in_children(threading.Lock()))

    def start(self) -> None:
        """Beat once, and go on in a thread. It does nothing if the heart beats already. It blocks."""
        with self._lock:
            if self._thread is not None:
                return
            self._beat()
            self._has_to_stop.clear()
            self._thread = threading.Thread(target=self._run, name="toolkit-heart", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Stop beating, and remove the counter. The host has to have ended its activations before. It blocks."""
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is not None:
            self._has_to_stop.set()
            thread.join()
            with contextlib.suppress(DurableError):  # the others will find out
                self.journal.remove_worker(self.worker)

    def _beat(self) -> None:
        self.journal.beat(self.worker, self.describe())
        self.observer.look(self.journal.read_workers())

    def _run(self) -> None:
        was_lost = False
        while not self._has_to_stop.wait(self.beat_seconds):
            try:
                self._beat()
                self.on_beat()
                was_lost = False
            except DurableError as error:
                # The others cannot reach the database either, or they take this worker for dead, which is harmless.
                if not was_lost:
                    _log.warning("this worker cannot show that it lives: %s", error)
                was_lost = True
            except Exception:  # noqa: BLE001 -- a worker whose heart stops would be taken for dead
                _log.exception("a worker's look at the others failed")
