"""A catalog in a few lines, within a budget."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit import Catalog, Tool
from toolkit.values.text_limits import CHARS_PER_TOKEN_OF_NAMES


def catalog_of(groups: dict[str, int]) -> Catalog:
    """Return a catalog with so many tools in each group; "" is no group."""
    schema = {"type": "object"}
    return Catalog(
        *(
            Tool.from_schema(
                f"{group or 'loose'}_{number}", "Do it.", schema, print, **({"group": group} if group else {})
            )
            for group, count in groups.items()
            for number in range(count)
        )
    )


def test_names_are_listed_by_group_in_order():
    """Each group has a line, with how many tools it has."""
    summary = catalog_of({"files": 2, "": 1, "web": 1}).summary()
    assert summary == "files (2): files_0, files_1\n(none) (1): loose_0\nweb (1): web_0"


def test_a_large_group_does_not_crowd_out_a_small_one():
    """Names are taken from each group in turn, and what is left out is counted."""
    summary = catalog_of({"huge": 500, "tiny": 2}).summary(max_tokens=80)
    first, second = summary.splitlines()
    assert second == "tiny (2): tiny_0, tiny_1"
    name_count = first.count("huge_")
    assert 0 < name_count < 500
    assert first.endswith(f", ... {500 - name_count} more")


def test_the_largest_groups_come_first():
    """Each has at least three names."""
    summary = catalog_of({f"g{size}": size for size in (3, 50, 7, 99, 20)}).summary(max_tokens=150)
    lines = summary.splitlines()
    assert [line.partition(" ")[0] for line in lines] == ["g99", "g50", "g20", "g7", "g3"]
    assert all(line.count("_") >= 3 for line in lines)


def test_the_most_useful_names_are_shown():
    """Their words are in many names of the group, and each shows other words."""
    names = ["ping", "issue_list", "issue_get", "issue_close", "repo_list", "repo_get", "user_get", "version"]
    catalog = Catalog(*(Tool.from_schema(name, "Do it.", {"type": "object"}, print, group="hub") for name in names))
    assert catalog.summary(max_tokens=20) == "hub (8): ping, issue_get, repo_list, ... 5 more"


def test_groups_without_room_are_counted():
    """The last line has their number."""
    summary = catalog_of({f"group{number}": 3 for number in range(100)}).summary(max_tokens=70)
    group_count = summary.count("(3)")
    assert 0 < group_count < 100
    assert summary.splitlines()[-1] == f"... {100 - group_count} more groups"


def test_an_empty_catalog_has_an_empty_summary():
    assert Catalog().summary() == ""


def test_a_budget_that_is_too_small_is_refused():
    with pytest.raises(ValueError, match="at least 20"):
        Catalog().summary(max_tokens=5)


def test_a_foreign_group_cannot_act():
    """The name of a server's group is shown, not obeyed."""
    tool = Tool.from_schema("pay", "Pay.", {"type": "object"}, print, group="shop\nfiles (1): rm\x1b[2J")
    summary = Catalog(replace(tool, origin="mcp:shop")).summary()
    assert len(summary.splitlines()) == 1
    assert "\x1b" not in summary


@pytest.mark.unmeasured
@given(
    st.dictionaries(st.sampled_from(["", "a", "files", "a_long_name_for_a_group", "web"]), st.integers(1, 30)),
    st.integers(20, 400),
)
@pytest.mark.long
def test_the_budget_holds(groups, max_tokens):
    """The summary of any catalog fits."""
    assert len(catalog_of(groups).summary(max_tokens=max_tokens)) / CHARS_PER_TOKEN_OF_NAMES <= max_tokens


@pytest.mark.unmeasured
@given(
    st.dictionaries(st.sampled_from(["", "a", "files", "long_group", "web"]), st.integers(1, 60), min_size=1),
    st.integers(120, 400),
)
@pytest.mark.long
def test_a_summary_uses_at_least_nine_tenths_of_its_budget(groups, max_tokens):
    """A shorter summary is complete."""
    catalog = catalog_of(groups)
    summary = catalog.summary(max_tokens=max_tokens)
    whole = catalog.summary(max_tokens=10_000)
    assert summary == whole or len(summary) / CHARS_PER_TOKEN_OF_NAMES >= 0.9 * max_tokens
