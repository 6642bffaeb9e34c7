"""The JSON of a versioned record is checked in one place, with one wording."""

import pytest

from toolkit._plumbing.versioned_json import check_field_types, remove_version

TYPES = {"count": (int,), "cut": (bool,), "value": (object,), "note": (str, type(None))}


def test_the_version_is_left_out():
    """The other fields are a new dictionary."""
    data = {"version": 2, "count": 1}
    assert remove_version(data, "a note", 2) == {"count": 1}
    assert data == {"version": 2, "count": 1}


@pytest.mark.parametrize("data", [{}, {"version": 3}, {"version": "1"}, {"version": True}, {"version": 1.0}, [], None])
def test_another_version_cannot_be_read(data):
    """Only an integer is a version, so `true` is not mistaken for 1."""
    with pytest.raises(ValueError, match=r"^a note of version .* cannot be read; version 1 can$"):
        remove_version(data, "a note", 1)


@pytest.mark.parametrize("fields", [{}, {"count": 3}, {"cut": True}, {"value": False}, {"note": None}, {"note": "n"}])
def test_fields_of_the_right_types(fields):
    """No field is needed, and each has one of its types."""
    check_field_types(fields, "a note", TYPES)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"count": "3"}, "'count' cannot be str"),
        ({"count": True}, "'count' cannot be bool"),
        ({"cut": 1}, "'cut' cannot be int"),
        ({"other": 1}, "'other' cannot be int"),
    ],
)
def test_fields_of_wrong_types(fields, words):
    """A bool is no number, and a field that has no type is refused."""
    with pytest.raises(ValueError, match=f"^not a note: {words}$"):
        check_field_types(fields, "a note", TYPES)
