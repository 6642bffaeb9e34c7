"""
The files that trust is about are read in one place: `toolkit/_plumbing/regular_files.py`.
"""

from __future__ import annotations

import ast
import os
import sys
import traceback
from pathlib import Path

import pytest

from tests.settings.kit import SettingsPlace
from toolkit import Catalog
from toolkit.builders import build_dispatcher, find_instructions
from toolkit.cli.commands.trust import read_report
from toolkit.hooks import ShellHooks
from toolkit.mcp.importing.server_file import check_trusted, read_server_file
from toolkit.skills import Skills

PACKAGE = Path(__file__).parents[1] / "toolkit"
READER = "_plumbing/regular_files.py"
READING_CALLS = {"open", "read_text", "read_bytes", "load"}

WATCHED: list[tuple[str, str]] = []
"""The file and the function that opened it, while a test watches; the first entry is the folder that is watched."""


def watch(event: str, arguments: tuple[object, ...]) -> None:
    if WATCHED and event == "open" and isinstance(arguments[0], (str, bytes, os.PathLike)):
        path = os.fsdecode(arguments[0])
        if path.startswith(WATCHED[0][0]):
            frames = traceback.extract_stack(limit=6)
            ours = [frame.filename for frame in frames if frame.filename.startswith(str(PACKAGE))]
            WATCHED.append((path, os.path.relpath(ours[-1], PACKAGE) if ours else "elsewhere"))


sys.addaudithook(watch)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A trusted project with a file of each kind."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    place = SettingsPlace(tmp_path)
    place.settings('mode = "auto"\n[[hooks]]\non = "before"\ncommand = "sh tools/check.sh && sh .toolkit/own.sh"\n')
    for name in ("project/tools/check.sh", "project/.toolkit/own.sh"):
        place.write(name, "exit 0\n")
    place.write("project/.toolkit/skills/review.md", "---\ndescription: Look.\n---\nLook.")
    place.write("project/.toolkit/skills/deep/SKILL.md", "---\ndescription: Look.\n---\nLook.")
    place.write("project/AGENTS.md", "Be kind.")
    place.write("project/.mcp.json", '{"mcpServers": {"a": {"command": "/bin/cat"}}}')
    place.user.chmod(0o700) if place.user.exists() else place.user.mkdir(mode=0o700)
    place.trust.trust(place.project)
    place.trust.trust_content(place.project / ".mcp.json", (place.project / ".mcp.json").read_bytes())
    return place


def test_every_file_of_a_project_is_opened_by_the_one_reader(place):
    """Settings, rules, hooks, scripts, skills, instructions and servers, also by the report of `toolkit trust`."""
    WATCHED[:] = [(f"{place.project}/", "")]
    try:
        settings = place.load()
        catalog = Catalog()
        catalog.tool(lambda: "ran", name="look", description="Look.")
        build_dispatcher(settings, catalog).call_sync("look", {})
        assert find_instructions(settings).files
        assert len(Skills(catalog, project=place.project, trust=place.trust).skills) == 2
        check_trusted(read_server_file(place.project / ".mcp.json", {}), place.trust)
        read_report(place.project, place.trust)
        assert [hook.prepare(hook.argv) for hook in ShellHooks(settings["hooks"]).hooks]
        opened = WATCHED[1:]
    finally:
        WATCHED.clear()
    assert {os.path.relpath(path, place.project) for path, _ in opened if os.path.exists(path)} == {
        ".toolkit/toolkit.toml",
        ".toolkit/own.sh",
        ".toolkit/skills/review.md",
        ".toolkit/skills/deep/SKILL.md",
        "tools/check.sh",
        "AGENTS.md",
        ".mcp.json",
    }
    assert {reader for _, reader in opened} == {READER}


MODULES = [
    path
    for folder in ("settings", "permissions", "hooks/shell", "skills", "mcp/importing")
    for path in sorted((PACKAGE / folder).rglob("*.py"))
]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_module_about_settings_opens_a_file_itself(path):
    """`os.open` of a lock and `os.fdopen` of a new file are no reads; everything else uses `read_regular_file`."""
    calls = [node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    names = {func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "") for func in calls}
    assert names & READING_CALLS - ALLOWED.get(path.name, set()) == set()


ALLOWED = {
    "private_json.py": {"open", "read_text"},  # files that the program itself keeps in the user's configuration
    "trust.py": {"open"},  # the lock beside the trust file
}
