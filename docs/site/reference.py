"""The pages of the reference: one for each public module and class, and one with the texts of all errors."""

from __future__ import annotations

import ast
import re
import string
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import griffe

from .parameters import CompleteParameters, list_objects

__all__ = ["Exports", "find_undocumented", "list_exports", "load_package", "write_messages", "write_reference"]

Exports = dict[str, dict[str, Any]]
"""The exported objects by name, of each public module."""

_BLOCK = "::: {path}\n    options:\n      {option}\n"
_SMALL_WORDS = {"a", "an", "and", "are", "be", "cannot", "for", "has", "in", "is", "it", "no", "not", "of", "the", "to"}
_MESSAGES = """
The texts of errors, refusals and problems, by the part of the package that words them.
What stands in braces is filled in: search for the words beside it.
"""


def load_package(root: Path, name: str = "toolkit") -> griffe.Module:
    """Read the source of the package, without importing it."""
    loader = griffe.GriffeLoader(
        search_paths=[root], docstring_parser="google", extensions=griffe.load_extensions(CompleteParameters())
    )
    package = loader.load(name)
    loader.resolve_aliases()
    return package


def list_exports(package: griffe.Module, documentation: str) -> Exports:
    """Return what the folders of the package export, and the other modules from which *documentation* imports names."""
    imported = set(re.findall(r"^from ([\w.]+) import", documentation, flags=re.MULTILINE))
    exports: Exports = {}
    for module in list_objects(package, griffe.Module):
        is_open_folder = module.is_init_module and module.path.count(".") < 2 and "._" not in module.path
        if module.exports and (is_open_folder or module.path in imported or module.path in _list_modules(exports)):
            names = [str(getattr(name, "name", name)) for name in module.exports]
            items = {name: module[name] for name in names}
            exports[module.path] = {n: item.final_target if item.is_alias else item for n, item in items.items()}
    return exports


def _list_modules(exports: Exports) -> set[str]:
    return {item.path for items in exports.values() for item in items.values() if item.is_module}


def find_undocumented(exports: Exports) -> list[str]:
    """Return a line for each exported name or parameter that is not explained, and each two classes with one page."""
    problems, pages = {}, {}
    for module, items in exports.items():
        for name, item in items.items():
            place = f"{item.relative_package_filepath}:{item.lineno or 1}: {module}.{name}"
            if item.docstring is None or not item.docstring.value.strip():
                problems[f"{place} is exported and has no docstring; write one sentence below its first line"] = None
            for parameter in _list_unexplained(item):
                problems[f"{place} does not explain `{parameter}`; write a sentence in its docstring"] = None
            # The site may lie in a folder where the case of a letter does not count.
            other = pages.setdefault(f"{module}.{name}".lower(), item) if item.is_class else item
            if other is not item:
                problems[f"{place} and {other.path} would have one page; give one of them another name"] = None
    return list(problems)


def _list_unexplained(item: Any) -> list[str]:
    sections = item.docstring.parsed if item.docstring and (item.is_class or item.is_function) else []
    return [
        row.name
        for section in sections
        if section.kind is griffe.DocstringSectionKind.parameters
        for row in section.value
        if not row.description
    ]


def write_reference(exports: Exports, folder: Path) -> dict[str, list[str]]:
    """Write a page for each module and each class, and return their paths by the name of the module."""
    pages: dict[str, list[str]] = {}
    homes: dict[str, str] = {}
    for module, items in exports.items():
        for name, item in items.items():
            homes.setdefault(item.path, f"{item.path}/index.md" if item.is_module else f"{module}/{name}.md")
    for module, items in exports.items():
        (folder / module).mkdir(parents=True)
        own = [name for name, item in items.items() if item.is_class and homes[item.path] == f"{module}/{name}.md"]
        for name in own:
            block = _BLOCK.format(path=f"{module}.{name}", option="show_root_toc_entry: false")
            text = f"# {name}\n\n`from {module} import {name}`\n\n{block}"
            (folder / module / f"{name}.md").write_text(text, encoding="utf-8")
        (folder / module / "index.md").write_text(_write_module(module, items, homes), encoding="utf-8")
        pages[module] = [f"{module}/index.md", *(f"{module}/{name}.md" for name in own)]
    return pages


def _write_module(module: str, items: dict[str, Any], homes: dict[str, str]) -> str:
    """Return a table of what *module* exports, and then its functions and constants."""
    rows, blocks = ["| name | what it is |", "|---|---|"], []
    for name, item in items.items():
        has_page = item.is_class or item.is_module
        link = f"../{homes[item.path]}" if has_page else f"#{module}.{name}"
        rows.append(f"| [`{name}`]({link}) | {summarize(item)} |")
        if not has_page:
            blocks.append(_BLOCK.format(path=f"{module}.{name}", option="show_root_heading: true"))
    return "\n".join([f"# {module}\n", *rows, "", *blocks])


def summarize(item: Any) -> str:
    """Return the first sentence of a docstring, for a cell of a table."""
    first = item.docstring.value.strip().split("\n\n")[0] if item.docstring else ""
    return re.split(r"(?<=[.:])\s", " ".join(first.split()), maxsplit=1)[0].replace("|", "\\|")


def write_messages(package: Path) -> str:
    """Return a page with the sentences in the source, by the part of the package: errors, refusals, problems."""
    messages: dict[str, set[str]] = defaultdict(set)
    for path in sorted(package.rglob("*.py")):
        part = ".".join(path.relative_to(package.parent).with_suffix("").parts[:2])
        messages[part] |= set(_list_sentences(path.read_text(encoding="utf-8")))
    sections = [f"\n## {part}\n\n" + "".join(sorted(messages[part])) for part in messages if messages[part]]
    return f"# Error messages\n{_MESSAGES}{''.join(sections)}"


def _list_sentences(source: str) -> Iterator[str]:
    """Return the texts in *source* that read as a part of a sentence, without docstrings, as items of a list."""
    nodes = list(ast.walk(ast.parse(source)))
    outer = [node for node in nodes if isinstance(node, ast.Expr | ast.JoinedStr | ast.FormattedValue)]
    inner = {id(child) for node in outer for child in ast.iter_child_nodes(node)}
    for text in (_read_text(node) for node in nodes if id(node) not in inner):
        words = re.findall(r"\b[a-z]+\b", re.sub(r"\{.*?\}", "", text))
        if len(words) > 3 and text[0] not in string.ascii_uppercase and not _SMALL_WORDS.isdisjoint(words):
            yield f"- `` {' '.join(text.split())} ``\n"


def _read_text(node: ast.AST) -> str:
    """Return a text as it stands in the source, with what is filled in between braces."""
    match node:
        case ast.Constant(value=str(text)):
            return text.replace("``", "`")
        case ast.JoinedStr(values=parts):
            return "".join(map(_read_text, parts))
        case ast.FormattedValue(value=value):
            return "{" + ast.unparse(value) + "}"
    return ""
