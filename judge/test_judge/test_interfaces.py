"""Two interfaces of one package, told apart by the variant of an offer: in case, line, selection and JSON."""

from __future__ import annotations

import re

import pytest
from test_judge.support import check, fedspec, inside, py

pytestmark = [pytest.mark.slow, pytest.mark.table(1)]

LAW = ("--law", "follows-x")


def test_the_case_says_which_interface_is_meant() -> None:
    old, new = check(py("interfaces:both"), *LAW).rows
    assert (old["variant"], old["verdict"]) == ("old", "asked in part")
    assert (new["variant"], new["verdict"]) == ("new", "does not conform")
    assert old["subject"] == "Either (old)" and new["id"].startswith("Either (new)/fedavg/server/")
    assert "added, not averaged" in new["nearest"]


def test_both_variants_stand_in_the_name() -> None:
    old, _ = check(py("interfaces:below"), *LAW).rows
    assert old["subject"] == "Either (sdk, old)"


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("new:fedavg", ["new"]),
        ("o*:fedavg/server/*", ["old"]),
        ("fedavg", ["old", "new"]),
        ("*:fedavg", ["old", "new"]),
    ],
)
def test_a_pattern_may_name_the_variant(pattern: str, found: list[str]) -> None:
    assert [row["variant"] for row in check(py("interfaces:both"), *LAW, "--only", pattern).rows] == found


def test_a_pattern_of_no_variant_is_refused_with_those_that_there_are() -> None:
    check(py("interfaces:both"), "--only", "newer:fedavg").refused("newer:fedavg", "old:fedavg/server/", "VARIANT")


def test_the_table_has_a_heading_for_each_and_says_how_to_select() -> None:
    ran = fedspec("check", py("interfaces:both"), "--profile", "quick", "--jobs", "1", *LAW)
    assert "Either 1 (old)" in ran.out and "Either 1 (new)" in ran.out
    assert re.search(r"one claim alone: .*interfaces\.py:both --only '?new:fedavg/", ran.out)


@pytest.mark.parametrize("subject", ["odd", "starred"])
def test_a_variant_that_no_pattern_could_name_is_refused(subject: str) -> None:
    check(py(f"interfaces:{subject}"), *LAW).refused("variant", "fedavg", "use letters")


def test_smoke_tells_them_apart() -> None:
    ran = inside("smoke", py("interfaces:both"), "--json")
    assert [row["id"].rpartition(":")[2] for row in ran.rows] == ["old/fedavg/server", "new/fedavg/server"]
