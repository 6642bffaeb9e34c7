"""A class with a typed `__call__` is a tool, and its attributes are the options of the tool."""

from __future__ import annotations

import functools
import threading
from dataclasses import dataclass
from typing import Any

import pytest

from toolkit import (
    Agent,
    BadArgs,
    Catalog,
    Context,
    DefinitionError,
    Dispatcher,
    DuplicateTool,
    Facts,
    Permissions,
    Tool,
    ToolCall,
    tool,
)
from toolkit.providers import ScriptedProvider

pytestmark = pytest.mark.anyio


@dataclass
class Refund:
    amount: int
    reason: str = "none"


class RefundOrder:
    """Refund an order."""

    destructive = True
    aliases = ("pay_back",)

    def __init__(self, client: Any = None) -> None:
        self.client = client

    def __call__(self, amount: int, reason: str = "none") -> str:
        return f"{amount} for {reason}"


def make(**attributes: Any) -> Any:
    """Return a callable object with these class attributes."""
    return type("Wiper", (RefundOrder,), {"__doc__": "Wipe.", "destructive": None, "aliases": None, **attributes})()


# Names, texts and facts.


def test_an_instance_is_a_tool_by_its_class():
    """The name is that of the class, the text its docstring, the schema that of `__call__`."""
    [refund] = Catalog(RefundOrder())
    assert (refund.name, refund.description) == ("refund_order", "Refund an order.")
    assert list(refund.schema["properties"]) == ["amount", "reason"]
    assert refund.facts == Facts(destructive=True, aliases=("pay_back",))


def test_attributes_state_every_option():
    """They may be attributes of the class or of the instance, and the instance comes first."""
    instance = make(name="pay", description="Pay.", read_only=True, group="money", timeout_seconds=5, version="2")
    instance.group = "orders"
    [pay] = Catalog(instance)
    assert (pay.name, pay.description) == ("pay", "Pay.")
    assert pay.facts == Facts(
        read_only=True, idempotent=True, concurrency_safe=True, group="orders", timeout_seconds=5, version="2"
    )


def test_the_docstring_of_the_call_comes_before_that_of_the_class():
    """The call says what it does, and the class says what it is."""

    class Greeter:
        """Something that greets."""

        def __call__(self, name: str) -> str:
            """
            Greet a person.

            Args:
                name: Who is greeted.
            """
            return f"Hello {name}"

    greeter = Tool.of(Greeter())
    assert greeter.description == "Greet a person."
    assert greeter.schema["properties"]["name"]["description"] == "Who is greeted."


def test_methods_are_the_functions_of_the_arguments():
    """They are bound to the instance."""

    class Careful(RefundOrder):
        """Refund with care."""

        limit = 100

        def approval(self, arguments: Any) -> bool:
            return arguments["amount"] > self.limit

        def validate(self, arguments: Any) -> str | None:
            return "nothing to refund" if arguments["amount"] == 0 else None

    dispatcher = Dispatcher(Careful())
    assert dispatcher.call_sync("careful", {"amount": 5}).kind == "ok"
    assert dispatcher.call_sync("careful", {"amount": 500}).kind == "waiting"
    assert dispatcher.call_sync("careful", {"amount": 0}).kind == "bad_args"


def test_options_that_are_given_come_before_attributes():
    """They hold in that catalog only."""
    instance, catalog = RefundOrder(), Catalog()
    catalog.tool(name="other", destructive=False)(instance)
    assert (catalog["other"].facts.destructive, catalog["pay_back"].name) == (False, "other")
    assert Tool.of(instance).facts.destructive


def test_a_class_may_be_flat():
    """Every option may be an attribute."""

    class Flat:
        """Refund an order."""

        flat = True

        def __call__(self, order: Refund, context: Context) -> str:
            return f"{order.amount} {context.call.name}"

    assert list(Tool.of(Flat()).schema["properties"]) == ["amount", "reason"]
    assert Dispatcher([Flat()]).call_sync("flat", {"amount": 5}).text == "5 flat"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("client", object()),
        ("timeout", 5),
        ("threads", 4),
        ("_read_only", True),
        ("schema", lambda self: 1 / 0),
        ("describe", lambda self, more: None),
        ("inject", staticmethod(lambda: 1 / 0)),
        ("name", None),
    ],
)
def test_an_attribute_that_is_not_an_option_is_ignored(name, value):
    """A method with the name of an option that is not a fact is ignored, too, and so is None."""
    [wiper] = Catalog(make(**{name: value}))
    assert (wiper.name, wiper.facts) == ("wiper", Facts())


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ({"destructive": 1}, r"\.Wiper: `destructive` has to be True or False, got 1; .* rename any other"),
        ({"aliases": "rm"}, r"\.Wiper: `aliases` has to be a list of names"),
        ({"hidden": True}, r"\.Wiper: `hidden` has to be a list of names of parameters, got True"),
        ({"name": 5}, r"\.Wiper: `name` has to be a text that is not empty, got 5"),
        ({"name": "a b"}, r"'a b' cannot be a tool's name"),
        ({"read_only": True, "destructive": True}, r"\.Wiper: a tool cannot be both `read_only` and `destructive`"),
        ({"version": property(lambda self: 1 / 0)}, r"\.Wiper: `version` cannot be read: ZeroDivisionError"),
        ({"readonly": True}, r"\.Wiper: the attribute `readonly` states no fact; did you mean `read_only`\?"),
        ({"examples": [{"amount": "x"}]}, r"example 1 does not fit"),
        ({"flat": True}, r"`flat=True` makes the fields of one parameter the arguments"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_wrong_attribute_is_refused_when_the_object_is_added(attributes, words):
    """The message names the class and the attribute."""
    with pytest.raises(DefinitionError, match=words):
        Catalog(make(**attributes))


# Every way in.


@pytest.mark.parametrize(
    "source", [lambda instance: instance, lambda instance: [instance], Catalog], ids=["one", "list", "catalog"]
)
async def test_a_dispatcher_takes_an_instance(source):
    """Alone, in a list, or in a catalog; by its name and by its alias."""
    async with Dispatcher(source(RefundOrder())) as dispatcher:
        assert (await dispatcher.call("refund_order", {"amount": 5})).text == "5 for none"
        assert (await dispatcher.call("pay_back", {"amount": 6})).text == "6 for none"
        assert (await dispatcher.call("refund_order", {"amount": "x"})).kind == "bad_args"


async def test_an_agent_takes_an_instance_as_a_tool():
    provider = ScriptedProvider([[ToolCall("wiper", {"amount": 5})], "done"])
    run = await Agent(provider, [make(read_only=True)]).run("Refund 5.")
    assert run.text == "done"
    assert "5 for none" in str(provider.requests[-1].messages)


async def test_facts_of_an_instance_count():
    """A destructive object asks in mode auto."""
    async with Dispatcher([RefundOrder()], permissions=Permissions("auto")) as dispatcher:
        assert (await dispatcher.call("refund_order", {"amount": 5})).kind == "waiting"


class Async:
    """Tell the thread."""

    async def __call__(self) -> int:
        return threading.get_ident()


class Sync:
    """Tell the thread."""

    def __call__(self) -> int:
        return threading.get_ident()


class OnTheLoop(Sync):
    """Tell the thread."""

    thread = False


@pytest.mark.parametrize(("kind", "is_here"), [(Async, True), (Sync, False), (OnTheLoop, True)])
async def test_the_thread_is_that_of_a_function(kind, is_here):
    """A sync `__call__` runs in a thread, unless its class says otherwise."""
    async with Dispatcher(Catalog(kind())) as dispatcher:
        [name] = dispatcher.catalog.names()
        assert ((await dispatcher.call(name)).value == threading.get_ident()) is is_here


# What else an object may have.


class Both:
    """Count what is there."""

    read_only = True

    def __call__(self) -> int:
        return 1

    @tool(destructive=True)
    def clear(self) -> None:
        """Clear all."""


class Marked:
    @tool(read_only=True)
    def __call__(self, word: str) -> str:
        """Repeat a word."""
        return word

    @tool
    def clear(self) -> None:
        """Clear all."""


def test_decorated_methods_are_the_tools_of_an_object_that_can_also_be_called():
    """A call that its author did not mark may do anything, so it is not offered to a model by accident."""
    catalog = Catalog(Both())
    assert catalog.names() == ["clear"]
    assert not catalog["clear"].facts.read_only


def test_a_decorated_call_is_a_tool_beside_other_methods():
    """Its name is that of the class, and its options are those of the decorator."""
    catalog = Catalog(Marked())
    assert catalog.names() == ["marked", "clear"]
    assert catalog["marked"].facts.read_only
    assert Dispatcher(catalog).call_sync("marked", {"word": "a"}).text == "a"


def test_an_object_with_the_shape_of_a_tool_is_called_by_its_shape():
    """It has all four attributes."""

    class Shaped:
        name = "wipe"
        description = "Wipe."
        schema = {"type": "object", "properties": {"path": {"type": "string"}}}

        def call(self, arguments: Any) -> str:
            return "call"

        def __call__(self, path: str) -> str:
            return "__call__"

    assert Dispatcher(Shaped()).call_sync("wipe", {"path": "a"}).text == "call"


def test_a_wrapper_of_a_function_has_the_facts_of_the_function():
    """Its attributes are those of a decorator, not of a tool."""

    class Traced:
        name = "traced calls"

        def __init__(self, function: Any) -> None:
            functools.update_wrapper(self, function)

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return self.__wrapped__(*args, **kwargs)  # type: ignore[attr-defined]

    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    assert Tool.of(Traced(add)).name == "add"


def test_an_instance_can_be_added_again():
    """If it still says the same; another instance of the class is another tool."""
    instance = RefundOrder()
    catalog = Catalog(instance).add(instance)
    assert catalog.names() == ["refund_order"]
    with pytest.raises(DuplicateTool):
        catalog.add(RefundOrder())
    instance.destructive = False
    with pytest.raises(DuplicateTool):
        catalog.add(instance)


def test_two_instances_with_different_names_are_two_tools():
    """The attribute may be set for each."""

    class Search:
        """Search a shelf."""

        read_only = True

        def __init__(self, name: str) -> None:
            self.name = name

        def __call__(self, word: str) -> str:
            return f"{word} in {self.name}"

    dispatcher = Dispatcher([Search("books"), Search("films")])
    assert dispatcher.catalog.names() == ["books", "films"]
    assert dispatcher.call_sync("films", {"word": "x"}).text == "x in films"
    with pytest.raises(BadArgs):
        dispatcher.catalog["books"].check({})


def test_an_attribute_called_parameters_is_data_of_the_object():
    """The name is a common one, and an object can describe the parameters of its own `__call__`."""

    class Model:
        parameters = {"rate": 0.1}

        def __call__(self, text: str) -> str:
            """Answer."""
            return text

    [model] = Catalog(Model())
    assert model.schema["properties"] == {"text": {"type": "string"}}
