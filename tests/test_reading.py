"""The code does not get harder to read: the measures of `python -m benchmarks.reading` may not get worse."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest

from benchmarks.reading import LIMITS, Source, class_name_counts, docstrings, is_beyond, measure, measure_words

pytestmark = pytest.mark.long

WORST = {
    "participle names of functions, %": 1.5,
    "placeholder names of variables, %": 0.5,
    "pronoun words in 1,000": 0.1,
    "docstrings that open with a verb, %": 98.0,
    "class names used twice, %": 0.3,
}
"""Where the code is today; lower a figure when it has got better, until it is that of `LIMITS`."""

WORST_OF_TESTS = {
    "participle names of functions, %": 1.0,
    "placeholder names of variables, %": 0.2,
    "pronoun words in 1,000": 0.15,
    "docstrings that open with a verb, %": 98.0,
    "class names used twice, %": 0.3,
}
"""Where the tests are today. Their aims are the same."""


MAX_LINES = {"toolkit": 400, "tests": 500}
"""How many lines a file may have, by its folder."""


@pytest.fixture(scope="module")
def figures():
    """Measure the package once."""
    return measure(Source.read(Path(__file__).parents[1] / "toolkit"))


@pytest.mark.parametrize("name", LIMITS)
def test_the_code_does_not_get_harder_to_read(figures, name):
    """A figure that is worse than before has to be mended, not raised."""
    assert not is_beyond(name, figures[name], WORST[name]), f"{name}: {figures[name]:.2f}"


@pytest.fixture(scope="module")
def figures_of_tests():
    """Measure the tests once."""
    return measure_words(Source.read(Path(__file__).parent))


@pytest.mark.parametrize("name", LIMITS)
def test_the_tests_do_not_get_harder_to_read(figures_of_tests, name):
    assert not is_beyond(name, figures_of_tests[name], WORST_OF_TESTS[name]), f"{name}: {figures_of_tests[name]:.2f}"


@pytest.mark.parametrize("folder", MAX_LINES)
def test_no_file_is_long(folder):
    """A file that cannot be held in mind is split by subject."""
    files = (Path(__file__).parents[1] / folder).rglob("*.py")
    assert [str(file) for file in files if len(file.read_text().splitlines()) > MAX_LINES[folder]] == []


def test_no_module_imports_from_a_file_of_tests():
    """Code that several files need stands in a module beside them."""
    files = [file for folder in ("tests", "benchmarks") for file in (Path(__file__).parents[1] / folder).rglob("*.py")]
    pattern = re.compile(
        r"^ *from (tests|\.)[\w.]*\btest_\w+ import|^ *from (tests|\.)[\w.]* import .*\btest_", re.MULTILINE
    )
    own_programs = {
        "tests/agent/test_hand_overs.py",
        "tests/agent/test_agent_as_tool.py",
        "tests/sandbox/test_recheck.py",
    }
    names = {str(file.relative_to(Path(__file__).parents[1])) for file in files if pattern.search(file.read_text())}
    assert names - own_programs == set()


def test_the_package_has_no_import_circle(figures):
    """Lazy imports and imports for types count too."""
    assert figures["modules in the largest import circle"] == 0


@pytest.fixture
def sample(tmp_path):
    """Write a package with one of everything that is counted, and measure it."""
    package = tmp_path / "sample"
    (package / "inner").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "one.py").write_text(
        textwrap.dedent('''
            """Nobody is named here."""

            from .inner.two import Reader as Other


            class Reader: ...


            def judged(found, text):
                """What came of it."""
                each = text
                return each


            def read_text(path):
                """Return the text."""
                return path
            ''')
    )
    (package / "inner" / "__init__.py").write_text("")
    (package / "inner" / "two.py").write_text("class Reader: ...\nclass Writer: ...\nfrom ..one import judged\n")
    return measure(Source.read(package))


@pytest.mark.parametrize(
    ("name", "figure"),
    [
        ("files", 4),
        ("files at the root", 2),
        ("depth of folders", 2),
        ("lines of a function, median", 3.5),
        ("lines of a function, longest", 4),
        ("modules in the largest import circle", 2),
        ("participle names of functions, %", 50),
        ("placeholder names of variables, %", 50),
        ("pronoun words in 1,000", 1000 / 11),
        ("docstrings that open with a verb, %", 50),
        ("class names used twice, %", 200 / 3),
    ],
)
def test_a_measure_counts_what_its_name_says(sample, name, figure):
    """The sample package has one of each."""
    assert sample[name] == pytest.approx(figure)


def test_the_docstring_of_a_test_or_a_fixture_need_not_open_with_a_verb(tmp_path):
    """A test is a claim, and a fixture is a value; a function that helps them is measured."""
    (tmp_path / "test_shop.py").write_text(
        textwrap.dedent('''
            @pytest.fixture(scope="module")
            def shop():
                """A shop."""


            async def test_it_sells(shop):
                """The first buyer wins."""


            def sell(shop):
                """Sell an item."""
            ''')
    )
    assert list(docstrings(Source.read(tmp_path))) == ["Sell an item."]


@pytest.mark.parametrize(
    ("file", "counts"),
    [("test_shop.py", [1]), ("typing/shop.py", [1]), ("conftest.py", [2, 2]), ("shop.py", [2, 2])],
)
def test_classes_of_files_of_tests_may_have_common_names(tmp_path, file, counts):
    """Nothing imports them. The names of classes in modules that help the tests are counted."""
    root = tmp_path / "tests"
    (root / "typing").mkdir(parents=True)
    (root / "kit.py").write_text("class Shop: ...\n")
    (root / file).write_text("class Shop: ...\n")
    assert class_name_counts(Source.read(root)) == counts
