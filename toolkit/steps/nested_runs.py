"""
Runs inside a step: the runs of agents and flows that the function of a call starts itself.

Such a run is a part of the run that the step belongs to. Its steps are kept in the same place, under the key of the
call, and its requests are requests of that run. If it has to wait for people, the call waits. When they have answered,
the function runs again from its start: runs that are over return what came of them, and the one that waited goes on.

    CALL/inner/1                    the first run that the function starts, with a digest of what it was asked
    CALL/inner/1/reply/2            the second reply of its model
    CALL/inner/1/stop/1             how it ended or where it waited, for the first time

The runs of a function are numbered in the order in which they start. When the function runs again, a run gets the
number of the run that was asked the same. So runs that are started at the same time keep their numbers in every order.
A function that starts one run after the other has to ask the same each time, or what was done would be done twice.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn, TypeVar

from ..approvals.records import ApprovalError, is_temporary
from ..calls.propagation import CallPaused
from ..decisions import ApprovalRequest
from ..errors import ToolkitError
from ..results import ToolCall, ToolResult
from .base import Steps, read_note, write_note
from .expense import Expense
from .notes import CallPause

__all__ = ["InnerRunChanged", "NestedRun", "NestedRuns"]

_ENDING_SECONDS = 10.0
_NOTHING = Expense()
_PAUSED = "people have to answer first, and then the function runs again"
T = TypeVar("T")


class InnerRunChanged(ToolkitError):  # noqa: N818 -- the name says what happened
    """A function that runs again asks an agent or a flow inside it something else than before."""


class NestedRuns:
    """
    The runs that the function of one call starts.

    The *key* of the call is the same each time the function runs again. If it does, *before* says why the call waited.

    Attributes:
        loop: The event loop of the run that the call belongs to.
        failure: An error of the `Steps` themselves, `InnerRunChanged`, or an answer that cannot be applied now. It ends
            the work on the run that the call belongs to.
    """

    def __init__(self, steps: Steps, key: str, before: CallPause | None) -> None:
        self.loop = asyncio.get_running_loop()
        self._requests: dict[int, Sequence[ApprovalRequest]] = {}
        self.failure: Exception | None = None
        self._steps = steps
        self._key = key
        self._before = before or CallPause()
        self._spent: dict[str, Expense] = {}
        self._notes: list[Mapping[str, Any]] | None = None
        self._taken: set[int] = set()
        self._lock = asyncio.Lock()
        self._at_work: set[asyncio.Task[Any]] = set()
        self._left_behind: set[asyncio.Task[Any]] = set()
        self._changed = asyncio.Event()
        self._is_paused = False

    def restart(self) -> None:
        """Begin to count again, because the function runs again from its start."""
        self._taken.clear()
        self._left_behind |= self._at_work

    @property
    def requests(self) -> Sequence[ApprovalRequest]:
        """The requests of the runs that wait, in the order of the runs."""
        return [request for number in sorted(self._requests) for request in self._requests[number]]

    @property
    def spent(self) -> Expense:
        """What the runs have used since the call last waited."""
        before = self._before.spent
        new = [spent - before.get(number, _NOTHING) for number, spent in self._spent.items()]
        # A run whose provider has failed may have come further before than now.
        return sum((spent for spent in new if spent.turns >= 0 and spent.calls >= 0), start=_NOTHING)

    def wait_for(self, start: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return what the coroutine of *start* returns in the loop of the run, for a function that runs in a thread."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run_coroutine_threadsafe(start(), self.loop).result()
        raise RuntimeError("a sync method would block the event loop here; await the method without `_sync`")

    @contextlib.asynccontextmanager
    async def open(self, subject: str, inputs: str, identity: str = "") -> AsyncIterator[NestedRun]:
        """
        Start a run, or one that was started before. *subject* says what runs, in words.

        *inputs* is a digest of what it is asked, and *identity* one of who is asked, which tells runs apart that are
        asked the same at the same time.
        """
        if asyncio.get_running_loop() is not self.loop:
            raise RuntimeError(
                "a run inside a step needs the event loop of the run that the step belongs to; in a function that is "
                "not async, call `run_sync`, and not `asyncio.run`"
            )
        if self._left_behind:  # a run of the attempt before must not go on twice at the same time
            await asyncio.wait(self._left_behind)
            self._left_behind.clear()
        if self._is_paused:
            raise CallPaused(_PAUSED)
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 -- a loop runs
        async with self._lock:
            number, is_new = await self._find_number(subject, inputs, identity)
        self._at_work.add(task)
        try:
            yield NestedRun(number, f"{self._key}/inner/{number}", is_new=is_new)
        except ApprovalError as error:
            if is_temporary(error):
                self.failure = error  # the outer run is given back, and goes on a little later
            raise
        finally:
            self._at_work.discard(task)
            self._changed.set()

    async def _find_number(self, subject: str, inputs: str, identity: str) -> tuple[int, bool]:
        notes = await self._read_notes()
        is_parallel = bool(self._at_work) or any(note["parallel"] for note in notes)
        numbers = [number for number in range(1, len(notes) + 1) if number not in self._taken]
        same = [number for number in numbers if notes[number - 1]["inputs"] == inputs]
        exact = [number for number in same if notes[number - 1]["identity"] == identity]
        matches = exact or ([] if is_parallel else same)
        if numbers and not matches and not is_parallel:
            former = notes[numbers[0] - 1]["subject"]
            self.failure = InnerRunChanged(
                f"the step {self._key!r} runs again, and asks {subject} something else than {former} was asked before, "
                "so that what was done would be done twice; let the step ask the same each time, without the time or "
                "random numbers in it, or start again under a new id"
            )
            raise self.failure
        number = matches[0] if matches else len(notes) + 1
        self._taken.add(number)
        if not matches:
            parallel = bool(self._at_work or self._requests)
            note = {"subject": subject, "inputs": inputs, "identity": identity, "parallel": parallel}
            notes.append(note)
            await self.write_note(f"inner/{number}", subject, note)
        return number, not matches

    async def _read_notes(self) -> list[Mapping[str, Any]]:
        if self._notes is None:
            self._notes = []
            while (note := await self.read_note(f"inner/{len(self._notes) + 1}")) is not None:
                self._notes.append(note)
        return self._notes

    async def read_note(self, name: str) -> Any:
        return await self._watch(read_note(self._steps, f"{self._key}/{name}"))

    async def write_note(self, name: str, text: str, value: Any) -> None:
        await self._watch(write_note(self._steps, f"{self._key}/{name}", text, value))

    async def _watch(self, step: Awaitable[T]) -> T:
        try:
            return await step
        except Exception as error:
            self.failure = error
            raise

    def add_spent(self, number: int, spent: Expense) -> None:
        """Note what the run with this number has used in all. Its seconds are those of the call, too."""
        self._spent[str(number)] = replace(spent, seconds=0.0, retries=0)

    async def pause(self, number: int, requests: Sequence[ApprovalRequest]) -> NoReturn:
        """End the function with `CallPaused`, because a run waits for *requests*, when no other run is at work."""
        self._requests[number] = requests
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 -- a loop runs
        self._at_work.discard(task)
        self._changed.set()
        count = 0
        while count < len(self._taken):  # other tasks of the function get the time to start their runs as well
            count = len(self._taken)
            await asyncio.sleep(0)
            while self._at_work:
                self._changed.clear()
                await self._changed.wait()
        self._is_paused = True
        raise CallPaused(_PAUSED)

    async def end(self) -> None:
        """Stop the runs that the function has left behind."""
        left = self._at_work - {asyncio.current_task()}
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=_ENDING_SECONDS)

    def build_result(self, call: ToolCall) -> ToolResult:
        """Return the result of *call*, which waits for runs inside it."""
        pause = CallPause(
            requests=tuple(self.requests),
            number=self._before.number + 1,
            request_id=call.request_id,
            spent={**self._before.spent, **self._spent},
        )
        return pause.build_result(call)


@dataclass(frozen=True, slots=True)
class NestedRun:
    """A run that the function of a call has started. The keys of its steps begin with *key*."""

    number: int
    key: str
    is_new: bool = field(kw_only=True)
