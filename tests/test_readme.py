"""The README's code runs, and shows what it says it shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.markdown import run
from toolkit import Context, Session, ToolResult, default_catalog
from toolkit.agent import Run
from toolkit.calls.settings import DispatcherOptions
from toolkit.facts import Options

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]


@pytest.fixture(autouse=True)
def shared_catalog():
    """Pages register tools in the catalog that everyone shares; the next page should not find them."""
    with default_catalog.isolated():
        yield


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_a_page_does_what_it_says(page):
    """Every block runs in order, and every result that is shown is the one that comes out."""
    blocks = page.read_text(encoding="utf-8").count("```python")
    assert run(page) > 0 or blocks == 0


def test_the_readme_is_short():
    """A newcomer reads it in one go."""
    assert 100 <= len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_lead_somewhere(page):
    """Every relative link in a page names something that is there."""
    links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_to_a_heading_name_one_that_is_there(page):
    """A link `page.md#heading`, or `#heading`, has that heading on its page."""
    links = re.findall(r"\]\((?!https?:)([^)#]*)#([^)]+)\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if link[1] not in anchors_of(page.parent / link[0] if link[0] else page)] == []


def anchors_of(page: Path) -> set[str]:
    """Return the anchors that GitHub makes of the headings of *page*."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_list_of_pages_has_each_page_once():
    """`docs/README.md` is the navigation: a reader finds every page in it."""
    links = re.findall(
        r"^\| \[[^]]+\]\(([\w-]+\.md)\) \|", (ROOT / "docs" / "README.md").read_text(encoding="utf-8"), re.M
    )
    assert sorted(links) == sorted(page.name for page in PAGES if page.name != "README.md")


@pytest.mark.parametrize(
    ("page", "options"),
    [
        ("catalogs.md", set(Options.__annotations__)),
        ("calls.md", set(DispatcherOptions.__annotations__) - {"clock", "sleep", "chance"}),
    ],
)
def test_every_option_is_in_the_table(page, options):
    """But for what only tests give."""
    rows = re.findall(r"^\| (`.*?) \|", (ROOT / "docs" / page).read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert options <= set(re.findall(r"`(\w+)`", " ".join(rows)))


@pytest.mark.parametrize("record", [ToolResult, Run, Context, Session], ids=lambda record: record.__name__)
def test_every_field_is_in_the_reference(record):
    """Fields, properties and methods that a program may use; and nothing that is not there."""
    page = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    (section,) = re.findall(rf"^## `{record.__name__}`(.*?)(?=^## |\Z)", page, flags=re.MULTILINE | re.DOTALL)
    rows = re.findall(r"^\| (`.*?) \|", section, flags=re.MULTILINE)
    assert set(re.findall(r"`(\w+)", " ".join(rows))) == {name for name in dir(record) if not name.startswith("_")}


def test_the_start_page_leads_to_every_other_page():
    """A newcomer finds each page from there, or from a page that it leads to."""
    seen, waiting = set(), ["start.md"]
    while waiting:
        page = waiting.pop()
        if page not in seen:
            seen.add(page)
            links = re.findall(r"\]\((?!https?:)([\w-]+\.md)", (ROOT / "docs" / page).read_text(encoding="utf-8"))
            waiting += links
    assert {page.name for page in PAGES} - {"README.md"} <= seen
