"""
In every folder, a file or sub-folder imports only from those that stand to its left.

Type-only and lazy imports count: a circle is a circle, whenever it closes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "toolkit"

ORDER = {
    ".": "_plumbing/ errors _lazy_names access content verdicts docstrings/ _option_checks facts questions decisions values/ session results context functions/ policies/ spec formats/ catalogs/ catalog decorator safety/ workspace/ sandbox/ concurrency/ processes/ storage/ approvals/ permissions/ providers/ hooks/ calls/ dispatcher builtin/ steps/ agent/ settings/ skills/ builders openapi/ web_server/ mcp/ durable/ flows/ telemetry/ testing/ inspector/ cli/ __main__ __init__",
    "_plumbing": "decompression distribution forks generated_ids graphs line_files newest_items pauses records regular_files result_attributes tracebacks versioned_json wording markdown __init__",
    "agent": "prompts budgets final_answers conversation/ saved/ events call_watcher plan_mode options toolbox active_run model_requests hand_overs answer_checks lifecycle summarizer loop resume subruns agent_as_tool inner_agents agent_inputs agent stepped_runs __init__",
    "agent/conversation": "valid_messages summaries compaction kept_messages run_conversation run_inbox __init__",
    "agent/saved": "missing_answers run_fields runs kept_turns run_seal __init__",
    "approvals": "comparisons askers records answers seal store repeated_calls memory_store policy file_diffs read_only_guard previews sql_store terminal/ identity postgres_store store_runner __init__",
    "approvals/terminal": "screens question_form conversation prompt __init__",
    "builtin": "commands/ time_limit files/ memory/ search/ read_output_tool web/ bundle ask_user_tool tool_search_tool __init__",
    "builtin/commands": "outputs process jobs folder_removal shell_state start_state bash_tool job_tools __init__",
    "builtin/files": "encodings changes missing_paths near_matches replacements edit_tool file_kinds line_pages read_tool write_tool __init__",
    "builtin/memory": "notes memory_folder memory_tools __init__",
    "builtin/search": "globs gitignore grep_syntax line_search search_report output_search glob_tool ripgrep grep_tool __init__",
    "builtin/web": "addresses html_tokens html_elements html_text page_text fetcher web_fetch_tool __init__",
    "calls": "resources propagation attempt settings tool_logger plan error_results call_frame listeners argument_check approval/ kept_outputs record_cuts truncation made_results render_result questions attempts tool_run call_end call_failures hook_stages around_hooks call_events pipeline background/ planner resume unstarted batch call_copies typed_calls __init__",
    "calls/approval": "case request claim answer stage __init__",
    "calls/background": "jobs detached_calls __init__",
    "catalogs": "snapshot search/ summaries foreign_text foreign_names views tool_reports sources __init__",
    "catalogs/search": "words synonyms documents fusion embeddings spelling vocabulary postings query index __init__ finder",
    "cli": "argument_values output settings_options display/ completion/ openapi_targets server_targets targets user_extensions kept_rules interruptible_loop approval_prompt exit_codes failures client_files call_policy reloading command saved_files run_driver run_database run_decisions run_report workloads project_templates commands/ main __init__",
    "cli/commands": "agent chat audit_summary call check completion eval explain new_project list runs schema search serve inspector_page settings show trace trust mcp worker __init__",
    "cli/completion": "known_names shell_scripts __init__",
    "cli/display": "lines agent_display __init__",
    "concurrency": "futures abandoned thread_pool caller_thread background_loop time_limits __init__",
    "durable": "errors database_address journal/ store_retries journal_steps step_gate engine run_kinds dbos_json dbos_tables dbos_engine workers run_jobs run_queue decisions over_runs takeover activations job_worker host run_reports run_hosts run_input agent_outcomes durable_agent __init__",
    "durable/journal": "records row_texts statements run_changes stored_rows row_access step_journal run_journal __init__",
    "docstrings": "markup sections parsing attributes __init__",
    "flows": "outcomes value_types step_options step_hints graph mistakes graph_builder step_calls visits runner mermaid story durable_runs flow __init__",
    "formats": "base schemas/ responses call_ids media result_content anthropic bedrock gemini mcp openai mistral ollama openai_responses __init__",
    "formats/schemas": "dialects merging remarks shapes rewriting anthropic_budget forced_nulls property_names __init__",
    "functions": "injected_types tool_definition callables object_options checker namespaces unsent_parameters parameters flat_records outputs wrappers signature background_parameter handwritten_schemas description handlers __init__",
    "hooks": "base events cache log loop_guard rate_limit shell/ stats __init__",
    "hooks/shell": "process records answers events shell_hooks __init__",
    "inspector": "event_log call_rows live_runs history audit_history guard tool_views api_requests run_database approval_desk flow_views run_desk application __init__",
    "mcp": "importing/ sdk serving/ __init__",
    "mcp/serving": "sealed_state conversations listing answers questions progress client_log waiting_calls calling tool_tasks prompts resources changes tool_server strict_messages stdio issuer_pages issuer_keys token_checks scope_judge auth http_guard request_page http_app __init__",
    "mcp/importing": "remote_server call_errors credentials private_json stdio_transport login_hosts logins flood_guard http_client remote_tools login list_watcher questions tasks connection pins imported_tool server_file server_tools servers remote_content __init__",
    "openapi": "documents files patterns discriminators schemas parameters requests servers credentials calls loading __init__",
    "permissions": "judge modes patterns/ spellings rule_values rule_texts rules grants rule_gaps rule_mistakes policy tool_statements visibility judgement __init__",
    "permissions/patterns": "commands names paths urls __init__",
    "policies": "redaction credentials log_masks secret_patterns audit classify costs retry __init__",
    "processes": "child child_thread __init__",
    "providers": "messages prices base input_parts services model_names http/ wire streams remote anthropic bedrock gemini openai openai_responses vertex scripted creation fallback __init__",
    "providers/http": "failures api_keys retry_after sse loop_clients time_limits exchange __init__",
    "safety": "shell/ name_globs hosts protected_files repositories paths commands/ checks __init__",
    "safety/commands": "options table_system table_work targets printed_texts table_reach table_runners table_tools dangers folders variable_values table_files named_files files harmful_code inline_code loaded_files computed_options project_files input_programs data_flows written_scripts unknown_programs check __init__",
    "safety/shell": "records braces words nodes expansions heredocs simple_commands tree prefix_programs getopt known_input sed_scripts shell_builtins wrappers composed_texts evaluation outline_words outline parser __init__",
    "sandbox": "launcher/ base recheck seccomp system_paths visible_files bubblewrap landlock probe selection __init__",
    "sandbox/launcher": "messages confine covers process_tree attempt launch escapes __init__",
    "skills": "records prompts skill_tools catalog_join front_matter parsing skill_files loaded_skills slash_commands library __init__",
    "settings": "toml_files hook_scripts project_files file_ownership instruction_names trust mcp_servers records instruction_files keys trusted_scripts hook_tables layers loading __init__",
    "steps": "base expense session_changes records notes nested_runs call_step requests run_steps __init__",
    "telemetry": "names attributes span_hook telemetry_hook trace_file __init__",
    "testing": "strategies/ laws/ load_target doubles mcp_client recorded_provider evaluation snapshots/ __init__",
    "testing/laws": "violations confusable_tools smallest_example schema_laws run_conditions tool_runner run_laws concurrent_calls checking code_lints lints __init__",
    "testing/snapshots": "schema_changes snapshot __init__",
    "testing/strategies": "base schema_parts arrays numbers format_texts texts objects generating mistakes arguments __init__",
    "storage": "private_files shared_files process_owner database sqlite_database postgres_database owner_locks __init__",
    "values": "patterns/ strictjson/ schemas/ unsendable_value arrays codecs/ rendering part_texts text_limits visible __init__",
    "values/codecs": "code_writer decode_cache ranks refusals registered plain_hints type_checking_names field_parts annotation_texts base scalars unions aliases limits texts value_limits schema_first definitions validators foreign_parts foreign metadata annotated choices containers mappings objects class_hints records rules __init__",
    "values/patterns": "charsets syntax_tree automaton backtracking pattern __init__",
    "values/schemas": "vocabulary multiples drafts text_forms member_names union_tags keywords engine messages repair metaschema validator draft_index draft_rewriting __init__",
    "values/strictjson": "checks canonical digests __init__",
    "web_server": "request_guard running __init__",
    "workspace": "open_beneath borders entries os_errors writing space __init__",
}
"""The files and sub-folders of each folder, in the order in which they may import each other. A slash marks a folder."""


FOLDERS = sorted({path.parent for path in PACKAGE.rglob("*.py")})
BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
"""The fields of a statement that hold other statements."""


@cache
def list_imports(path: Path) -> list[ast.Import | ast.ImportFrom]:
    """Return the imports in a file, wherever they stand. Only statements are visited, because imports are statements."""
    nodes: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    for node in nodes:  # it grows meanwhile
        nodes += (child for block in BLOCKS for child in getattr(node, block, ()))
    return [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]


def relative_imports(path: Path) -> Iterator[Path]:
    """Yield the file behind every relative import in *path*, wherever in the file the import stands."""
    for node in list_imports(path):
        if isinstance(node, ast.ImportFrom) and node.level:
            folder = path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
            for alias in node.names:
                yield find_module(folder / alias.name) or find_module(folder) or folder


@cache
def find_module(place: Path) -> Path | None:
    """Return the file of the module that is at *place*, without its suffix; None if there is none."""
    candidates = (place.with_suffix(".py"), place / "__init__.py")
    return next((candidate for candidate in candidates if candidate.is_file()), None)


@cache
def entry_of(path: Path, folder: Path) -> str:
    """Return the name of the file or sub-folder of *folder* that *path* belongs to."""
    first, *rest = path.relative_to(folder).parts
    return f"{first}/" if rest else first.removesuffix(".py")


def explain_missing(folder, entries):
    """Say what to do with a file that has no place yet."""
    name = folder.relative_to(PACKAGE)
    return f'{", ".join(sorted(entries))} has no place: add it to ORDER["{name}"] here, right of all that it imports'


@pytest.mark.parametrize("folder", FOLDERS, ids=[str(folder.relative_to(PACKAGE)) for folder in FOLDERS])
def test_imports_point_one_way(folder):
    """No file imports from its right, at any level of folders that it shares with what it imports."""
    for path in folder.glob("*.py"):
        check_imports(path)


def check_imports(path):
    """Raise `AssertionError` if the file at *path* imports from its right."""
    for target in relative_imports(path):
        assert target.is_relative_to(PACKAGE), f"{path} imports {target}, which is outside the package"
        for folder in path.parents[: len(path.relative_to(PACKAGE).parts)]:
            if not target.is_relative_to(folder):
                continue
            importing, imported = entry_of(path, folder), entry_of(target, folder)
            order = ORDER[str(folder.relative_to(PACKAGE))].split()
            for entry in (importing, imported):
                assert entry in order, explain_missing(folder, {entry})
            assert importing == imported or order.index(imported) < order.index(importing), (
                f"{path.relative_to(PACKAGE)} imports {target.relative_to(PACKAGE)}: in {folder.name}/, "
                f"{imported} stands to the right of {importing}"
            )


@pytest.mark.parametrize("folder", FOLDERS, ids=[str(folder.relative_to(PACKAGE)) for folder in FOLDERS])
def test_every_file_has_its_place(folder):
    """The order names each file and each sub-folder once, and nothing that is not there."""
    entries = {entry_of(path, folder) for path in folder.rglob("*.py")}
    order = ORDER[str(folder.relative_to(PACKAGE))].split()
    assert entries <= set(order), explain_missing(folder, entries - set(order))
    assert sorted(order) == sorted(entries), "ORDER names a file twice, or one that is not there"


@pytest.mark.parametrize("folder", FOLDERS, ids=[str(folder.relative_to(PACKAGE)) for folder in FOLDERS])
def test_siblings_are_imported_by_their_file(folder):
    """The package root is not imported from within: its names are for users."""
    for path in folder.glob("*.py"):
        imports = list_imports(path)
        names = [alias.name for node in imports if isinstance(node, ast.Import) for alias in node.names]
        names += [node.module or "" for node in imports if isinstance(node, ast.ImportFrom) and not node.level]
        assert not any(name.split(".")[0] == "toolkit" for name in names), f"{path.name} imports from the package root"


def lazy_modules(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the variable and the name of each module of the package that the file at *path* loads when it is used."""
    text = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text if "LazyModule(" in text else "")):  # a walk through all files takes seconds
        match node:
            case ast.Assign(targets=[ast.Name(id=variable)], value=ast.Call(func=ast.Name(id="LazyModule"), args=args)):
                module = ast.unparse(args[0]).replace("{__package__}", "toolkit").strip("f'")
                if module.startswith("toolkit."):
                    yield variable, module.rpartition(".")[2]


def test_a_lazy_module_is_imported_for_type_checkers():
    """So the order of the layers holds for it, too, and its name cannot be that of another module."""
    count = 0
    for path in PACKAGE.rglob("*.py"):
        for variable, module in lazy_modules(path):
            imported = {target.stem for target in relative_imports(path)}
            assert variable == module, f"{path}: {variable} stands for {module}"
            assert module in imported, f"{path}: import {module} under TYPE_CHECKING"
            count += 1
    assert count


def test_no_module_shares_a_name_with_an_export():
    """A module named like an export would replace it as soon as it is loaded."""
    import toolkit

    modules = {path.stem for path in PACKAGE.glob("*.py")} | {path.name for path in PACKAGE.iterdir() if path.is_dir()}
    assert modules.isdisjoint(toolkit.__all__)


def test_the_tests_mirror_the_package():
    """A folder of tests is named like the folder that it tests, but for those that test the whole, and a page."""
    tests = Path(__file__).parent
    others = {Path(), Path("properties")}
    folders = {path.parent.relative_to(tests) for path in tests.rglob("test_*.py")} - others
    assert [str(folder) for folder in sorted(folders) if not (PACKAGE / folder).is_dir()] == []
