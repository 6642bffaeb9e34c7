"""
The verdict on a call, from its accesses, from checks, facts and hooks, and from permissions.

    markers and preflight → safety checks → `approval`, hooks → permissions

Everything is judged on decoded arguments. A call that cannot be judged is denied.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from .._plumbing.forks import unlock_properties_in_children
from .._plumbing.records import record
from ..access import Access
from ..catalogs.views import CatalogView
from ..decisions import Precondition
from ..errors import Safety, ToolError
from ..results import ToolCall
from ..spec import Tool
from ..values.rendering import copy_arguments, describe_value
from ..verdicts import Finding, Verdict, allow_any_call
from .judge import (
    CallGate,
    Judge,
    PermissionRequest,
    RequestBuilder,
    SupportsJudge,
    ask_judge,
    ask_judge_now,
    check_judge,
    strictest,
    verdict_without_permissions,
)
from .tool_statements import (
    Statements,
    build_access_gate,
    can_check_twice,
    list_marked_accesses,
    parameters_naming,
    read_cost,
    read_statements,
)
from .visibility import ToolVisibility

if TYPE_CHECKING:  # because most calls touch nothing, and the checks take long to load
    from ..safety import SafetyChecks

__all__ = ["AccessJudge", "CallJudges", "Judgement"]

T = TypeVar("T")


@record(frozen=True, slots=True)
class Judgement:
    """The request that was judged, and the verdict."""

    request: PermissionRequest
    verdict: Verdict


class CallJudges:
    """
    The safety checks, facts and judges that decide whether a call may run.

    Args:
        safety: The checks that come first; None means the default ones, which are made when they are first needed.
        permissions: One judge, several judges, or None.
        own_files: The dispatcher's own files: approvals and the audit log. No tool may read or write them.

    Attributes:
        visibility: Which tools the judges show.
    """

    def __init__(
        self,
        safety: SafetyChecks | None,
        permissions: SupportsJudge | Sequence[SupportsJudge] | None,
        own_files: Iterable[str] = (),
    ) -> None:
        self._safety = safety
        self._own_files = tuple(own_files)
        judges = () if permissions is None else permissions
        self._judges: tuple[SupportsJudge, ...] = tuple(judges) if isinstance(judges, Sequence) else (judges,)
        for judge in self._judges:
            check_judge(judge)
        # The other judges have only a method `judge`.
        self._derived_judges = [judge for judge in self._judges if isinstance(judge, Judge)]
        self._weighs_findings = any(judge.weighs_findings for judge in self._derived_judges)
        self.visibility = ToolVisibility(self._derived_judges)

    @property
    def judges(self) -> tuple[SupportsJudge, ...]:
        """The judges in their order. The safety checks are none of them."""
        return self._judges

    def find_all(self, kind: type[T]) -> tuple[T, ...]:
        """Return the judges of this *kind*, in their order."""
        return tuple(judge for judge in self._judges if isinstance(judge, kind))

    def mistakes(self, tools: Iterable[Tool]) -> list[str]:
        """Return the mistakes that the judges find in their own rules, for these *tools*."""
        tools = list(tools)
        return [mistake for judge in self._derived_judges for mistake in judge.mistakes(tools)]

    def warnings(self, tools: Iterable[Tool], request: PermissionRequest) -> tuple[str, ...]:
        """Return the judges' warnings about rules that may miss what their author meant, for the call of *request*."""
        tools = list(tools)
        return tuple(warning for judge in self._derived_judges for warning in judge.warnings(tools, request))

    @property
    def safety(self) -> SafetyChecks:
        if self._safety is None:
            from ..safety import SafetyChecks

            self._safety = SafetyChecks()
        return self._safety

    def gate(self, tool: Tool, names: frozenset[str]) -> CallGate | None:
        """Return a quick check whether a call of *tool* may run; None if every call has to be judged."""
        facts = tool.facts
        if facts.preflight is not None or facts.approval != "never" or callable(facts.cost) or len(self._judges) > 1:
            return None
        gate: CallGate | None = allow_any_call
        if self._judges:
            judge = self._judges[0]
            gate = judge.gate(tool, names, self._build_gate_request(tool, names)) if isinstance(judge, Judge) else None
        if gate is None or not tool.signature.accesses:
            return gate
        if not can_check_twice(self._safety, tool):
            return None
        return build_access_gate(tool, gate, self._check_accesses)

    def _build_gate_request(self, tool: Tool, names: frozenset[str]) -> RequestBuilder:
        """Return a function that builds the requests for the gate of a judge."""
        call, cost = ToolCall(tool.name, tool=tool), read_cost(tool)

        def build_request(arguments: Mapping[str, Any]) -> PermissionRequest:
            accesses = tuple(list_marked_accesses(tool.signature.accesses, arguments))
            root = self._find_root(accesses)
            return PermissionRequest(
                call=call, tool=tool, names=names, arguments=arguments, accesses=accesses, cost=cost, root=root
            )

        return build_request

    def _find_root(self, accesses: Collection[Access]) -> str:
        """Return the folder that relative paths start from."""
        # Rules also compare paths without a marker. Without safety checks, these start from the process's folder.
        return "." if self._safety is None and not accesses else self.safety.root

    def with_judges(
        self, permissions: SupportsJudge | Sequence[SupportsJudge] | None, own_files: Iterable[str] = ()
    ) -> CallJudges:
        """
        Return the same checks and judges, with the judges of *permissions* and further *own_files* added.

        The added judges can only forbid more. So they do not decide whether findings are weighed or a port is open.
        """
        if permissions is None and not own_files:
            return self
        added = CallJudges(None, permissions)
        judges = copy.copy(self)
        judges._own_files = (*self._own_files, *own_files)  # noqa: SLF001 -- as below
        judges._judges = (*self._judges, *added._judges)  # noqa: SLF001 -- objects of this class
        judges.visibility = ToolVisibility([*self.visibility.judges, *added.visibility.judges])
        return judges

    async def judge(
        self,
        tool: Tool,
        names: frozenset[str],
        call: ToolCall,
        decoded: Mapping[str, Any],
        hook_findings: Sequence[Finding] = (),
        *,
        markers: Mapping[str, type[Access]] | None = None,
    ) -> Judgement:
        """
        Return the verdict on a call with *decoded* arguments; *hook_findings* are the findings of hooks.

        *markers* are those in the signature of *tool*, if the caller has read it before.
        """
        stated = await read_statements(
            tool,
            tool.signature.accesses if markers is None else markers,
            decoded,
            call,
            lambda: AccessJudge(self, lambda: self.build_request(tool, names, call, decoded)),
        )
        findings = [*stated.denials, *self._check_accesses(stated.accesses), *stated.findings, *hook_findings]
        request = self.build_request(tool, names, call, decoded, stated, findings)
        verdicts = [] if self._weighs_findings else [verdict_without_permissions(findings)]
        verdicts += [await ask_judge(judge, request) for judge in self._judges]
        return Judgement(request, strictest(verdicts))

    def build_request(
        self,
        tool: Tool,
        names: frozenset[str],
        call: ToolCall,
        decoded: Mapping[str, Any],
        stated: Statements | None = None,
        findings: Sequence[Finding] = (),
    ) -> PermissionRequest:
        """Return the request that judges get for a call. Its arguments are copies."""
        accesses = () if stated is None else stated.accesses
        copies = copy_arguments(decoded), copy_arguments(decoded)
        return PermissionRequest(
            call=ToolCall(call.name, copies[0], call.id, call.session, call.principal, call.turn, call.metadata, tool),
            tool=tool,
            names=names,
            # The judged arguments have to be the ones that run, so a judge can change only its own copy.
            arguments=MappingProxyType(copies[1]) if isinstance(decoded, Mapping) else decoded,
            accesses=accesses,
            cost=read_cost(tool) if stated is None else stated.cost,
            root=self._find_root(accesses),
            findings=tuple(findings),
            session=call.session,
            principal=call.principal,
        )

    def opens_port(self, tool: Tool, names: frozenset[str], url: str) -> bool:
        """Return whether an allow rule about *tool*, which has or had *names*, names the host and the port of *url*."""
        return any(judge.opens_port(tool, names, url) for judge in self._derived_judges)

    def judge_access(self, request: PermissionRequest, access: Access) -> Verdict:
        """Return the verdict on a further *access* of a running call, when no person can be asked any more."""
        # A rule about a parameter is about the target in that parameter. The value that the model sent there says
        # nothing about this access, so the target replaces it.
        replacements = dict.fromkeys(parameters_naming(request.tool, access), access.target)
        request = replace(
            request,
            arguments=MappingProxyType({**request.arguments, **replacements}),
            accesses=(access,),
            root=self.safety.root,
            findings=tuple(self._check_accesses([access])),
        )
        verdicts = [] if self._weighs_findings else [verdict_without_permissions(request.findings)]
        verdicts += [ask_judge_now(judge, request) for judge in self._judges]
        return strictest(verdicts)

    def _check_accesses(self, accesses: Iterable[Access]) -> list[Finding]:
        accesses = list(accesses)
        if not accesses:
            return []
        findings = self.safety.judge(accesses)
        if not findings and not self._own_files:
            return []
        own_findings = [finding for access in accesses if (finding := self._check_own_files(access))]
        return own_findings + [
            check_finding if check_finding.source == "arguments" else replace(check_finding, source="check")
            for check_finding in findings
        ]

    def _check_own_files(self, access: Access) -> Finding | None:
        if not self._own_files or access.kind not in ("read", "write"):
            return None
        from ..safety.paths import resolve_path

        try:
            place = resolve_path(access.target, self.safety.root)
        except ValueError:
            return None  # The safety checks report what is wrong with the path.
        if not place.startswith(self._own_files):
            return None
        return Finding(
            "deny",
            "check `own-files`",
            f"{access.target!r} belongs to the dispatcher, and no tool may touch it",
            "check",
        )


@unlock_properties_in_children
class AccessJudge:
    """
    The object `context.permissions`, which judges the further accesses of a running tool.

    *build_request* is called when the tool asks for the first time, because most tools ask nothing.
    """

    def __init__(
        self,
        judges: CallJudges,
        build_request: Callable[[], PermissionRequest],
        preconditions: tuple[Precondition, ...] = (),
        answered: Collection[str] = (),
    ) -> None:
        self._judges = judges
        self._build_request = build_request
        self._answered = answered
        self.preconditions = preconditions

    @cached_property
    def _request(self) -> PermissionRequest:
        return self._build_request()

    def permitted(self, catalog: CatalogView) -> CatalogView:
        """Return a view of *catalog* with the tools that the rules and the mode of this session could ever allow."""
        return self._judges.visibility.permitted(catalog, self._request.session)

    @property
    def folders(self) -> list[str]:
        """The folders that the tools may touch."""
        return self._judges.safety.folders

    def opens_port(self, url: str) -> bool:
        """Return whether an allow rule about this tool names the host and the port of *url*."""
        return self._judges.opens_port(self._request.tool, self._request.names, url)

    def check(self, access: Access) -> None:
        """
        Return if *access* is permitted now; otherwise raise `Safety` or `ToolError` with the reason.

        No person can be asked while a tool runs, so an access that would ask is refused. A tool that states the access
        in `preflight=` has it asked about before it runs.
        """
        if not isinstance(access, Access):
            raise TypeError(f"check expects an access, such as Writes(path); got {describe_value(access)}")
        verdict = self._judges.judge_access(self._request, access)
        if verdict.word == "allow":
            return
        if verdict.word == "ask":
            asks = [finding for finding in verdict.findings if finding.word == "ask"]
            # A person agreed that this tool may run in this mode. They are not asked again for each further access.
            if asks and all(finding.source == "mode" and finding.by in self._answered for finding in asks):
                return
            raise ToolError(
                f"{access!r} needs approval, and no person can be asked while the tool runs: {verdict.reason}"
            )
        by_check = any(finding.word == "deny" and finding.source == "check" for finding in verdict.findings)
        raise (Safety if by_check else ToolError)(f"{access!r} is denied: {verdict.reason}")
