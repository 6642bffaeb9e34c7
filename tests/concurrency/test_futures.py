"""Outcomes of futures that others may have finished, and errors that no code waits for."""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc

import pytest

from toolkit.concurrency.futures import retrieve_exception, set_outcome

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "concurrent.futures"])
async def future(request):
    """A future of either kind."""
    return asyncio.get_running_loop().create_future() if request.param == "asyncio" else concurrent.futures.Future()


async def test_the_first_outcome_counts(future):
    """A later one is dropped."""
    set_outcome(future, 1)
    set_outcome(future, 2)
    set_outcome(future, None, LookupError())
    assert future.result() == 1


async def test_an_error_is_an_outcome(future):
    """Reading the result raises it."""
    set_outcome(future, None, LookupError("broken"))
    with pytest.raises(LookupError, match="broken"):
        future.result()


async def test_a_cancelled_future_stays_cancelled(future):
    """No code waits for the outcome."""
    future.cancel()
    set_outcome(future, 1)
    assert future.cancelled()


@pytest.mark.parametrize("callbacks", [[], [retrieve_exception]])
async def test_asyncio_does_not_warn_of_an_error_that_was_read(callbacks):
    warnings = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda loop, context: warnings.append(context["message"]))
    lost = loop.create_future()
    for callback in callbacks:
        lost.add_done_callback(callback)
    lost.set_exception(LookupError("broken"))
    await asyncio.sleep(0)
    del lost
    gc.collect()
    assert len(warnings) == 1 - len(callbacks)


async def test_a_cancelled_future_has_no_error_to_read():
    """Reading one would raise."""
    lost = asyncio.get_running_loop().create_future()
    lost.cancel()
    retrieve_exception(lost)
    assert lost.cancelled()
