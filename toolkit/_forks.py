"""
What a forked child makes anew.

A child of `os.fork()` has the memory of its parent and none of its threads. A pool would wait for threads that are
not there, and a lock that another thread held at the fork stays locked for ever. What is registered here is put
right in the child before any other code runs in it.
"""

from __future__ import annotations

import functools
import os
import weakref
from typing import Any, Protocol, TypeVar

__all__ = ["Renewable", "renew_in_children", "unlock_in_children", "unlock_properties_in_children"]


ClassT = TypeVar("ClassT", bound=type)
LockT = TypeVar("LockT")


class Renewable(Protocol):
    """Something that a forked child cannot use as it is."""

    def renew_after_fork(self) -> None:
        """Forget what belonged to the threads of the parent; the child has one thread, and calls this first."""


_renewables: weakref.WeakSet[Renewable] = weakref.WeakSet()
_locks: weakref.WeakSet[Any] = weakref.WeakSet()


def renew_in_children(thing: Renewable) -> None:
    """Call `thing.renew_after_fork()` in every child that is forked while *thing* lives."""
    _renewables.add(thing)


def unlock_in_children(lock: LockT) -> LockT:
    """
    Return *lock*; every forked child gets it unlocked, because the thread that held it stayed in the parent.

    That is enough where each change under the lock leaves the object usable if it stops halfway. An object that it
    does not leave so is registered with `renew_in_children`, and mends itself.
    """
    _locks.add(lock)
    return lock


def unlock_properties_in_children(cls: ClassT) -> ClassT:
    """
    Return the class *cls*; every forked child gets the locks of its cached properties unlocked.

    In Python 3.11 a `functools.cached_property` has one lock for all objects of its class.
    """
    for value in vars(cls).values():
        lock = getattr(value, "lock", None) if isinstance(value, functools.cached_property) else None
        if lock is not None:
            unlock_in_children(lock)
    return cls


def _renew_all() -> None:
    for lock in list(_locks):
        if not _is_own(lock):
            lock._at_fork_reinit()  # noqa: SLF001 -- what the standard library calls for its own locks
    for thing in list(_renewables):
        thing.renew_after_fork()


def _is_own(lock: Any) -> bool:
    """Return whether the thread that forked holds *lock*, and will release it; only an `RLock` can tell."""
    is_owned = getattr(lock, "_is_owned", None)
    return is_owned is not None and bool(is_owned())


if hasattr(os, "register_at_fork"):  # Windows cannot fork
    os.register_at_fork(after_in_child=_renew_all)
