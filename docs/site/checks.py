"""What has to hold in the pages that were built: each link leads somewhere, and nothing is loaded from outside."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["find_broken_links"]


class _Page(HTMLParser):
    """The anchors of a page, what it links to, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: list[str] = []
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.anchors += [values[name] for name in ("id", "name") if values.get(name) and (name == "id" or tag == "a")]
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        self.loaded += [values[name] for name in ("src", "data") if values.get(name)]
        if tag == "link" and values.get("rel") not in ("canonical", "alternate"):
            self.loaded.append(values.get("href", ""))


def find_broken_links(site: Path) -> list[str]:
    """Return a line for each link, anchor or loaded file that is not there, and for each thing from outside."""
    pages = {path.resolve(): _Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    problems = []
    for path, page in pages.items():
        place = path.relative_to(site.resolve()).as_posix()
        doubles = {anchor for anchor in page.anchors if page.anchors.count(anchor) > 1}
        problems += [f"{place}: two anchors #{anchor}; give one heading another text" for anchor in sorted(doubles)]
        problems += [f"{place}: {link} is loaded from outside; copy it" for link in page.loaded if _is_outside(link)]
        for link in dict.fromkeys([*page.links, *page.loaded]):
            parts = urlsplit(link)
            if _is_outside(link) or parts.scheme or path.name == "404.html":
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                problems.append(f"{place}: {link} leads nowhere; mend the link or write the page")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                problems.append(f"{place}: {link} names no heading of that page; mend the anchor")
    return problems


def _is_outside(link: str) -> bool:
    return urlsplit(link).scheme in ("http", "https") or link.startswith("//")
