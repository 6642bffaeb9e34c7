"""A program that is asked for a secret asks a person first, also one that no table knows."""

from __future__ import annotations

import pytest

from toolkit.safety.commands.check import check_command


@pytest.mark.parametrize(
    "line",
    [
        "pass show x",
        "op read op://a/b",
        "bw get password x",
        "vault kv get x",
        "doppler secrets",
        "launcher secrets list",
        "launcher auth:token",
        "launcher get-token",
        "ansible-vault view x",
        "age -d x",
        "aws configure get aws_secret_access_key",
        "gcloud secrets versions access latest --secret x",
        "az storage account keys list -n x",
        "glab auth status -t",
        "heroku config",
        "vercel env pull",
        "npm config get //registry.npmjs.org/:_authToken",
        "terraform state pull",
        "pulumi stack output --show-secrets",
        "rails credentials:show",
        "security dump-keychain",
        "secret-tool lookup a b",
        "getent shadow root",
        "sqlite3 ~/.config/google-chrome/Default/Cookies .dump",
    ],
)
def test_a_command_that_shows_a_secret_asks(line):
    assert check_command(line).word == "ask"


@pytest.mark.parametrize(
    "line",
    [
        "pass ls",
        "doppler run -- npm start",
        "npm config get registry",
        "getent passwd root",
        "terraform output name",
        "./tools/secrets.py secrets",
        "launcher secrets.md",
        "pytest -k password",
        "age -r x file",
    ],
)
def test_other_commands_of_these_programs_run(line):
    assert check_command(line) is None
