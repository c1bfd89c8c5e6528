"""Laws as data: what the judge asks of every offer, with the cases that look for a violation.

A law compares with the rule or asks for manners: the same bits twice, sessions apart, the type kept, inputs left alone.
Properties, such as an invariant or a reduction to another algorithm, are laws too (``fedspec_properties``). They hold
the rules to the papers, and are loaded and asked on demand.
"""

from __future__ import annotations

import fnmatch
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from importlib.resources import files

from fedspec.catalogue import Algorithm, join
from fedspec_suite.laws import buffers, common, far, faults, follows_rule, resume, special_cases
from fedspec_suite.laws.law import Law
from fedspec_suite.measure import hyper_pools

__all__ = [
    "ALL",
    "LAWS",
    "PROPERTIES",
    "Law",
    "all_laws",
    "know",
    "law_named",
    "matching",
    "properties",
    "retired",
    "telling",
]

_MODULES = (follows_rule, buffers, far, special_cases, common, resume, faults)
LAWS: dict[str, Law] = {law.id: law for module in _MODULES for law in module.LAWS}
"""The laws that the judge asks by default, by id; those that follow the rule stand first."""

ALL = "*"
"""The pattern that names every law of the judge, and no property."""

PROPERTIES = "properties"
"""The pattern that names every property."""


@cache
def properties() -> Mapping[str, Law]:
    """The properties by id, loaded at the first call."""
    loaded: Mapping[str, Law] = import_module("fedspec_properties").PROPERTIES
    return loaded


def telling(id: str) -> int:
    """Rank of a law or property among those that fail: the lowest tells most."""
    ranks: Mapping[str, int] = import_module("fedspec_properties").TELLING
    return ranks.get(id, -1 if id in LAWS else len(ranks))


def all_laws() -> dict[str, Law]:
    """The laws and the properties by id."""
    return {**LAWS, **properties()}


@cache
def retired() -> Mapping[str, Mapping[str, str]]:
    """Laws and properties that are asked no more, by id: what each ``says``, and what shows the same ``instead``."""
    text = files(__package__).joinpath("retired.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def law_named(id: str) -> Law | None:
    """The law or property of that id, or None."""
    return LAWS.get(id) or properties().get(id)


def matching(patterns: str) -> dict[str, Law]:
    """The laws and properties that patterns name: with * and ?, with commas between them.

    ``*`` names every law of the judge, ``properties`` every property, and any other pattern whatever it matches.
    """
    wanted = [p.strip() for p in patterns.split(",")]
    known = LAWS if all(p == ALL or p in LAWS for p in wanted) else all_laws()
    return {id: law for id, law in known.items() if any(names(p, id) for p in wanted)}


def names(pattern: str, id: str) -> bool:
    """True if a pattern names the law of that id, which is known."""
    if pattern == ALL:
        return id in LAWS
    return id not in LAWS if pattern == PROPERTIES else fnmatch.fnmatchcase(id, pattern)


def know(row: Algorithm) -> None:
    """Add an algorithm to the catalogue, pools for its numbers, and a law for each intermediate that has none."""
    hyper_pools.renew()
    for name in join(row).shows:
        law = follows_rule.following(name)
        LAWS.setdefault(law.id, law)
