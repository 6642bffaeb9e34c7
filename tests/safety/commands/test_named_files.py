"""A protected file is found wherever a command names it."""

from __future__ import annotations

import pytest

from toolkit.permissions.patterns.commands import commands_concerned
from toolkit.safety.commands.check import check_command


@pytest.mark.parametrize(
    "line",
    [
        "git log -p -- .env",
        "git log -u .env",
        "git log -L1,5:.env",
        "git log -L 1,5:.env",
        "git -C sub log -p -- .env",
        "git archive HEAD .env",
        "git checkout HEAD -- .env",
        "git checkout .env",
        "git restore .env",
        "git restore --source=HEAD~1 .env",
        "git restore -SW .env",
        "git stash push .env",
        "git stash push -m wip -- .env",
        "docker run -v ./.env:/x alpine cat /x",
        'docker run -v "$PWD/.env:/x" alpine cat /x',
        "podman run --volume=./.env:/x:ro alpine cat /x",
        "grep -r '' --include=.env .",
        "grep -r '' --include='.en?' .",
        "rg --hidden -g .env ''",
        "rg --hidden --glob='**/.env' ''",
        "sqlite3 :memory: '.import .env t'",
        "sqlite3 :memory: '.import --csv --skip 1 .env t'",
        "sqlite3 :memory: <<< '.import .env t'",
        "cpio -o <<< .env",
        "echo .env | cpio -o",
        "tar cf - -T - <<< .env",
        "echo .env | zip a.zip -@",
    ],
)
def test_a_command_that_names_a_protected_file_asks(line):
    """The name may be in a pattern, after a place, in a list at the input, or in a script."""
    finding = check_command(line)
    assert finding is not None
    assert ".env" in finding.reason


@pytest.mark.parametrize(
    "line",
    [
        "git log --oneline -- .env",
        "git log -p -- src/a.py",
        "git log -p main..HEAD",
        "git checkout main",
        "git checkout -b fix/.env-handling",
        "git stash save 'wip .env'",
        "git restore --staged .env",
        "git stash push -m wip",
        "git archive --format=zip -o a.zip HEAD",
        'docker run -v "$PWD:/app" -w /app node npm test',
        "grep -rn foo --include='*.json' .",
        "rg foo -g '*.json' -g '!*.lock'",
        "echo a.txt | cpio -o",
        "sqlite3 a.db '.import data.csv t'",
    ],
)
def test_a_command_that_names_other_files_does_not_ask(line):
    """A list of commits and an excluded file do not count."""
    assert check_command(line) is None


@pytest.mark.parametrize(
    "option", ["--filter rm", "--filter=rm", "-F rm", "--pdf-engine=rm", "--lua-filter rm", "-L rm"]
)
def test_pandoc_runs_the_program_that_an_option_names(option):
    """The program need not have a folder or a dot in its name."""
    assert commands_concerned(f"pandoc {option} a.md", "rm:*")
    assert check_command(f"pandoc {option} a.md") is not None


@pytest.mark.parametrize("option", ["--filter pandoc-crossref", "--pdf-engine=xelatex", "--pdf-engine typst"])
def test_options_that_name_a_usual_program_of_pandoc_are_harmless(option):
    assert check_command(f"pandoc {option} a.md -o a.pdf") is None
