"""Calls of tools whose annotations hold validators: what the model is told, and what runs after an approval."""

from typing import Annotated

import pytest
from pydantic import AfterValidator, BeforeValidator, StringConstraints

from toolkit import Catalog, Decision, Dispatcher
from toolkit.approvals import Approvals, MemoryApprovals

pytestmark = pytest.mark.anyio


def inside(path):
    if ".." in path:
        raise ValueError("stays outside the project")
    return path


async def test_a_value_that_a_validator_refuses_is_a_problem_of_the_call():
    """The tool does not run."""
    catalog, ran = Catalog(), []

    @catalog.tool
    async def remove(path: Annotated[str, AfterValidator(inside)]) -> None:
        """Remove a file."""
        ran.append(path)

    dispatcher = Dispatcher(catalog)
    refused = await dispatcher.call("remove", {"path": "../a"})
    assert refused.kind == "bad_args"
    assert "path: stays outside the project" in refused.text
    assert ran == []
    assert (await dispatcher.call("remove", {"path": "a"})).kind == "ok"
    assert ran == ["a"]


async def test_a_validator_that_crashes_is_a_problem_of_the_call():
    """An exception of any class is told with the parameter, and never ends the dispatcher."""
    catalog = Catalog()

    @catalog.tool
    async def divide(by: Annotated[int, AfterValidator(lambda number: 1 // number)]) -> int:
        """Divide."""
        return by

    result = await Dispatcher(catalog).call("divide", {"by": 0})
    assert result.kind == "bad_args"
    assert "by: " in result.text


async def test_an_approved_call_runs_with_the_value_that_was_approved():
    """A validator that would change its own result again is not applied to it twice."""
    catalog, ran = Catalog(), []

    @catalog.tool(approval="always")
    async def order(
        names: Annotated[list[str], BeforeValidator(lambda text: text.split(","), json_schema_input_type=str)],
        count: Annotated[int, AfterValidator(lambda number: number + 1)],
        city: Annotated[str, StringConstraints(strip_whitespace=True)] = " Rome",
    ) -> str:
        """Order things."""
        ran.append((names, count, city))
        return "ordered"

    dispatcher = Dispatcher(catalog, approvals=Approvals(MemoryApprovals()))
    waiting = await dispatcher.call("order", {"names": "a,b", "count": 1, "city": " Paris "})
    assert waiting.kind == "waiting"
    result = await dispatcher.resume(waiting.request.id, Decision.approve())
    assert (result.kind, ran) == ("ok", [(["a", "b"], 2, "Paris")])
