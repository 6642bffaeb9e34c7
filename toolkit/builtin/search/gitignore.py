"""
The entries that `.gitignore` files leave out.

The rules are exactly those of git. `.gitignore` files may be nested, and the last line that matches counts. `!` takes a
pattern back. A folder that is left out is not searched. A `/` ties a pattern to its folder.

Only the `.gitignore` files of the workspace count. The personal git settings of a user would make the same tree look
different to each user. There is only one implementation, because an answer should not depend on what is installed. It
is our own, because no line of a hostile file may stall it, and pathspec passes each line to `re`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import NamedTuple

from ...errors import ToolError
from ...safety.paths import is_inside
from ...values.patterns import Pattern, Undecidable
from ...workspace import Entry, Workspace
from .globs import pattern_of, regex_of

__all__ = ["GitignoreFilter", "GitignoreRules", "path_prefix_of"]

_MAX_BYTES = 500_000
# Each of these patterns is tried on every name. A file with more of them was not written by a person.
_MAX_WILDCARD_RULES = 1_000


class GitignoreFilter:
    """
    Decides which entries below a folder are left out, and counts them. It is made for `workspace.walk(skip=...)`.

    The folder itself is never left out, because the caller asked for it. `.git` is always left out. `unused` has the
    paths of the files whose rules do not all count, because they are too many or too long.
    """

    def __init__(self, workspace: Workspace, path: str = ".", *, include_ignored: bool = False) -> None:
        self._workspace = workspace
        self._includes_ignored = include_ignored
        self.left_out = 0
        self.unused: list[str] = []
        self._rules_by_folder: dict[str, tuple[tuple[int, GitignoreRules], ...]] = {}
        if not include_ignored:
            rules: tuple[tuple[int, GitignoreRules], ...] = ()
            for folder in _folders_down_to(workspace, path):
                rules = self._rules_by_folder[folder] = (*rules, *self._read_rules(folder))

    def __call__(self, entry: Entry) -> bool:
        """Return whether *entry* is left out. The caller must have asked about the folder of *entry* before."""
        path, name = entry.path.removeprefix("./"), entry.name
        if name == ".git":
            return True
        if self._includes_ignored:
            return False
        folder = path[: -len(name)]
        rules = self._rules_by_folder.get(folder)
        if rules is None:
            above = folder[: folder.rfind("/", 0, -1) + 1]
            rules = self._rules_by_folder[folder] = (*self._rules_by_folder.get(above, ()), *self._read_rules(folder))
        if not rules:
            return False
        path, name = _bytewise(path), _bytewise(name)
        is_folder = entry.kind == "folder"
        for start, file_rules in reversed(rules):
            verdict = file_rules.judge(path[start:], name, is_folder=is_folder)
            if verdict is not None:
                self.left_out += verdict
                return verdict
        return False

    def _read_rules(self, folder: str) -> Iterator[tuple[int, GitignoreRules]]:
        # The path is absolute, because a relative path that begins with `~` would be refused.
        path = os.path.join(self._workspace.root, folder, ".gitignore")
        try:
            rules = GitignoreRules(self._workspace.read(path, max_bytes=_MAX_BYTES))
        except ToolError:  # there is no such file, or it cannot be read
            if os.path.lexists(path):
                self.unused.append(f"{folder}.gitignore")
            return
        if rules.unused_count:
            self.unused.append(f"{folder}.gitignore")
        yield len(_bytewise(folder)), rules


def _folders_down_to(workspace: Workspace, path: str) -> list[str]:
    """Return the folders from the top of the workspace down to *path*, written as the paths of entries begin."""
    whole = os.path.normpath(os.path.join(workspace.root, path))
    tops = [folder for folder in (*workspace.folders, *workspace.read_only) if is_inside(whole, folder)]
    # Inside the root, the rules start at the root, even if other folders are named. Elsewhere they start at the
    # innermost folder.
    top = workspace.root if workspace.root in tops else max(tops, key=len, default=whole)
    names = [name for name in whole[len(top) :].split("/") if name]
    return [path_prefix_of(workspace, os.path.join(top, *names[:count])) for count in range(len(names) + 1)]


def path_prefix_of(workspace: Workspace, folder: str) -> str:
    """Return the text with which the paths of entries in *folder* begin, without the `./` before a `~`."""
    prefix = workspace.shown(folder).removeprefix("./")
    if prefix == ".":
        return ""
    return prefix if prefix.endswith("/") else f"{prefix}/"


def _bytewise(text: str) -> str:
    """Return *text* with one character for each byte, because git compares names by bytes."""
    return text if text.isascii() else os.fsencode(text).decode("latin-1")


class _GitignoreRule(NamedTuple):
    order: int
    is_negated: bool
    only_folders: bool


_Table = dict[str, list[_GitignoreRule]]


class GitignoreRules:
    """The lines of one `.gitignore`, sorted by the way in which they can be looked up."""

    def __init__(self, data: bytes) -> None:
        self._names: _Table = {}
        self._paths: _Table = {}
        self._endings: _Table = {}
        self._wildcards: list[tuple[_GitignoreRule, bool, Pattern]] = []
        self.unused_count = 0
        for order, line in enumerate(_read_lines(data)):
            self._add(order, line)
        for table in (self._names, self._paths, self._endings):
            for rules in table.values():
                rules.reverse()
        self._wildcards.reverse()
        self._lengths = sorted({len(ending) for ending in self._endings})

    def judge(self, path: str, name: str, *, is_folder: bool) -> bool | None:
        """Return whether *path*, relative and with one character a byte, is left out, or None if no line matches."""
        best: _GitignoreRule | None = None
        candidates = [self._names.get(name), self._paths.get(path)]
        candidates += [self._endings.get(name[len(name) - length :]) for length in self._lengths if length <= len(name)]
        for rules in candidates:
            for rule in rules or ():
                if is_folder or not rule.only_folders:
                    if best is None or rule.order > best.order:
                        best = rule
                    break
        for rule, is_of_name, wildcard in self._wildcards:
            if best is not None and rule.order < best.order:
                break
            if (is_folder or not rule.only_folders) and _matches(wildcard, name if is_of_name else path):
                best = rule
                break
        return None if best is None else not best.is_negated

    def _add(self, order: int, line: str) -> None:
        is_negated = line.startswith("!")
        pattern = line[is_negated:]
        only_folders = pattern.endswith("/")
        pattern = pattern.removesuffix("/")
        rule = _GitignoreRule(order, is_negated, only_folders)
        is_of_name = "/" not in pattern
        if _PLAIN.fullmatch(pattern):
            table = self._names if is_of_name else self._paths
            table.setdefault(pattern.removeprefix("/"), []).append(rule)
        elif is_of_name and pattern[0] == "*" and _PLAIN.fullmatch(pattern[1:]):
            self._endings.setdefault(pattern[1:], []).append(rule)
        elif len(self._wildcards) >= _MAX_WILDCARD_RULES:
            self.unused_count += 1
        else:
            # git reads the part after the plain text as a pattern of its own: `a**/b` finds `a/x/b`.
            head = "" if is_of_name else _PLAIN.match(pattern)[0]  # type: ignore[index]  # it matches the empty text
            try:
                regex = re.escape(head.removeprefix("/")) + regex_of(pattern[len(head) :])
            except ValueError:
                return  # the pattern can match nothing
            try:
                self._wildcards.append((rule, is_of_name, pattern_of(regex)))
            except ValueError:
                self.unused_count += 1  # the pattern is too long


_PLAIN = re.compile(r"[^*?\[\\]*")


def _matches(pattern: Pattern, text: str) -> bool:
    try:
        return pattern.search(text)
    except Undecidable:
        return False


def _read_lines(data: bytes) -> Iterator[str]:
    text = data.removeprefix(b"\xef\xbb\xbf").decode("latin-1")
    for raw_line in text.split("\n"):
        line = _strip_blanks(raw_line.removesuffix("\r").partition("\0")[0])
        if line and line[0] != "#":
            yield line


def _strip_blanks(line: str) -> str:
    """Return *line* without the blanks at its end, unless a backslash keeps them."""
    bare = line.rstrip(" ")
    backslashes = len(bare) - len(bare.rstrip("\\"))
    return line[: len(bare) + 1] if backslashes % 2 and len(bare) < len(line) else bare
