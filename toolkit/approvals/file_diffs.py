"""
The present state of a file, and the difference to its future content, for people.

Lines are compared in a unified diff. Content without lines is described by sizes and digests. The work is bounded:
where it would take long to find the shortest difference, everything between the first and the last changed line is
shown as replaced.
"""

from __future__ import annotations

import difflib
import hashlib
import io
import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from .._plumbing.wording import format_count
from ..decisions import Precondition

__all__ = ["FileState", "describe_content", "find_changed_paths", "read_file_state", "render_diff"]

_MAX_BYTES = 2 * 1024 * 1024
# A pipe must not block. A path that became a link since it was resolved is not followed. Windows knows only the last
# flag.
_FLAGS = sum(getattr(os, name, 0) for name in ("O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))
_MAX_LINE_PAIRS = 200_000
_CONTEXT = 3
_RANGE = re.compile(r"@@ -(\d+)(.*) \+(\d+)(.*) @@\n\Z")


@dataclass(frozen=True, slots=True)
class FileState:
    """
    A file in its present state.

    Attributes:
        content: The content; None if it is too large to compare.
        size: The size in bytes.
        sha256: The digest of the content.
        facts: Other facts that a person should know before the file is changed.
    """

    content: bytes | None
    size: int
    sha256: str
    facts: tuple[str, ...] = ()

    @property
    def size_and_digest(self) -> str:
        """The size of the file, and its digest."""
        return f"{format_count(self.size, 'byte')} (sha256 {self.sha256})"


def read_file_state(path: str) -> FileState | None:
    """
    Return the file at *path*, which has to be resolved; return None if there is no file.

    Raises:
        OSError: The path is not a regular file, or cannot be read.
    """
    try:
        handle = os.open(path, _FLAGS)
    except FileNotFoundError:
        return None
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise OSError("it is not a regular file")
        digest, size, content = hashlib.sha256(), 0, bytearray()
        while chunk := os.read(handle, 1 << 20):
            digest.update(chunk)
            size += len(chunk)
            content += chunk if size <= _MAX_BYTES else b""
    finally:
        os.close(handle)
    facts = []
    if status.st_mode & 0o111:
        facts.append(f"can be executed (mode {stat.S_IMODE(status.st_mode):o})")
    if status.st_nlink > 1:
        facts.append(f"has {format_count(status.st_nlink, 'name')}; the file behind all of them changes")
    return FileState(bytes(content) if size <= _MAX_BYTES else None, size, digest.hexdigest(), tuple(facts))


def find_changed_paths(preconditions: Iterable[Precondition]) -> list[str]:
    """
    Return the paths that do not fulfil their *preconditions*; return an empty list if all do.

    A path fails if its content has changed, if it now leads through a link, or if it cannot be read.
    """
    return [condition.path for condition in preconditions if not _holds(condition)]


def _holds(condition: Precondition) -> bool:
    if condition.kind != "file":
        return condition.kind == "tool"  # The tool checks these itself. A condition of an unknown kind does not hold.
    try:
        file = read_file_state(condition.path)
        is_same_place = os.path.realpath(condition.path) == condition.path
    except (OSError, ValueError):
        return False
    return is_same_place and (None if file is None else file.sha256) == condition.sha256


def render_diff(old: bytes | None, new: bytes | None, name: str) -> str:
    """Return the change from *old* to *new* as text that ends in a newline; None stands for a missing file."""
    if old == new:
        return f"no change: {name} {'is not there' if old is None else 'has this content already'}\n"
    header = f"--- {'/dev/null' if old is None else f'a/{name}'}\n+++ {'/dev/null' if new is None else f'b/{name}'}\n"
    before, after = _text(old), _text(new)
    if before is None or after is None:
        return f"{header}not compared as text: {describe_content(old)} before, {describe_content(new)} after\n"
    notes = []
    endings = [_line_ending(text) for text in (before, after)]
    if None not in endings and endings[0] != endings[1]:
        notes.append(f"line endings change from {endings[0]} to {endings[1]}\n")
    return "".join([*notes, header, *_diff_lines(_lines(before), _lines(after))])


def describe_content(content: bytes | None) -> str:
    """Return the size of *content* and its digest; None stands for a missing file."""
    if content is None:
        return "no file"
    return FileState(content, len(content), hashlib.sha256(content).hexdigest()).size_and_digest


def _text(content: bytes | None) -> str | None:
    """Return *content* as text; return None if it is not readable text, or is too large."""
    if content is None:
        return ""
    if len(content) > _MAX_BYTES or b"\0" in content:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def _line_ending(text: str) -> str | None:
    ends, carriage_returns = text.count("\n"), text.count("\r\n")
    if not ends:
        return None
    return {0: "LF", ends: "CRLF"}.get(carriage_returns, "mixed ones")


def _lines(text: str) -> list[str]:
    # `splitlines` is not used, because it also splits lines at a form feed or a line separator.
    return list(io.StringIO(text, newline="\n"))


def _diff_lines(old: list[str], new: list[str]) -> Iterator[str]:
    shorter = min(len(old), len(new))
    first_changed = next((index for index in range(shorter) if old[index] != new[index]), shorter)
    # The number of equal lines at the end, without those that were already counted at the beginning.
    equal_tail = next(
        (count for count in range(shorter - first_changed) if old[-1 - count] != new[-1 - count]),
        shorter - first_changed,
    )
    if not first_changed and not equal_tail and not (old and new):
        return (yield from _diff_replacing_all(old, new, 0, 0))
    start = max(0, first_changed - _CONTEXT)
    stop = max(0, equal_tail - _CONTEXT)
    old, new = old[start : len(old) - stop], new[start : len(new) - stop]
    if len(old) * len(new) > _MAX_LINE_PAIRS:
        yield (
            f"too much for the shortest diff: {len(old):,} lines are shown as replaced by {len(new):,}, "
            "although some of them may be the same\n"
        )
        return (yield from _diff_replacing_all(old, new, first_changed - start, equal_tail - stop, start))
    for line in list(difflib.unified_diff(old, new, n=_CONTEXT))[2:]:
        if match := _RANGE.match(line):
            yield f"@@ -{int(match[1]) + start}{match[2]} +{int(match[3]) + start}{match[4]} @@\n"
        else:
            yield _end_line(line)


def _diff_replacing_all(old: Sequence[str], new: Sequence[str], head: int, tail: int, start: int = 0) -> Iterator[str]:
    """
    Yield a diff that replaces all of *old* by all of *new*, except the first *head* and last *tail* lines.

    These lines stay as they are. *start* is the number of lines before both.
    """
    yield f"@@ -{_range(start, len(old))} +{_range(start, len(new))} @@\n"
    yield from (_end_line(f" {line}") for line in old[:head])
    yield from (_end_line(f"-{line}") for line in old[head : len(old) - tail])
    yield from (_end_line(f"+{line}") for line in new[head : len(new) - tail])
    yield from (_end_line(f" {line}") for line in old[len(old) - tail :])


def _range(start: int, count: int) -> str:
    return f"{start + 1 if count else start},{count}"


def _end_line(line: str) -> str:
    return line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
