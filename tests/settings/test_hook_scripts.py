"""
Which files of a project its hooks run, and what trust in the project covers.
"""

from __future__ import annotations

import json

import pytest

from toolkit.settings.hook_scripts import why_unresolved
from toolkit.settings.project_files import ProjectFiles
from toolkit.settings.trust import Trust, TrustError, why_not_trusted


@pytest.fixture
def project(tmp_path):
    """A project with scripts inside and outside its `.toolkit` folder."""
    folder = tmp_path / "project"
    for name in (".toolkit/own.sh", "tools/check.py", "tools/pkg/__main__.py", "x.sh", "data.json"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("exit 0\n")
    (tmp_path / "outside.sh").write_text("exit 0\n")
    return folder


def hook(project, command, files=None):
    """Let the project have one hook."""
    listed = "" if files is None else f"files = {json.dumps(files)}\n"
    text = f'[[hooks]]\non = "before"\ncommand = {json.dumps(command)}\n{listed}'
    (project / ".toolkit/toolkit.toml").write_text(text)


def find_scripts(project):
    """Return the files that the hooks of the project name."""
    return list(ProjectFiles(project).script_names)


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("exit 2", []),
        (".toolkit/own.sh", []),
        ("python tools/check.py", ["tools/check.py"]),
        (["python", "./tools/check.py"], ["tools/check.py"]),
        ("LANG=C sh x.sh --config=data.json", ["data.json", "x.sh"]),
        ("true && sh x.sh;python3.12 tools/check.py", ["tools/check.py", "x.sh"]),
        ("echo $(sh x.sh)", ["x.sh"]),
        ("echo `sh x.sh`", ["x.sh"]),
        ("sh -c 'python tools/check.py'", ["tools/check.py"]),
        (["sh", "-c", "./x.sh"], ["x.sh"]),
        ("env A=1 python tools/check.py", ["tools/check.py"]),
        ("jq . data.json", ["data.json"]),
        ("sh .toolkit/../x.sh", ["x.sh"]),
        ("/bin/true tools", []),
        ("~/bin/check", []),
        ("[ -f x.sh ] && sh x.sh", ["x.sh"]),
        ("bash -euo pipefail x.sh", ["x.sh"]),
        ('sh x.sh "$HOOK_TOOL_NAME"', ["x.sh"]),
        ("if sh x.sh; then exit 2; fi", ["x.sh"]),
        ("python3 -I -c 'import json, sys; sys.exit(2)'", []),
        ("python -Ic 'import json'", []),
        ("PATH=$HOME/bin:/usr/bin:$PATH sh x.sh", ["x.sh"]),
        ("python -W ignore tools/check.py -c all -m fast", ["tools/check.py"]),
        ("ENV=test nice -n 5 sh x.sh -s", ["x.sh"]),
        ("perl -ne 'exit 2 if /rm/' data.json", ["data.json"]),
    ],
)
def test_every_word_that_is_a_file_of_the_project_counts(project, command, files):
    """It may be in a substitution or an inner shell. Files in `.toolkit` are covered anyway."""
    hook(project, command)
    assert why_unresolved(command, project) is None
    assert find_scripts(project) == files


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("make check", "`make` runs files that the command does not name"),
        ("sudo npm test", "`npm` runs files"),
        ("python -m tools.check", "`python` runs files"),
        ("cd tools && python check.py", "changes the folder"),
        ("sh $SCRIPT", "known only when it runs"),
        ('"$TOOL" --all', "known only when it runs"),
        ("sh tools/*.sh", "known only when it runs"),
        ("${" * 9_000, "it cannot be read (it is nested too deeply)"),
        ("echo 'not closed", "it cannot be read (quotes that do not match)"),
        ("chronic make check", "`make` runs files"),
        ("find tools -execdir sh x.sh ;", "changes the folder"),
        ("xargs -a data.json sh", "`sh` runs what it is given"),
        ("cat x.sh | sh", "`sh` runs what it is given"),
        ('eval "$LINE"', "`$LINE` is known only when it runs"),
        (". $FILE", "known only when it runs"),
        ("python tools/pkg", "a file of the folder"),
        ("sh ../outside.sh", "leads out of the project"),
        (["sh", "-c", "make check"], "`make` runs files"),
        ("if ! make check; then exit 2; fi", "`make` runs files"),
        ("for file in tools/*.sh; do sh $file; done", "`$file` is known only when it runs"),
        ("{ $TOOL; }", "known only when it runs"),
        ("trap 'make clean' EXIT", "`make` runs files"),
        ("uv run check", "`uv` runs files"),
        ("python -mtools.check", "`python` runs files"),
        ("python3 -Bm tools.check", "`python` runs files"),
        ("python3 -c 'import json'", "unless it is `python -I -c`"),
        ("timeout 5 python3 -c 'import tools.check'", "looks for modules in the project first"),
        ("python3 -W ignore -c 'import json'", "unless it is `python -I -c`"),
        (["python3", "-Bc", "import json"], "unless it is `python -I -Bc`"),
        ("node -e \"require('./tools/check')\"", "`node` loads files"),
        ("ruby -r./tools/check -e 1", "`ruby` loads files"),
        ("PYTHONPATH=tools python .toolkit/own.sh", "`PYTHONPATH` makes programs load files"),
        ("env BASH_ENV=x.sh bash .toolkit/own.sh", "`BASH_ENV` makes programs load files"),
        ("PATH=tools:$PATH check", "`PATH` makes programs load files"),
        ("PATH=$PWD:$PATH check", "`PATH` makes programs load files"),
        ("env -C tools sh check.sh", "changes the folder"),
        ("find tools -name check.sh -exec sh {} ;", "`{}` is known only when it runs"),
        ("cat tools/*.sh | bash -s -- --all", "`bash` runs what it is given"),
        ("cat tools/*.py | timeout 5 python - --all", "`python` runs what it is given"),
        ("sh ~+/x.sh", "known only when it runs"),
        ("sh not-there.sh", "there is no file `not-there.sh`"),
        ("timeout 5 python -B tools/later.py", "there is no file `tools/later.py`"),
        (". ./later.sh", "there is no file `./later.sh`"),
        ("sh -e later.sh", "there is no file `later.sh`"),
        ("env P''ATH=tools check", "`PATH` makes programs load files"),
        ("[m]ake check", "known only when it runs"),
        ('[ -n "$(make check)" ]', "`make` runs files"),
        ("flock lock -c 'make check'", "`make` runs files"),
        ("watch 'make check'", "`make` runs files"),
        ("mypy src", "`mypy` runs files"),
        ("timeout 60 flake8 --count", "`flake` runs files"),
        ("git diff --quiet || gulp lint", "`gulp` runs files"),
        ("cmake --build .", "`cmake` runs files"),
        ("bun run lint", "there is no file `run`"),
    ],
)
def test_a_command_that_hides_its_scripts_is_reported(project, command, why):
    """It needs a list of scripts."""
    assert why in str(why_unresolved(command, project))


@pytest.mark.parametrize("command", ['notify "$HOOK_TOOL_NAME"', "awk '{print $1}' data.json", "$HOME/bin/check x"])
def test_data_may_be_anything(project, command):
    """A word that no program runs need not be known."""
    assert why_unresolved(command, project) is None


@pytest.mark.parametrize(
    "command", ["sh {home}/project/x.sh", "sh {home}/link/x.sh", "sh ~/project/x.sh", "sh $HOME/link/x.sh"]
)
def test_a_file_of_the_project_is_recognized_by_any_path(project, tmp_path, monkeypatch, command):
    """The path may go through a link to the project, or from the home folder."""
    (tmp_path / "link").symlink_to(project)
    monkeypatch.setenv("HOME", str(tmp_path))
    hook(project, command.format(home=tmp_path))
    assert find_scripts(project) == ["x.sh"]


def test_a_list_names_the_scripts_of_a_command(project):
    """With a list, the data file of `jq` does not count. The files of an `sh` command count in any case."""
    hook(project, "jq . data.json", [])
    assert find_scripts(project) == []
    hook(project, "make check", ["tools/check.py"])
    assert find_scripts(project) == ["tools/check.py"]
    hook(project, "sh x.sh data.json", ["tools/check.py"])
    assert find_scripts(project) == ["data.json", "tools/check.py", "x.sh"]


@pytest.mark.parametrize("command", ["5\nfiles = 5", "[]", '""', '[""]', "[5]", '"\'"', '["sh", "-c"]', '["env"]'])
def test_an_invalid_command_names_no_script(project, command):
    (project / ".toolkit/toolkit.toml").write_text(f"[[hooks]]\ncommand = {command}\n")
    assert find_scripts(project) == []


@pytest.mark.parametrize("text", ["", "hooks = 5", "[[hooks]]\nfiles = 5", "hooks = [5]", "{", "\xff"])
def test_an_invalid_hooks_file_names_no_script(project, text):
    """The loader of hooks reports the problem."""
    (project / ".toolkit/toolkit.toml").write_bytes(text.encode("latin-1"))
    assert find_scripts(project) == []


@pytest.fixture
def trust(tmp_path):
    """A user who has trusted no project yet."""
    return Trust(tmp_path / "config/trust.json")


@pytest.mark.parametrize(
    "change",
    [
        lambda script: script.write_text("rm -rf ~\n"),
        lambda script: script.unlink(),
        lambda script: script.chmod(0o755),
        lambda script: (script.write_text("other"), script.rename(script.with_name("o.py")), script.symlink_to("o.py")),
    ],
    ids=["edited", "removed", "executable", "a link"],
)
def test_a_script_that_changes_ends_the_trust(project, trust, change):
    """It may be anywhere in the project."""
    hook(project, "python tools/check.py")
    trust.trust(project)
    assert trust.is_trusted(project)
    change(project / "tools/check.py")
    assert trust.state(project) == "changed"


def test_a_script_that_appears_ends_the_trust(project, trust):
    """A tool could have written what the hook was going to run."""
    hook(project, "sh later.sh")
    trust.trust(project)
    (project / "later.sh").write_text("exit 0\n")
    assert trust.state(project) == "changed"


def test_other_files_do_not_matter(project, trust):
    """Only files that hooks name are covered."""
    hook(project, "python tools/check.py")
    trust.trust(project)
    (project / "x.sh").write_text("changed\n")
    assert trust.is_trusted(project)


def test_the_message_about_trust_names_the_scripts_to_look_at(project, trust):
    hook(project, "python tools/check.py")
    assert "look at its .toolkit folder and at tools/check.py, then trust it" in why_not_trusted(trust, project)


def test_a_script_that_leads_out_of_the_project_cannot_be_trusted(project, tmp_path):
    """Its content does not belong to the project."""
    (project / "tools/check.py").unlink()
    (project / "tools/check.py").symlink_to(tmp_path / "outside.sh")
    hook(project, "python tools/check.py")
    with pytest.raises(TrustError, match="leads out of"):
        Trust(tmp_path / "trust.json").trust(project)


def test_a_project_whose_hooks_name_no_files_keeps_its_digest(project):
    """Trust that was given before scripts were covered still holds."""
    hook(project, "exit 2")
    before = ProjectFiles(project).digest
    (project / "tools/check.py").write_text("changed")
    assert ProjectFiles(project).digest == before
