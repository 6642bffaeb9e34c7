"""A subcommand that cannot be taken back asks, also of a program that no table knows, and so does foreign code."""

from __future__ import annotations

import pytest

from toolkit.safety.commands.check import check_command


@pytest.mark.parametrize(
    "line",
    [
        "cdk destroy",
        "launcher purge all",
        "launcher db:drop",
        "launcher migrate:undo:all",
        "launcher --delete --topic x",
        "launcher volume delete x",
        "npx prisma migrate reset",
        "npx sequelize-cli db:drop",
        "alembic downgrade base",
        "flask db downgrade",
        "python manage.py flush --no-input",
        "mix ecto.drop",
        "nomad job stop -purge x",
        "supabase db reset",
        "wrangler r2 bucket delete x",
        "vagrant destroy -f",
        "etcdctl del --prefix ''",
        "mc rm -r --force x",
        "pg_restore --clean -d x dump",
        "conda env remove -n x",
        "svn delete x",
    ],
)
def test_a_word_that_destroys_asks(line):
    assert check_command(line).word == "ask"


@pytest.mark.parametrize(
    "line",
    [
        "launcher --no-delete",
        "launcher purge --dry-run",
        "launcher delete.txt",
        "launcher 'delete it'",
        "launcher a b c delete",
        "./tools/run.py delete x",
        "python script.py delete x",
        "bash run.sh reset",
        "grep delete src",
        "git log --grep reset",
        "pytest -k delete",
        "pip uninstall -y x",
        "conda remove numpy",
        "redis-cli get del",
    ],
)
def test_other_words_run(line):
    assert check_command(line) is None


@pytest.mark.parametrize("unit", ["-a", "delete-", "a:", "_drop", "--", "secret-", "access-token:"])
def test_no_long_word_takes_long(unit):
    """Several readings of one word would double with each part."""
    assert check_command(f"launcher x delete{unit * 500}1") is None


@pytest.mark.parametrize(
    "line",
    [
        "uvx --from git+https://x y",
        "npx github:a/b",
        "npm exec --package=https://x -- y",
        "npm i gitlab:a/b",
        "cpanm https://x",
        "nix run github:a/b",
        "brew tap a/b",
        "docker build https://x",
        "helm repo add x https://y",
    ],
)
def test_running_a_package_that_anyone_may_have_published_asks(line):
    assert check_command(line).word == "ask"
