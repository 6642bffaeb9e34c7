"""
Repair of objects in a forked child.

A child of `os.fork()` has the memory of its parent, but none of the parent's other threads. A thread pool would wait
for threads that do not exist, and a lock that another thread held at the fork would stay locked for ever. The child
repairs the objects that are registered here before any other code runs in it.
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
    """An object that a forked child cannot use as it is."""

    def renew_after_fork(self) -> None:
        """Drop the state that belonged to the parent's threads. The child, which has one thread, calls this first."""


_renewables: weakref.WeakSet[Renewable] = weakref.WeakSet()
_locks: weakref.WeakSet[Any] = weakref.WeakSet()


def renew_in_children(renewable: Renewable) -> None:
    """Call `renewable.renew_after_fork()` in every child that is forked while *renewable* lives."""
    _renewables.add(renewable)


def unlock_in_children(lock: LockT) -> LockT:
    """
    Return *lock*, and register it to be unlocked in every forked child.

    The thread that held the lock stayed in the parent, so it cannot release the lock in the child.

    Unlocking is enough if every change under the lock leaves the object usable even when the change stops halfway.
    Otherwise register the object with `renew_in_children`, so that it repairs itself.
    """
    _locks.add(lock)
    return lock


def unlock_properties_in_children(cls: ClassT) -> ClassT:
    """
    Return the class *cls*, and register the locks of its cached properties to be unlocked in every forked child.

    In Python 3.11 a `functools.cached_property` has one lock for all objects of its class.
    """
    for value in vars(cls).values():
        lock = getattr(value, "lock", None) if isinstance(value, functools.cached_property) else None
        if lock is not None:
            unlock_in_children(lock)
    return cls


def _renew_all() -> None:
    for lock in list(_locks):
        # Only an `RLock` knows its owner. If that is the thread that forked, it will release the lock itself.
        is_owned = getattr(lock, "_is_owned", None)
        if is_owned is None or not is_owned():
            lock._at_fork_reinit()  # noqa: SLF001 -- the standard library calls this for its own locks
    for renewable in list(_renewables):
        renewable.renew_after_fork()


if hasattr(os, "register_at_fork"):  # Windows cannot fork
    os.register_at_fork(after_in_child=_renew_all)
