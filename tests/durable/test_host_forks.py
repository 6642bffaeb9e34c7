"""A host that was made before a fork works in the child too."""

from __future__ import annotations

import asyncio

from tests.durable.kit import LocalEngine, Toys
from tests.forked_children import run_in_child


def test_a_forked_child_is_another_worker(tmp_path):
    """The child has another name and other life signs, so it does not confuse the runs of its parent with its runs."""
    toys = Toys()
    host = toys.open_host(tmp_path, engine=LocalEngine())
    parent = host.worker
    assert asyncio.run(host.run("toy", "a", {})).status == "done"

    def work():
        row = asyncio.run(host.run("toy", "b", {}))
        return row.status, host.worker != parent, len(host._journal.read_workers())

    assert run_in_child(work) == "('done', True, 2)"
    assert host.worker == parent
    asyncio.run(host.close())
