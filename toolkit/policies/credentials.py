"""
Which of the texts that a program gives to a server are credentials, so that they can be masked.

The name decides. It is split into words at `_`, at `-` and where the case changes, and one of them has to be a word for
credentials: `X-Api-Key`, `GITHUB_PAT`, `apiKey`. Words that are written together count if they end with one that has no
other meaning: `PGPASSWORD`, but not `MONKEY`. If the last word says that the value only describes a credential or names
its place, the value is none: `KEY_VAULT_NAME`, `TOKEN_FILE`.

There are two lists of words. The one for headers, cookies and the parameters of a query also has sessions and
signatures, and takes an id, by which a session is known. The one for variables and the options of commands has neither,
because programs have sessions of another kind (`XDG_SESSION_ID`), and an id such as `AWS_ACCESS_KEY_ID` is no secret.

Some texts show a credential under any name: an address with a password or with a key in its query, a line such as
`Authorization: Bearer ...`, a list of settings such as `Server=db;Password=...`, and a JSON object of headers.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

from .._lazy_names import LazyModule
from .redaction import Redaction

if TYPE_CHECKING:
    import urllib.parse as url_parsing
else:
    url_parsing = LazyModule("urllib.parse")

__all__ = [
    "MIN_SECRET_CHARS",
    "is_credential_header",
    "list_command_secrets",
    "list_header_secrets",
    "list_variable_secrets",
    "read_cookies",
    "redact_credentials",
]

Pairs: TypeAlias = Iterable[tuple[str, str]]
"""Names with their values. A name may occur more than once."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_TOGETHER = ".*(?:apikey|passwd|password|secret|sessid|sessionid|token)"
_VARIABLE_WORD = re.compile(
    f"auth|auth(?:entication|orization)|bearer|cookie|credentials?|jwt|keys?|pass|passphrase|passwords|pat|pwd|secrets|"
    f"tokens|{_TOGETHER}"
)
_HEADER_WORD = re.compile(f"{_VARIABLE_WORD.pattern}|session|sid|sig|signature")
_HEADER_LAST_WORD = re.compile(
    "address|algorithm|audience|class|count|dir|directory|domain|email|enabled|endpoint|expires|expiry|file|folder|"
    "format|host|hostname|issuer|kind|layout|length|limit|location|method|mode|model|name|path|port|prefix|project|"
    "provider|realm|region|scheme|scopes?|seconds|server|size|sock|socket|store|strategy|timeout|ttl|type|uri|url|user|"
    "username|vault|version"
)
_VARIABLE_LAST_WORD = re.compile(f"{_HEADER_LAST_WORD.pattern}|id")

_SCHEME = re.compile("(?i)api-?key|basic|bearer|bot|digest|key|negotiate|ssws|token")
"""What stands before a credential. In a header for authorization any word does."""

MIN_SECRET_CHARS = 6
"""A shorter credential is not looked for in what a server sends: it may be a part of any word."""

_MIN_VARIABLE_CHARS = 8
"""A variable whose name only looks so has often a short value."""


def is_credential_header(name: str) -> bool:
    """Return whether the header, cookie or parameter *name* carries a credential, as `X-Api-Key` does."""
    return _says_credential(name, _HEADER_WORD, _HEADER_LAST_WORD)


def _says_credential(name: str, word: re.Pattern[str], last_word: re.Pattern[str]) -> bool:
    words = [part.lower() for part in _WORD.findall(name)]
    return any(map(word.fullmatch, words)) and not last_word.fullmatch(words[-1])


def list_header_secrets(headers: Pairs) -> list[str]:
    """Return the credentials in *headers* or in the parameters of a query: without their scheme, and each part."""
    found = [secret for name, value in headers for secret in _read_header(name, value)]
    return [secret for secret in dict.fromkeys(found) if len(secret) >= MIN_SECRET_CHARS]


def list_variable_secrets(variables: Pairs) -> list[str]:
    """Return the keys and passwords in *variables*. A path is none."""
    found: list[str] = []
    for name, value in variables:
        found += (secret for secret in _read_text(value) if len(secret) >= MIN_SECRET_CHARS)
        if _says_credential(name, _VARIABLE_WORD, _VARIABLE_LAST_WORD) and not os.path.exists(value):
            found += (secret for secret in _strip_scheme(value) if len(secret) >= _MIN_VARIABLE_CHARS)
    return list(dict.fromkeys(found))


def list_command_secrets(words: Sequence[str]) -> list[str]:
    """Return the keys and passwords in the *words* of a command: of `--token=x`, `--token x` and `TOKEN=x`."""
    options = [(name, value) for name, value in pairwise(words) if name.startswith("-") and not value.startswith("--")]
    options += [(match[1], match[2]) for word in words if (match := re.fullmatch(r"(?s)([\w.-]+)=(.*)", word))]
    return list_variable_secrets([*options, *(("", word) for word in words)])


def read_cookies(header: str) -> list[tuple[str, str]]:
    """Return the names and values in the value of the header `Cookie`."""
    cookies = (cookie.partition("=") for cookie in header.split(";"))
    return [(name.strip(), value.strip()) for name, _, value in cookies]


def _read_header(name: str, value: str) -> Iterator[str]:
    yield from _read_text(value)
    if name.lower() == "cookie":
        yield from (cookie for _, cookie in read_cookies(value))
    elif is_credential_header(name):
        yield from _strip_scheme(value, takes_any="authorization" in name.lower())


def _strip_scheme(value: str, *, takes_any: bool = False) -> list[str]:
    """Return the credential in *value* without the scheme before it, and both halves of a user name with a password."""
    value = value.strip()
    scheme, _, credential = value.partition(" ")
    is_scheme = _SCHEME.fullmatch(scheme) is not None
    if not credential:
        return [] if is_scheme else [value]
    if not (is_scheme or takes_any):
        return [value]
    credential = credential.strip()
    if scheme.lower() == "basic":
        with contextlib.suppress(ValueError):
            # Some APIs want their key as the user name.
            user, _, password = base64.b64decode(f"{credential}==").decode().partition(":")
            return [credential, user, password]
    return [credential]


def _read_text(text: str) -> Iterator[str]:
    """Yield the credentials that *text* itself shows, under any name."""
    name, colon, value = text.strip().partition(":")
    if colon and re.fullmatch(r"[\w-]+", name) and is_credential_header(name):
        yield from _read_header(name, value)
    if "://" in text:
        yield from _read_address(text.strip())
    elif text.lstrip().startswith("{"):
        with contextlib.suppress(ValueError, RecursionError):
            data = json.loads(text)
            yield from list_header_secrets((name, value) for name, value in data.items() if isinstance(value, str))
    elif "=" in text:
        settings = [part.partition("=") for part in (text.split(";") if ";" in text else text.split())]
        yield from list_header_secrets((name.strip(), value.strip(" \"'")) for name, _, value in settings)


def _read_address(text: str) -> Iterator[str]:
    try:
        address = url_parsing.urlsplit(text)
        user, password = address.username or "", address.password or ""
    except ValueError:
        return
    if password != user:  # both are the same in an example: postgres://postgres:postgres@localhost
        yield from (password, url_parsing.unquote(password))
    if address.scheme.endswith(("http", "https")):  # a token may stand before the host: https://TOKEN@host
        yield from (user, url_parsing.unquote(user))
    yield from list_header_secrets(url_parsing.parse_qsl(address.query))


def redact_credentials(credentials: Iterable[str]) -> Redaction:
    """Return what masks *credentials*. Inside a longer number, the digits of one are not the credential."""
    return Redaction(
        re.compile(rf"(?<!\d)(?<!\d\.){credential}(?!\.?\d)") if credential.isdecimal() else credential
        for credential in credentials
    )
