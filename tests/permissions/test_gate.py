"""A function that says yes."""

import pytest

from toolkit.access import Reads
from toolkit.catalog import Catalog
from toolkit.context import Context
from toolkit.dispatcher import Dispatcher
from toolkit.permissions import PermissionGate, Permissions
from toolkit.session import Session

pytestmark = pytest.mark.anyio


def world():
    """Return a catalog with a harmless tool and a destructive one, and what they did."""
    catalog, ran = Catalog(), []

    @catalog.tool(destructive=True, aliases=["delete"])
    async def wipe(path: str = "x") -> str:
        """Wipe it."""
        ran.append(path)
        return "wiped"

    @catalog.tool
    async def write(context: Context) -> str:
        """Write something, and look at something."""
        context.permissions.check(Reads("notes.txt"))
        ran.append("write")
        return "written"

    return catalog, ran


async def async_yes(call):
    return True


async def async_no(call):
    return False


async def async_raises(call):
    raise RuntimeError("no idea")


def raises(call):
    raise RuntimeError("no idea")


class Truthy:
    def __bool__(self):
        return True

    def __eq__(self, other):
        return True

    __hash__ = None


@pytest.mark.parametrize(
    ("says", "kind"),
    [
        (lambda call: True, "ok"),
        (async_yes, "ok"),
        (lambda call: False, "denied"),
        (async_no, "denied"),
        (lambda call: None, "denied"),
        (lambda call: 1, "denied"),
        (lambda call: "yes", "denied"),
        (lambda call: "allow", "denied"),
        (lambda call: [True], "denied"),
        (lambda call: Truthy(), "denied"),
        (lambda call: async_yes, "denied"),
        (lambda: True, "denied"),
        (raises, "denied"),
        (async_raises, "denied"),
    ],
    ids=str,
)
async def test_a_call_runs_only_if_the_gate_returns_true(says, kind):
    """Another true value does not count, and neither does a function that fails."""
    catalog, ran = world()
    result = await Dispatcher(catalog, permissions=PermissionGate(says)).call("wipe", {})
    assert result.kind == kind
    assert ran == (["x"] if kind == "ok" else [])


@pytest.mark.parametrize("says", [lambda call: False, async_no, raises], ids=["no", "async", "raises"])
async def test_a_call_that_destroys_nothing_goes_through_the_gate(says):
    """The name of the gate promises no exception."""
    catalog, ran = world()
    assert (await Dispatcher(catalog, permissions=PermissionGate(says)).call("write", {})).kind == "denied"
    assert ran == []


async def test_a_gate_can_leave_out_calls_by_the_facts_of_their_tool():
    """The tool may look further while it runs, and the gate is asked again."""
    catalog, ran = world()
    dispatcher = Dispatcher(catalog, permissions=PermissionGate(lambda call: not call.tool.facts.destructive))
    assert (await dispatcher.call("write", {})).kind == "ok"
    assert (await dispatcher.call("wipe", {})).kind == "denied"
    assert ran == ["write"]


async def test_a_gate_sees_the_final_call():
    """The gate gets decoded arguments with defaults, the principal, and the name that the model used."""
    catalog, ran = world()
    session, calls = Session(principal="ada"), []

    def says(call):
        calls.append((call.name, dict(call.arguments), call.principal, call.session, call.tool.name, call.id))
        call.arguments["path"] = "everything"
        return True

    dispatcher = Dispatcher(catalog, permissions=PermissionGate(says))
    await dispatcher.call("delete", "{}", session=session, id="c1")
    assert calls == [("delete", {"path": "x"}, "ada", session, "wipe", "c1")]
    assert ran == ["x"]


async def test_the_refusal_of_a_gate_names_the_gate_and_the_tool():
    result = await Dispatcher(world()[0], permissions=PermissionGate(lambda call: False)).call("wipe", {})
    assert "the function of the gate did not return True for `wipe`" in result.text


@pytest.mark.parametrize(
    ("mode", "says", "kind"),
    [
        ("bypass", True, "ok"),
        ("bypass", False, "denied"),
        ("default", True, "waiting"),
        ("default", False, "denied"),
        ("plan", True, "denied"),
    ],
)
@pytest.mark.parametrize("order", [1, -1], ids=["first", "last"])
async def test_a_gate_can_join_permissions(mode, says, kind, order):
    """The strictest judge decides, in any order."""
    catalog, ran = world()
    judges = [Permissions(mode), PermissionGate(lambda call: says)][::order]
    assert (await Dispatcher(catalog, permissions=judges).call("wipe", {})).kind == kind
    assert ran == (["x"] if kind == "ok" else [])
