"""Work in a forked child of the tests' own process."""

from __future__ import annotations

import os
import select
import signal
import traceback
import warnings


def run_in_child(work):
    """Return what *work* returns, as text, in a forked child; fail if the child does not answer."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # Python 3.12 warns of forks beside threads, which is what these tests are about.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        try:
            answer = str(work())
        except BaseException:  # noqa: BLE001 -- the parent shows it
            answer = traceback.format_exc()
        os.write(writing, answer.encode()[:4000])
        os._exit(0)
    os.close(writing)
    try:
        ready, _, _ = select.select([reading], [], [], 30)
        if not ready:
            os.kill(pid, signal.SIGKILL)
        assert ready, "the child hangs"
        return os.read(reading, 4000).decode()
    finally:
        os.close(reading)
        os.waitpid(pid, 0)
