"""A tool that runs in the background until it is told to end, and how a model starts and reads it."""

from __future__ import annotations

import asyncio

from toolkit import (
    Catalog,
    Context,
)
from toolkit.builtin import job_output_for, job_stop_for
from toolkit.calls.background.jobs import find_jobs


class Work:
    """A tool that ends when it is told to, and what happened to it."""

    def __init__(self) -> None:
        self.may_end = asyncio.Event()
        self.has_begun = asyncio.Event()
        self.log: list[str] = []
        self.catalog = Catalog(job_output_for(), job_stop_for())

        @self.catalog.tool(background=True)
        async def build(target: str, *, context: Context) -> dict[str, str]:
            """
            Build the program.

            Args:
                target: What to build.
            """
            self.log.append(f"begin {target}")
            context.report(1, 2, "compiling")
            self.has_begun.set()
            try:
                await self.may_end.wait()
            except asyncio.CancelledError:
                self.log.append(f"cancelled {target}")
                raise
            self.log.append(f"end {target}")
            return {"built": target}


async def start(dispatcher, session, target="app", **options):
    """Start the tool in the background."""
    return await dispatcher.call("build", {"target": target, "background": True}, session=session, **options)


async def read(dispatcher, session, job="job_1", **arguments):
    """Read a job as a model does."""
    return (await dispatcher.call("job_output", {"job": job, **arguments}, session=session)).text


async def wait_for_jobs(session):
    """Wait for all jobs of the session."""
    for job in find_jobs(session).all():
        await asyncio.to_thread(job.wait, 20)
