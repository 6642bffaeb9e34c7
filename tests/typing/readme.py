"""The code of the README. `python -m tests.test_readme` writes this file."""

# ruff: noqa: E402, T201, I001 -- it stands as on the page
# fmt: off

from hypothesis import HealthCheck, given, settings

from toolkit import Dispatcher, default_catalog, tool
from toolkit.testing import arguments


@tool(read_only=True)
def share(total: float, people: int) -> float:
    """Divide a bill."""
    return total / people


dispatcher = Dispatcher(default_catalog)
print(dispatcher.call_sync("share", {"total": 10, "people": 4}).value)
print(*dispatcher.call_sync("share", {"total": "ten", "persons": 4}).problems, sep="\n")


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(arguments(share))  # draws calls that the schema accepts
def test_share(drawn: dict[str, object]) -> None:
    dispatcher.call_sync("share", drawn).unwrap()


from typing import Literal

from toolkit import Catalog, Decision, Permissions

catalog = Catalog()


@catalog.tool(destructive=True)
def refund(order: int, euros: float, reason: Literal["late", "broken"]) -> str:
    """
    Pay money back for an order.

    Args:
        order: The number of the order.
        euros: How much.
    """
    return f"{euros:.2f} euros paid back for order {order}"


careful = Dispatcher(catalog, permissions=Permissions("default"))
right = {"order": 7, "euros": 12.5, "reason": "late"}
waiting = careful.call_sync("refund", right)
print(waiting.reason)
done = careful.resume_sync(waiting, Decision.approve(by="Ada"))
print(done.text)


from toolkit.mcp import Servers, build_server

with Servers(catalog, shop=build_server(careful)) as tools:
    names = tools.names()

print(names)
