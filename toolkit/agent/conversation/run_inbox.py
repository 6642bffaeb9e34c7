"""
What people say to a run while it goes on. The model reads it with its next turn.

Any thread may say something. An inbox that is closed takes nothing more, so a message is either refused or read: it
cannot be lost between the model's last turn and the end of the run.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator

from ..._plumbing.forks import unlock_in_children
from ...errors import ToolkitError
from ...providers.messages import UserMessage

__all__ = ["NotRunning", "RunInbox", "RunInboxes"]


class NotRunning(ToolkitError):  # noqa: N818 -- the name says what happened
    """Something was said to a run of an agent, and there is no such run under way."""


class RunInbox:
    """The messages for one run that its model has not read yet, with those that were left when it was interrupted."""

    def __init__(self, messages: Iterable[UserMessage] = ()) -> None:
        self._lock = unlock_in_children(threading.RLock())  # a signal handler may interrupt its own thread
        self._messages = list(messages)
        self._is_open = True

    @property
    def messages(self) -> tuple[UserMessage, ...]:
        """The messages that were not taken yet, in order."""
        with self._lock:
            return tuple(self._messages)

    @property
    def is_open(self) -> bool:
        return self._is_open

    def add(self, message: UserMessage) -> bool:
        """Add *message*. Return False if the inbox is closed."""
        with self._lock:
            if self._is_open:
                self._messages.append(message)
            return self._is_open

    def take_all(self) -> list[UserMessage]:
        with self._lock:
            messages, self._messages = self._messages, []
            return messages

    def discard(self, messages: Iterable[UserMessage]) -> None:
        """Remove those of *messages* that are here, each once."""
        with self._lock:
            for message in messages:
                if message in self._messages:
                    self._messages.remove(message)

    def close_if_empty(self) -> bool:
        """Close the inbox if it has no messages. Return whether it is closed."""
        with self._lock:
            self._is_open = self._is_open and bool(self._messages)
            return not self._is_open

    def close(self) -> None:
        """Close the inbox. Messages that are left stay in it."""
        with self._lock:
            self._is_open = False


class RunInboxes:
    """The inboxes of the runs of one agent that are under way, in the order in which the runs were started."""

    def __init__(self) -> None:
        self._lock = unlock_in_children(threading.RLock())  # a signal handler may interrupt its own thread
        self._entries: list[tuple[str, RunInbox]] = []

    @contextlib.contextmanager
    def register(self, run_id: str, inbox: RunInbox) -> Iterator[None]:
        """Let *inbox* of the run with *run_id* be found inside the block. It is closed after the block."""
        entry = run_id, inbox
        with self._lock:
            self._entries = [*self._entries, entry]
        try:
            yield
        finally:
            inbox.close()
            with self._lock:
                self._entries = [other for other in self._entries if other is not entry]

    def open_ids(self) -> tuple[str, ...]:
        """Return the ids of the runs that can be spoken to, in the order in which they were started."""
        with self._lock:
            return tuple(dict.fromkeys(run_id for run_id, inbox in self._entries if inbox.is_open))

    def add(self, message: UserMessage, run_id: str | None) -> None:
        """Add *message* to the inbox of the run with *run_id*, or of the only run if that is None."""
        with self._lock:  # no run starts between the question which are open and the choice of the inbox
            open_ids = self.open_ids()
            inboxes = [inbox for own_id, inbox in self._entries if run_id in (None, own_id)]
        if run_id is None and len(open_ids) > 1:
            raise ValueError(
                f"{len(open_ids)} runs of this agent are under way ({', '.join(open_ids)}); "
                "say to which: agent.say(text, run=run_id)"
            )
        # The same run may have been continued twice at once; each of the two is told.
        if not sum([inbox.add(message) for inbox in inboxes]):
            raise NotRunning(_explain_missing_run(run_id, open_ids))


def _explain_missing_run(run_id: str | None, open_ids: tuple[str, ...]) -> str:
    remedy = "give it as the prompt of the next: agent.run(text, run=run)"
    if run_id is None:
        return f"no run of this agent is under way, so no model would read this; {remedy}"
    others = f"; under way are {', '.join(open_ids)}" if open_ids else ""
    return f"the run {run_id!r:.80} of this agent is not under way, so no model would read this; {remedy}{others}"
