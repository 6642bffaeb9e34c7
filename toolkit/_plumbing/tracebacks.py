"""Leave the frames of the library out of tracebacks, so that those of the user are seen."""

from __future__ import annotations

import os

__all__ = ["drop_library_frames", "drop_own_traceback"]

_PACKAGE = os.path.dirname(os.path.dirname(__file__))
_PACKAGE_FOLDER = _PACKAGE + os.sep
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


def drop_own_traceback(error: BaseException) -> None:
    """
    Remove the traceback of *error* if all its frames are the library's.

    The library raised the error on purpose then, and the message says all there is: a test shows its own line last.
    """
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_frame.f_code.co_filename.startswith(_PACKAGE_FOLDER):
        traceback = traceback.tb_next
    if traceback is None:
        error.__traceback__ = None
