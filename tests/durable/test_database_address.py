"""Addresses of databases have one form."""

from __future__ import annotations

import os

import pytest

from toolkit.durable.database_address import find_sqlite_path, hide_password, resolve_address
from toolkit.durable.errors import DurableError


@pytest.mark.parametrize(
    ("address", "form"),
    [
        ("sqlite:///runs.sqlite", f"sqlite:///{os.path.abspath('runs.sqlite')}"),
        ("sqlite:////data/runs.sqlite", "sqlite:////data/runs.sqlite"),
        ("postgresql://host/name", "postgresql://host/name"),
        ("postgres://ada@host:5/name?x=1", "postgresql://ada@host:5/name?x=1"),
        ("postgresql+psycopg://host/name", "postgresql://host/name"),
    ],
)
def test_an_address_is_brought_into_one_form(address, form):
    """A relative path becomes absolute, and a driver is left out."""
    assert resolve_address(address) == form
    assert resolve_address(form) == form


@pytest.mark.parametrize("address", ["runs.sqlite", None, 5])
def test_an_invalid_database_address_is_refused_with_an_example(address):
    """A path alone is not an address."""
    with pytest.raises(DurableError, match="sqlite:///runs.sqlite") as caught:
        resolve_address(address)
    assert caught.value.why == "store"


def test_only_the_address_of_a_file_has_a_path():
    assert find_sqlite_path("sqlite:////a/b") == "/a/b"
    assert find_sqlite_path("sqlite:///:memory:") is None
    assert find_sqlite_path("postgresql://host/name") is None


@pytest.mark.parametrize(
    ("database", "expected"),
    [
        ("postgresql://ada:s3cret@h:5/runs", "postgresql://ada:***@h:5/runs"),
        ("postgresql://ada:s3:c@ret@h/runs?sslmode=disable", "postgresql://ada:***@h/runs?sslmode=disable"),
        ("postgresql://ada:s3/cr?et@h:5/runs", "postgresql://ada:***@h:5/runs"),
        ("postgresql://ada:s3#cret@h/runs?a=b", "postgresql://ada:***@h/runs?a=b"),
        ("postgresql://h:5432/runs?user=ada@corp", "postgresql://h:5432/runs?user=ada@corp"),
        ("postgresql://h/runs?user=ada&password=s3cret&a=b", "postgresql://h/runs?user=ada&password=***&a=b"),
        ("host=h password=s3cret user=ada", "host=h password=*** user=ada"),
        ("postgresql://ada@h:5432/runs", "postgresql://ada@h:5432/runs"),
        ("sqlite:////tmp/a:b@c.sqlite", "sqlite:////tmp/a:b@c.sqlite"),
    ],
)
def test_an_address_is_shown_without_its_password(database, expected):
    """The password may stand anywhere in the address."""
    assert hide_password(database) == expected
