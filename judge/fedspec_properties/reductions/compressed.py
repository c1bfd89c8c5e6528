"""Reductions of the algorithms whose clients compress what they send."""

from __future__ import annotations

from dataclasses import replace

from fedspec.contract import Round
from fedspec_properties.reductions.edge import UNIFORM, Edge, pinned, told
from fedspec_suite.measure.scenario import Scenario, in_one_coordinate


def _undrawn(s: Scenario) -> Scenario:
    events = [replace(e, draws=()) if isinstance(e, Round) else e for e in s.events]
    return told(s, "fedavg", events, hyper={"eta": 1}, options=UNIFORM)


EDGES = (
    Edge(
        id="fedpaq-is-fedavg",
        source="fedpaq",
        target="fedavg",
        when="there is one coordinate: it is all of its length, and so on the last level",
        cited="its definition: a = s",
        level="round",
        carry=_undrawn,
        narrow=lambda draw, setting, s: in_one_coordinate(s),
        undecided=True,
    ),
    pinned(
        source="ef21",
        target="fedavg",
        cited="its definition: g_i is the gradient",
        level="round",
        values={"kept": 8},
        carry=lambda s: told(s, "fedavg", options=UNIFORM, hyper={"eta_l": s.case.hyper["eta"], "eta": 1}),
        options={"compressor": "top-k"},
    ),
    pinned(
        source="fedcams",
        target="fedams",
        cited="its definition: all entries are sent, and nothing is owed",
        level="round",
        values={"kept": 8},
        carry=lambda s: told(s, "fedams", options=UNIFORM),
        options={"compressor": "top-k", "server": "fedams"},
        roots=True,
    ),
    pinned(
        source="fedcams",
        target="fedams-code",
        cited="the authors' code: all entries are sent, and nothing is owed",
        level="round",
        values={"kept": 8},
        carry=lambda s: told(s, "fedams-code", options=UNIFORM),
        options={"compressor": "top-k", "server": "corrected"},
        roots=True,
    ),
)
