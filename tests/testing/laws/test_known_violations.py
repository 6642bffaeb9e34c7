"""A violation that the author explains does not count as wrong."""

from __future__ import annotations

from typing import Annotated

import pytest

from toolkit import Catalog
from toolkit.testing import broken_laws, check_catalog, check_tool


def catalog_with_known(known_violations):
    """Return a catalog with a tool that breaks a law, and says so."""
    catalog = Catalog()

    @catalog.tool(read_only=True, metadata={"known_violations": known_violations})
    def third(items: Annotated[list[int], "At least three."]) -> int:
        """Give the third item."""
        return items[2]

    return catalog


def test_a_known_violation_is_not_wrong():
    """It is in the list only on request, with the reason."""
    catalog = catalog_with_known({"declared-failures": "Everybody has three."})
    check_catalog(catalog, examples=3)
    check_tool(catalog["third"], examples=3)
    (violation,) = broken_laws(catalog, examples=3, include_known=True)
    assert (violation.rule, violation.explanation) == ("declared-failures", "Everybody has three.")
    assert str(violation).splitlines()[-1] == "    known: Everybody has three."
    assert violation.to_json()["explanation"] == "Everybody has three."


@pytest.mark.first_cases(2)
@pytest.mark.parametrize(
    "known_violations",
    [{"output": "Something else."}, {"declared-failures": " "}, {"declared-failures": True}, "everything", None],
)
def test_a_reason_for_another_law_and_an_empty_reason_excuse_nothing(known_violations):
    """The table of reasons may also be missing, or not a table."""
    (violation,) = broken_laws(catalog_with_known(known_violations), examples=3)
    assert (violation.rule, violation.explanation) == ("declared-failures", "")


def test_a_similarity_of_two_tools_may_be_a_known_violation():
    """This holds for both laws about several tools, at the tool that the violation names."""
    catalog = Catalog()

    @catalog.tool
    def ring() -> None:
        """Ring the bell of the door."""

    @catalog.tool(metadata={"known_violations": {"told-apart": "Only one of them is ever offered."}})
    def chime() -> None:
        """Ring the bell of the door."""

    assert broken_laws(catalog, examples=5) == []
    assert [violation.rule for violation in broken_laws(catalog, examples=5, include_known=True)] == ["told-apart"]
