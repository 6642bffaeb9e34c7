"""
Start the client of the conformance suite without its imports.

The suite starts one process for each of 70 scenarios, all of them at once. The SDK alone needs a second of processor
time to be imported, so one process imports the client once, and forks for every scenario, a few at a time. This script is what the
suite starts: it hands its arguments, its variables and its output to that process, and ends with the same exit code.
It imports next to nothing, and so it is started by its path.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Callable

__all__ = ["listen"]

MAX_SECONDS = 110
"""A client ends a little before the suite gives up on it, so that none is left behind."""

AT_ONCE = 6

_MAX_BYTES = 1_000_000


def relay(path: str, words: list[str]) -> int:
    """Have the process that listens at *path* run the client with *words*, and return the exit code."""
    variables = {name: value for name, value in os.environ.items() if name.startswith("MCP_")}
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        socket.send_fds(connection, [b"outputs"], [1, 2])
        connection.sendall(json.dumps([words, variables]).encode() + b"\n")
        return int(connection.makefile("r").readline() or 1)


def listen(path: str, run: Callable[[list[str]], int]) -> None:
    """Fork for every connection to *path*, and call *run* with its words in the new process. Others wait for a place."""
    count = 0
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(100)
        print(path, flush=True)
        while True:
            connection, _ = listener.accept()
            if count == AT_ONCE:
                os.wait()
                count -= 1
            count += 1
            if os.fork() == 0:
                listener.close()
                os._exit(_serve(connection, run))
            connection.close()


def _serve(connection: socket.socket, run: Callable[[list[str]], int]) -> int:
    signal.alarm(MAX_SECONDS)
    _, outputs, _, _ = socket.recv_fds(connection, len(b"outputs"), 2)
    for number, output in zip((1, 2), outputs, strict=True):
        os.dup2(output, number)
    words, variables = json.loads(connection.makefile("r").readline(_MAX_BYTES))
    os.environ.update(variables)
    try:
        code = run(words)
    except BaseException as error:  # noqa: BLE001 -- the suite reads why the client failed
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        code = 1
    sys.stderr.flush()
    connection.sendall(f"{code}\n".encode())
    return code


if __name__ == "__main__":
    sys.exit(relay(sys.argv[1], sys.argv[2:]))
