"""
The pytest plugin, as a user's test run meets it: in a process of its own.
"""

from __future__ import annotations

import base64
import hashlib
import re
import subprocess
import sys
import zipfile

import pytest

pytest_plugins = ["pytester"]

TOOLS = """
from typing import Annotated
from toolkit import Catalog, tool

@tool(read_only=True)
def share(guests: Annotated[int, "How many people eat."]) -> int:
    "Cut a cake into equal pieces."
    return 12 // guests

@tool(destructive=True)
def wipe(path: Annotated[str, "Which folder."]) -> None:
    "Remove everything in a folder."
    raise AssertionError("this may not run unasked")

good = Catalog()

@good.tool(read_only=True)
def shout(text: Annotated[str, "What is said."]) -> str:
    "Say something louder."
    return text.upper()
"""


@pytest.fixture
def run(pytester):
    """Run pytest in a process of its own, with nothing but what a user has."""
    pytester.makepyprojecttoml("[tool.pytest.ini_options]\nfilterwarnings = ['error']\n")

    def run(*options):
        return pytester.runpytest_subprocess("-p", "no:cacheprovider", "--toolkit-check-examples", "12", *options)

    return run


def test_the_plugin_imports_toolkit_only_on_use(pytester, run):
    """A test run without tools does not pay for them."""
    pytester.makepyfile("""
        import sys

        def test_it_is_not_here(pytestconfig):
            assert pytestconfig.pluginmanager.hasplugin("toolkit")
            assert not [name for name in sys.modules if name.partition(".")[0] == "toolkit"]
    """)
    run().assert_outcomes(passed=1)


@pytest.mark.long
def test_the_fixtures_work_together(pytester, run):
    """A catalog, a dispatcher that runs it, a recorder that saw it, a provider, a workspace."""
    pytester.makepyfile("""
        import asyncio
        import pytest
        from toolkit.testing import assert_called, make_call

        def test_calls_are_recorded(toolkit_catalog, toolkit_dispatcher, toolkit_recorder):
            @toolkit_catalog.tool
            def add(a: int) -> int:
                "Add one."
                return a + 1
            assert toolkit_dispatcher.call_sync("add", {"a": 1}).value == 2
            assert assert_called(toolkit_recorder, "add", {"a": 1}).result.value == 2

        def test_each_test_has_its_own(toolkit_catalog, toolkit_recorder):
            assert len(toolkit_catalog) == len(toolkit_recorder) == 0

        def test_bugs_are_raised(toolkit_catalog, toolkit_dispatcher):
            @toolkit_catalog.tool
            def fail() -> None:
                "Fail."
                raise ZeroDivisionError
            with pytest.raises(ZeroDivisionError):
                toolkit_dispatcher.call_sync("fail")

        def test_a_provider_plays_a_script(toolkit_provider):
            from toolkit.providers.base import Request
            from toolkit.providers.messages import UserMessage
            provider = toolkit_provider("Hello", [make_call("add", {"a": 1})], model="m")
            request = Request(messages=(UserMessage.of("hi"),))
            assert asyncio.run(provider.reply(request)).message.text == "Hello"
            assert asyncio.run(provider.reply(request)).message.calls[0].name == "add"
            assert provider.model == "m"

        def test_a_workspace_is_a_folder_of_its_own(toolkit_workspace, tmp_path):
            assert str(toolkit_workspace.root) == str(tmp_path)
    """)
    run().assert_outcomes(passed=5)


@pytest.mark.long
def test_the_shared_catalog_is_restored(pytester, run):
    """
    Tools that a test adds or removes are undone. A tool of a module that is imported in a test stays, because it
    is not defined again.
    """
    pytester.makepyfile(
        lazily_imported="""
            from toolkit import tool

            @tool
            def defined_there() -> None:
                "Stay."
        """,
        test_shared="""
            from toolkit import default_catalog, tool

            @tool
            def from_the_start() -> None:
                "Be there."

            def test_one_changes_it():
                @tool
                def inside() -> None:
                    "Go again."
                default_catalog.remove("from_the_start")
                import lazily_imported
                assert default_catalog.names() == ["inside", "defined_there"]

            def test_another_finds_it_as_it_was():
                assert default_catalog.names() == ["from_the_start", "defined_there"]
        """,
    )
    run().assert_outcomes(passed=2)


@pytest.mark.long
def test_the_shared_catalog_is_restored_where_a_test_is_the_first_to_import(pytester, run):
    """A test that brings toolkit in leaves no tool of its own behind."""
    pytester.makepyfile("""
        def test_one():
            from toolkit import tool
            @tool
            def inside() -> None:
                "Go again."

        def test_two():
            from toolkit import default_catalog
            assert default_catalog.names() == []
    """)
    run().assert_outcomes(passed=2)


@pytest.mark.long
def test_each_tool_becomes_a_test(pytester, run):
    """A failed test shows the smallest arguments and the remedy. The destructive tool does not run."""
    pytester.makepyfile(mytools=TOOLS)
    result = run("--toolkit-check", "mytools", "-v")
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(
        [
            "toolkit:mytools::share FAILED*",
            "toolkit:mytools::wipe PASSED*",
            "toolkit:mytools::(catalog) PASSED*",
            "1 law is broken: declared-failures",
            "`share`: it raised ZeroDivisionError: * [[]declared-failures[]]",
            "    arguments: {'guests': 0}",
            "    remedy: annotate *",
            (
                "run it alone: pytest toolkit:mytools::share::declared-failures --toolkit-check-seed 0 "
                "--toolkit-check-examples 12"
            ),
            "FAILED toolkit:mytools::share - 1 law is broken: declared-failures",
        ]
    )


FAULTS = """
from toolkit import tool

@tool(read_only=True)
def share(guests: int) -> int:
    "Cut a cake into equal pieces."
    print("share runs")
    return 12 // guests
"""


@pytest.mark.long
def test_a_failed_law_runs_again_alone_by_its_id(pytester, run):
    """The id of one law checks that law, beside no other test, and the same command is printed again."""
    pytester.makepyfile(mytools=FAULTS, test_mine="def test_mine(): pass")
    result = run("toolkit:mytools::share::declared-failures", "-v")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "toolkit:mytools::share::declared-failures FAILED*",
            "1 law is broken: declared-failures",
            "run it alone: pytest toolkit:mytools::share::declared-failures --toolkit-check-seed 0 *",
        ]
    )


@pytest.mark.long
@pytest.mark.parametrize(
    ("ids", "outcomes"),
    [
        (["toolkit:mytools::share"], {"failed": 1}),
        (["toolkit:mytools::(catalog)", "toolkit:mytools.py::share::output"], {"passed": 2}),
        (["toolkit:mytools"], {"passed": 1, "failed": 1}),
        (["toolkit:mytools::share::output", "test_mine.py"], {"passed": 2}),
        (["toolkit:mytools::share::output", "--toolkit-check", "mytools"], {"passed": 1}),
    ],
)
def test_an_id_selects_tools_and_laws(pytester, run, ids, outcomes):
    pytester.makepyfile(mytools=FAULTS, test_mine="def test_mine(): pass")
    run(*ids).assert_outcomes(**outcomes)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("mytools::shaer", "mytools has no tool 'shaer'; did you mean 'share'?"),
        ("mytools::share::outptu", "there is no law 'outptu'; did you mean 'output'?"),
    ],
)
def test_an_unknown_test_id_is_a_usage_error(pytester, run, name, words):
    pytester.makepyfile(mytools=FAULTS)
    result = run(f"toolkit:{name}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: --toolkit-check: {words}"])


SNAPSHOT_TEST = """
    from toolkit import Catalog

    def refund(order: int, reason: str = "late") -> None:
        "Pay back."

    def test_tools(toolkit_snapshot):
        toolkit_snapshot(Catalog(refund))
"""


@pytest.mark.long
def test_a_snapshot_is_kept_beside_the_test(pytester, run):
    """It is written on request, and a change fails the test with the callers that break."""
    path = pytester.makepyfile(test_shop=SNAPSHOT_TEST)
    missing = run()
    missing.assert_outcomes(failed=1)
    missing.stdout.fnmatch_lines(["there is no snapshot *test_shop.snapshot.json yet*--toolkit-update-snapshots"])
    missing.stdout.no_fnmatch_line("*During handling*")
    missing.stdout.no_fnmatch_line("* --update-snapshot*")
    run("--toolkit-update-snapshots").assert_outcomes(passed=1)
    run().assert_outcomes(passed=1)
    path.write_text(path.read_text().replace("reason: str", "reason: int").replace('"late"', "0"))
    changed = run()
    changed.assert_outcomes(failed=1)
    changed.stdout.fnmatch_lines(["breaks callers: `refund` parameter `reason` does not take texts any more"])


@pytest.mark.long
def test_a_catalog_in_a_module_is_checked_alone(pytester, run):
    """Beside the tests that there are, and selected like them."""
    pytester.makepyfile(mytools=TOOLS, test_mine="def test_mine(): pass")
    run(
        "--toolkit-check", "mytools:good", "--toolkit-check-seed", "7", "--toolkit-check-examples", "5"
    ).assert_outcomes(passed=3)
    run("--toolkit-check", "mytools:good", "-k", "shout").assert_outcomes(passed=1, deselected=2)


@pytest.mark.long
def test_a_named_tool_is_run(pytester, run):
    """It may be destructive. A name of no tool is a mistake."""
    pytester.makepyfile(mytools=TOOLS)
    result = run("--toolkit-check", "mytools", "--toolkit-check-run", "wipe", "-k", "wipe")
    result.assert_outcomes(failed=1, deselected=3)
    result.stdout.fnmatch_lines(["*it raised AssertionError: this may not run unasked*"])
    result = run("--toolkit-check", "mytools", "--toolkit-check-run", "wpie")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --toolkit-check-run: no tool that is checked is called 'wpie'"])


@pytest.mark.long
def test_files_that_must_not_change_are_watched(pytester, run):
    """A read-only tool that writes is caught."""
    pytester.makepyfile(
        mytools="""
            from pathlib import Path
            from toolkit import tool

            @tool(read_only=True)
            def peek() -> None:
                "Look, and leave a mark."
                Path("folder/mark").write_text("x")
        """
    )
    pytester.mkdir("folder")
    result = run("--toolkit-check", "mytools", "--toolkit-check-folder", "folder")
    result.stdout.fnmatch_lines(["`peek`: it says that it is read-only, but mark appeared [[]read-only[]]"])


@pytest.mark.long
def test_a_missing_module_is_a_usage_error(run):
    """The error has its name, and no traceback."""
    result = run("--toolkit-check", "no_such_module")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --toolkit-check: cannot load 'no_such_module'*"])


@pytest.mark.first_cases(1)
@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("examples", "0", "'0' is no number of calls; give 1 or more"),
        ("folder", "nowhere", "'nowhere' is no folder; give one whose files must not change"),
    ],
)
def test_an_option_that_cannot_be_used_is_a_usage_error(run, option, value, words):
    """It is reported once, before any test."""
    result = run(f"--toolkit-check-{option}", value)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*argument --toolkit-check-{option}: {words}"])


@pytest.mark.long
def test_a_fault_of_the_kit_keeps_its_traceback(pytester, run):
    pytester.mkdir("folder")
    pytester.makepyfile(mytools=f"{TOOLS}\nimport os\nos.rmdir('folder')\n")
    result = run("--toolkit-check", "mytools:good", "--toolkit-check-folder", "folder")
    result.stdout.fnmatch_lines(["*NotADirectoryError: folder is no folder*"])


@pytest.mark.long
def test_tools_of_an_installed_package_are_checked(pytester, run, monkeypatch):
    """The package comes from a wheel, and its module is named."""
    wheel = pytester.path / "cakes-1.0-py3-none-any.whl"
    files = {
        "cakes/__init__.py": "",
        "cakes/tools.py": TOOLS,
        "cakes-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: cakes\nVersion: 1.0\nRequires-Dist: pytoolkit\n",
        "cakes-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: by hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    lines = [f"{name},sha256={_digest(text)},{len(text.encode())}" for name, text in files.items()]
    files["cakes-1.0.dist-info/RECORD"] = "\n".join([*lines, "cakes-1.0.dist-info/RECORD,,", ""])
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    site = pytester.path / "site"
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
        "--target",
        str(site),
        str(wheel),
    ]
    subprocess.run([*command, "--disable-pip-version-check"], check=True)
    monkeypatch.setenv("PYTHONPATH", str(site))
    result = run("--toolkit-check", "cakes.tools", "--toolkit-check", "cakes.tools:good")
    result.assert_outcomes(passed=5, failed=1)
    result.stdout.fnmatch_lines(["FAILED toolkit:cakes.tools::share - 1 law is broken: declared-failures"])


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


@pytest.mark.long
def test_a_failure_shows_the_line_of_the_test_last(pytester, run):
    """The lines of `unwrap`, of the loop of the agent, and of a provider are not shown."""
    pytester.makepyfile("""
        import pytest
        from toolkit import Agent, Catalog, Dispatcher
        from toolkit.providers import Request, ScriptedProvider
        from toolkit.testing import RecordedProvider

        def add(a: int) -> int:
            "Add one."
            return a + 1

        @pytest.fixture
        def anyio_backend():
            return "asyncio"

        def test_run():
            Agent(ScriptedProvider([]), [add]).run_sync("Hi").unwrap()

        def test_output():
            Agent(ScriptedProvider([]), [add], on_event=lambda event: None).run_sync("Hi").output

        def test_recording(tmp_path):
            path = tmp_path / "conversation.json"
            Agent(RecordedProvider(path, ScriptedProvider(["Hello"])), [add]).run_sync("Hi").unwrap()
            Agent(RecordedProvider(path), [add]).run_sync("Bye").unwrap()

        @pytest.mark.anyio
        async def test_script():
            await ScriptedProvider([]).reply(Request(messages=()))

        def test_bad_arguments():
            Dispatcher(Catalog(add)).call_sync("add", {}).unwrap()

        def test_unknown_tool():
            Dispatcher(Catalog(add)).call_sync("ad", {}).unwrap()
    """)
    result = run("-W", "default")
    result.assert_outcomes(failed=6)
    last_lines = re.findall(r"^(\w+)\.py:\d+: (\w+)$", result.stdout.str(), re.MULTILINE)
    name = "test_a_failure_shows_the_line_of_the_test_last"
    errors = ["NoAnswer", "NoAnswer", "NoAnswer", "ProviderError", "BadArgs", "UnknownTool"]
    assert last_lines == [(name, error) for error in errors]
    result.stdout.no_fnmatch_line("*/toolkit/*.py:*")
    result.stdout.fnmatch_lines(["*the script has 0 replies*", "*the request differs from request 1*"])


@pytest.mark.long
def test_a_fault_is_reported_once_and_a_tool_with_constant_answers_has_a_note(pytester, run):
    pytester.makepyfile(
        orders="""
            import asyncio
            from typing import Annotated
            from toolkit import tool

            USER = ""
            DATA = {"ada": ["teapot"], "bob": ["cup"]}
            User = Annotated[str, "Who asks."]

            @tool(read_only=True, examples=[{"user": "ada"}, {"user": "bob"}])
            async def list_orders(user: User) -> list[str]:
                "List the orders of a user."
                global USER
                USER = user
                await asyncio.sleep(0)
                return DATA.get(USER, [])

            @tool(read_only=True)
            def count_bills(customer: User) -> int:
                "Count the bills of a customer."
                return {"ada": 1}.get(customer, 0)
        """
    )
    result = run("--toolkit-check", "orders", "--toolkit-check-examples", "60")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        ["1 law is broken: concurrent", "note: `count_bills`: all * calls answered alike, *give `examples=`*"]
    )
