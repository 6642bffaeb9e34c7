"""The option `parameters=`, which describes parameters from outside."""

from dataclasses import dataclass
from typing import Annotated

import pytest

from toolkit import (
    Catalog,
    DefinitionError,
    Tool,
)

# parameters=


@dataclass
class Refund:
    """A refund."""

    order: str
    amount: int = 0


def give_back(order: Annotated[str, "Old text."], *, amount: int = 0, debug: bool = False):
    """
    Give money back.

    Args:
        amount: Cents.
    """


def test_parameters_are_described_from_outside():
    """The given text counts before that of the annotation and of the docstring; the others stay."""
    catalog = Catalog()
    assert catalog.tool(give_back, parameters={"order": "The number of the order."}) is give_back
    properties = catalog["give_back"].schema["properties"]
    assert properties["order"] == {"type": "string", "description": "The number of the order."}
    assert properties["amount"]["description"] == "Cents."
    assert "description" not in properties["debug"]
    assert Tool.described(give_back).schema["properties"]["order"]["description"] == "Old text."


def test_the_fields_of_a_flat_record_are_described_from_outside():
    def refund(refund: Refund):
        """Give money back."""

    spec = Tool.described(refund, flat=True, parameters={"order": "Its number."})
    assert spec.schema["properties"]["order"] == {"type": "string", "description": "Its number."}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"parameters": {"ordr": "x"}}, "`parameters` names `ordr`, which a model does not send; did you mean `order`"),
        (
            {"parameters": {"debug": "x"}, "hidden": ["debug"]},
            "`parameters` names `debug`, which a model does not send",
        ),
        ({"parameters": {"order": ""}}, "a dictionary of names of parameters and their descriptions"),
        ({"parameters": {"type": "object", "properties": {}}}, "a schema of your own is `schema`"),
        (
            {"parameters": {"order": "x"}, "schema": {"properties": {"order": {}}}},
            "write the descriptions .* into the sch",
        ),
    ],
)
def test_descriptions_of_other_parameters_are_refused(options, message):
    with pytest.raises(DefinitionError, match=message):
        Tool.described(give_back, **options)
