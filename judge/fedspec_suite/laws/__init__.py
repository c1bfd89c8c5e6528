"""Laws as data: what the judge checks of every offer, with the cases that search for a violation.

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
"""Laws that the judge runs by default, by id; those that compare with the rule come first."""

ALL = "*"
"""Pattern for all of the judge's laws, without the properties."""

PROPERTIES = "properties"
"""Pattern for all properties."""


@cache
def properties() -> Mapping[str, Law]:
    """Return the properties by id; the first call imports them."""
    loaded: Mapping[str, Law] = import_module("fedspec_properties").PROPERTIES
    return loaded


def telling(id: str) -> int:
    """Rank of a law or property among those that fail: the lowest tells most."""
    ranks: Mapping[str, int] = import_module("fedspec_properties").TELLING
    return ranks.get(id, -1 if id in LAWS else len(ranks))


def all_laws() -> dict[str, Law]:
    """Return the laws and the properties by id."""
    return {**LAWS, **properties()}


@cache
def retired() -> Mapping[str, Mapping[str, str]]:
    """Return the retired laws by id: what each ``says``, and what to use ``instead``."""
    text = files(__package__).joinpath("retired.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def law_named(id: str) -> Law | None:
    """Return the law or property with that id, or None."""
    return LAWS.get(id) or properties().get(id)


def matching(patterns: str) -> dict[str, Law]:
    """Return the laws and properties that match comma-separated patterns with * and ?.

    ``*`` names every law of the judge, ``properties`` every property, and any other pattern whatever it matches.
    """
    wanted = [p.strip() for p in patterns.split(",")]
    known = LAWS if all(p == ALL or p in LAWS for p in wanted) else all_laws()
    return {id: law for id, law in known.items() if any(names(p, id) for p in wanted)}


def names(pattern: str, id: str) -> bool:
    """True if a pattern matches the id of an existing law."""
    if pattern == ALL:
        return id in LAWS
    return id not in LAWS if pattern == PROPERTIES else fnmatch.fnmatchcase(id, pattern)


def know(row: Algorithm) -> None:
    """Add an algorithm to the catalogue, with pools for its hyper-parameters and laws for its intermediates."""
    hyper_pools.renew()
    for name in join(row).shows:
        law = follows_rule.following(name)
        LAWS.setdefault(law.id, law)
