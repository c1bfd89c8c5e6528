"""Laws as data: properties that any correct implementation obeys, with the cases that look for a violation."""

from __future__ import annotations

from fedspec import plugins
from fedspec.catalogue import ADDED, Algorithm, find, join, rows_of
from fedspec.errors import PluginError
from fedspec.facts import Fact
from fedspec_suite.laws import (
    aggregation,
    arrival_matrix,
    arrival_paths,
    arrival_scales,
    arrivals,
    bounded,
    common,
    controls,
    dead_zone,
    delayed_preconditioner,
    every_change,
    far,
    follows_rule,
    gossip,
    joint,
    joint_clients,
    joint_constant,
    layerwise,
    linear_paths,
    local_solvers,
    objectives,
    participants,
    peers,
    permutations,
    rates,
    reductions,
    rounds,
    rounds_affine,
    schedules,
    served,
    symmetries,
    ties,
    unrolled,
)
from fedspec_suite.laws.law import Law

__all__ = ["LAWS", "Law", "know"]

LAWS: dict[str, Law] = {
    law.id: law
    for law in (
        *follows_rule.LAWS,
        *far.LAWS,
        *unrolled.LAWS,
        *aggregation.LAWS,
        *local_solvers.LAWS,
        *delayed_preconditioner.LAWS,
        *dead_zone.LAWS,
        *ties.LAWS,
        *rounds.LAWS,
        *participants.LAWS,
        *rounds_affine.LAWS,
        *controls.LAWS,
        *served.LAWS,
        *schedules.LAWS,
        *rates.LAWS,
        *linear_paths.LAWS,
        *objectives.LAWS,
        *layerwise.LAWS,
        *arrival_paths.LAWS,
        *arrival_matrix.LAWS,
        *arrivals.LAWS,
        *arrival_scales.LAWS,
        *gossip.LAWS,
        *peers.LAWS,
        *joint.LAWS,
        *joint_clients.LAWS,
        *joint_constant.LAWS,
        *bounded.LAWS,
        *every_change.LAWS,
        *reductions.LAWS,
        *common.LAWS,
        *symmetries.LAWS,
        *permutations.LAWS,
    )
}
"""Every law by its id, those that follow the rule first."""

for _name in ADDED:
    for _what in find(_name).denies:
        if _what not in LAWS and _what not in {*Fact}:
            raise PluginError(f"plugin: row {_name!r} denies {_what!r}, no fact and no law; `fedspec laws` lists laws")
for _module in plugins.loaded():
    for _table in ("STEPS", "MAPS"):
        for _name in getattr(_module, _table, {}):
            if _name not in {row.id for row in rows_of(_module)}:
                raise PluginError(f"plugin: {_table} of {plugins.where(_module)} is of {_name!r}, no row of that file")


def know(row: Algorithm) -> None:
    """Add an algorithm to the catalogue, and a law for each of its intermediates that has none."""
    for name in join(row).shows:
        law = follows_rule.following(name)
        LAWS.setdefault(law.id, law)
