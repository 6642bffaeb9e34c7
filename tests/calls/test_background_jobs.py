"""What a job in the background shows, to whom, and what it leaves behind."""

from __future__ import annotations

from typing import Annotated

import pytest

from toolkit import Catalog, DefinitionError, Dispatcher, Secret, Session, Tool
from toolkit.builtin import job_output_for

pytestmark = pytest.mark.anyio


async def read(dispatcher, session, job="job_1", **options):
    """Read a job as a model does, after it has ended."""
    return (await dispatcher.call("job_output", {"job": job, "wait_seconds": 20}, session=session, **options)).text


@pytest.mark.parametrize("raise_bugs", [False, True])
async def test_the_error_of_a_job_is_masked(raise_bugs, caplog):
    """A secret in the message of an exception is masked for whoever reads the job, its end and the log."""
    catalog, session, reports = Catalog(job_output_for()), Session(), []

    @catalog.tool(background=True)
    async def login(password: Annotated[str, Secret]) -> str:
        """Log in."""
        raise ValueError(f"bad password {password}")

    async with Dispatcher(catalog, raise_bugs=raise_bugs, on_progress=reports.append) as dispatcher:
        await dispatcher.call("login", {"password": "hunter2x", "background": True}, session=session)
        text = await read(dispatcher, session)
        listed = (await dispatcher.call("job_output", {}, session=session)).text
    assert "bad password" in text
    assert "ValueError" in caplog.text
    assert "hunter2x" not in text + listed + caplog.text + str(reports)


@pytest.mark.parametrize("thread", [False, "caller"])
def test_a_sync_tool_that_would_hold_up_its_caller_is_refused(thread):
    """The background is a thread of its own; a sync function elsewhere would make the caller wait for its end."""

    def work() -> str:
        """Work."""
        return "done"

    async def work_on_the_loop() -> str:
        """Work."""
        return "done"

    with pytest.raises(
        DefinitionError, match=rf"work: `background=True` and `thread={thread!r}` .*; leave one of them"
    ):
        Tool.described(work, background=True, thread=thread)
    with pytest.raises(DefinitionError, match="exclude each other"):
        Tool.from_schema("x", "X.", {"type": "object"}, work, background=True, thread=thread)
    assert Tool.described(work_on_the_loop, background=True, thread=False).facts.background
