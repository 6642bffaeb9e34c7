"""The quick check of a tool with marked parameters: what it lets run, and what it leaves to the judgement."""

from pathlib import Path
from typing import Annotated

import pytest

from toolkit.access import Access, Reads, Writes
from toolkit.catalog import Catalog
from toolkit.dispatcher import Dispatcher
from toolkit.permissions import Permissions
from toolkit.permissions.judgement import CallJudges
from toolkit.safety import SafetyChecks
from toolkit.spec import Tool
from toolkit.verdicts import Finding

pytestmark = pytest.mark.anyio


async def size(path: Annotated[Path, Reads]) -> int:
    """Return the size of a file."""
    return 1


class AsksOnce:
    """A check that asks about a path once, and then never again."""

    name = "once"

    def __init__(self):
        self.paths = []

    def judge(self, access: Access):
        is_new = access.target not in self.paths
        self.paths.append(access.target)
        return Finding("ask", "once", "it is new") if is_new else None


async def test_a_check_of_the_application_is_asked_once(tmp_path):
    """Its second answer may differ, so no quick check comes before the judgement."""
    check = AsksOnce()
    catalog = Catalog(Tool.described(size, read_only=True))
    dispatcher = Dispatcher(catalog, permissions=Permissions(), safety=SafetyChecks([tmp_path], further=[check]))
    assert (await dispatcher.call("size", {"path": "a"})).kind == "waiting"
    assert check.paths == ["a"]


async def test_a_file_that_becomes_a_link_is_noticed(tmp_path):
    """No answer about a path outlives the call."""
    folder, outside = tmp_path / "app", tmp_path / "other"
    folder.mkdir()
    outside.mkdir()
    (folder / "notes").mkdir()
    dispatcher = Dispatcher(Catalog(Tool.described(size, read_only=True)), safety=SafetyChecks([folder]))
    for path in ("notes/a", str(folder / "notes/a")):
        assert (await dispatcher.call("size", {"path": path})).kind == "ok"
    (folder / "notes").rmdir()
    (folder / "notes").symlink_to(outside)
    for path in ("notes/a", str(folder / "notes/a")):
        assert (await dispatcher.call("size", {"path": path})).kind == "safety"


async def test_a_read_only_tool_that_writes_never_passes(tmp_path):
    """It contradicts itself, and the judgement says so."""

    async def save(path: Annotated[Path, Writes]) -> int:
        """Save it."""
        return 1

    dispatcher = Dispatcher(Catalog(Tool.described(save, read_only=True)), safety=SafetyChecks([tmp_path]))
    result = await dispatcher.call("save", {"path": "a"})
    assert (result.kind, "declared read-only" in result.text) == ("denied", True)


async def test_rules_and_modes_count_for_a_marked_path(tmp_path):
    """The words are those of the judgement."""
    permissions = Permissions("default", ["deny size(path=secret/**)", "ask size(path=draft/**)"])
    dispatcher = Dispatcher(
        Catalog(Tool.described(size, read_only=True)), permissions=permissions, safety=SafetyChecks([tmp_path])
    )
    kinds = [(await dispatcher.call("size", {"path": path})).kind for path in ("a", "secret/a", "draft/a", "../a")]
    assert kinds == ["ok", "denied", "waiting", "safety"]
    result = await dispatcher.call("size", {"path": "secret/a"})
    assert "a rule says deny: size(path=secret/**)" in result.text


@pytest.mark.parametrize("options", [{}, {"without": ["host"]}, {"allowed_hosts": ["localhost"]}])
def test_options_of_the_checks_keep_the_quick_check(tmp_path, options):
    """Only code of the application removes it."""
    tool = Tool.described(size, read_only=True)
    gate = CallJudges(SafetyChecks([tmp_path], **options), None).gate(tool, frozenset({"size"}))
    assert gate is not None
    assert gate(None, {"path": Path("a")})
    assert not gate(None, {"path": Path(".env")})
    assert not gate(None, None)


def test_other_safety_checks_have_no_quick_check(tmp_path):
    """A subclass may check in another way."""

    class Stricter(SafetyChecks):
        pass

    assert CallJudges(Stricter([tmp_path]), None).gate(Tool.described(size, read_only=True), frozenset()) is None
