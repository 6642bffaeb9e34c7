"""The state of a call: what changes it, and what the running tool gets of it."""

from __future__ import annotations

import gc
from typing import Annotated, Any

import pytest

from toolkit.calls.approval.case import ApprovalCase
from toolkit.catalog import Catalog
from toolkit.context import Context, Secret
from toolkit.dispatcher import Dispatcher
from toolkit.hooks import Modify
from toolkit.permissions import PermissionRequest

pytestmark = pytest.mark.anyio


def count_alive(kind: type) -> int:
    """Return how many objects of *kind* there are."""
    return sum(type(item) is kind for item in gc.get_objects())


async def test_a_permission_request_is_built_only_for_a_tool_that_asks():
    """A tool that does not use `context.permissions` has nothing built for it, and further questions share a request."""
    catalog, counts = Catalog(), []

    @catalog.tool
    async def fetch(context: Context) -> None:
        """Fetch something."""
        counts.append((count_alive(PermissionRequest), count_alive(ApprovalCase)))
        context.permissions.opens_port("http://localhost:8000")
        context.permissions.opens_port("http://localhost:8001")
        counts.append((count_alive(PermissionRequest), count_alive(ApprovalCase)))

    gc.collect()
    requests, stages = count_alive(PermissionRequest), count_alive(ApprovalCase)
    await Dispatcher(catalog).call("fetch")
    assert counts == [(requests, stages), (requests + 1, stages)]


async def test_a_secret_stays_masked_after_a_hook_has_replaced_it():
    """The arguments were sent as text, so only their decoded form shows the secret."""
    catalog = Catalog()

    @catalog.tool
    async def enter(key: Annotated[str, Secret]) -> None:
        """Enter."""

    class Replaces:
        def before(self, call: Any) -> Any:
            return Modify({"key": "other"})

    class Fails:
        def before(self, call: Any) -> Any:
            raise ValueError("the key was hunter22hunter22")

    result = await Dispatcher(catalog, hooks=[Replaces(), Fails()]).call("enter", '{"key": "hunter22hunter22"}')
    assert result.kind == "internal"
    assert "hunter22" not in result.text


async def test_a_hook_sees_the_arguments_of_the_previous_hook():
    """They are checked once, after all hooks."""
    catalog, arguments = Catalog(), []

    @catalog.tool
    async def double(number: int) -> int:
        """Double a number."""
        return number * 2

    class Spoils:
        def before(self, call: Any) -> Any:
            return Modify({"number": "many"})

    class Mends:
        def before(self, call: Any) -> Any:
            arguments.append(dict(call.arguments))
            return Modify({"number": 4})

    result = await Dispatcher(catalog, hooks=[Spoils(), Mends()]).call("double", {"number": 1})
    assert (result.value, arguments) == (8, [{"number": "many"}])
