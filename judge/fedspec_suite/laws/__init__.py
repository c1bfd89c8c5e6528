"""Laws as data: properties that any correct implementation obeys, with the cases that look for a violation."""

from __future__ import annotations

from fedspec.catalogue import ADDED, Algorithm, find, join
from fedspec.errors import PluginError
from fedspec.facts import Fact
from fedspec_suite.laws import (
    aggregation,
    arrival_matrix,
    arrival_paths,
    arrival_scales,
    arrivals,
    bounded,
    buffers,
    common,
    compressed,
    controls,
    dead_zone,
    delayed_momentum,
    delayed_preconditioner,
    distant,
    elected,
    every_change,
    fair,
    far,
    follows_rule,
    fragments,
    gossip,
    joint,
    joint_clients,
    joint_constant,
    layerwise,
    linear_paths,
    local_solvers,
    matrices,
    objectives,
    outer,
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
    uphill,
)
from fedspec_suite.laws.closed_forms import own
from fedspec_suite.laws.law import Law
from fedspec_suite.measure import pools

__all__ = ["LAWS", "Law", "know"]

LAWS: dict[str, Law] = {
    law.id: law
    for law in (
        *follows_rule.LAWS,
        *far.LAWS,
        *unrolled.LAWS,
        *aggregation.LAWS,
        *local_solvers.LAWS,
        *matrices.LAWS,
        *delayed_preconditioner.LAWS,
        *dead_zone.LAWS,
        *ties.LAWS,
        *rounds.LAWS,
        *participants.LAWS,
        *rounds_affine.LAWS,
        *controls.LAWS,
        *compressed.LAWS,
        *served.LAWS,
        *schedules.LAWS,
        *rates.LAWS,
        *buffers.LAWS,
        *linear_paths.LAWS,
        *objectives.LAWS,
        *layerwise.LAWS,
        *arrival_paths.LAWS,
        *arrival_matrix.LAWS,
        *arrivals.LAWS,
        *delayed_momentum.LAWS,
        *arrival_scales.LAWS,
        *gossip.LAWS,
        *peers.LAWS,
        *joint.LAWS,
        *joint_clients.LAWS,
        *joint_constant.LAWS,
        *bounded.LAWS,
        *fragments.LAWS,
        *every_change.LAWS,
        *outer.LAWS,
        *elected.LAWS,
        *distant.LAWS,
        *fair.LAWS,
        *uphill.LAWS,
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
own.check()


def know(row: Algorithm) -> None:
    """Add an algorithm to the catalogue, pools for its numbers, and a law for each intermediate that has none."""
    pools.renew()
    for name in join(row).shows:
        law = follows_rule.following(name)
        LAWS.setdefault(law.id, law)
