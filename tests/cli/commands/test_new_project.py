"""
`toolkit init`: a project that works, where nothing was.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import venv
from importlib.util import find_spec
from pathlib import Path

import pytest

from toolkit.cli.commands.new_project import ProjectError, make_project, package_name

FILES = [
    "pyproject.toml",
    "my_shop/__init__.py",
    "my_shop/tools.py",
    "tests/test_tools.py",
    ".toolkit/toolkit.toml",
    "README.md",
]


@pytest.fixture
def from_a_wheel(tmp_path):
    """An environment in which our wheel is installed; what else it needs is that of the tests. Its `bin` folder."""
    root, wheels, home = Path(__file__).parents[3], tmp_path / "wheels", tmp_path / "environment"
    build = "import os, sys; from hatchling import build; build.build_wheel(sys.argv[1])"
    wheels.mkdir()
    subprocess.run([sys.executable, "-c", build, str(wheels)], cwd=root, check=True, capture_output=True)
    venv.create(home, with_pip=False, symlinks=True)
    pip = [sys.executable, "-m", "pip", "--python", str(home / "bin" / "python"), "--isolated"]
    (wheel,) = wheels.iterdir()
    subprocess.run([*pip, "install", "--quiet", "--no-index", "--no-deps", str(wheel)], check=True, capture_output=True)
    (packages,) = home.glob("lib/python*/site-packages")
    # A path file in it is not read, so that the checkout is not found by way of an editable install.
    (packages / "tests.pth").write_text(f"{Path(pytest.__file__).parents[1]}\n")
    return home / "bin"


@pytest.mark.long
@pytest.mark.skipif(find_spec("hatchling") is None, reason="hatchling is not installed: our wheel was NOT tested")
def test_a_new_project_passes_its_tests_with_our_wheel(from_a_wheel, tmp_path):
    """A new user calls the commands by their names, in an empty folder. There are no warnings."""
    names = ("PYTHONPATH", "PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTHONDONTWRITEBYTECODE")
    environment = {name: value for name, value in os.environ.items() if name not in names}
    environment["PYTHONWARNINGS"] = "error"

    def ran(folder, program, *words):
        command = [str(from_a_wheel / program), *words]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    report = ran(tmp_path, "toolkit", "init", "my-shop", "-o", "text")
    assert report.splitlines() == [*(f"+ my-shop/{name}" for name in FILES), "next: cd my-shop && python -m pytest"]
    project = tmp_path / "my-shop"
    assert ran(project, "python", "-c", "import toolkit; print(toolkit.__file__)").startswith(str(tmp_path))
    assert "4 passed" in ran(project, "python", "-m", "pytest", "-q")
    assert "2 passed" in ran(project, "python", "-m", "pytest", "-q", "--toolkit-check", "my_shop.tools", "my_shop")
    checked = ran(project, "toolkit", "check", "my_shop.tools", "-o", "text", "--strict")
    assert checked == "1 tool, nothing to fix\n"
    assert ran(project, "toolkit", "call", "my_shop.tools", "count_words", "text=to be", "-o", "text") == "2\n"


def test_the_rule_file_of_a_new_project_counts(shop):
    """Its rules hold for calls from the command line."""
    make_project("my-shop")
    os.chdir("my-shop")
    words = ["call", "my_shop.tools", "count_words", "--no-ask"]
    assert shop.run(*words, "text=to be").json["value"] == 2
    assert shop.run(*words, "text=the password").code == 7


def test_a_project_can_be_called_something_else_than_its_folder(shop):
    """The folder may have a name that no package can have."""
    written = make_project("1", name="My Shop")
    assert [str(path.relative_to(shop.folder / "1")) for path in written] == FILES
    project = tomllib.loads((shop.folder / "1" / "pyproject.toml").read_text())["project"]
    assert project["name"] == "my-shop"
    assert project["entry-points"]["toolkit.tools"] == {"my_shop": "my_shop.tools:catalog"}


def test_the_current_folder_is_the_usual_place(shop):
    """Its other files do not change."""
    before = (shop.folder / "tools.py").read_text()
    lines = shop.run("init", "--name", "my-shop", "-o", "text").out.splitlines()
    assert lines == [*(f"+ {name}" for name in FILES), "next: python -m pytest"]
    assert (shop.folder / "tools.py").read_text() == before
    assert shop.run("init", "--name", "other").code == 2
    files = shop.run("init", "more").json["files"]
    assert files == [str(shop.folder / "more" / name.replace("my_shop", "more")) for name in FILES]
    ran = shop.run("init", "other", "-o", "text")
    assert ran.out.splitlines()[-1] == "next: cd other && python -m pytest"


@pytest.mark.parametrize("name", FILES)
def test_init_writes_no_file_if_one_of_them_exists(shop, name):
    """A broken link counts as a file."""
    path = shop.folder / "my-shop" / name
    path.parent.mkdir(parents=True)
    path.symlink_to("nowhere")
    ran = shop.run("init", "my-shop")
    assert (ran.code, ran.out) == (2, "")
    assert f"nothing was written, because this exists already: {path}; choose another folder" in ran.err
    assert [entry for entry in (shop.folder / "my-shop").rglob("*") if not entry.is_dir()] == [path]


def test_files_are_not_written_through_a_link(shop, tmp_path):
    """The link could lead to another folder."""
    (shop.folder / "my-shop").mkdir()
    (shop.folder / "my-shop" / "tests").symlink_to(tmp_path)
    with pytest.raises(ProjectError, match="my-shop/tests"):
        make_project("my-shop")
    assert not (tmp_path / "test_tools.py").exists()


def test_a_project_folder_that_is_a_file_is_refused(shop):
    with pytest.raises(ProjectError, match=r"tools\.py; choose another folder"):
        make_project("tools.py", name="shop")


def test_a_folder_that_cannot_be_written_is_an_error_with_the_reason(shop):
    shop.write("blocked/tests", "a file where a folder has to be")
    with pytest.raises(ProjectError, match="cannot be written"):
        make_project("blocked", name="shop")


@pytest.mark.parametrize(("title", "name"), [("my-shop", "my_shop"), ("My  Shop!", "my_shop"), ("a1", "a1")])
def test_the_name_of_a_package_is_that_of_its_project_in_valid_letters(title, name):
    assert package_name(title) == name


@pytest.mark.parametrize("title", ["", "1st", "--", "class", "json", "toolkit", "tests", "ÄÖ"])
def test_a_name_that_no_package_can_have_is_refused(title):
    """The same holds for a name that would hide another package."""
    with pytest.raises(ProjectError, match="--name"):
        package_name(title)
