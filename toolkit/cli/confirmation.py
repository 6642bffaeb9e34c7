"""
A question to the user at the terminal that only a clear yes answers with yes.
"""

from __future__ import annotations

import contextlib
import select

from .interruptible_loop import wake_on_signal

__all__ = ["confirm"]


def confirm(question: str, terminal: str = "/dev/tty") -> bool:
    """Ask *question* at *terminal*. Return True only if the answer is `y` or `yes`; False if there is no terminal."""
    with contextlib.suppress(ImportError, OSError), open(terminal, "r+b", buffering=0) as device:
        import termios  # some systems have neither this module nor a terminal of this name

        if not device.isatty():
            return False
        termios.tcflush(device, termios.TCIFLUSH)  # text that was typed before the question is no answer to it
        device.write(f"{question} [y]es, [n]o: ".encode())
        with wake_on_signal() as receiver:
            # Ctrl-C just before `readline` would be noticed only after the next line. So the signal itself wakes this.
            select.select([device.fileno(), receiver.fileno()], [], [])
        return device.readline().strip().lower() in (b"y", b"yes")
    return False
