"""Two processes of one server answer the requests of one client in turns, as they do behind a load balancer."""

import os
import re
import sys
from subprocess import PIPE, Popen

import httpx

from toolkit import tool


@tool(read_only=True)
def worker() -> int:
    """Return the number of the process that answers."""
    return os.getpid()


if __name__ == "__main__":
    command = [sys.executable, "-m", "toolkit", "serve", __file__, "--http", "127.0.0.1:0", "--stateless"]
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "worker"}}
    headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25"}
    with Popen(command, stderr=PIPE, text=True) as first, Popen(command, stderr=PIPE, text=True) as second:  # noqa: S603 -- this file again
        # Each process writes its address first.
        addresses = re.findall(r"http\S+", "".join(next(iter(process.stderr or [])) for process in (first, second)))
        answers = [httpx.post(address, json=call, headers=headers).text for address in addresses * 2]
        numbers = [int(number) for number in re.findall(r'"text":"(\d+)"', "".join(answers))]
        print(f"answers of {len(set(numbers))} processes, in turns: {numbers == [first.pid, second.pid] * 2}")
        first.terminate()
        second.terminate()
