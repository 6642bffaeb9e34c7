"""What tools are run with and what is watched meanwhile: their resources, their time, files, and all answers."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from ...catalog import Catalog
from ...dispatcher import Dispatcher
from ...policies.classify import ClassifyRules
from ...policies.retry import RetryPolicy
from ...results import ToolResult
from ...spec import Tool

__all__ = ["RunConditions", "Snapshot", "WatchedFolder", "describe_changes"]

Snapshot: TypeAlias = "dict[str, tuple[str, int, str]]"
"""For each path: the kind of the entry, its permissions, and the digest of its content or the target of the link."""

_MAX_LISTED_CHANGES = 5


class WatchedFolder:
    """A folder of which snapshots are taken. A file is read again only if its inode, size or times have changed."""

    def __init__(self, folder: str | os.PathLike[str], *, max_entries: int = 20_000) -> None:
        self._folder = Path(folder)
        self._max_entries = max_entries
        self._digests: dict[tuple[str, int, int, int, int], str] = {}
        if not self._folder.is_dir():
            raise NotADirectoryError(f"{folder} is no folder; give one whose files must not change")

    def snapshot(self) -> Snapshot:
        """Return every entry under the folder as it is now. Links are not followed."""
        entries: Snapshot = {}
        for root, folders, files in os.walk(self._folder):
            for name in sorted([*folders, *files]):
                path = os.path.join(root, name)
                entries[os.path.relpath(path, self._folder)] = self._describe_entry(path)
                if len(entries) > self._max_entries:
                    raise ValueError(
                        f"more than {self._max_entries:,} entries in {self._folder}; watch a smaller folder"
                    )
        return entries

    def _describe_entry(self, path: str) -> tuple[str, int, str]:
        try:
            status = os.lstat(path)
            mode = stat.S_IMODE(status.st_mode)
            if stat.S_ISLNK(status.st_mode):
                return "link", 0, os.readlink(path)
            if not stat.S_ISREG(status.st_mode):
                return ("folder" if stat.S_ISDIR(status.st_mode) else "other"), mode, ""
            key = path, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
            if key not in self._digests:
                self._digests[key] = hashlib.sha256(Path(path).read_bytes()).hexdigest()
        except OSError as error:  # the entry was deleted meanwhile, or this process may not read it
            return "unreadable", 0, type(error).__name__
        return "file", mode, self._digests[key]


def describe_changes(before: Snapshot, after: Snapshot) -> str:
    """Return in a few words which entries appeared, went or changed; an empty text if none did."""
    changes = [f"{path} appeared" for path in after if path not in before]
    changes += [f"{path} went" for path in before if path not in after]
    changes += [f"{path} changed" for path in after if path in before and before[path] != after[path]]
    more = f" and {len(changes) - _MAX_LISTED_CHANGES} more" if len(changes) > _MAX_LISTED_CHANGES else ""
    return ", ".join(changes[:_MAX_LISTED_CHANGES]) + more


class AnswerLog:
    """What came of the calls of each tool, to tell when a law was kept only because the calls showed nothing."""

    def __init__(self) -> None:
        self._answers: dict[str, list[tuple[str, str]]] = {}

    def add(self, result: ToolResult) -> None:
        text = result.text if result.error is None else result.error.message  # without the advice for the model
        self._answers.setdefault(result.tool, []).append((result.kind, text))

    def describe_poor_calls(self, tool: Tool) -> str:
        """Return a note if all calls of *tool* failed, or answered alike; empty if they did not."""
        answers = self._answers.get(tool.name, [])
        if len(answers) < 2 or not tool.schema.get("properties"):
            return ""
        has_failed = all(kind != "ok" for kind, _ in answers)
        # An author who gave examples knows that the tool has one answer for all of them.
        if not has_failed and (tool.facts.examples or len(set(answers)) > 1):
            return ""
        message = " ".join(answers[0][1].split()).rstrip(".")
        outcome = f"failed, such as: {message:.200}" if has_failed else "answered alike"
        return (
            f"`{tool.name}`: all {len(answers)} calls {outcome}, so the laws have seen little of it; "
            "give `examples=` with arguments that its data has"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunConditions:
    """The conditions under which tools are run, which `check_tool` describes, and what came of the calls."""

    folder: WatchedFolder | None = None
    state: Callable[[], Any] | None = None
    resources: Mapping[Any, Any] | None = None
    classify: ClassifyRules = ()
    timeout_seconds: float = 3.0
    answers: AnswerLog = field(default_factory=AnswerLog)

    def build_dispatcher(self, *tools: Tool, **options: Any) -> Dispatcher:
        """Return a dispatcher of *tools*, which repairs no arguments and retries no call."""
        catalog, retry = Catalog(*tools), RetryPolicy(attempts=1)
        return Dispatcher(
            catalog, resources=self.resources, classify=self.classify, repair=False, retry=retry, **options
        )

    def read_files(self) -> Snapshot:
        return {} if self.folder is None else self.folder.snapshot()

    def read_state(self) -> Any:
        return self.read_files() if self.state is None else self.state()
