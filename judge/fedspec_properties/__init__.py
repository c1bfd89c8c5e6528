"""Properties: laws that check the rules against the papers, such as invariants, closed forms, reductions and limits.

Each is a :class:`fedspec_suite.laws.Law` that does not run the specification's rule. The tests of the specification and
of the mirror ask them, ``fedspec check spec`` asks them of an own row, and ``fedspec check --properties`` or ``--law
ID`` of anybody's implementation. If a deviation has no name, the judge asks them to say what fails and what holds.
"""

from __future__ import annotations

from fedspec.catalogue import ADDED, find
from fedspec.errors import PluginError
from fedspec.facts import Fact
from fedspec_properties import (
    arrivals,
    compressed,
    control_variates,
    gossip,
    joint,
    layerwise,
    local_solvers,
    participants,
    peers,
    reductions,
    rounds,
    sharpness_aware,
    symmetries,
    unrolled,
)
from fedspec_properties.closed_forms import plugin_tables
from fedspec_suite.laws import LAWS, Law, retired

__all__ = ["PROPERTIES"]

PROPERTIES: dict[str, Law] = {
    law.id: law
    for law in (
        *unrolled.LAWS,
        *local_solvers.LAWS,
        *rounds.LAWS,
        *participants.LAWS,
        *control_variates.LAWS,
        *compressed.LAWS,
        *layerwise.LAWS,
        *arrivals.LAWS,
        *gossip.LAWS,
        *peers.LAWS,
        *joint.LAWS,
        *sharpness_aware.LAWS,
        *reductions.LAWS,
        *symmetries.LAWS,
    )
}
"""All properties by id."""

TELLING: dict[str, int] = {
    law.id: rank
    for rank, module in enumerate(
        (
            participants,
            symmetries,
            control_variates,
            compressed,
            layerwise,
            arrivals,
            gossip,
            peers,
            joint,
            sharpness_aware,
            local_solvers,
            rounds,
            unrolled,
            reductions,
        )
    )
    for law in module.LAWS
}
"""Rank of every property by what its failure tells: splits of clients and symmetries point at a line of code, closed
forms and reductions fail under most mistakes."""

for _name in ADDED:
    for _what in find(_name).denies:
        if not any(_what in known for known in (LAWS, PROPERTIES, retired(), {*Fact})):
            raise PluginError(
                f"plugin: row {_name!r} denies {_what!r}, neither a fact nor a law; `fedspec laws` lists laws"
            )
plugin_tables.check()
