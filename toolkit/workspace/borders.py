"""
The check of where a path leads, and whether a tool may access that place.

A path is judged under every name that it has: as written, at each link on the way, and at its end. The result is a
`CheckedPath`, a path without links beneath one folder. Only this path is opened. A hard link looks like an ordinary
file: a user who can make a hard link to a secret has thereby put the secret into the folder.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple, TypeVar

from ..errors import Safety, ToolError
from ..safety.paths import BadPath, Folders, explain_protection, quote_path
from ..safety.protected_files import ProtectedFiles
from ..safety.repositories import find_repository_rule
from .open_beneath import OpenFolder

__all__ = ["Borders", "CheckedPath"]

T = TypeVar("T")
_MAX_TRIES = 20
# A path that matches needs no closer look before it is tried. Any other path is followed name by name.
_PLAIN_PATH = re.compile(r"(?!~)(?!.*\.\.)[ -~]{1,255}", re.DOTALL)


class CheckedPath(NamedTuple):
    """A place that was judged: its path without links, and its path from the innermost folder that holds it."""

    folder: OpenFolder
    relative_path: str
    path: str


class Borders:
    """The folders of a workspace, and the files in them that tools may not touch."""

    def __init__(self, folders: Folders, protected: ProtectedFiles, open_folders: Iterable[OpenFolder]) -> None:
        self._folders = folders
        self._protected_files = protected
        # The innermost folder comes first, because it decides.
        self._open_folders = sorted(open_folders, key=lambda folder: len(folder.path), reverse=True)

    def run_on_path(self, path: str, access: Literal["read", "write"], action: Callable[[CheckedPath], T]) -> T:
        """
        Return the result of *action* for the place that *path* leads to.

        If links are changed meanwhile, the path is followed and judged again.

        Raises:
            Safety: The path leads outside, to a protected file, or to two places.
            ToolError: The text is no path, its links keep changing, or the folder was moved or replaced.
            OSError: Any other error of *action*, except `ELOOP`.
        """
        attempts: list[Callable[[str, Literal["read", "write"]], CheckedPath | None]] = [
            self._follow_links
        ] * _MAX_TRIES
        if access == "read" and isinstance(path, str) and _PLAIN_PATH.fullmatch(path):
            attempts.insert(0, self._path_without_links)
        for find_target in attempts:
            target = find_target(path, access)
            if target is None:
                continue
            target.folder.check()
            try:
                return action(target)
            except OSError as error:
                if error.errno != errno.ELOOP:
                    raise
        raise ToolError(f"{quote_path(path)} passes links that another program keeps changing; try again later")

    def is_hidden(self, path: str) -> bool:
        """Return whether tools may not read the content of *path*, which is absolute and without links."""
        return self._protected_files.find_rule(path, "read") is not None

    def _path_without_links(self, path: str, access: Literal["read", "write"]) -> CheckedPath | None:
        """Return the place of *path* if it is inside, or None. Opening it will show whether a link is on the way."""
        absolute_path = os.path.normpath(os.path.join(self._folders.root, path))
        target = self._locate(absolute_path)
        if target is not None:
            self._refuse_protected([absolute_path], access)
        return target

    def _follow_links(self, path: str, access: Literal["read", "write"]) -> CheckedPath:
        try:
            places = self._folders.places(path)
        except BadPath as error:
            raise ToolError(str(error)) from None
        except ValueError as error:
            raise Safety(str(error)) from None
        if len({place.path for place in places}) > 1:
            # A preview or a rule may have judged the other place.
            raise Safety(f"{quote_path(path)} means two places, because `..` follows a link; write it without `..`")
        place = places[0]
        target = self._locate(place.path)
        reason = self._folders.find_objection(path, [place], access)
        if target is None or reason is not None:
            reason = reason or f"{quote_path(path)} is in no folder that this workspace holds open"
            # The remedy is the same, but it has another name here.
            raise Safety(reason.replace("SafetyChecks(", "Workspace("))
        self._refuse_protected(
            {name: None for candidate in places for name in (*candidate.other_names, candidate.path)}, access
        )
        return target

    def _refuse_protected(self, names: Iterable[str], access: Literal["read", "write"]) -> None:
        for name in names:
            rule = self._protected_files.find_rule(name, access)
            if rule is None and access == "write":
                rule = find_repository_rule(self._protected_files, name)
            if rule is not None:
                raise Safety(explain_protection(name, rule, "Workspace"))

    def _locate(self, absolute_path: str) -> CheckedPath | None:
        for folder in self._open_folders:
            if absolute_path == folder.path:
                return CheckedPath(folder, ".", absolute_path)
            start = folder.path if folder.path.endswith("/") else f"{folder.path}/"
            if absolute_path.startswith(start):
                return CheckedPath(folder, absolute_path[len(start) :], absolute_path)
        return None
