"""The definitions that a catalog gives to several callers."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from toolkit import Catalog

from .tools import everything

MARK = {"name": "mine"}


@pytest.fixture
def catalog() -> Catalog:
    return everything()


@pytest.mark.parametrize(
    "read",
    [
        lambda definitions: definitions[0],
        lambda definitions: definitions[:1][0],
        lambda definitions: next(iter(definitions)),
        lambda definitions: list(reversed(definitions))[-1],
        lambda definitions: list(definitions)[0],
        lambda definitions: [*definitions][0],
        lambda definitions: tuple(definitions)[0],
        lambda definitions: (definitions + [MARK])[0],
        lambda definitions: ([MARK] + definitions)[1],
        lambda definitions: (definitions * 2)[0],
        lambda definitions: (2 * definitions)[0],
        lambda definitions: definitions.copy()[0],
        lambda definitions: copy.copy(definitions)[0],
        lambda definitions: copy.deepcopy(definitions)[0],
        lambda definitions: pickle.loads(pickle.dumps(definitions))[0],
        lambda definitions: definitions.pop(0),
        lambda definitions: sorted(definitions, key=str)[0],
        lambda definitions: [*filter(None, definitions)][0],
        lambda definitions: _extend([], definitions)[0],
    ],
)
def test_a_definition_may_be_changed_after_any_kind_of_read(catalog: Catalog, read: Callable[[Any], Any]) -> None:
    """A change of one caller's definition shows in no other caller's."""
    expected = json.dumps(catalog.definitions("openai"))
    other = catalog.definitions("openai")
    definition = read(catalog.definitions("openai"))
    definition["changed"] = True
    assert json.dumps(other) == expected
    assert json.dumps(catalog.definitions("openai")) == expected


def _extend(target: list[Any], definitions: list[Any]) -> list[Any]:
    target.extend(definitions)
    return target


@pytest.mark.parametrize(
    "add",
    [
        lambda definitions, own: definitions.append(own),
        lambda definitions, own: definitions.extend([own]),
        lambda definitions, own: definitions.insert(len(definitions), own),
        lambda definitions, own: definitions.__iadd__([own]),
        lambda definitions, own: definitions.__setitem__(-1, own),
    ],
)
def test_the_list_keeps_the_object_that_its_caller_adds(catalog: Catalog, add: Callable[[Any, Any], object]) -> None:
    """A definition that the caller adds is no copy, so a later change of it shows in the list."""
    own = dict(MARK)
    definitions = catalog.definitions("openai")
    add(definitions, own)
    assert definitions[-1] is own


def test_a_change_stays_in_the_list(catalog: Catalog) -> None:
    """The caller that made it reads it again."""
    definitions = catalog.definitions("anthropic")
    definitions.sort(key=lambda definition: definition["name"])
    definitions[0]["changed"] = True
    assert definitions[0]["changed"] is True
    assert [definition.get("changed") for definition in definitions].count(True) == 1


def test_notes_are_kept(catalog: Catalog) -> None:
    """The notes are the same for every caller."""
    definitions = catalog.definitions("anthropic", strict=True)
    notes = definitions.notes
    assert notes
    _ = definitions[0]
    assert definitions.notes == notes == catalog.definitions("anthropic", strict=True).notes
