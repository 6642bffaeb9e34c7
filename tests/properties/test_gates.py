"""
Random tools, rules, modes, grants and arguments: what the quick gate lets run, the full judgement allows.

The tools have marked and unmarked parameters of many types, and the disk has links.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.access import Access, Reads, Url, Writes
from toolkit.approvals.identity import identity_of
from toolkit.decisions import Grant
from toolkit.permissions import MODES, Permissions
from toolkit.permissions.judgement import CallJudges
from toolkit.results import ToolCall
from toolkit.safety import SafetyChecks
from toolkit.session import Session
from toolkit.spec import Tool


class Table(Access):
    """A kind of the application's own."""

    kind = "table"


PATHS = ["a.txt", "src/a", "src/../a", "docs/b", "/etc/passwd", ".env", "SRC/a", "out/key", "safe/a", "loop", "~/x", ""]
PATHS += ["src/\uff1aa", ".env::$data", "a\0b", "x" * 300]
TEXTS = ["x", "X", "y", "13", "secret/../x", "https://example.com/a", "git push"]
TYPES: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "int": (int, st.sampled_from([13, -1, 0, 2**70])),
    "float": (float, st.sampled_from([13, 13.0, 0.5, 1e300])),
    "bool": (bool, st.booleans()),
    "str": (str, st.sampled_from(TEXTS)),
    "maybe": (str | None, st.none() | st.sampled_from(TEXTS)),
    "either": (int | str, st.sampled_from([13, "13", "x"])),
    "list": (list[int | str], st.lists(st.sampled_from([13, "x", "secret"]), max_size=2)),
    "dict": (dict[str, int], st.dictionaries(st.sampled_from(TEXTS), st.sampled_from([13, 1]), max_size=2)),
    "path": (Path, st.sampled_from(["src/a", "a.txt", "."])),
    "url": (Annotated[str, Url], st.sampled_from(["https://example.com/a", "http://127.0.0.1/", "no address"])),
    "table": (Annotated[str, Table], st.sampled_from(["users", "x"])),
}
PLACES: dict[str, Any] = {
    "reads": Annotated[Path, Reads],
    "writes": Annotated[str, Writes],
    "reads some": Annotated[list[str], Reads],
    "not marked": str,
    "a path": Path,
}
SUBJECTS = [
    *("do", "other", "do(13)", "do(x)", "do(src/**)", "do(value=13)", "do(value=x)", "do(value=*)", "do(value~=X)"),
    *("do(value=1*)", "do(value=true)", "do(value=https://example.com/**)", "do(git push:*)", "do(path=src/**)"),
    *("do(path=*.txt)", "do(path=out/**)", "do(unknown=13)", "do(table=users)", "do(read=src/*)", "do(url=*://**/**)"),
    *("access:read", "access:write(src/**)", "access:path(a.txt)", "access:url", "access:read(docs/*)"),
]
rules = st.lists(
    st.builds("{} {}".format, st.sampled_from(["allow", "ask", "deny"]), st.sampled_from(SUBJECTS)), max_size=4
)
facts = st.sampled_from([{"read_only": True}, {"read_only": True}, {}, {"destructive": True}, {"open_world": True}])


@pytest.fixture(scope="module")
def folder() -> Iterator[str]:
    """A folder with a file, a link that stays inside, one that leads out, and one that leads in a circle."""
    with tempfile.TemporaryDirectory() as outside, tempfile.TemporaryDirectory() as inside:
        for name in ("src", "docs"):
            (Path(inside) / name).mkdir()
        (Path(inside) / "a.txt").write_text("a")
        for name, target in {"out": outside, "safe": "src", "loop": "loop"}.items():
            os.symlink(target, Path(inside) / name)
        yield inside


def build_tool(place: str, kind: str, stated: dict[str, Any], *, is_path_first: bool) -> Tool:
    async def path_first(path: Any, value: Any) -> str:
        return "done"

    async def value_first(value: Any, path: Any) -> str:
        return "done"

    do = path_first if is_path_first else value_first
    do.__annotations__ = {"path": PLACES[place], "value": TYPES[kind][0], "return": str}
    return Tool.described(do, name="do", description="Do it.", **stated)


@given(st.sampled_from(sorted(PLACES)), st.sampled_from(sorted(TYPES)), facts, rules, st.sampled_from(MODES), st.data())
def test_the_gate_lets_no_call_run_that_the_judgement_would_stop(folder, place, kind, stated, texts, mode, data):
    """
    A quick yes means allow. A call that is allowed without a grant, an allow rule about arguments or bypass gets
    a quick yes.
    """
    tool = build_tool(place, kind, stated, is_path_first=data.draw(st.booleans()))
    path = data.draw(st.sampled_from(PATHS))
    sent = {"path": [path, "docs/b"] if place == "reads some" else path, "value": data.draw(TYPES[kind][1])}
    session = data.draw(st.none() | st.builds(Session, principal=st.sampled_from([None, "ada"])))
    permissions = Permissions(mode, texts)
    if session is not None and data.draw(st.booleans()):
        scope, target = data.draw(st.sampled_from([("tool", ""), ("folder", folder)]))
        permissions.grant(session, Grant(tool=identity_of(tool), scope=scope, target=target))
    own_mode = data.draw(st.none() | st.sampled_from(MODES)) if session else None
    if session is not None:
        permissions.set_mode(own_mode, session=session)
    judges = CallJudges(SafetyChecks([folder]), permissions, own_files=[f"{os.path.realpath(folder)}/docs"])
    gate = judges.gate(tool, frozenset({"do"}))
    if gate is None:
        assert kind == "table"  # the class of its accesses is not of the library
        return
    decoded = tool.check(sent)
    verdict = asyncio.run(judges.judge(tool, frozenset({"do"}), ToolCall("do", sent, session=session), decoded)).verdict
    answer = gate(session, decoded)
    assert not answer or verdict.word == "allow"
    assert not gate(session, None) or verdict.word == "allow"
    is_plain = (own_mode or mode) != "bypass" and not any(text.startswith("allow") for text in texts)
    if verdict.word == "allow" and is_plain and (session is None or not session.grants):
        assert answer
