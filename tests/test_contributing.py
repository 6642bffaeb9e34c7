"""The checklists of `docs/contributing.md` name every place that a change needs."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "contributing.md"

MEMBERS = [
    ("A format", [r"\bbedrock\b", r"\bmistral\b", r"\bollama\b"]),
    ("A provider", [r"\bGeminiProvider\b", r"\bAnthropicProvider\b", r"\bOpenAIProvider\b"]),
    (
        "A built-in tool",
        [r"[\"`]edit[\"`]|\bedit_for\b", r"[\"`]glob[\"`]|\bglob_for\b", r"[\"`]grep[\"`]|\bgrep_for\b"],
    ),
    ("A hook point", [r"\bagent_started\b"]),
    (
        "A lifecycle event",
        [r"\b(person_asked|PersonAsked)\b", r"\b(run_ended|RunEnded)\b", r"\b(catalog_changed|CatalogChanged)\b"],
    ),
    ("A result kind", [r"[\"`]halted[\"`]", r"[\"`]not_found[\"`]", r"[\"`]bad_args[\"`]"]),
    ("A result kind", [r"\bBadArgs\b", r"\bSafety\b", r"\bTransient\b"]),
    ("A result kind", [r"(?:in|-) [({](?:None, )?\"ok\", \"waiting\"[)}]"]),
]
"""Some of the things that exist, by their heading: a file that names all of them may have to name a new one too."""

USES = {
    "A format": {
        "docs/providers.md",
        "tests/providers/recorded_services.py",
        "tests/providers/test_services.py",
        "toolkit/providers/model_names.py",
    },
    "A built-in tool": {
        "examples/10_builtin_tools.py",
        "examples/15_agent_at_work.py",
    },
    "A hook point": {
        "tests/agent/test_cancellation.py",
        "tests/agent/test_plan_execution.py",
        "tests/agent/test_run_events.py",
        "tests/hooks/test_base.py",
    },
    "A result kind": {
        "tests/calls/test_batch.py",
        "tests/calls/test_pipeline_hooks.py",
        "tests/hooks/shell/test_shell_hooks.py",
        "toolkit/builtin/web/web_fetch_tool.py",
    },
}
"""Files that use several of them for cases of their own, and list nothing."""


@cache
def read_texts() -> dict[str, str]:
    """Return the text of every file that a change may touch, by its path."""
    folders = [ROOT / name for name in ("toolkit", "tests", "docs", "examples")]
    paths = [path for folder in folders for path in folder.rglob("*") if path.suffix in (".py", ".md")]
    paths.append(ROOT / "README.md")
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def has_word(pattern: str, text: str) -> bool:
    r"""Return whether *pattern* is in *text*, its names first, because a pattern that begins with `\b` is slow."""
    names = re.findall(r"\w{4,}", pattern.replace(r"\b", " "))
    return any(name in text for name in names) and re.search(pattern, text) is not None


def read_checklist(heading: str) -> set[str]:
    """Return the files that the checklist under *heading* names."""
    (section,) = re.findall(rf"^## {heading}\n(.*?)(?=^## )", PAGE.read_text(encoding="utf-8"), flags=re.M | re.S)
    items = re.findall(r"^- \[ \] (.*)$", section, flags=re.M)
    return {path for item in items for path in re.findall(r"`([\w/-]+\.(?:py|md|js))`", item)}


@pytest.mark.parametrize(("heading", "words"), MEMBERS)
def test_a_checklist_names_every_file_that_lists_the_things_there_are(heading, words):
    own = {"tests/test_contributing.py", "docs/contributing.md"}
    listing = {path for path, text in read_texts().items() if all(has_word(word, text) for word in words)}
    assert listing - own - USES.get(heading, set()) <= read_checklist(heading)


@pytest.mark.parametrize("heading", dict(MEMBERS))
def test_a_file_of_a_checklist_is_there(heading):
    assert {path for path in read_checklist(heading) if not (ROOT / path).exists()} == set()
