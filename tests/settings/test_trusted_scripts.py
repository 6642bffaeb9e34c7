"""
The scripts of a trusted project: the content that was checked is the content that is run.
"""

from __future__ import annotations

import gc
import subprocess
from pathlib import Path

import pytest

from toolkit.hooks.shell.process import NotRun
from toolkit.settings.toml_files import TomlFile
from toolkit.settings.trust import Trust
from toolkit.settings.trusted_scripts import TrustedScripts

SCRIPT = "#!/bin/sh\necho checked $1\n"


@pytest.fixture
def place(tmp_path):
    """A project with scripts, and what the user trusts."""
    for name in (".toolkit/check.sh", ".toolkit/my check.sh", "tools/check.sh"):
        path = tmp_path / "project" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SCRIPT)
        path.chmod(0o755)
    (tmp_path / "project/.toolkit/lib.sh").write_text("echo checked library\n")
    (tmp_path / "project/.toolkit/sibling.sh").write_text('. "$(dirname "$0")/lib.sh"\n')
    (tmp_path / "project/.toolkit/linked.sh").symlink_to("check.sh")
    return tmp_path


def prepare(place: Path, command: str | list[str]) -> tuple[TrustedScripts, list[str]]:
    """Trust a project with one hook, and return what would be run."""
    import json

    project, trust = place / "project", Trust(place / "config/trust.json")
    path = project / ".toolkit/toolkit.toml"
    path.write_text(f'[[hooks]]\non = "before"\ncommand = {json.dumps(command)}\n')
    trust.trust(project)
    scripts = TrustedScripts(trust, project, TomlFile(path, []))
    return scripts, scripts.prepare(["/bin/sh", "-c", command] if isinstance(command, str) else command)


def swap_all(place: Path) -> None:
    """Put other scripts in the place of all."""
    for path in (place / "project").rglob("*.sh"):
        if not path.is_symlink():
            path.write_text("echo swapped\n")


@pytest.mark.parametrize(
    ("command", "output"),
    [
        (".toolkit/check.sh", "checked"),
        ("./.toolkit/check.sh now", "checked now"),
        ("'.toolkit/check.sh' now", "checked now"),
        ('sh ".toolkit/my check.sh"', "checked"),
        ("sh tools/check.sh; sh tools/check.sh", "checked\nchecked"),
        ("sh -c 'sh tools/check.sh \"a b\"'", "checked a b"),
        (["sh", "tools/check.sh", "a b"], "checked a b"),
        (["sh", "-c", "tools/check.sh"], "checked"),
        ("env A=1 sh PROJECT/tools/check.sh", "checked"),
        ("sh .toolkit/sibling.sh", "checked library"),
        (".toolkit/linked.sh", "checked"),
        ("true .toolkit/check.sh; echo none", "none"),
    ],
)
def test_a_script_that_is_swapped_after_the_check_is_not_run(place, command, output):
    """The copy of the checked content is run, however the command names the script."""
    named = command.replace("PROJECT", str(place / "project")) if isinstance(command, str) else command
    scripts, argv = prepare(place, named)
    swap_all(place)
    result = subprocess.run(argv, cwd=place / "project", capture_output=True, text=True, check=True)
    assert result.stdout.strip() == output
    assert scripts is not None  # the copies live as long as it does


@pytest.mark.parametrize("name", [".toolkit/later.sh", "later.sh", "./tools/later.sh"])
def test_a_script_that_appears_after_the_check_is_not_run(place, name):
    """Its path is that of the copy, which does not exist then."""
    _, argv = prepare(place, f"sh {name}")
    (place / "project" / name).write_text("echo swapped\n")
    result = subprocess.run(argv, cwd=place / "project", capture_output=True, text=True, check=False)
    assert (result.returncode != 0, result.stdout) == (True, "")


@pytest.mark.parametrize("command", ["sh .toolkit/ch''eck.sh", "sh .toolkit/my\\ check.sh", 'sh tools/"check".sh'])
def test_a_path_that_cannot_be_replaced_is_refused(place, command):
    """The message says how to write it."""
    with pytest.raises(NotRun, match="has quotes or backslashes in it; write the path as it is"):
        prepare(place, command)


def test_other_words_are_not_changed(place):
    """Text that only looks like the path of a script is not changed."""
    _, argv = prepare(place, "sh tools/check.sh x/tools/check.sh tools/check.sh.bak a.tools/check.sh")
    assert argv[2].split()[2:] == ["x/tools/check.sh", "tools/check.sh.bak", "a.tools/check.sh"]


def test_the_copies_belong_to_the_user_and_do_not_stay(place):
    """They are written once, and again after a program has removed them. They go with the object."""
    scripts, argv = prepare(place, ".toolkit/check.sh")
    copy = Path(argv[2])
    folder = copy.parent.parent
    assert (folder.stat().st_mode & 0o777, copy.stat().st_mode & 0o777) == (0o700, 0o500)
    assert scripts.prepare(["/bin/sh", "-c", ".toolkit/check.sh"]) == argv
    copy.unlink()
    again = Path(scripts.prepare(["/bin/sh", "-c", ".toolkit/check.sh"])[2])
    assert again.read_text() == SCRIPT
    del scripts
    gc.collect()
    assert not folder.exists()
    assert not again.exists()
