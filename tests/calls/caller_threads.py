"""What the tests of tools with `thread="caller"` share."""

from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor

from toolkit.dispatcher import Dispatcher


@contextlib.contextmanager
def dispatching(catalog, **options):
    """Make a dispatcher, and close it at the end."""
    with contextlib.closing(Dispatcher(catalog, **options)) as dispatcher:
        yield dispatcher


def in_thread(work):
    """Run *work* in a thread of its own; return what it returns, or raise what it raises."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(work).result(30)
