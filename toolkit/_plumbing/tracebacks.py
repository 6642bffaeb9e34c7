"""Let the traceback of a tool's exception begin in the tool."""

from __future__ import annotations

import os

__all__ = ["drop_library_frames"]

_PACKAGE = os.path.dirname(os.path.dirname(__file__))
# The files that every call runs through. Other files of the package may hold the tool itself, such as a built-in one.
_CALL_FILES = tuple(
    os.path.join(_PACKAGE, name) for name in ("calls" + os.sep, "concurrency" + os.sep, "dispatcher.py")
)


def drop_library_frames(error: BaseException) -> None:
    """
    Remove the frames of the library that come before those of the tool from the traceback of *error*.

    An error that the library raised itself keeps all frames, because the author of a tool has to report it.
    """
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_frame.f_code.co_filename.startswith(_CALL_FILES):
        traceback = traceback.tb_next
    if traceback is not None:
        error.__traceback__ = traceback
