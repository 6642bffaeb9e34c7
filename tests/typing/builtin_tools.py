"""Built-in tools, workspaces and searches as users write them; checked by mypy and pyright, never run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from typing_extensions import assert_type

from toolkit import (
    Catalog,
    CatalogView,
    Definition,
    Dispatcher,
    SafetyChecks,
    SearchResult,
    SearchResults,
    Session,
    Tool,
)
from toolkit.builtin import (
    MemoryFolder,
    MemoryNote,
    MemoryStore,
    Sandbox,
    Workspace,
    bash_for,
    best_sandbox,
    builtin_catalog,
    edit_for,
    glob_for,
    grep_for,
    job_output_for,
    job_stop_for,
    memory_tools,
    read_for,
    tool_search_for,
    web_fetch_for,
    write_for,
)
from toolkit.sandbox import LevelName, Limits, sandboxes
from toolkit.workspace import Entry, WriteResult


def _as_store(store: MemoryStore) -> MemoryStore:
    return store


def builtin_tools(folder: Path) -> None:
    workspace = Workspace(
        folder, folders=["shared"], read_only=[Path("manuals")], protected=["*.sqlite"], max_write_bytes=1_000
    )
    assert_type(workspace.root, str)
    assert_type(workspace.safety(allowed_hosts=["localhost:80"]), SafetyChecks)
    sandbox = best_sandbox(workspace, network=True, level="landlock", limits=Limits(processes=10), readable=[folder])
    assert_type(sandbox, Sandbox)
    assert_type(sandbox.name, LevelName)
    assert_type(sandbox.describe(), str)
    assert_type(sandboxes(workspace, probe=False), dict[LevelName, Sandbox | str])
    for catalog in (
        builtin_catalog(workspace),
        builtin_catalog("."),
        builtin_catalog(folder, sandbox="none", env={"STAGE": "test"}, keep=["STAGE"]),
        builtin_catalog(workspace, sandbox=sandbox, network=True, allowed_hosts=["docs.python.org"], ports=[8080]),
    ):
        assert_type(catalog, Catalog)
        catalog.add(web_fetch_for(private_hosts=["localhost:8080"], ports=[8443], frame=False), replace=True)
    for spec in (read_for(workspace), write_for(workspace), edit_for(workspace), glob_for(workspace)):
        assert_type(spec, Tool)
    Catalog(grep_for(workspace, ripgrep=False), bash_for(workspace, max_output_bytes=1_000))
    Catalog(job_output_for(workspace), job_stop_for(workspace))
    Catalog(job_output_for(), job_stop_for(patience_seconds=1.0))
    store = MemoryFolder("notes", max_notes=10)
    assert_type(_as_store(store).notes("ada"), Sequence[MemoryNote])
    Catalog(*memory_tools(store), *memory_tools("notes", allow_secrets=True))
    memory_tools(MemoryNote(name="x", text="y"))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    builtin_catalog(workspace, sandbox="bubblewrap")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    best_sandbox(workspace, level="strong")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def files(workspace: Workspace) -> None:
    assert_type(workspace.read("a.txt", max_bytes=10), bytes)
    assert_type(workspace.entries(), list[Entry])
    assert_type(workspace.walk("src", skip=lambda entry: entry.name == ".git"), Iterator[Entry])
    assert_type(workspace.stat("a.txt").size, int)
    written = workspace.write("a.txt", b"x", expected=None)
    assert_type(written, WriteResult)
    assert_type(written.old, bytes | None)
    with workspace, workspace.open("a.txt") as file:
        assert_type(file.read(), bytes)


def large_catalogs(catalog: Catalog, session: Session, dispatcher: Dispatcher) -> None:
    results = catalog.search("send a message", 3, group="mail", ranker=lambda query, names: {names[0]: len(query)})
    assert_type(results, SearchResults)
    assert_type(results[0], SearchResult)
    assert_type(results[0].tool, Tool)
    assert_type(results[0].words, tuple[str, ...])
    assert_type(results.tools, list[Tool])
    assert_type(results.advice, str)
    assert_type(catalog.summary(max_tokens=100), str)
    assert_type(catalog.offered(session), list[Tool])
    assert_type(catalog.definitions(session=session), list[Definition])
    assert_type(catalog.definitions("anthropic", session=session), list[dict[str, Any]])
    assert_type(dispatcher.permitted(session), CatalogView)
    assert_type(tool_search_for(catalog), Tool)
    session.load("send_email")
    assert_type(session.loaded, tuple[str, ...])
    assert_type(Session.from_json(session.to_json(), principal="ada"), Session)
