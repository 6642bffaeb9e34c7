"""Options of the wrong kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolkit._option_checks import check_option_types, require_list


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("/", "`folders` is a list of folders, got one: write ['/']"),
        (Path("/srv"), "`folders` is a list of folders, got one: write [Path('/srv')]"),
        (7, "`folders` is a list of folders, got one: write [7]"),
        (Path, "`folders` is a list of folders, got one: write [Path(...)]"),
        (None, "`folders` is a list of folders, got None; for none write []"),
    ],
)
def test_a_single_value_in_place_of_a_list_is_refused_with_the_remedy(value, words):
    """A text is never taken for a list of letters."""
    with pytest.raises(TypeError) as caught:
        require_list(value, "folders", "folders")
    assert str(caught.value) == words


@pytest.mark.parametrize("value", [["a", "b"], ("a", "b"), iter("ab"), {"a": 1, "b": 2}.keys()])
def test_any_iterable_of_values_is_listed(value):
    """An iterator that can be read only once is accepted."""
    assert require_list(value, "names") == ["a", "b"]


def test_the_message_does_not_show_the_repr_of_an_object():
    """The repr may hold a secret."""

    class Key:
        def __repr__(self) -> str:
            return "Key('sesame')"

    with pytest.raises(TypeError, match=r"write \[Key\(\.\.\.\)\]"):
        require_list(Key(), "keys")
    with pytest.raises(TypeError, match="limit cannot be Key; give a number"):
        check_option_types({"limit": Key()}, {"limit": ((int,), "a number")})


def test_a_bool_is_not_a_number_by_default():
    """Python treats it as one."""
    check_option_types({"limit": True}, {"limit": ((int, bool), "a number, or True")})
    with pytest.raises(TypeError, match="limit cannot be bool; give a number"):
        check_option_types({"limit": True}, {"limit": ((int,), "a number")})
