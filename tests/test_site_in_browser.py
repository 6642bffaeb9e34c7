"""
The documentation site, built and opened from its folder in a real browser, without a server and without network.

The build itself ends with an error if a link leads nowhere.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
from dataclasses import fields
from pathlib import Path

import pytest

from toolkit.agent.options import AgentOptions
from toolkit.calls.settings import Settings

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[1]
PYTHON = ROOT / ".docs-venv" / "bin" / "python"
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the site, strictly; or take the one of `make docs`, if nothing has changed since."""
    built = ROOT / "build" / "docs" / "site"
    sources = [path for name in ("docs", "toolkit", "examples") for path in (ROOT / name).rglob("*.*")]
    last_change = max(path.stat().st_mtime for path in [*sources, ROOT / "CHANGELOG.md"] if path.suffix != ".pyc")
    if (built / "llms.txt").exists() and (built / "llms.txt").stat().st_mtime > last_change:
        return built
    if not (PYTHON.parents[1] / ".ready").exists():
        pytest.skip("there is no .docs-venv with Zensical in it; `make docs` makes it")
    folder = tmp_path_factory.mktemp("docs")
    build = subprocess.run(
        [PYTHON, "-m", "docs.site.build", folder], cwd=ROOT, capture_output=True, text=True, timeout=900, check=False
    )
    assert build.returncode == 0, build.stdout + build.stderr
    return folder / "site"


@pytest.fixture(scope="module")
def browser():
    """Start the browser that is installed."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if BROWSER is None:
        pytest.skip("no chromium is installed")
    options = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium refuses to start as root otherwise
    with playwright.sync_playwright() as started:
        running = started.chromium.launch(executable_path=BROWSER, args=options)
        yield running
        running.close()


@pytest.fixture
def page(browser, site):
    """Open a page that may load nothing from outside and may report no error."""
    tab = browser.new_page(viewport={"width": 1440, "height": 900})
    tab.set_default_timeout(120_000)
    outside, errors = [], []
    tab.on(
        "request", lambda request: request.url.startswith(("file:", "data:", "blob:")) or outside.append(request.url)
    )
    tab.on("console", lambda message: message.type in ("error", "warning") and errors.append(message.text))
    tab.on("pageerror", lambda error: errors.append(str(error)))
    yield tab
    tab.close()
    assert (outside, errors) == ([], [])


def test_the_start_page_shows_the_thin_version_on_one_screen(page, site):
    page.goto((site / "index.html").as_uri())
    for text in ("@tool", "default_catalog", "test_share", 'persons: unknown key; expected "total" or "people"'):
        box = page.locator("article").get_by_text(text).first.bounding_box()
        assert box["y"] + box["height"] <= 900, text


@pytest.mark.parametrize(
    ("words", "target"),
    [
        ("Dispatcher", "reference/toolkit/Dispatcher.html"),
        ("behind a load balancer", "mcp-deploying.html"),
        ("max_concurrency", "reference/toolkit/Dispatcher.html"),
        ("people: required, but missing; expected an integer", "index.html"),
        ("has to be a table; write [[hooks]] above each hook", "messages.html"),
    ],
)
def test_the_search_finds_names_headings_and_texts_of_errors(page, site, words, target):
    page.goto((site / "start.html").as_uri())
    page.locator(".md-search__button").click()
    page.get_by_placeholder("Search").fill(words)
    page.locator(f'a[href*="/{target}?h="]').first.click()  # a result; links of the page have no such query
    page.wait_for_url(re.compile(re.escape(target)))
    assert page.locator("h1").inner_text()


@pytest.mark.parametrize("name", ["how-a-call-runs", "flows", "start"])
def test_pictures_and_drawings_are_shown(page, site, name):
    page.goto((site / f"{name}.html").as_uri())
    widths = page.evaluate("Promise.all([...document.images].map(i => i.decode().then(() => i.naturalWidth)))")
    assert widths
    assert min(widths) > 100


@pytest.mark.parametrize("name", ["Dispatcher", "Agent", "Catalog", "Permissions"])
def test_a_class_lists_its_parameters_with_type_default_and_sentence(page, site, name):
    page.goto((site / "reference" / "toolkit" / f"{name}.html").as_uri())
    rows = page.locator("table").first.locator("tbody tr").all()
    cells = [[cell.strip() for cell in row.locator("td").all_inner_texts()] for row in rows]
    assert cells
    assert [row for row in cells if len(row) != 4 or not all(row)] == []


def test_each_page_has_a_markdown_copy_and_is_in_the_list_for_models(site):
    pages = [path for path in site.rglob("*.html") if path.name != "404.html"]
    assert len(pages) > 250
    assert [path for path in pages if not path.with_suffix(".md").exists()] == []
    listed = re.findall(r"\]\(([^)]+)\)", (site / "llms.txt").read_text(encoding="utf-8"))
    assert {"start.md", "errors.md", "changelog.md", "reference/toolkit/index.md"} <= set(listed)
    assert [path for path in listed if not (site / path).exists()] == []
    copy = (site / "reference" / "toolkit" / "Permissions.md").read_text(encoding="utf-8")
    assert "| `rules` | `Iterable[Rule \\| str]` |" in copy


@pytest.mark.parametrize(
    ("name", "read_defaults"),
    [
        ("Dispatcher", lambda: vars(Settings())),
        ("Agent", lambda: {field.name: field.default for field in fields(AgentOptions)}),
    ],
)
def test_a_default_is_the_one_that_counts(site, name, read_defaults):
    real = read_defaults()
    copy = (site / "reference" / "toolkit" / f"{name}.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \|.*\| `([^`]+)` \|$", copy, flags=re.MULTILINE)
    defaults = {key: value for key, value in rows if key in real and re.match(r"[\d'TF]", value)}
    assert len(defaults) > 5
    assert {key: ast.literal_eval(value) for key, value in defaults.items()} == {key: real[key] for key in defaults}
