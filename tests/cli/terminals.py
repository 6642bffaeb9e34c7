"""
Terminals to test with: one that draws what is written to it, and a real one with a process on it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import subprocess
import sys
import termios
from pathlib import Path

__all__ = ["Terminal", "draw_screen"]

_PIECES = re.compile(r"\x1b\[(?P<numbers>[0-9;?]*)(?P<verb>[A-Za-z])|(?P<character>.)", re.DOTALL)


def draw_screen(written: str, columns: int = 60) -> list[str]:
    """Return what a terminal shows in the end, down to its last line that is not empty; fail on any other sequence."""
    lines, row, column = [""], 0, 0
    for piece in _PIECES.finditer(written):
        verb, character = piece["verb"], piece["character"]
        if verb == "A":
            row = max(0, row - int(piece["numbers"] or 1))
        elif verb == "K":
            lines[row] = "" if piece["numbers"] == "2" else lines[row][:column]
        elif character == "\r":
            column = 0
        elif character == "\n" or column >= columns:
            row, column = row + 1, 0
            lines += [""] * (row + 1 - len(lines))
        if character and character not in "\r\n":
            assert character.isprintable(), f"{character!r} was written to a terminal"
            lines[row] = lines[row][:column].ljust(column) + character + lines[row][column + 1 :]
            column += 1
        elif verb:
            assert verb in "AKmhl", f"{piece[0]!r} was written to a terminal"
    return "\n".join(line.rstrip() for line in lines).rstrip("\n").split("\n")


class Terminal:
    """A pseudo-terminal with a process on it, which has it for its standard streams."""

    def __init__(self, arguments, *, program=sys.executable, columns=100, stdout=None, **environment):
        self._mine, theirs = pty.openpty()
        termios.tcsetwinsize(self._mine, (24, columns))
        standard = {
            "PATH": os.environ["PATH"],
            "TERM": "xterm-256color",
            "PYTHONPATH": str(Path(__file__).parents[2]),
            "LANG": "C.UTF-8",
        }
        inherited = {
            name: os.environ[name] for name in ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME") if name in os.environ
        }
        self._process = subprocess.Popen(
            [program, *arguments],
            stdin=theirs,
            stdout=theirs if stdout is None else stdout,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=_take_terminal,
            env={**standard, **inherited, "PYTHONDONTWRITEBYTECODE": "1", **environment},
        )
        os.close(theirs)
        self.columns = columns
        self.written = ""

    def until(self, words):
        """Read until *words* are written."""
        start = len(self.written)
        while words not in self.written[start:]:
            piece = self._read()
            assert piece, self.written
            self.written += piece

    def until_end(self, words):
        """Read until *words* are the last that is written."""
        while not self.written.endswith(words):
            piece = self._read()
            assert piece, self.written
            self.written += piece

    def type(self, text):
        os.write(self._mine, text.encode())

    def signal(self, number):
        """Send a signal to the process."""
        self._process.send_signal(number)

    def read_to_end(self):
        """Read to the end; the exit code."""
        while piece := self._read():
            self.written += piece
        return self._process.wait(timeout=30)

    def output(self):
        """Return what was written to standard output, where that is a pipe."""
        return self._process.stdout.read().decode()

    def lines(self):
        """Return what is on the screen."""
        return draw_screen(self.written, self.columns)

    def close(self):
        self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        os.close(self._mine)

    def _read(self):
        assert select.select([self._mine], [], [], 60)[0], f"nothing more is written: {self.written}"
        with contextlib.suppress(OSError):  # Linux raises it when the other end is closed
            return os.read(self._mine, 65536).decode(errors="replace")
        return ""


def _take_terminal():
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
