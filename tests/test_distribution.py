"""
How the package is installed is said in one place.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from toolkit._plumbing.distribution import DISTRIBUTION, INSTALL, INSTALL_PLACE, install_hint
from toolkit.cli.commands.new_project import make_project

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))
CODE = sorted((ROOT / "toolkit").rglob("*.py"))
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]

OURS = re.compile(r"pip install '?(?:-e )?(?:\.|" + re.escape(DISTRIBUTION) + r")(?:\[([a-z,]*)\])?'?")
MENTION = re.compile(r"pip3? install [^\n]{0,80}")
COMMAND_TABLES = ROOT / "toolkit" / "safety"  # these list commands that a model may send


def find_mentions(path: Path) -> list[str]:
    return MENTION.findall(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", [*PAGES, *EXAMPLES], ids=lambda path: path.name)
def test_pages_do_not_install_a_package_that_is_not_on_the_index(path):
    """Pages, messages and `toolkit init` use one constant for the command that installs toolkit."""
    for mention in find_mentions(path):
        assert DISTRIBUTION not in mention, f"{path}: {mention}"
        ours = OURS.match(mention)
        if ours is not None:
            assert ours[0] == INSTALL.format(extras=ours[1]), f"{path}: {mention}"
            assert set(ours[1].split(",")) <= set(EXTRAS), f"{path}: {mention}"


def test_no_other_message_has_an_install_command():
    """One constant has the command."""
    files = [path.name for path in CODE if not path.is_relative_to(COMMAND_TABLES) and find_mentions(path)]
    assert files == ["distribution.py"]


def test_a_new_project_does_not_depend_on_a_package_that_pip_cannot_find(tmp_path):
    """`toolkit init` uses the constant."""
    files = {path.name: path.read_text(encoding="utf-8") for path in make_project(tmp_path / "my-shop")}
    project = tomllib.loads(files["pyproject.toml"])["project"]
    assert project["dependencies"] == []
    assert not any(DISTRIBUTION in text for text in files.values())
    mentions = [mention for text in files.values() for mention in MENTION.findall(text)]
    assert mentions == [INSTALL.format(extras="testing,cli")]
    assert INSTALL_PLACE in files["README.md"]


def test_a_hint_names_the_command_and_the_place():
    """The words that every message has."""
    assert install_hint("cli", "shell") == "run pip install '.[cli,shell]' in a checkout of toolkit"
