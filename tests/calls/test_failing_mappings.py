"""
A caller's own mapping that fails is a result or the documented error, never another exception.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import pytest

from toolkit.approvals import ApprovalError, Approvals, SQLiteApprovals
from toolkit.catalog import Catalog
from toolkit.context import Secret
from toolkit.decisions import Decision
from toolkit.dispatcher import Dispatcher
from toolkit.hooks import Cache, Log, LoopGuard, Stats
from toolkit.hooks.base import Halt, Modify, Proceed, Replace
from toolkit.permissions import Permissions
from toolkit.policies.audit import AuditLog
from toolkit.results import ToolCall
from toolkit.session import Session

pytestmark = pytest.mark.anyio


class Failing(Mapping):
    """A mapping of which one method raises."""

    def __init__(self, method, error=None, left=0):
        self._method, self._error, self._left = method, error or OSError("the mapping is broken"), left

    def _fail(self, method):
        if method == self._method:
            self._left -= 1
            if self._left < 0:
                raise self._error

    def __getitem__(self, key):
        self._fail("getitem")
        return {"path": "x", "key": "k"}[key]

    def __iter__(self):
        self._fail("iter")
        return iter(("path", "key"))

    def __len__(self):
        self._fail("len")
        return 2

    def keys(self):
        self._fail("keys")
        return super().keys()

    def __repr__(self):
        raise self._error


class FailingDict(dict):
    """A dictionary of the caller's own class that raises."""

    def __init__(self, method):
        super().__init__(path="x", key="k")
        self._method = method

    def _fail(self, method):
        if method == self._method:
            raise OSError("the mapping is broken")

    def __iter__(self):
        self._fail("iter")
        return super().__iter__()

    def __getitem__(self, key):
        self._fail("getitem")
        return super().__getitem__(key)

    def items(self):
        self._fail("items")
        return super().items()

    def keys(self):
        self._fail("keys")
        return super().keys()

    def __len__(self):
        self._fail("len")
        return super().__len__()


def build(method, kind):
    return {
        "mapping": lambda: Failing(method),
        "dict": lambda: FailingDict(method),
        "later": lambda: Failing(method, left=1),
        "exit": lambda: Failing(method, SystemExit(3)),
        "recursion": lambda: Failing(method, RecursionError("too deep")),
        "nested": lambda: {"path": FailingDict(method), "key": Failing(method)},
    }[kind]()


CASES = [
    (method, kind)
    for kind in ("mapping", "dict", "later", "exit", "recursion", "nested")
    for method in ("getitem", "iter", "len", "keys", "items")
]


class Looking:
    """A hook that reads all arguments, at every stage."""

    def before(self, call):
        dict(call.arguments)
        call.digest()
        return Proceed()

    async def around(self, call, run):
        dict(call.arguments)
        return await run()

    def after(self, call, result):
        dict(call.arguments)
        return result


@pytest.fixture
def catalog():
    """Tools with and without a secret, a check of the author's, and approval."""
    catalog = Catalog()

    @catalog.tool
    async def plain(path: str, key: str = "k") -> str:
        """Write a file."""
        return path

    @catalog.tool
    async def secret(path: str, key: Annotated[str, Secret] = "k") -> str:
        """Write a file with a key."""
        return path

    @catalog.tool(validate=lambda arguments: None, concurrency_safe=lambda arguments: True)
    def checked(path: str, key: str = "k") -> str:
        """Write a file, checked."""
        return path

    @catalog.tool(approval="always", preview=lambda arguments: str(arguments))
    async def asking(path: str, key: str = "k") -> str:
        """Write a file if a person agrees."""
        return path

    @catalog.tool
    async def open_ended(**fields: object) -> str:
        """Take anything."""
        return "ok"

    return catalog


TOOLS = ["plain", "secret", "checked", "asking", "open_ended", "missing"]
CONFIGURATIONS = {
    "nothing": lambda path: {},
    "jsonschema": lambda path: {"validation": "jsonschema"},
    "no repair": lambda path: {"repair": False},
    "redaction": lambda path: {"redact": ["hunter2"]},
    "permissions": lambda path: {"permissions": Permissions("default", ["allow plain", "deny secret(path=x)"])},
    "audit": lambda path: {"audit": AuditLog(path / "audit.jsonl")},
    "approvals": lambda path: {"approvals": Approvals(SQLiteApprovals(path / "approvals.db"))},
    "hooks": lambda path: {"hooks": [Looking()]},
    "our hooks": lambda path: {"hooks": [Cache(), LoopGuard(), Stats(), Log()]},
    "all": lambda path: {
        "redact": ["hunter2"],
        "permissions": Permissions("default"),
        "audit": AuditLog(path / "audit.jsonl"),
        "approvals": Approvals(SQLiteApprovals(path / "approvals.db")),
        "hooks": [Looking(), Cache(), LoopGuard(), Stats(), Log()],
    },
}


@pytest.mark.first_cases(1)
@pytest.mark.parametrize("configuration", CONFIGURATIONS)
async def test_arguments_that_fail_are_a_result(catalog, configuration, tmp_path):
    """This holds for every configuration and for each method of the mapping."""
    options = CONFIGURATIONS[configuration](tmp_path)
    async with Dispatcher(catalog, **options) as dispatcher:
        for method, kind in CASES:
            for name in TOOLS:
                result = await dispatcher.call(name, build(method, kind), session=Session())
                assert isinstance(result.text, str), (method, kind, name)
            results = await dispatcher.call_many(
                [*((name, build(method, kind)) for name in TOOLS), ("plain", {"path": "y"})], session=Session()
            )
            assert len(results) == len(TOOLS) + 1


@pytest.mark.long
@pytest.mark.parametrize("configuration", ["nothing", "redaction", "all"])
@pytest.mark.parametrize("outcome", [Modify, Replace, lambda mapping: Modify({"path": mapping}), None])
async def test_a_hook_that_hands_over_a_failing_mapping_is_a_result(catalog, configuration, outcome, tmp_path):
    """The mapping is the arguments, the result, or a value inside them."""

    class Handing:
        mapping = None

        def before(self, call):
            return Proceed() if outcome is None else outcome(self.mapping)

        def after(self, call, result):
            if outcome is None:
                result.value = self.mapping
            return result

    hook, options = Handing(), CONFIGURATIONS[configuration](tmp_path)
    options["hooks"] = [hook, *options.get("hooks", ())]
    async with Dispatcher(catalog, **options) as dispatcher:
        for method, kind in CASES:
            for name in ("plain", "secret", "checked"):
                hook.mapping = build(method, kind)
                result = await dispatcher.call(name, {"path": "x"}, session=Session())
                assert isinstance(result.text, str), (method, kind, name)


@pytest.mark.parametrize("configuration", ["nothing", "jsonschema", "redaction", "all"])
async def test_a_tool_that_returns_a_failing_mapping_is_a_result(catalog, configuration, tmp_path):
    """Whether its type is declared or not."""
    mappings = []

    @catalog.tool(read_only=True)
    async def give() -> object:
        """Give something."""
        return mappings[-1]

    @catalog.tool(read_only=True)
    async def give_declared() -> dict[str, str]:
        """Give a mapping."""
        return mappings[-1]

    async with Dispatcher(catalog, check_output=True, **CONFIGURATIONS[configuration](tmp_path)) as dispatcher:
        for method, kind in CASES:
            for name in ("give", "give_declared"):
                mappings.append(build(method, kind))
                result = await dispatcher.call(name, session=Session())
                assert isinstance(result.text, str), (method, kind, name)


@pytest.mark.parametrize("configuration", ["nothing", "redaction", "audit", "all"])
@pytest.mark.parametrize("first", ["asking", "halt"])
async def test_failing_arguments_of_a_call_that_is_not_started_are_a_result(catalog, configuration, first, tmp_path):
    """A call that is held back, and one that is skipped, is finished without its arguments."""
    options = CONFIGURATIONS[configuration](tmp_path)
    if first == "halt":

        class Halting:
            def before(self, call):
                return Halt("enough")

        options["hooks"] = [Halting(), *options.get("hooks", ())]
    async with Dispatcher(catalog, **options) as dispatcher:
        for method, kind in CASES:
            calls = [("asking", {"path": "x"}), ("plain", build(method, kind)), ("secret", build(method, kind))]
            results = await dispatcher.call_many(calls, session=Session())
            assert [result.kind for result in results] == ["waiting" if first == "asking" else "halted"] * 3
            for result in results:
                assert isinstance(str(result.to_json()), str)


@pytest.mark.parametrize("configuration", ["nothing", "audit", "approvals", "all"])
async def test_a_failing_mapping_in_an_answer_is_the_documented_error(catalog, configuration, tmp_path):
    """The person who edits is told, and the request can be answered again."""
    async with Dispatcher(catalog, **CONFIGURATIONS[configuration](tmp_path)) as dispatcher:
        for method, kind in CASES:
            session = Session()
            waiting = await dispatcher.call("asking", {"path": "x"}, session=session)
            try:
                decision = Decision.approve(arguments=build(method, kind))
                result = await dispatcher.resume(waiting.request.id, decision, session=session)
            except ApprovalError:
                result = await dispatcher.resume(waiting.request.id, Decision.approve(), session=session)
            assert isinstance(result.text, str)


async def test_a_failing_mapping_instead_of_a_sealed_request_is_the_documented_error(catalog, tmp_path):
    """This holds with and without an audit log."""
    sealed = Approvals(key=b"k" * 32)
    async with Dispatcher(catalog, approvals=sealed, audit=AuditLog(tmp_path / "audit.jsonl")) as dispatcher:
        for method, kind in CASES:
            with pytest.raises(ApprovalError):
                await dispatcher.resume(build(method, kind), Decision.approve())


@pytest.mark.parametrize("many", [False, True])
async def test_failing_resources_and_metadata_are_a_result(catalog, many):
    """They come with the call, like the arguments."""
    async with Dispatcher(catalog) as dispatcher:
        for method, kind in CASES:
            for name in ("plain", "checked"):
                # A plain dictionary of resources has types as its keys, or it is refused.
                resources = {FailingDict: build(method, "dict")} if kind == "nested" else build(method, kind)
                for call, options in [
                    (ToolCall(name, {"path": "x"}), {"resources": resources}),
                    (ToolCall(name, {"path": "x"}, metadata=build(method, kind)), {}),
                ]:
                    running = dispatcher.call_many([call], **options) if many else dispatcher.call(call, **options)
                    result = await running
                    assert isinstance((result[0] if many else result).text, str)
