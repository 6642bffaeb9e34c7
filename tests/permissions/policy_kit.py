"""A tool of each kind with a dispatcher, for the tests of the policy."""

from pathlib import Path
from typing import Annotated

from tests.permissions.judgement_kit import Query, Saying
from toolkit.access import Reads, Writes
from toolkit.approvals.identity import identity_of
from toolkit.catalog import Catalog
from toolkit.decisions import Grant
from toolkit.dispatcher import Dispatcher
from toolkit.permissions import Permissions
from toolkit.safety import SafetyChecks
from toolkit.session import Session
from toolkit.spec import Tool
from toolkit.verdicts import Finding

__all__ = ["ARGUMENTS", "catalog_of", "KINDS", "RULES", "JudgedTool"]


class Watch:
    """Asks about queries, and refuses those of secrets."""

    name = "query"
    kinds = ("query",)

    def judge(self, access):
        word = "deny" if "secret" in access.target else "ask"
        return Finding(word, self.name, f"{access.target} is looked at", "check")


# What each kind of tool states, and what it is called with.
KINDS = {
    "reads": {"read_only": True},
    "writes": {},
    "destroys": {"destructive": True},
    "fetches": {"read_only": True, "open_world": True},
    "sends": {"open_world": True},
    "confirms": {"approval": "always"},
    "wonders": {"approval": lambda arguments: "src" in str(arguments["path"])},
    "looks": {"read_only": True},  # with a marked parameter, as the next one
    "saves": {},
    "queries": {"read_only": True, "preflight": lambda arguments: [Query("public")]},
    "pries": {"read_only": True, "preflight": lambda arguments: [Query("secrets")]},
}
MARKED = {"looks": Annotated[Path, Reads], "saves": Annotated[Path, Writes]}
ARGUMENTS = {"path": "src/a.txt"}

RULES = {
    "none": [],
    "allow": ["allow {}"],
    "ask": ["ask {}"],
    "deny": ["deny {}"],
    "allow+ask": ["allow {}", "ask {}"],
    "allow+deny": ["allow {}", "deny {}"],
    "allow this": ["allow {}(path=src/**)"],
    "allow that": ["allow {}(path=docs/**)"],
    "ask this": ["allow {}", "ask {}(path=src/*)"],
    "deny this": ["allow {}", "deny {}(path=src/*)"],
    "deny that": ["deny {}(path=docs/**)"],
}
LETTERS = {"allow": "R", "ask": "A", "deny": "D", "ok": "R", "waiting": "A", "denied": "D", "safety": "D"}


class JudgedTool:
    """One tool of a kind, what it did, and a dispatcher with some rules."""

    def __init__(self, kind, rules, granted=False, folder="."):
        self.ran, self.catalog, self.session = [], Catalog(), Session()

        async def function(path):
            self.ran.append(path)
            return "done"

        function.__annotations__ = {"path": MARKED.get(kind, str), "return": str}
        self.tool = Tool.described(function, name=kind, description="Do it.", **KINDS[kind])
        self.catalog.add(self.tool)
        self.permissions = Permissions(rules=[rule.format(kind) for rule in RULES[rules]])
        self.recorder = Saying("allow")
        checks = SafetyChecks([folder], further=[Watch()])
        self.dispatcher = Dispatcher(self.catalog, permissions=self.permissions, safety=checks)
        self.joined = Dispatcher(self.catalog, permissions=[self.permissions, self.recorder], safety=checks)
        if granted:
            self.permissions.grant(self.session, Grant(tool=identity_of(self.tool), scope="tool"))

    async def called(self, mode):
        """Return what came of a call, by its result, which has to agree with whether the tool ran."""
        self.permissions.set_mode(mode)
        before = len(self.ran)
        result = await self.dispatcher.call(self.tool.name, ARGUMENTS, session=self.session)
        assert (len(self.ran) > before) == (result.kind == "ok")
        return LETTERS[result.kind]

    async def explained(self, mode):
        """Return what the dispatcher says would come of it."""
        self.permissions.set_mode(mode)
        verdict = await self.dispatcher.explain(self.tool.name, ARGUMENTS, session=self.session)
        return LETTERS[verdict.word]

    async def judged(self, mode):
        """Return what `Permissions` alone say of the same request."""
        self.permissions.set_mode(mode)
        await self.joined.explain(self.tool.name, ARGUMENTS, session=self.session)
        return LETTERS[self.permissions.judge(self.recorder.requests[-1]).word]


# Names: deny and ask follow a tool everywhere.


def catalog_of(**facts):
    """Return a catalog with a read-only tool `wipe`, which would run in every mode."""
    catalog = Catalog()

    @catalog.tool(read_only=True, **facts)
    async def wipe(path: str = "x") -> str:
        """Wipe it."""
        return "wiped"

    return catalog
