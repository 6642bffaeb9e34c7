"""
A watch over the process of a server, so that it does not outlive this program, however this program ends.

A program that is ended by a signal closes nothing. A server that ignores the end of its input would then run on. The
watch is a small shell process that waits for the end of a pipe, which the system closes with this program.
"""

from __future__ import annotations

import contextlib
import subprocess

__all__ = ["ProcessWatch"]

_PAUSES = 20
_PAUSE_SECONDS = 0.1

# A line on the pipe means that the process was ended here. Without one, the whole group is ended.
_SCRIPT = """
read line && exit
for signal in TERM KILL; do
    count=0
    while [ $count -lt "$2" ]; do
        kill -s 0 -- "-$1" 2> /dev/null || exit
        sleep "$3"
        count=$((count + 1))
    done
    kill -s $signal -- "-$1" 2> /dev/null
done
"""


class ProcessWatch:
    """
    Ends the process group *group* after this program has ended: with SIGTERM after a wait, and then with SIGKILL.

    Args:
        pauses: How many pauses of a tenth of a second there are before each signal.
    """

    def __init__(self, group: int, *, pauses: int = _PAUSES) -> None:
        arguments = [str(group), str(pauses), str(_PAUSE_SECONDS)]
        self._shell: subprocess.Popen[bytes] | None = None
        with contextlib.suppress(OSError):  # a system without a shell, where the process may outlive this program
            self._shell = subprocess.Popen(  # noqa: S603 -- the script is ours
                ["/bin/sh", "-c", _SCRIPT, "sh", *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={"PATH": "/usr/bin:/bin"},
                start_new_session=True,  # Ctrl-C in the terminal ends this program, and not the watch
            )

    def release(self) -> None:
        """End the watch. The process group has ended."""
        if self._shell is None:
            return
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            self._shell.communicate(b"\n", timeout=1)
