"""What has to hold in the pages that were built: each link leads somewhere, and nothing is loaded from outside."""

from __future__ import annotations

from collections import Counter
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["find_broken_links"]


class _Page(HTMLParser):
    """The anchors of a page, what it links to, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._anchors: list[str] = []
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)
        self.anchors = Counter(self._anchors)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self._anchors += [values[name] for name in ("id", "name") if values.get(name) and (name == "id" or tag == "a")]
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        self.loaded += [values[name] for name in ("src", "data") if values.get(name)]
        if tag == "link" and values.get("rel") not in ("canonical", "alternate"):
            self.loaded.append(values.get("href", ""))


def find_broken_links(site: Path) -> list[str]:
    """Return a line for each link, anchor or loaded file that is not there, and for each thing from outside."""
    pages = {path.resolve(): _Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    problems = []
    find_target = cache(_find_target)  # each page has the links of the navigation
    for path, page in pages.items():
        place = path.relative_to(site.resolve()).as_posix()
        doubles = [anchor for anchor, count in page.anchors.items() if count > 1]
        problems += [f"{place}: two anchors #{anchor}; give one heading another text" for anchor in sorted(doubles)]
        problems += [f"{place}: {link} is loaded from outside; copy it" for link in page.loaded if _is_outside(link)]
        for link in dict.fromkeys([*page.links, *page.loaded]):
            parts = urlsplit(link)
            if _is_outside(link) or parts.scheme or path.name == "404.html":
                continue
            target = find_target(path.parent, parts.path) if parts.path else path
            if target is None:
                problems.append(f"{place}: {link} leads nowhere; mend the link or write the page")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                problems.append(f"{place}: {link} names no heading of that page; mend the anchor")
    return problems


def _find_target(folder: Path, path: str) -> Path | None:
    """Return the file that *path* leads to from a page in *folder*; return None if there is none."""
    target = (folder / unquote(path)).resolve()
    target = target / "index.html" if target.is_dir() else target
    return target if target.exists() else None


def _is_outside(link: str) -> bool:
    return urlsplit(link).scheme in ("http", "https") or link.startswith("//")
