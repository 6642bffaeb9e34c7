"""
What a call costs, by the fact `cost` of its tool: in results, verdicts, rules and requests.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from toolkit.approvals import Approvals, MemoryApprovals
from toolkit.catalog import Catalog
from toolkit.decisions import AuthNeeded, AuthRequest, Decision
from toolkit.dispatcher import Dispatcher
from toolkit.errors import ToolError, ToolkitWarning, Transient
from toolkit.hooks import Cache, Stats
from toolkit.permissions import Permissions
from toolkit.policies.costs import count_costs
from toolkit.policies.retry import RetryPolicy

pytestmark = pytest.mark.anyio


def by_count(arguments: Any) -> float:
    return 0.04 * arguments["count"]


async def by_count_async(arguments: Any) -> Decimal:
    return Decimal("0.04") * arguments["count"]


def studio(cost: Any, **facts: Any) -> Catalog:
    """Return a catalog with a tool that costs something."""
    catalog = Catalog()

    @catalog.tool(cost=cost, **facts)
    async def paint(count: int = 1) -> str:
        """Paint pictures."""
        return f"painted {count}"

    return catalog


@pytest.mark.parametrize(
    ("cost", "expected"),
    [(0.05, 0.05), (1, 1.0), (Decimal("0.1"), 0.1), (0, 0.0), (by_count, 0.08), (by_count_async, 0.08)],
)
@pytest.mark.parametrize("mode", [None, "auto"])
async def test_the_result_of_a_call_has_its_cost(cost, expected, mode):
    """The fact is a number, or a function of the decoded arguments."""
    permissions = None if mode is None else Permissions(mode)
    result = await Dispatcher(studio(cost), permissions=permissions).call("paint", {"count": 2})
    assert (result.kind, result.cost) == ("ok", expected)
    assert result.to_json().get("cost", 0.0) == expected


@pytest.mark.parametrize(
    ("rules", "arguments", "kind"), [(["deny paint"], {}, "denied"), ([], {"count": "many"}, "bad_args")]
)
async def test_a_call_that_does_not_run_has_no_cost(rules, arguments, kind):
    """It was denied, or its arguments were wrong."""
    result = await Dispatcher(studio(0.05), permissions=Permissions("auto", rules)).call("paint", arguments)
    assert (result.kind, result.cost) == (kind, 0.0)


async def test_an_answer_from_a_cache_has_no_cost():
    """The tool did not run for it."""
    dispatcher = Dispatcher(studio(0.05, read_only=True), hooks=[Cache()])
    assert [(await dispatcher.call("paint")).cost for _ in range(2)] == [0.05, 0.0]


async def test_a_call_has_its_cost_once_for_several_attempts():
    """The price is that of a call, and not of an attempt."""
    catalog, attempts = Catalog(), []

    @catalog.tool(cost=0.05, read_only=True)
    async def paint() -> str:
        """Paint a picture."""
        attempts.append(1)
        if len(attempts) < 3:
            raise Transient("busy")
        return "painted"

    costs: list[float] = []
    stats = Stats()
    dispatcher = Dispatcher(catalog, retry=RetryPolicy(wait_initial=0), hooks=[stats])
    with count_costs(lambda call, cost: costs.append(cost)):
        result = await dispatcher.call("paint")
    assert (result.attempts, result.cost, costs, stats.snapshot()[0].cost) == (3, 0.05, [0.05], 0.05)


async def test_a_cost_is_given_back_if_the_tool_needs_a_person_first():
    """The call has had no effect, and is counted when it runs."""
    catalog, costs = Catalog(), []

    @catalog.tool(cost=0.05)
    async def paint() -> str:
        """Paint a picture."""
        raise AuthNeeded(AuthRequest(provider="gallery"))

    with count_costs(lambda call, cost: costs.append(cost)):
        result = await Dispatcher(catalog).call("paint")
    assert (result.kind, result.cost, costs) == ("waiting", 0.0, [0.05, -0.05])


@pytest.mark.parametrize("answer", [-1, float("nan"), float("inf"), True, "0.05", None, by_count])
@pytest.mark.parametrize("mode", [None, "auto", "bypass"])
async def test_a_call_is_denied_if_its_cost_is_not_an_amount(answer, mode):
    """This holds in every mode, because budgets and rules could not count on the cost."""
    permissions = None if mode is None else Permissions(mode)
    result = await Dispatcher(studio(lambda arguments: answer), permissions=permissions).call("paint")
    assert (result.kind, result.attempts) == ("denied", 0)
    assert "`paint` could not tell what it costs" in result.text
    assert "cost has to return a number of US dollars, 0 or more" in result.text


@pytest.mark.parametrize(
    ("error", "words"),
    [(KeyError("size"), "could not tell what it costs"), (ToolError("no tariff today"), "no tariff today")],
)
async def test_a_cost_function_that_raises_denies_the_call(error, words):
    async def fail(arguments: Any) -> float:
        raise error

    result = await Dispatcher(studio(fail)).call("paint")
    assert (result.kind, words in result.text) == ("denied", True)


# Rules.


@pytest.mark.parametrize("cost", [0.1, by_count])
@pytest.mark.parametrize(
    ("rule", "count", "kind"),
    [
        ("deny paint(cost>0.10)", 5, "denied"),
        ("deny paint(cost>0.10)", 2, "ok"),
        ("deny *(cost>=0.20)", 5, "denied"),
        ("ask paint(cost > 0.10)", 5, "waiting"),
        ("deny paint(cost<0.10)", 2, "denied"),
        ("deny paint(cost<=0.08)", 2, "denied"),
        ("deny paint(cost<0.08)", 2, "ok"),
    ],
)
async def test_rules_compare_the_cost_of_a_call(cost, rule, count, kind):
    """A cost may depend on the arguments."""
    if cost is not by_count:
        cost = 0.04 * count
    result = await Dispatcher(studio(cost), permissions=Permissions("auto", [rule])).call("paint", {"count": count})
    assert result.kind == kind


@pytest.mark.parametrize(("count", "kind"), [(2, "ok"), (5, "waiting")])
async def test_an_allow_rule_may_have_a_limit(count, kind):
    """Below it no person is asked."""
    permissions = Permissions("default", ["allow paint(cost<=0.10)"])
    assert (await Dispatcher(studio(by_count), permissions=permissions).call("paint", {"count": count})).kind == kind


async def test_no_rule_about_costs_holds_for_a_tool_without_a_cost():
    """Such a tool is neither cheap nor dear. A rule that names it gives a warning."""
    catalog = studio(None)
    allowing = Dispatcher(catalog, permissions=Permissions("default", ["allow *(cost<1)"]))
    assert (await allowing.call("paint")).kind == "waiting"
    with pytest.warns(ToolkitWarning, match="`paint` states no cost"):
        denying = Dispatcher(catalog, permissions=Permissions("auto", ["deny paint(cost>1)"]))
    assert (await denying.call("paint")).kind == "ok"


async def test_a_rule_about_costs_names_no_place_outside():
    """So a tool that reaches outside still asks."""
    catalog = studio(0.05, open_world=True)
    permissions = Permissions("auto", ["allow paint(cost<1)"])
    assert (await Dispatcher(catalog, permissions=permissions).call("paint")).kind == "waiting"


# Requests.


async def test_the_request_and_its_preview_have_the_cost_of_the_call():
    """The preview of the tool comes after it."""
    dispatcher = Dispatcher(studio(by_count), permissions=Permissions("default"))
    request = (await dispatcher.call("paint", {"count": 2})).request
    assert (request.cost, request.preview) == (0.08, "costs $0.08")
    catalog = studio(2, preview=lambda arguments: "a picture")
    request = (await Dispatcher(catalog, permissions=Permissions("default")).call("paint")).request
    assert (request.cost, request.preview) == (2.0, "costs $2.00\na picture")


async def test_a_preview_that_was_cut_still_begins_with_that():
    """The cost is in its second line."""
    catalog = studio(2, preview=lambda arguments: "x" * 500)
    approvals = Approvals(MemoryApprovals(), preview_chars=100)
    dispatcher = Dispatcher(catalog, permissions=Permissions("default"), approvals=approvals)
    lines = (await dispatcher.call("paint")).request.preview.splitlines()
    assert (lines[0].startswith("preview cut:"), lines[1]) == (True, "costs $2.00")


@pytest.mark.parametrize(("later", "kind"), [(0.05, "ok"), (0.01, "ok"), (0.5, "waiting")])
async def test_a_person_is_asked_again_if_the_call_has_become_dearer(later, kind):
    """They approved the shown price."""
    prices = [0.05]
    dispatcher = Dispatcher(studio(lambda arguments: prices[-1]), permissions=Permissions("default"))
    waiting = await dispatcher.call("paint")
    prices.append(later)
    result = await dispatcher.resume(waiting, Decision.approve())
    assert result.kind == kind
    if kind == "waiting":
        assert "it costs $0.50, and when a person agreed $0.05" in result.request.reason
        assert (await dispatcher.resume(result, Decision.approve())).cost == later


async def test_explain_reports_the_cost_of_a_call():
    verdict = await Dispatcher(studio(by_count), permissions=Permissions("auto")).explain("paint", {"count": 2})
    assert (verdict.word, verdict.cost) == ("allow", 0.08)
    assert "\n  costs $0.08" in str(verdict)
