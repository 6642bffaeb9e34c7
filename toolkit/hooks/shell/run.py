"""
Run a hook's command while the event loop goes on.

Each command has a thread of its own, so the event loop never waits for a pipe, and any event loop works.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable, Iterable, Mapping

from .process import HookCommand, HookCommandResult, NotRun, StopSignal, run_process

__all__ = ["build_environment", "run_command"]

_INHERITED_NAMES = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TZ", "TMPDIR")
_PATIENCE_SECONDS = 2.0


async def run_command(command: HookCommand) -> HookCommandResult:
    """Run the command until it ends, or raise `NotRun`; if the caller is cancelled, the command is ended first."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[HookCommandResult | NotRun] = loop.create_future()
    stop = StopSignal()

    def work() -> None:
        outcome: HookCommandResult | NotRun
        try:
            outcome = run_process(command, stop)
        except NotRun as error:
            outcome = error
        except Exception as error:  # noqa: BLE001 -- it is raised again in the task that waits for the command
            outcome = NotRun(f"it could not be run: {type(error).__name__}: {error}")
        finally:
            stop.close_reader()
        with contextlib.suppress(RuntimeError):  # The event loop is closed, so no task waits any more.
            loop.call_soon_threadsafe(future.set_result, outcome)

    try:
        _start_thread(work, stop)
        await asyncio.wait({future})
    except asyncio.CancelledError:
        stop.set()
        await asyncio.wait({future}, timeout=command.grace_seconds + _PATIENCE_SECONDS)
        raise
    finally:
        stop.close_writer()
    outcome = future.result()
    if isinstance(outcome, NotRun):
        raise outcome
    return outcome


def _start_thread(work: Callable[[], None], stop: StopSignal) -> None:
    try:
        threading.Thread(target=work, name="toolkit-hook", daemon=True).start()
    except RuntimeError as error:
        stop.close_reader()
        raise NotRun("the system has no thread left to run it in") from error


def build_environment(names: Iterable[str], extra: Mapping[str, str]) -> dict[str, str]:
    """
    Return the environment of a command.

    It has a few variables of this process, further variables of this process that *names* lists, and those in *extra*.
    """
    inherited_names = {*_INHERITED_NAMES, *names}
    inherited = {name: value for name, value in os.environ.items() if name in inherited_names or name.startswith("LC_")}
    # A relative entry would be looked up in the folder that the command runs in, and others may write there.
    folders = [folder for folder in inherited.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(folder)]
    # Without this, Python would load modules from the folder that it runs in before its own modules.
    return {**inherited, "PATH": os.pathsep.join(folders), "PYTHONSAFEPATH": "1", **extra}
