"""
Runs a hook's command while the loop goes on.

Each command has a thread of its own, so the loop never waits for a pipe, and any loop will do.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable, Iterable, Mapping

from .process import Ended, NotRun, Start, Stop, ended

__all__ = ["environment", "run_command"]

_FROM_OUTSIDE = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR")
_PATIENCE_SECONDS = 2.0


async def run_command(start: Start) -> Ended:
    """Run it to its end, or raise `NotRun`; whoever is cancelled meanwhile ends it first."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Ended | NotRun] = loop.create_future()
    stop = Stop()

    def work() -> None:
        found: Ended | NotRun
        try:
            found = ended(start, stop)
        except NotRun as error:
            found = error
        except Exception as error:  # noqa: BLE001 -- raised where somebody waits for it
            found = NotRun(f"it could not be run: {type(error).__name__}: {error}")
        finally:
            stop.close_reader()
        with contextlib.suppress(RuntimeError):  # the loop is gone, and with it everyone who waited
            loop.call_soon_threadsafe(future.set_result, found)

    try:
        _start_thread(work, stop)
        await asyncio.wait({future})
    except asyncio.CancelledError:
        stop.set()
        await asyncio.wait({future}, timeout=start.grace_seconds + _PATIENCE_SECONDS)
        raise
    finally:
        stop.close_writer()
    found = future.result()
    if isinstance(found, NotRun):
        raise found
    return found


def _start_thread(work: Callable[[], None], stop: Stop) -> None:
    try:
        threading.Thread(target=work, name="toolkit-hook", daemon=True).start()
    except RuntimeError as error:
        stop.close_reader()
        raise NotRun("the system has no thread left to run it in") from error


def environment(names: Iterable[str], given: Mapping[str, str]) -> dict[str, str]:
    """Everything that a command finds in its environment: little of ours, what *names* name, and *given*."""
    wanted = {*_FROM_OUTSIDE, *names}
    ours = {name: value for name, value in os.environ.items() if name in wanted or name.startswith("LC_")}
    # A relative entry would be looked for in the folder it runs in, and that may be anybody's.
    folders = [each for each in ours.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(each)]
    # Python would take modules from the folder it runs in before its own.
    return {**ours, "PATH": os.pathsep.join(folders), "PYTHONSAFEPATH": "1", **given}
