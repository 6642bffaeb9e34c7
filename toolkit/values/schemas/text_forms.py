"""
Name the forms of text that the library's own types have, each with its pattern and an example.

A codec puts the pattern of its form beside `format`, because most readers of a schema do not check `format`. Each
pattern means the same in Python and in ECMA 262, needs no lookaround, and is searched in linear time. The text that a
pattern accepts is the text that the codec converts. A few texts that no pattern can rule out are listed in
`docs/types.md`.

In Python, `$` also matches before a newline at the end of a text, so a codec accepts that newline too.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any

from ..._plumbing.records import record

__all__ = ["INTEGER_KEY", "NUMBER_KEY", "TEXT_FORMS", "TextForm", "find_text_form"]


@record(frozen=True, slots=True, eq=False)
class TextForm:
    """
    One form of text.

    Attributes:
        example: A text of the form.
        expectation: The words for the form in a message, with the example.
        pattern: The regular expression for the form; None if nearly every text has the form.
        keywords: The keywords that name the form in a schema.
    """

    example: str
    expectation: str
    pattern: str | None = None
    keywords: Mapping[str, str] | None = None

    @property
    def schema(self) -> dict[str, Any]:
        """The keywords of the form for the schema of a string."""
        return {**(self.keywords or {}), **({} if self.pattern is None else {"pattern": self.pattern})}

    def matches(self, text: str) -> bool:
        """Return whether *text* has the form. It may have a newline at its end, before which `$` matches too."""
        return self.pattern is None or _compile(self.pattern).match(text) is not None


@functools.cache
def _compile(pattern: str) -> re.Pattern[str]:
    """Compile *pattern* when it is first needed. Compiling all of them early would slow down the import."""
    return re.compile(pattern)


_DATE = r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
_CLOCK = r"([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.,][0-9]+)?)?"
_OFFSET = r"(Z|[+-]([01][0-9]|2[0-3])([0-5][0-9]|:[0-5][0-9](:[0-5][0-9](\.[0-9]+)?)?)?)?"

_AMOUNT = r"[0-9]+(\.[0-9]+)?"
_DAYS, _HOURS = f"({_AMOUNT}[WD])+", f"T({_AMOUNT}[HMS])+"
# The amounts are added up in any order, because a pattern for the order of ISO 8601 would be twice as long.
_DURATION = f"[+-]?P({_DAYS}({_HOURS})?|{_HOURS})"

_DIGITS = r"([0-9]+(\.[0-9]*)?|\.[0-9]+)"
_FLOAT = rf"{_DIGITS}([eE][+-]?[0-9]{{1,3}})?"
_COMPLEX = rf"[+-]?({_FLOAT}([+-]({_FLOAT})?[jJ]|[jJ])?|[jJ])"

_SEXTET = "[A-Za-z0-9+/]"

_OCTET = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4 = rf"({_OCTET}\.){{3}}{_OCTET}"
_GROUP = "[0-9a-fA-F]{1,4}"
_GROUPS = f"({_GROUP}:)"
# An IPv6 address ends in two groups or an IPv4 address, in one group after `::`, or in `::`.
_IPV6_START = "|".join(
    [
        f"{_GROUPS}{{6}}",
        f"::{_GROUPS}{{0,5}}",
        f"{_GROUP}::{_GROUPS}{{0,4}}",
        f"{_GROUPS}{{1,2}}:{_GROUPS}{{0,3}}",
        f"{_GROUPS}{{1,3}}:{_GROUPS}{{0,2}}",
        f"{_GROUPS}{{1,4}}:{_GROUPS}?",
        f"{_GROUPS}{{1,5}}:",
    ]
)
_IPV6 = (
    f"(({_IPV6_START})({_GROUP}:{_GROUP}|{_IPV4})|({_GROUPS}{{1,6}}|:):{_GROUP}|({_GROUPS}{{1,7}}|:):)"
    "(%[0-9A-Za-z._~:@-]+)?"  # the zone, as in fe80::1%eth0
)
_PREFIX_V4 = "(/([0-9]|[12][0-9]|3[0-2]))?"
_PREFIX_V6 = "(/([0-9]|[1-9][0-9]|1[01][0-9]|12[0-8]))?"


def _form(name: str, example: str, pattern: str | None) -> TextForm:
    expectation = f'{name.replace("-", " ")} such as "{example}"'
    return TextForm(example, expectation, None if pattern is None else f"^{pattern}$", {"format": name})


TEXT_FORMS: dict[str, TextForm] = {
    "date-time": _form("date-time", "2024-05-01T12:30:00Z", f"{_DATE}[Tt ]{_CLOCK}{_OFFSET}"),
    "date": _form("date", "2024-05-01", _DATE),
    "time": _form("time", "12:30:00", _CLOCK + _OFFSET),
    "duration": _form("duration", "P1DT2H30M", _DURATION),
    "uuid": _form("uuid", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"),
    "decimal": TextForm(
        "12.50",
        'a decimal number such as "12.50"',
        rf"^[+-]?{_DIGITS}([eE][+-]?[0-9]{{1,6}})?$",
        {"format": "decimal"},
    ),
    "base64": TextForm(
        "aGVsbG8=",
        'bytes such as "aGVsbG8=" in base64',
        f"^({_SEXTET}{{4}})*({_SEXTET}{{2}}==|{_SEXTET}{{3}}=)?$",
        {"contentEncoding": "base64"},
    ),
    "complex": _form("complex", "1+2j", rf"({_COMPLEX}|\({_COMPLEX}\))"),
    "regex": _form("regex", "^a+$", None),
    "path": _form("path", "notes/today.txt", None),
    "ipv4": _form("ipv4", "192.0.2.1", _IPV4),
    "ipv6": _form("ipv6", "2001:db8::1", _IPV6),
    "ipv4-interface": _form("ipv4-interface", "192.0.2.1/24", _IPV4 + _PREFIX_V4),
    "ipv6-interface": _form("ipv6-interface", "2001:db8::1/32", _IPV6 + _PREFIX_V6),
    "ipv4-network": _form("ipv4-network", "192.0.2.0/24", _IPV4 + _PREFIX_V4),
    "ipv6-network": _form("ipv6-network", "2001:db8::/32", _IPV6 + _PREFIX_V6),
}
"""The forms by the names that `format` and `contentEncoding` have for them."""

INTEGER_KEY = TextForm("12", 'an integer such as "12"', "^(0|-?[1-9][0-9]{0,999})$")
"""The text of an integer as a key of an object. Each integer has one text, so no two keys are equal."""

NUMBER_KEY = TextForm("1.5", 'a number such as "1.5"', r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$")
"""The text of a number as a key of an object, as JSON writes it."""

_FORMS_BY_PATTERN = {form.pattern: form for form in (*TEXT_FORMS.values(), INTEGER_KEY, NUMBER_KEY)}


def find_text_form(schema: Mapping[str, Any]) -> TextForm | None:
    """Return the form whose pattern *schema* states, or None. Of several forms, it is the one that *schema* names."""
    pattern = schema.get("pattern")
    if not isinstance(pattern, str):
        return None
    name = schema.get("format")
    form = TEXT_FORMS.get(name) if isinstance(name, str) else None
    return form if form is not None and form.pattern == pattern else _FORMS_BY_PATTERN.get(pattern)
