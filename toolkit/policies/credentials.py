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
from typing import TYPE_CHECKING, Any, TypeAlias

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
_TOGETHER = (
    ".*(?:(?:access|account|api|auth|encryption|license|private|secret|signing|subscription)key|(?:admin|db|root|user)pass|"
    "passwd|password|secret|sessid|sessionid|token)"
)
_VARIABLE_WORD = re.compile(
    f"auth|auth(?:entication|orization)|bearer|cookie|credentials?|jwt|keys?|pass|passphrase|passwords|pat|pwd|secrets|"
    f"tokens|{_TOGETHER}"
)
_HEADER_WORD = re.compile(f"{_VARIABLE_WORD.pattern}|session|sid|sig|signature")
_HEADER_LAST_WORD = re.compile(
    "(?:address|age|algorithm|audience|binding|budget|class|column|count|dir|directory|domain|email|enabled|endpoint|"
    "expires|expiry|field|file|folder|format|host|hostname|issuer|kind|layout|length|lifetime|limit|location|method|minute|"
    "mode|model|name|path|port|prefix|project|provider|realm|region|scheme|scope|second|server|size|sock|socket|store|"
    "strategy|timeout|ttl|type|uri|url|user|username|vault|version)s?"
)
_VARIABLE_LAST_WORD = re.compile(f"{_HEADER_LAST_WORD.pattern}|id")
_OPEN_KEYS = frozenset({"cache", "foreign", "group", "hot", "idempotency", "order", "partition"})
_OPEN_KEYS |= {"public", "publishable", "routing", "sort"}
"""What stands before `key` where it is no credential."""

_SCHEME = re.compile("(?i)api-?key|basic|bearer|bot|digest|key|negotiate|ssws|token")
"""What stands before a credential. In a header for authorization any word does."""

_SETTING = re.compile(
    "(?i)anonymous|automatic|changeme|default|(?:dis|en)abled?|example|forbidden|interactive|keychain|keyring|oauth2?|"
    "optional|password|postgres|required|undefined"
)
"""A value that says how a program signs in, or that examples have. To mask such a word would damage other texts."""

_FLAG = re.compile("-+(?:allow|disable|enable|no|require|skip|without)-.*")
"""An option that has no value: the next word of the command is something else."""

MIN_SECRET_CHARS = 6
"""A shorter credential is not looked for in what a server sends: it may be a part of any word."""

_MIN_VARIABLE_CHARS = 8
"""A variable whose name only looks so has often a short value."""

_MIN_USER_CHARS = 16
"""A user name beside a password is shown in many results. It may be a key if it is as long as one and has digits."""

_MAX_NESTED = 4
"""
How deep texts are read that stand in others, such as an address in a JSON object in a variable. Every part of a text
that is nested deeper is masked.
"""

_DEEP_PARTS = re.compile(r"""[\s=:;,&"']+""")


def is_credential_header(name: str) -> bool:
    """Return whether the header, cookie or parameter *name* carries a credential, as `X-Api-Key` does."""
    return _says_credential(name, _HEADER_WORD, _HEADER_LAST_WORD)


def _says_credential(name: str, word: re.Pattern[str], last_word: re.Pattern[str]) -> bool:
    words = [part.lower() for part in _WORD.findall(name)]
    named = [part for before, part in pairwise(["", *words]) if not (part in ("key", "keys") and before in _OPEN_KEYS)]
    return any(map(word.fullmatch, named)) and not last_word.fullmatch(words[-1])


def list_header_secrets(headers: Pairs) -> list[str]:
    """Return the credentials in *headers* or in the parameters of a query: without their scheme, and each part."""
    found: list[str] = []
    headers = list(headers)
    for _ in range(_MAX_NESTED):  # not by recursion: a text such as `key:a=key:a=` has a text in each of its ends
        found += (secret for name, value in headers for secret in _read_header(name, value))
        headers = list(dict.fromkeys(pair for _, value in headers for pair in _iter_shown(value)))
    found += (part for _, value in headers for part in _DEEP_PARTS.split(value))
    return [secret for secret in dict.fromkeys(found) if len(secret) >= MIN_SECRET_CHARS]


def list_variable_secrets(variables: Pairs) -> list[str]:
    """Return the keys and passwords in *variables*. A path is none."""
    found: list[str] = []
    for name, value in variables:
        found += list_header_secrets(_iter_shown(value))
        if _says_credential(name, _VARIABLE_WORD, _VARIABLE_LAST_WORD) and not os.path.exists(value):
            found += (secret for secret in _strip_scheme(value) if len(secret) >= _MIN_VARIABLE_CHARS)
    return list(dict.fromkeys(found))


def list_command_secrets(words: Sequence[str]) -> list[str]:
    """Return the keys and passwords in the *words* of a command: of `--token=x`, `--token x` and `TOKEN=x`."""
    inner = [part.strip("\"'") for word in words if " " in word for part in word.split()]  # the words of `sh -c "..."`
    pairs = [*pairwise(words), *pairwise(inner)]
    options = [
        (name, value)
        for name, value in pairs
        if name.startswith("-") and not value.startswith("--") and not _FLAG.fullmatch(name)
    ]
    words = [*words, *inner]
    options += [(match[1], match[2]) for word in words if (match := re.fullmatch(r"(?s)([\w.-]+)=(.*)", word))]
    return list_variable_secrets([*options, *(("", word) for word in words)])


def read_cookies(header: str) -> list[tuple[str, str]]:
    """Return the names and values in the value of the header `Cookie`."""
    cookies = (cookie.partition("=") for cookie in header.split(";"))
    return [(name.strip(), value.strip()) for name, _, value in cookies]


def _read_header(name: str, value: str) -> Iterator[str]:
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
        return [] if is_scheme or _SETTING.fullmatch(value) else [value]
    if not (is_scheme or takes_any):
        return [value]
    credential = credential.strip()
    if scheme.lower() == "basic":
        with contextlib.suppress(ValueError):
            user, _, password = base64.b64decode(f"{credential}==").decode().partition(":")
            return [credential, *_list_login_secrets(user, password)]
    return [credential]


def _list_login_secrets(user: str, password: str) -> list[str]:
    """Return *password*, and *user* if that may be a key, as some APIs want it."""
    is_key = len(user) >= _MIN_USER_CHARS and re.search("[0-9]", user) and "@" not in url_parsing.unquote(user)
    return [password, user] if is_key or len(password) < MIN_SECRET_CHARS else [password]


def _iter_shown(text: str) -> Iterator[tuple[str, str]]:
    """Yield what *text* itself shows, with names as headers have them."""
    name, colon, value = text.strip().partition(":")
    if colon and re.fullmatch(r"[\w-]+", name) and is_credential_header(name):
        yield name, value
    if "://" in text:
        yield from _iter_address(text.strip())
    elif text.lstrip().startswith("{"):
        with contextlib.suppress(ValueError, RecursionError):
            yield from _iter_texts(json.loads(text))
    elif "=" in text:
        for part in text.split(";") if ";" in text else re.split(r"\s+|,(?=[\w.-]+=)", text):
            name, _, value = part.partition("=")
            yield name.strip(), value.strip(" \"',")


def _iter_texts(data: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield each text in JSON, with the key that it stands under, at any depth."""
    for key, value in data.items() if isinstance(data, dict) else ((name, item) for item in data):
        if isinstance(value, str):
            yield key, value
        elif isinstance(value, dict | list):
            yield from _iter_texts(value, key)


def _iter_address(text: str) -> Iterator[tuple[str, str]]:
    try:
        address = url_parsing.urlsplit(text)
        user, password = address.username or "", address.password or ""
    except ValueError:
        return
    if address.scheme.endswith(("http", "https")):  # a token may stand before the host: https://TOKEN@host
        secrets = _list_login_secrets(user, password)
    else:
        secrets = [password] if password != user else []  # examples have postgres://postgres:postgres@localhost
    for secret in secrets:
        yield from (("password", secret), ("password", url_parsing.unquote(secret)))
    yield from url_parsing.parse_qsl(address.query)


def redact_credentials(credentials: Iterable[str]) -> Redaction:
    """Return what masks *credentials*. Inside a longer number, the digits of one are not the credential."""
    return Redaction(
        re.compile(rf"(?<!\d)(?<!\d\.){credential}(?!\.?\d)") if credential.isdecimal() else credential
        for credential in credentials
    )
