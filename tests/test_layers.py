"""
A module imports from layers above it, or from files to its left on its own line.

Type-only and lazy imports count: a circle is a circle, whenever it closes.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "toolkit"

# Top to bottom, left to right. A folder stands for its files, which have an order of their own below.
LAYERS = [
    "forks errors decompression later options facts tokens access verdicts visible strictjson digests requests session parts results call_ids",
    "context markers docstrings patterns wording keywords schema_judge jsonschemas codecs origins scope parameters coroutines signature validation",
    "rendering redaction secret_problems describe spec tables foreign_names ranking finding summaries formats views sources catalog decorator",
    "repair classify retry trio_check threads finishing resources safety workspace sandbox approvals permissions audit stated judges judging consent",
    "abandoned cleanup_limit deadline hooks background attempt hook_runner settings tool_logger plans outcomes cutting failing tries hearing argument_forms pipeline skipped lanes planner resuming batch call_metadata call_copies dispatcher",
    "builtin",
    "providers agent skills",
    "testing",
    "cli __main__",
    "__init__",
]
INSIDE = {
    "codecs": (
        "memory hashes writer base scalars texts containers mappings choices unions plain judges aliases limits constraints objects definitions classes records typed_dicts foreign __init__"
    ),
    "approvals": "canonical identity comparisons owners records stores packed_record memory private sqlite sealing guard diffs previews askers policy store_runner screens conversation terminal __init__",
    "hooks": "base passing cache log loop_guard rate_limit stats shell_records shell_processes shell_commands shell_answers shell_events shell_files shell __init__",
    "permissions": "request names paths urls commands redirections values rule_texts rules gaps ownership hook_scripts trust toml_files files modes possible grants policy gate __init__",
    "safety": "shell_records shell_words shell_heredocs shell_nodes shell_expansions shell_simple shell_tree shell_outline_words shell_outline shell_prefixes shell_options shell_wrappers shell_evaluation shell shell_texts name_globs protected paths repositories shell_args shell_targets file_rows command_files command_folders shell_code shell_flows shell_written shell_rows shell_rows_run shell_rows_tools shell_rows_work shell_rows_reach dangers commands hosts checks __init__",
    "workspace": "beneath problems borders temporaries entries reading walking writing space __init__",
    "sandbox": "programs covers tending confining attempts launcher limits seccomp system kernel_files accounts names grounds lookout base bubblewrap landlock plain escapes probe choosing __init__",
    "builtin": "kinds texts pages stamps watches misses changes near edits read_tool write_tool edit_tool html_tokens html_elements html_text fetch_addresses fetch_bodies fetch_texts fetch_cache fetch_frames fetching web_fetch_tool outputs readings processes jobs removing shells standing runs bash_tool job_output_tool job_stop_tool globs ignoring dialect searching ripgrep file_types tallies grep_tool glob_tool tool_search_tool bundle __init__",
    "providers": "prices messages base scripted failures keys sse waits time_limits loop_clients exchange wire streams remote anthropic openai openai_responses gemini __init__",
    "agent": "budgets pairing runs events framing compaction watching planning manners toolbox talks loop waiting subs lives sealing agent __init__",
    "skills": "problems front_matter records checks arguments reading filling commands folders making joining shelf library __init__",
    "formats": "records names nulls merging properties reading content remarks tops dialects shapes measures subsets budgets offering chat anthropic openai openai_responses gemini bedrock mistral ollama mcp __init__",
    "ranking": "words spelling vocabulary documents asking fusion index __init__",
    "testing": "unsupported hypotheses parts made numeric matching forms texts arrays objects guards generating subjects mistakes strategies findings explaining probing laws snapshots running run_laws likeness checking code_lints linting targets clocks builders recorder __init__",
    "cli": "exits loops consoles lines region display output files names targets values trees tallies templates projects failures saved_runs completing commands policies shells list_command show_command schema_command search_command call_command explain_command check_command agent_command stats_command init_command completion_command main __init__",
    "patterns": "charsets tree cost nfa linear pattern __init__",
}


def position(module: str) -> tuple[int, int]:
    """Where a top-level module stands in the layout."""
    for layer, line in enumerate(LAYERS):
        if module in line.split():
            return layer, line.split().index(module)
    raise AssertionError(f"toolkit/{module} has no place in the layout; give it one in {Path(__file__).name}")


def imports(path: Path) -> list[tuple[int, str, str]]:
    """Every relative import, wherever it stands: its level, its module, the name it takes."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            found += [(node.level, node.module or "", alias.name) for alias in node.names]
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        absolute = node.module if isinstance(node, ast.ImportFrom) and not node.level else ""
        assert not any(name.split(".")[0] == "toolkit" for name in [*names, absolute or ""]), (
            f"{path.name} imports from the package root; import siblings by file"
        )
    return found


FILES = sorted(path for path in PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(PACKAGE)) for path in FILES])
def test_imports_point_one_way(path):
    """No module imports from below it, or from its right."""
    place = path.relative_to(PACKAGE).with_suffix("").parts
    for level, module, name in imports(path):
        target = module.split(".")[0] or name
        if level == len(place):
            assert position(target) < position(place[0]), f"{path.name} imports {target}, which stands below it"
        else:
            assert level == 1, f"{path.name} reaches above the package"
            order = INSIDE[place[0]].split()
            assert order.index(target) < order.index(place[1]), (
                f"{path.name} imports {target}, which stands to its right"
            )


def test_no_module_shares_a_name_with_an_export():
    """A module named like an export would replace it as soon as it is loaded."""
    import toolkit

    modules = {path.stem for path in PACKAGE.glob("*.py")} | {path.name for path in PACKAGE.iterdir() if path.is_dir()}
    assert modules.isdisjoint(toolkit.__all__)
