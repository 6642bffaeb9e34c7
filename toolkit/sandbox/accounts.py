"""
The user that a command of root is inside its sandbox.

It is an ordinary user by its number and its name, so that programs treat it as one. Its number stands for root: what
root owns in the workspace is its own, and what it makes there belongs to root outside. The kernel still knows it as
root where files are concerned, so this alone protects nothing; the mounts do.
"""

from __future__ import annotations

import contextlib
import os
from typing import Any

__all__ = ["NAME", "choose_user", "describe_user"]

NAME = "sandbox"
_FIRST, _LAST = 1000, 60_000


def choose_user() -> int | None:
    """Return a number that no user and no group of this machine has; None if commands keep the user that they have."""
    if os.geteuid() != 0:
        return None
    import grp
    import pwd

    # One by one: to list all users may take minutes where a directory service has them.
    for number in range(_FIRST, _LAST):
        with contextlib.suppress(KeyError):
            pwd.getpwuid(number)
            continue
        with contextlib.suppress(KeyError):
            grp.getgrgid(number)
            continue
        return number
    return _LAST


def describe_user(number: int) -> dict[str, Any]:
    """Return what the launcher is told: bubblewrap's options, and the line that each list of names gets."""
    home = "/tmp/home"  # noqa: S108 -- a private one, inside the sandbox
    return {
        "user": ["--unshare-user", "--uid", str(number), "--gid", str(number)],
        "names": {
            "/etc/passwd": f"{NAME}:x:{number}:{number}::{home}:/bin/sh\n",
            "/etc/group": f"{NAME}:x:{number}:\n",
        },
    }
