"""
The user account that a command of root has inside its sandbox.

Its number and its name are those of an ordinary user, so that programs treat it as one. Its number stands for root: the
command owns the files of root in the workspace, and files that it makes there belong to root outside. The kernel still
treats it as root where files are concerned. So the account alone protects nothing; the mounts do.
"""

from __future__ import annotations

import contextlib
import os

__all__ = ["USER_NAME", "account_lines", "choose_user"]

USER_NAME = "sandbox"
_FIRST_NUMBER, _LAST_NUMBER = 1000, 60_000


def choose_user() -> int | None:
    """
    Return a number that no user and no group of this machine has, or None if commands keep their user.

    Only commands of root get another user.
    """
    if os.geteuid() != 0:
        return None
    import grp
    import pwd

    # The numbers are tried one by one, because listing all users may take minutes with a directory service.
    for number in range(_FIRST_NUMBER, _LAST_NUMBER):
        with contextlib.suppress(KeyError):
            pwd.getpwuid(number)
            continue
        with contextlib.suppress(KeyError):
            grp.getgrgid(number)
            continue
        return number
    return _LAST_NUMBER


def account_lines(number: int) -> dict[str, str]:
    """Return the line of the account that the launcher adds to each list of names, by the path of the list."""
    home = "/tmp/home"  # noqa: S108 -- a private folder inside the sandbox
    return {
        "/etc/passwd": f"{USER_NAME}:x:{number}:{number}::{home}:/bin/sh\n",
        "/etc/group": f"{USER_NAME}:x:{number}:\n",
    }
