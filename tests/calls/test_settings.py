"""
The options of a dispatcher are in one list, which the docstring explains and a misspelt name is checked against.
"""

from __future__ import annotations

import inspect
import re

import pytest

from toolkit import Catalog, Dispatcher, RetryPolicy
from toolkit.calls.settings import DispatcherOptions


@pytest.mark.parametrize(
    ("option", "nearest"), [("permision", "permissions"), ("retry_policy", "retry"), ("timeout", "timeout_seconds")]
)
def test_an_unknown_option_is_refused_with_the_nearest_one(option, nearest):
    """A typing mistake must not pass for a policy."""
    with pytest.raises(TypeError, match=f"the option '{option}' is not known; did you mean `{nearest}`"):
        Dispatcher(Catalog(), **{option: None})


def test_an_unknown_option_without_a_similar_name_is_refused_with_all_names():
    with pytest.raises(TypeError, match="write one of permissions, safety, .*chance"):
        Dispatcher(Catalog(), xyzzy=1)


def test_the_docstring_explains_every_option_in_order():
    """`help(Dispatcher)` shows what can be given."""
    arguments = inspect.getdoc(Dispatcher).split("Args:")[1].split("Attributes:")[0]
    explained = re.findall(r"^ {4}(\w+): \S", arguments, flags=re.MULTILINE)
    assert explained == ["catalog", *DispatcherOptions.__annotations__]


def test_an_option_that_is_left_out_has_its_default():
    """A given one is used."""
    settings = Dispatcher(Catalog(), max_chars=500).settings
    assert (settings.max_chars, settings.max_concurrency, settings.retry) == (500, 100, RetryPolicy())
