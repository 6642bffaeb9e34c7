"""
The report of `toolkit trust`: it leaves out nothing that begins to count with the user's yes.
"""

from __future__ import annotations

import pytest

from toolkit.cli.commands.trust_report import read_report
from toolkit.permissions.trust import Trust, configuration_folder
from toolkit.settings import load_settings


@pytest.fixture
def project(shop):
    """A project without settings, and an empty folder for those of the user."""
    folder = shop.folder / "shop"
    (folder / ".toolkit").mkdir(parents=True)
    configuration_folder().mkdir(mode=0o700, parents=True)
    return folder


def write_settings(folder, text, name="toolkit.toml"):
    (folder / name).write_text(text, encoding="utf-8")


def test_further_rule_files_are_in_the_report(project):
    """Allow rules and the mode of a file that `rules.files` names begin to count with trust, so they are shown."""
    write_settings(project / ".toolkit", '[rules]\nfiles = [".toolkit/more.toml"]\n')
    write_settings(project / ".toolkit", 'mode = "bypass"\nallow = ["bash"]\ndeny = ["order"]\n', "more.toml")
    settings = read_report(project, Trust()).settings["settings"]
    place = project / ".toolkit" / "more.toml"
    assert settings == [f"mode = bypass (project, {place}:1)", f"rules.allow = bash (project, {place}:2)"]


def test_no_setting_is_in_the_report_twice(project):
    """The rules of `permissions.toml`, the hooks of `hooks.toml` and the skills have sections of their own."""
    write_settings(project / ".toolkit", 'mode = "auto"\nallow = ["bash"]\n', "permissions.toml")
    write_settings(project / ".toolkit", '[[hooks]]\non = "before"\ncommand = "true"\nfiles = []\n', "hooks.toml")
    (project / ".toolkit" / "skills").mkdir()
    report = read_report(project, Trust())
    assert (len(report.settings["rules"]), len(report.settings["hooks"]), report.settings["settings"]) == (2, 1, [])
