"""
The check of where a path leads, and whether a tool may access that place.

A path is judged under every name that it has: as written, at each link on the way, and at its end. The result is a
`Spot`, a path without links beneath one folder. Only this path is opened. A hard link looks like an ordinary file: a
user who can make a hard link to a secret has thereby put the secret into the folder.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple, TypeVar

from ..errors import Safety, ToolError
from ..safety.paths import BadPath, Folders, shown
from ..safety.protected_files import Protected, ProtectedFiles
from ..safety.repositories import protecting_repository
from .open_beneath import Folder

__all__ = ["Borders", "Spot"]

T = TypeVar("T")
_MOST_TRIES = 20
# A path that matches needs no closer look before it is tried. Any other path is followed name by name.
_PLAIN = re.compile(r"(?!~)(?!.*\.\.)[ -~]{1,255}", re.DOTALL)


class Spot(NamedTuple):
    """
    A place that was judged.

    Attributes:
        folder: The innermost folder of the workspace that holds the place.
        inner: The path from that folder, or "." for the folder itself.
        path: The whole path, without links.
    """

    folder: Folder
    inner: str
    path: str


class Borders:
    """The folders of a workspace, and the files in them that tools may not touch."""

    def __init__(self, folders: Folders, protected: ProtectedFiles, held: Iterable[Folder]) -> None:
        self._folders = folders
        self._protected = protected
        # The innermost folder comes first, because it decides.
        self._held = sorted(held, key=lambda folder: len(folder.path), reverse=True)

    def reach(self, path: str, access: Literal["read", "write"], action: Callable[[Spot], T]) -> T:
        """
        Return the result of *action* for the place that *path* leads to.

        If links are changed meanwhile, the path is followed and judged again.

        Raises:
            Safety: The path leads outside, to a protected file, or to two places.
            ToolError: The text is not a path, leads in a circle, or passes links that keep changing; or the folder was
                moved or replaced.
            OSError: Any other error of *action*, except `ELOOP`.
        """
        attempts: list[Callable[[str, Literal["read", "write"]], Spot | None]] = [self._followed] * _MOST_TRIES
        if access == "read" and isinstance(path, str) and _PLAIN.fullmatch(path):
            attempts.insert(0, self._direct_spot)
        for spot_of in attempts:
            spot = spot_of(path, access)
            if spot is None:
                continue
            spot.folder.check()
            try:
                return action(spot)
            except OSError as error:
                if error.errno != errno.ELOOP:
                    raise
        raise ToolError(f"{shown(path)} passes links that somebody else keeps changing; try again later")

    def is_hidden(self, path: str) -> bool:
        """Return whether tools may not read the content of *path*, which is absolute and without links."""
        return self._protected.protecting(path, "read") is not None

    def _direct_spot(self, path: str, access: Literal["read", "write"]) -> Spot | None:
        """
        Return the place of *path* if no link is on the way, or None if it is outside of every folder.

        Opening the place will show whether there is a link.
        """
        whole = os.path.normpath(os.path.join(self._folders.root, path))
        spot = self._spot_of(whole)
        if spot is not None:
            self._judge([whole], access)
        return spot

    def _followed(self, path: str, access: Literal["read", "write"]) -> Spot:
        try:
            places = self._folders.places(path)
        except BadPath as error:
            raise ToolError(str(error)) from None
        except ValueError as error:
            raise Safety(str(error)) from None
        if len({place.path for place in places}) > 1:
            # A preview or a rule may have judged the other place.
            raise Safety(f"{shown(path)} means two places, because `..` follows a link; write it without `..`")
        place = places[0]
        spot = self._spot_of(place.path)
        # `outside(path)` would follow the links again, and might judge another place than the one that is opened.
        reason = self._folders._outside(path, place.path, access)  # noqa: SLF001 -- reads no links; a related class
        if spot is None or reason is not None:
            reason = reason or f"{shown(path)} is in no folder that this workspace holds open"
            # The remedy is the same, but it has another name here.
            raise Safety(reason.replace("SafetyChecks(", "Workspace("))
        self._judge({name: None for candidate in places for name in (*candidate.passed, candidate.path)}, access)
        return spot

    def _judge(self, names: Iterable[str], access: Literal["read", "write"]) -> None:
        for name in names:
            rule = self._protected.protecting(name, access)
            if rule is None and access == "write":
                rule = protecting_repository(self._protected, name)
            if rule is not None:
                raise Safety(_kept(name, rule))

    def _spot_of(self, whole: str) -> Spot | None:
        for folder in self._held:
            if whole == folder.path:
                return Spot(folder, ".", whole)
            start = folder.path if folder.path.endswith("/") else f"{folder.path}/"
            if whole.startswith(start):
                return Spot(folder, whole[len(start) :], whole)
        return None


def _kept(path: str, rule: Protected) -> str:
    restriction = "neither read nor write" if rule.level == "neither read nor written" else "do not write"
    return (
        f"{shown(path)} is, or holds, {rule.what}, and tools {restriction} that; "
        f"leave it to a person, or lift `{rule.pattern}` with Workspace(unprotected=...)"
    )
