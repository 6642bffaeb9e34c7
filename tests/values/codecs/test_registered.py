"""`register_codec` works with encode alone, and covers subclasses if asked."""

import pytest

from toolkit import Catalog, DefinitionError, Dispatcher, Tool, register_codec

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("own_forms")]


class Money:
    def __init__(self, cents: int) -> None:
        self.cents = cents


class Euro(Money):
    pass


class Cents(int):
    """A number with a form of its own."""


def write(money: Money) -> str:
    return f"{money.cents}c"


async def call(value, **annotations):
    """Return the result of a tool that returns *value*."""
    catalog = Catalog()

    async def give():
        """Give it."""
        return value

    give.__annotations__.update(annotations)
    catalog.tool(give)
    return await Dispatcher(catalog).call("give")


@pytest.mark.parametrize("annotations", [{}, {"return": Money}], ids=["bare", "annotated"])
async def test_encode_alone_is_enough_for_results(annotations):
    """A class that is only returned needs no schema and no decode."""
    register_codec(Money, encode=write)
    result = await call(Money(5), **annotations)
    assert (result.kind, result.value, result.text) == ("ok", "5c", "5c")


async def test_encode_alone_is_enough_inside_other_types():
    """The schema says nothing about the items, and holds."""
    register_codec(Money, encode=write)
    result = await call([Money(5)], **{"return": list[Money]})
    assert result.value == ["5c"]

    def many() -> list[Money]:
        """Give many."""

    assert Tool.of(many).output_schema == {"type": "array"}


def test_a_class_with_encode_alone_cannot_be_an_argument():
    """The error says what is missing."""
    register_codec(Money, encode=write)

    def pay(amount: Money) -> None:
        """Pay."""

    with pytest.raises(DefinitionError, match=r"parameter `amount`: Money is registered for results only; .*`decode`"):
        Tool.of(pay)


def test_decode_needs_a_schema():
    """A model would not know the form of the value."""
    with pytest.raises(DefinitionError, match=r"register_codec\(Money\): `decode` needs a `schema`"):
        register_codec(Money, encode=write, decode=Money)


async def test_a_form_that_the_schema_does_not_allow_is_an_error():
    """An encoder and a schema that disagree are noticed."""
    register_codec(Money, encode=write, schema={"type": "integer"})
    result = await call(Money(5), **{"return": Money})
    assert (result.kind, "expected an integer" in result.text) == ("failed", True)


@pytest.mark.parametrize("subclasses", [True, False])
async def test_subclasses_are_covered_if_the_option_is_on(subclasses):
    """Only the author knows whether a subclass has further data."""
    register_codec(Money, encode=write, subclasses=subclasses)
    result = await call([Euro(5)])
    assert (result.kind, result.value) == (("ok", ["5c"]) if subclasses else ("failed", None))
    annotated = await call(Euro(5), **{"return": Euro})
    assert annotated.value == ("5c" if subclasses else None)


async def test_the_nearest_class_wins():
    """A codec of the subclass itself comes before the one of its base."""
    register_codec(Money, encode=write, subclasses=True)
    register_codec(Euro, encode=lambda euro: f"{euro.cents} euro cents")
    assert (await call([Euro(5), Money(5)])).value == ["5 euro cents", "5c"]


async def test_a_second_registration_can_exclude_the_subclasses():
    register_codec(Money, encode=write, subclasses=True)
    register_codec(Money, encode=write)
    assert (await call(Euro(5))).kind == "failed"


def test_an_argument_of_a_subclass_is_refused():
    """`decode` makes the base class, which the function did not ask for."""
    register_codec(Money, schema={"type": "integer"}, decode=Money, encode=write, subclasses=True)

    def pay(amount: Euro) -> None:
        """Pay."""

    with pytest.raises(DefinitionError, match="Euro is a subclass of Money, .* call `register_codec` for Euro"):
        Tool.of(pay)


async def test_a_registered_class_is_not_mistaken_for_its_base():
    """A number that has a form of its own is not a plain number."""
    register_codec(Cents, encode=lambda cents: f"{int(cents)}c")
    assert (await call([Cents(5)])).value == ["5c"]
