"""
A small patch applier, so that tests can hold a unified diff to its word.
"""

from __future__ import annotations

import re

_RANGE = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NO_NEWLINE = "\\ No newline at end of file"


def apply_diff(old: str, diff: str) -> str:
    """Return *old* with *diff* applied; `AssertionError` if it does not fit."""
    before, after = _lines(old), []
    done, is_in_body = 0, False
    lines = diff.split("\n")
    for index, line in enumerate(lines):
        if match := _RANGE.match(line):
            start, count = int(match[1]), int(match[2] or 1)
            start -= bool(count)
            after += before[done:start]
            done, is_in_body = start, True
        elif is_in_body and line[:1] in {" ", "-", "+"}:
            bare = line[1:] + ("" if lines[index + 1 : index + 2] == [_NO_NEWLINE] else "\n")
            if line[0] != "+":
                assert before[done] == bare
                done += 1
            if line[0] != "-":
                after.append(bare)
    return "".join(after + before[done:])


def _lines(text: str) -> list[str]:
    *whole, last = text.split("\n")
    return [f"{line}\n" for line in whole] + ([last] if last else [])
