"""
Kills writing processes again and again, and looks at what they leave; prints what it saw as JSON.

Run as a process of its own: `python killer.py ROOT ROUNDS SEED`.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from collections import Counter

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from toolkit.workspace import Workspace

CONTENTS = [letter * 150_000 for letter in (b"a", b"b", b"c")]


def write_for_ever(space, started):
    for number in range(1_000_000):
        space.write("folder/file", CONTENTS[number % 3])
        if number == 0:
            os.write(started, b"!")


def main(root, rounds, seed):
    draw = random.Random(seed)
    space = Workspace(root)
    space.write("folder/file", CONTENTS[0])
    counts = Counter()
    for _ in range(rounds):
        ready, started = os.pipe()
        child = os.fork()
        if child == 0:
            write_for_ever(space, started)
        os.read(ready, 1)
        until = time.perf_counter() + draw.random() * 0.003
        while time.perf_counter() < until:
            pass
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(ready)
        os.close(started)
        counts["whole" if space.read("folder/file") in CONTENTS else "half"] += 1
        counts["shown"] += [entry.path for entry in space.walk()] != ["folder", "folder/file"]
    counts["swept"] = len(space.sweep(older_than_seconds=0))
    counts["left"] = len(os.listdir(os.path.join(root, "folder"))) - 1
    sys.stdout.write(json.dumps(counts))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
