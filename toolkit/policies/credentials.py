"""
Which of the texts that a program gives to a server are credentials, by their names, so that they can be masked.
"""

from __future__ import annotations

import base64
import contextlib
import os
import re
from collections.abc import Iterable, Mapping

__all__ = ["MIN_SECRET_CHARS", "is_credential_header", "list_header_secrets", "list_variable_secrets"]

_HEADER = re.compile(r"(?i)authoriz|auth(?!or)|token|key|secret|cookie|session|password|credential")
_VARIABLE = re.compile(r"(?i)key|token|secret|pass(?!enger)|credential")

MIN_SECRET_CHARS = 6
"""A shorter credential is not looked for in what a server sends: it may be a part of any word."""

_MIN_VARIABLE_CHARS = 8
"""A variable whose name only looks so has often a short value."""


def is_credential_header(name: str) -> bool:
    """Return whether the header *name* carries a credential, such as `Authorization` and `X-Api-Key`."""
    return _HEADER.search(name) is not None


def list_header_secrets(headers: Mapping[str, str]) -> list[str]:
    """Return the credentials in *headers*: without their scheme, and a password also by itself."""
    found = [secret for name, value in headers.items() if is_credential_header(name) for secret in _split(name, value)]
    return [secret for secret in found if len(secret) >= MIN_SECRET_CHARS]


def _split(name: str, value: str) -> Iterable[str]:
    if name.lower() == "cookie":
        return [cookie.partition("=")[2].strip() for cookie in value.split(";")]
    if "authorization" not in name.lower():
        return [value.strip()]
    scheme, _, credential = value.partition(" ")
    secrets = [credential.strip() or scheme]
    if scheme.lower() == "basic":
        with contextlib.suppress(ValueError):
            secrets.append(base64.b64decode(credential).decode().partition(":")[2])
    return secrets


def list_variable_secrets(variables: Mapping[str, str]) -> list[str]:
    """Return the values of the environment *variables* that hold keys and passwords. A path is none."""
    return [
        value
        for name, value in variables.items()
        if _VARIABLE.search(name) and len(value) >= _MIN_VARIABLE_CHARS and not os.path.exists(value)
    ]
