"""
Patterns for paths, compared component by component after links are resolved.

    src/**          the folder `src` and everything under it; `src/` is the same
    src/*           everything directly in `src`
    **/*.py         Python files at any depth
    notes.txt       that one file
    /etc/**, ~/x    absolute, or from the home folder

Patterns start from the project's root.

An allow compares the real path: links are followed and `..` is resolved. If the pattern starts within the root, a link
cannot make the allow hold outside of the root.

A deny or ask compares the path as written as well, and ignores case. It also holds for everything beneath a path that
matches. As in `.gitignore`, a pattern without a slash holds at any depth.
"""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass

from ...safety.paths import resolve_path, resolve_places
from .names import fold_case, matches_parts

__all__ = ["PathPattern"]


@dataclass(frozen=True, slots=True)
class PathPattern:
    """
    A pattern that matches a set of paths.

    Attributes:
        base: The leading components without wildcards: a folder, or the whole path. Relative to the root.
        rest: The components after `base`.
        is_bare: Whether the pattern has no slash.
    """

    base: str
    rest: tuple[str, ...]
    is_bare: bool

    @classmethod
    def read(cls, text: str) -> PathPattern:
        """Return the pattern that *text* writes; raise `ValueError` with the mistake if *text* is wrong."""
        if "\0" in text:
            raise ValueError("a path has no NUL in it")
        parts = text.split("/")
        if parts[0].startswith("~") and parts[0] != "~":
            raise ValueError("only your own home folder can be written with `~/`; write the whole path")
        if any("**" in part and part != "**" for part in parts):
            raise ValueError("`**` stands alone between slashes; write `src/**/*.py`")
        if len(parts) > 1 and parts[-1] == "":
            parts[-1] = "**"
        wildcard_index = next((at for at, part in enumerate(parts) if "*" in part or "?" in part), len(parts))
        rest = tuple(part for part in parts[wildcard_index:] if part not in ("", "."))
        if ".." in rest:
            raise ValueError("`..` cannot follow a wildcard")
        base = os.path.normpath("/".join(parts[:wildcard_index]) or "/") if wildcard_index else "."
        return cls(base, rest, len(parts) == 1 and text not in ("~", ".", ".."))

    def allows(self, path: str, root: str) -> bool:
        """Return whether *path* certainly matches the pattern; raise `ValueError` if *path* cannot be a path."""
        top = _parts(resolve_path(root, os.getcwd()))
        base = _parts(resolve_path(self._full_base, root))
        if not self._leads_out and base[: len(top)] != top:
            return False  # A link in the project leads out of the project.
        rest = [os.path.normcase(part) for part in self.rest]
        # A program that removes `..` before it follows links reaches another file, so both readings have to match.
        ends = [_parts(resolve_path(reading, root)) for reading in {path, os.path.normpath(path) if path else path}]
        return all(end[: len(base)] == base and matches_parts(rest, end[len(base) :]) for end in ends)

    def concerns(self, path: str, root: str) -> bool:
        """
        Return whether *path* could match the pattern, or lies beneath a path that matches.

        Raise `ValueError` if *path* cannot be a path.
        """
        top, base = resolve_path(root, os.getcwd()), self._full_base
        # A path that goes through links has several names, and the rule may mean any of them. So has the base.
        names = {name for place in resolve_places(path, top, start=top) for name in (place.path, *place.other_names)}
        forms = {
            (os.path.abspath(root), os.path.abspath(os.path.join(root, base))),
            (top, resolve_places(base, top, start=top)[0].path),
        }
        folded_forms = [(_fold_parts(form_top), _fold_parts(form_base)) for form_top, form_base in forms]
        return any(self._covers(name, *form) for name, form in itertools.product(map(_fold_parts, names), folded_forms))

    def _covers(self, path: list[str], top: list[str], base: list[str]) -> bool:
        rest = [*map(fold_case, self.rest), "**"]
        if path[: len(base)] == base and matches_parts(rest, path[len(base) :]):
            return True
        relative = path[len(top) :] if path[: len(top)] == top else path
        return self.is_bare and matches_parts(
            ["**", *([fold_case(self.base)] if self.base != "." else []), *rest], relative
        )

    @property
    def _full_base(self) -> str:
        return os.path.expanduser(self.base) if self.base.startswith("~") else self.base

    @property
    def _leads_out(self) -> bool:
        """Whether the pattern itself leads out of the root."""
        return self.base.startswith("~") or os.path.isabs(self.base) or self.base.split("/")[0] == ".."


def _parts(path: str) -> list[str]:
    return [part for part in os.path.normcase(path).split(os.sep) if part]


def _fold_parts(path: str) -> list[str]:
    return [fold_case(part) for part in os.path.normpath(path).split(os.sep) if part]
