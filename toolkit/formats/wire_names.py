"""
The names of tools as they are sent: a dot is legal in a catalog, but illegal at most providers.

For these providers, a dot is sent as `--` and turned back into a dot in calls. If two tools of a catalog would be sent
under one name, this is an error, even if only one of them is offered at the moment.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..errors import CatalogError
from ..spec import Tool
from .base import Offering

__all__ = ["Naming"]

_DOT = "--"


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    """
    A provider's rules for names.

    Attributes:
        provider: The provider's name in messages.
        allows_dots: Whether a name may have dots.
        max_chars: The most characters of a name.
        any_property_names: Whether the names of parameters may have any characters.
    """

    provider: str
    allows_dots: bool = False
    max_chars: int = 64
    any_property_names: bool = True

    def wire(self, name: str) -> str:
        """Return *name* as it is sent."""
        return name if self.allows_dots else name.replace(".", _DOT)

    def check(self, tools: Iterable[Tool]) -> None:
        """Raise `CatalogError` if two of *tools* would be sent under one name, or if a name is too long."""
        names = [tool.name for tool in tools]
        # Searching all names as one text takes a tenth of the time, and few catalogs have dots.
        if max(map(len, names), default=0) <= self.max_chars and (self.allows_dots or "." not in "\n".join(names)):
            return
        own_names: dict[str, str] = {}
        for name in names:
            wire = self.wire(name)
            if len(wire) > self.max_chars:
                sent_as = "" if wire == name else f"; it is sent as `{wire}`, {len(wire)} characters"
                raise CatalogError(
                    f"tool `{name}`: {self.provider} takes names of at most {self.max_chars} characters{sent_as}; "
                    f"give it a shorter name"
                )
            if own_names.setdefault(wire, name) != name:
                raise CatalogError(
                    f"tools `{own_names[wire]}` and `{name}`: {self.provider} takes no dots in names, so both would be "
                    f"sent as `{wire}`; rename one of them, or leave one out with `filtered`"
                )

    def resolve(self, name: str, catalog: Offering | None) -> tuple[str, Tool | None]:
        """Return the catalog's name for the sent *name*, and the tool if *catalog* has it."""
        dotted_name = name if self.allows_dots else name.replace(_DOT, ".")
        if catalog is None:
            return dotted_name, None
        for candidate in dict.fromkeys((name, dotted_name)):
            match = catalog.get(candidate)
            if match is not None and self.wire(match.name) == name:
                return match.name, match
        # The name has both dots and dashes, or it is also an alias of another tool.
        match = next((tool for tool in catalog if self.wire(tool.name) == name), None)
        if match is not None:
            return match.name, match
        alias = catalog.get(name)
        return (dotted_name, None) if alias is None else (name, alias)
