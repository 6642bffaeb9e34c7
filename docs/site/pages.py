"""The pages that people wrote: `docs/`, the changelog and the examples; and the navigation, from `docs/README.md`."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

__all__ = ["collect_pages", "draw_navigation", "find_unlisted", "list_sections"]

_LINKS = [
    (r"\]\((?:\.\./)?examples/(\w+)\.py", r"](examples/\1.md"),
    (r"\]\((?:\.\./)?examples/\)", "](examples/index.md)"),
    (r"\]\((?:docs/)?README\.md", "](index.md"),
    (r"\]\(docs/", "]("),
]
_ROW = re.compile(r"^\| \[([^]]+)\]\(([\w-]+\.md)\) \| (.+) \|$", flags=re.MULTILINE)


def collect_pages(root: Path) -> dict[str, str]:
    """Return the Markdown of each page by its path on the site, with links as they are there."""
    paths = {"index.md" if path.name == "README.md" else path.name: path for path in (root / "docs").glob("*.md")}
    pages = {name: path.read_text(encoding="utf-8") for name, path in sorted(paths.items())}
    pages["changelog.md"] = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    rows = []
    for path in sorted((root / "examples").glob("[0-9]*.py")):
        source = path.read_text(encoding="utf-8")
        summary = (ast.get_docstring(ast.parse(source)) or path.stem).partition("\n\n")[0].replace("\n", " ")
        rows.append(f"- [`{path.name}`]({path.stem}.md): {summary}\n")
        pages[f"examples/{path.stem}.md"] = f"# {path.name}\n\n```python\n{source}```\n"
    pages["examples/index.md"] = "# Examples\n\nShort, numbered, complete programs.\n\n" + "".join(rows)
    for old, new in _LINKS:
        pages = {name: re.sub(old, new, text) for name, text in pages.items()}
    return pages


def list_sections(index: str) -> dict[str, list[tuple[str, str, str]]]:
    """Return title, path and purpose of each page that the tables of *index* list, by the heading above."""
    parts = re.split(r"^## (.+)$", index, flags=re.MULTILINE)
    return dict(zip(parts[1::2], map(_ROW.findall, parts[2::2]), strict=True))


def find_unlisted(pages: dict[str, str]) -> list[str]:
    """Return a line for each page that the navigation does not have once."""
    listed = [path for rows in list_sections(pages["index.md"]).values() for _, path, _ in rows]
    own = [path for path in pages if "/" not in path and path not in ("index.md", "changelog.md")]
    wrong = [path for path in dict.fromkeys([*own, *listed]) if listed.count(path) != 1 or path not in own]
    return [
        f"docs/README.md: {path} is listed {listed.count(path)} times; list each page of docs/ once" for path in wrong
    ]


def draw_navigation(pages: dict[str, str], reference: dict[str, list[str]]) -> str:
    """Return the navigation in TOML: start, guides, how-tos, examples, reference, errors, changelog."""
    tree: dict[str, list[Any]] = {}
    for heading, rows in list_sections(pages["index.md"]).items():
        section, _, subsection = heading.partition(": ")
        if section == "Reference":
            examples = [{Path(path).stem: path} for path in pages if re.match(r"examples/\d", path)]
            tree["Examples"] = ["examples/index.md", *examples]
        items = [{title: path} for title, path, _ in rows]
        tree.setdefault(section, []).extend([{subsection: items}] if subsection else items)
    for module, paths in reference.items():
        index, *classes = [f"reference/{path}" for path in paths]
        tree["Reference"].append({module: [index, *({Path(path).stem: path} for path in classes)]})
    tree["Errors"].append({"Error messages": "messages.md"})
    sections = [{title: items} for title, items in tree.items()]
    # TOML writes such tables as JSON writes objects, but for the sign between a name and its value.
    signs = (", ", " = ")
    return json.dumps([{"Home": "index.md"}, *sections, {"Changelog": "changelog.md"}], separators=signs)
