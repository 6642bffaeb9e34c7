"""The files of a small project, and calls that change them."""

from __future__ import annotations

__all__ = ["APP", "OUTSIDE", "SECRET", "edit_call", "write_call"]

APP = "def main():\n    return 1\n"
OUTSIDE = "what lies outside"
SECRET = "TOKEN=hunter2"


def write_call(path="notes.txt", content="one\ntwo\nthree\n"):
    return "write", {"path": path, "content": content}


def edit_call(path="src/app.py", old="return 1", new="return 2"):
    return "edit", {"path": path, "edits": [{"old": old, "new": new}]}
