"""
The strongest level: a file system of the command's own, and namespaces, made by `bwrap`.

The command sees the system's programs, the workspace and nothing else. Protected files are covered, in their places.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Iterator, Sequence
from typing import Any

from . import seccomp
from .base import Sandbox
from .grounds import Grounds
from .limits import Limits
from .system import readable, settings

__all__ = ["bubblewrap"]

_ROOT = "as root, processes are counted a few times a second where no control group can be made"
_ROOM = str(256 << 20)
_TEMPORARY = "/tmp"  # noqa: S108 -- a private one, inside the sandbox


def bubblewrap(
    grounds: Grounds, *, program: str, network: bool = False, limits: Limits | None = None, further: Sequence[str] = ()
) -> Sandbox:
    """The level, with the `bwrap` at *program*; *further* folders can be read."""
    bounds = (limits or Limits()).as_wish()
    is_filtered = seccomp.supports()

    def plan(argv: Sequence[str], cwd: str, private: str | None) -> dict[str, Any]:
        options = [*_frame(network), *_empty(private), *_system(network, further), *_workspace(grounds)]
        options += ["--remount-ro", "/", "--chdir", cwd]
        wish = {"argv": [program, *argv], "options": options, "drop": False, **bounds}
        if is_filtered:
            families = (*seccomp.LOCAL, *seccomp.NETWORK)  # without a network they reach each other, and nothing else
            wish["filter"] = base64.b64encode(seccomp.program(families)).decode()
        return wish

    does = (
        "sees the system's programs and the workspace only, and writes only to the workspace and private folders",
        "protected files are covered: secrets cannot be read, files that make programs run code cannot be changed",
        "sees and signals its own processes only; all of them end with the command",
        "has no privileges and cannot gain any" + ("; dangerous system calls are refused" if is_filtered else ""),
        "CPU time, memory, file sizes and the number of processes are bounded",
    )
    does_not = (
        *(("it reaches the network, this machine's own services included",) if network else ()),
        "what has a protected name but is made by the command itself is covered only from the next command on",
        "a secret that somebody saves anew while a command runs is seen by that command",
        "a hard link to a protected file is taken for another file",
        *(("dangerous system calls are not refused: this machine's are not known here",) if not is_filtered else ()),
        *((_ROOT,) if "crowd" in bounds else ()),
    )
    return Sandbox(
        name="bubblewrap",
        network=network,
        does=does,
        does_not=does_not,
        plan=plan,
        shows=(*readable(further), *grounds.tops),
        private_as=_TEMPORARY,
    )


def _frame(network: bool) -> list[str]:
    namespaces = ["--unshare-all", *(["--share-net"] if network else []), "--hostname", "sandbox"]
    return [*namespaces, "--die-with-parent", "--new-session", "--cap-drop", "ALL"]


def _empty(private: str | None) -> Iterator[str]:
    """What is a command's own; mounted first, as anything else may lie in it."""
    yield from ("--proc", "/proc", "--dev", "/dev")
    for place in ("/dev/shm", "/run", "/var"):  # noqa: S108 -- as above
        yield from ("--size", _ROOM, "--tmpfs", place)
    yield from ("--dir", "/var/tmp")  # noqa: S108 -- as above
    yield from ("--bind", private, _TEMPORARY) if private else ("--size", _ROOM, "--tmpfs", _TEMPORARY)


def _system(network: bool, further: Sequence[str]) -> Iterator[str]:
    for place in readable(further):
        yield from ("--ro-bind", place, place)
    for name in ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"):
        if os.path.islink(name):
            yield from ("--symlink", os.readlink(name), name)
    for path in settings():
        if path != "/etc/resolv.conf" or network:
            yield from ("--ro-bind", os.path.realpath(path), path)
    if os.path.islink("/etc/mtab"):
        yield from ("--symlink", "/proc/self/mounts", "/etc/mtab")


def _workspace(grounds: Grounds) -> Iterator[str]:
    for top, may_write in grounds.tops.items():
        yield from ("--bind" if may_write else "--ro-bind", top, top)
    for each in grounds.kept():
        if each.level == "hidden" and each.is_folder:
            yield from ("--perms", "0000", "--tmpfs", each.path, "--remount-ro", each.path)
        elif each.level == "hidden":
            yield from ("--ro-bind", "/dev/null", each.path)
        elif each.level == "read-only" or not grounds.may_write(each.path):
            yield from ("--ro-bind-try", each.path, each.path)
        else:
            # A mount cannot be renamed, so nobody puts another folder in its place.
            yield from ("--bind-try", each.path, each.path)
