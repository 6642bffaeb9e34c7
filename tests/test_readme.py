"""The README's code runs, and shows what it says it shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import toolkit.hooks
from tests.markdown import run
from toolkit import Context, Session, ToolResult
from toolkit._option_checks import OtherWord
from toolkit.agent import Run
from toolkit.calls.settings import DispatcherOptions
from toolkit.facts import Options
from toolkit.values.codecs import texts

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]


pytestmark = pytest.mark.usefixtures("own_defaults")

TYPED_README = ROOT / "tests" / "typing" / "readme.py"

LONG_PAGES = {"guide-property-tests.md", "testing.md"}
"""They draw hundreds of calls; the tests of the test kit show sooner what is broken in it."""


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=name, marks=[pytest.mark.long] * (page.name in LONG_PAGES))
        for page, name in zip(PAGES, NAMES, strict=True)
        # The sections of that page need a package each, and tests/test_web_recipes.py runs them one by one.
        if page.name != "web.md"
    ],
)
def test_the_code_of_a_page_has_the_shown_results(page):
    """Every block runs in order."""
    if page.name == "observability.md":
        pytest.importorskip("opentelemetry.sdk.trace", reason="the SDK of OpenTelemetry is not installed")
    checked = run(page)
    assert checked > 0 or "  # -> " not in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["README.md", "docs/start.md"])
def test_code_fits_beside_a_page(name):
    """A line of code that a newcomer reads has at most 88 characters."""
    blocks = re.findall(
        r"^```\w*\n(.*?)^```", (ROOT / name).read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    assert blocks
    assert [line for block in blocks for line in block.splitlines() if len(line) > 88] == []


def test_the_first_example_runs_as_pasted(tmp_path):
    """It runs from a file in an empty folder, and prints only the output of the page."""
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    example, output = re.findall(r"^```(?:python|text)\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)[:2]
    script = tmp_path / "example.py"
    script.write_text(example, encoding="utf-8")
    command = [sys.executable, "-W", "error", str(script)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment)
    assert (run.returncode, run.stdout, run.stderr) == (0, output, "")


def test_the_documentation_begins_with_the_first_screen_of_the_readme():
    """It has one decorator, one catalog, a good call, a bad call and a property test."""
    first, index = (
        (ROOT / "README.md").read_text(encoding="utf-8"),
        (ROOT / "docs/README.md").read_text(encoding="utf-8"),
    )
    blocks = re.findall(r"^```(?:python|text)\n.*?^```", first, flags=re.MULTILINE | re.DOTALL)[:2]
    assert [index.count(block) for block in blocks] == [1, 1]
    assert len([line for line in blocks[0].splitlines()[1:-1] if line.strip()]) <= 14


def test_the_code_of_the_readme_is_the_file_that_type_checkers_read():
    """`make lint` runs mypy and pyright over it. `python -m tests.test_readme` writes it anew."""
    assert TYPED_README.read_text(encoding="utf-8") == build_typed_readme()


def build_typed_readme() -> str:
    """Return the code of the README as one module, which prints the results that the page shows."""
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page, flags=re.MULTILINE | re.DOTALL)
    opening = '"""The code of the README. `python -m tests.test_readme` writes this file."""\n\n# ruff: noqa: E402, T201, I001 -- it stands as on the page\n# fmt: off\n\n'
    return opening + "\n\n".join(
        re.sub(r"^(.+)  # -> .*$", r"print(\1)", block, flags=re.MULTILINE) for block in blocks
    )


def test_the_readme_is_short():
    """A newcomer reads it in one go."""
    assert 100 <= len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "README.md"], ids=lambda page: page.name)
def test_a_page_says_its_level(page):
    """Below its title, so that a newcomer can leave a page for later."""
    assert re.match(r"# .+\n\nLevel: (first hour|daily|internals)\.\n\n", page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_lead_somewhere(page):
    """Every relative link in a page names something that is there; `Flow[End]("name")` is no link."""
    links = re.findall(r"\]\((?!https?:|\")([^)#]+)", page.read_text(encoding="utf-8"))
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
    """Options that only tests use are excepted."""
    rows = re.findall(r"^\| (`.*?) \|", (ROOT / "docs" / page).read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert options <= set(re.findall(r"`(\w+)`", " ".join(rows)))


@pytest.mark.parametrize("record", [ToolResult, Run, Context, Session], ids=lambda record: record.__name__)
def test_every_field_is_in_the_reference(record):
    """Fields, properties and methods that a program may use; and nothing that is not there."""
    page = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    (section,) = re.findall(rf"^## `{record.__name__}`(.*?)(?=^## |\Z)", page, flags=re.MULTILINE | re.DOTALL)
    rows = re.findall(r"^\| (`.*?) \|", section, flags=re.MULTILINE)
    names = {
        name for name in dir(record) if not name.startswith("_") and not isinstance(vars(record).get(name), OtherWord)
    }
    assert set(re.findall(r"`(\w+)", " ".join(rows))) == names


def test_the_start_page_leads_to_every_other_page():
    """A newcomer finds each page from there, or from a page that it leads to."""
    visited, waiting = set(), ["start.md"]
    while waiting:
        page = waiting.pop()
        if page not in visited:
            visited.add(page)
            links = re.findall(r"\]\((?!https?:)([\w-]+\.md)", (ROOT / "docs" / page).read_text(encoding="utf-8"))
            waiting += links
    assert {page.name for page in PAGES} - {"README.md"} <= visited


def test_every_built_in_hook_is_in_the_table():
    """A hook that no page mentions is not found."""
    page = (ROOT / "docs" / "hooks.md").read_text(encoding="utf-8")
    folder = Path(toolkit.hooks.__file__).parent
    modules = [path.stem for path in folder.glob("*.py") if path.stem not in ("__init__", "base", "events")]
    names = [name for module in modules for name in import_module(f"toolkit.hooks.{module}").__all__]
    hooks = [
        name
        for name in names
        if {"before", "around", "after", "on_event"} & set(dir(getattr(toolkit.hooks, name, None)))
    ]
    assert len(hooks) >= 5
    assert [name for name in hooks if f"| `{name}(" not in page] == []


def test_every_text_type_is_in_the_table():
    """A type that no page mentions has to be tried out."""
    page = (ROOT / "docs" / "types.md").read_text(encoding="utf-8")
    page = page.replace("and the same for IPv6", "IPv6Address IPv6Interface IPv6Network")
    kinds = [kind.__name__ for kind in texts._CODECS if not kind.__name__.endswith(("Path", "PathLike"))]
    assert [name for name in kinds if not re.search(rf"\b{name}\b", page)] == []


if __name__ == "__main__":
    TYPED_README.write_text(build_typed_readme(), encoding="utf-8")
