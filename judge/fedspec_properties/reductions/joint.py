"""Reductions of FedAda2 and its baselines: adaptive on both sides, blended, private, or with normalised steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from fedspec.arith import Array
from fedspec.contract import Round
from fedspec_properties.reductions.edge import Change, reduces, rooted
from fedspec_properties.reductions.rounds import plans
from fedspec_suite.measure.scenario import Scenario, change_events, with_blocks

UNDELAYED: dict[str, Any] = {"z": 1, "eps_s": 0.0, "v0_l": 0.0}
FAR = 2.0**20
"""Clipping norm that exceeds every change in a drawn case."""


def _first_round(s: Scenario) -> Scenario:
    return replace(s, events=s.events[:1])


def _unweighted(s: Scenario) -> Scenario:
    return plans(s, scales=lambda e: (1.0,) * len(e.steps))


def _distinct(s: Scenario) -> Scenario:
    """Remove repeated participants, which other algorithms refuse."""

    def once(column: tuple[Any, ...], e: Round) -> tuple[Any, ...]:
        first = [e.participants.index(i) for i in dict.fromkeys(e.participants)]
        return tuple(column[p] for p in first) if column else ()

    return plans(
        s,
        participants=lambda e: once(e.participants, e),
        steps=lambda e: once(e.steps, e),
        strategies=lambda e: once(e.strategies, e),
        scales=lambda e: once(e.scales, e),
    )


def _all_use(strategy: str) -> Change:
    return lambda s: plans(s, strategies=lambda e: (strategy,) * len(e.steps))


def _one_coordinate(s: Scenario) -> Scenario:
    """The first coordinate of the first block, alone."""

    def cut(a: Array) -> Array:
        return a.reshape(-1)[:1]

    def first(blocks: Mapping[str, Array]) -> dict[str, Array]:
        return dict([next(iter(blocks.items()))])

    alone = Scenario(replace(s.case, x0=first(s.case.x0)), tuple(with_blocks(e, first) for e in s.events))
    return change_events(alone, cut, cut)


ADAGRAD: dict[str, Any] = {"server": "adagrad", "received": "corrected"}
COMPRESSED: dict[str, Any] = {"preconditioner": "compressed"}
SINGLETONS: dict[str, Any] = {"cover": "singletons"}
blended = partial(rooted, "fedblended")
PRIVATE: dict[str, Any] = {"clipped": "change", "clip_norm": FAR, "sigma": 0.0}
FREE = "no change is long enough to be clipped and sigma = 0"

EDGES = (
    rooted("fedada2", "joint-local", "FedAda2, L192: without compression it is joint adaptivity without communication")
    .under("every set of the cover is one coordinate, z = 1, eps_s = 0, and the clients' v_0 = 0", **SINGLETONS)
    .under(**UNDELAYED),
    rooted("fedada2", "fedadaadagrad", "FedAda2, Algs. 2 and 10 (L667, L1513)")
    .under("every set of the cover is one coordinate, and clients and server use AdaGrad", client="adagrad")
    .under(server="adagrad", idle="carried", **SINGLETONS),
    rooted("fedada2", "fedadaadam", "FedAda2, Algs. 4, 7 and 8 (L717, L1357, L1397)")
    .under("every set of the cover is one coordinate, clients use Adam and the server AdaGrad", client="adam")
    .under(server="adagrad", idle="carried", **SINGLETONS),
    rooted(
        "joint-direct", "joint-local", "FedAda2, L1623: nothing but the initial second moment of the clients differs"
    ).under("v_0 = 0, in the first round", _first_round, received="corrected", v0=0.0),
    rooted("joint-direct", "joint-local", "FedAda2, L1390-1393: the unbiased v_hat does not depend on v_0")
    .named("joint-direct-without-start-is-joint-local")
    .under(
        "a client's Adam takes out of its second moment what it began with", client="adam", received="without-start"
    ),
    rooted("joint-direct", "fedadaadagrad", "FedAda2, L1621 and Alg. 10 (L1513): the clients' v_0 is the server's")
    .named("joint-direct-of-adagrad-is-fedadaadagrad")
    .under("clients use AdaGrad and the server AdaGrad, in the first round", _first_round, client="adagrad", **ADAGRAD)
    .told(v0_l=lambda h, o: h["v0"]),
    rooted("joint-direct", "fedadaadam", "FedAda2, L1621 and Alg. 8 (L1397): the clients' v_0 is the server's")
    .named("joint-direct-of-adam-is-fedadaadam")
    .under("clients use Adam and the server AdaGrad, in the first round", _first_round, client="adam", **ADAGRAD)
    .told(v0_l=lambda h, o: h["v0"]),
    rooted("fedadaadagrad", "joint-local", "FedAda2, Alg. 10 (L1513)")
    .under("z = 1, eps_s = 0, Xi = 1, and the clients' v_0 = 0", _unweighted, **UNDELAYED)
    .told(server="adagrad", client="adagrad"),
    rooted("fedadaadam", "joint-local", "FedAda2, Alg. 8 (L1397)")
    .under("z = 1, eps_s = 0, Xi = 1, and the clients' m_0 = v_0 = 0", _unweighted, **UNDELAYED, m0_l=0.0)
    .told(server="adagrad", client="adam"),
    blended("fedadaadagrad", "FedAda2, Algs. 5 and 10 (L1167, L1513)")
    .named("fedblended-of-adagrad-is-fedadaadagrad")
    .under("all clients use adagrad", _all_use("adagrad")),
    blended("fedadaadam", "FedAda2, Algs. 5 and 8 (L1167, L1397)")
    .named("fedblended-of-adam-is-fedadaadam")
    .under("all clients use adam", _all_use("adam")),
    blended("fedada2", "FedAda2, Algs. 2 and 5 (L667, L1167)")
    .named("fedblended-of-sm3-adagrad-is-fedada2")
    .under("all clients use sm3-adagrad, and Xi = 1", _all_use("sm3-adagrad"), _unweighted),
    blended("fedada2", "FedAda2, Alg. 5 (L1167)")
    .named("fedblended-of-sm3-adam-is-fedada2")
    .under("all clients use sm3-adam, and Xi = 1", _all_use("sm3-adam"), _unweighted)
    .told(client="adam"),
    blended("fedadagrad", "FedAda2, Alg. 5 (L1167) and L192")
    .named("fedblended-of-sgd-is-fedadagrad")
    .under(
        "all clients use sgd, eps_s = 0, warm_up = 1, Xi = 1, and nobody is drawn twice",
        _all_use("sgd"),
        _unweighted,
        _distinct,
        warm_up_from="first-step",
        eps_s=0.0,
        warm_up=1,
    ),
    reduces("normalised-sgd", "adagrad", "FedAda2, App. A, eq. (2) (L377): what the name says holds there").under(
        "there is one coordinate, and a round has one step; v_0 = 0", _one_coordinate, steps=(1, 1)
    ),
    rooted("dp-joint", "fedada2", "FedAda2, L206 and Alg. 2 (L667), without privacy", undecided=True).under(
        f"preconditioners are compressed, with neither delay nor dead zone, {FREE}", **COMPRESSED, **PRIVATE
    ),
    rooted("dp-joint", "joint-local", "FedAda2, L206 and L1623, without privacy", undecided=True).under(
        f"every set of the cover is one coordinate, {FREE}", **COMPRESSED, **SINGLETONS, **PRIVATE
    ),
    rooted("dp-joint", "joint-direct", "FedAda2, L206 and L1621, without privacy", undecided=True).under(
        f"the server sends its second moment, {FREE}", preconditioner="sent", **PRIVATE
    ),
    *(
        rooted("dp-fedavg", target, "FedAda2, L206 and L1639, without privacy", undecided=True)
        .named(f"dp-fedavg-under-{server}-is-{target}")
        .under(
            f"the server's rule is {server}, no change is long enough to be clipped, sigma = 0, "
            "and nobody is drawn twice",
            _distinct,
            server=server,
            **PRIVATE,
        )
        for server, target in (("average", "fedavg"), ("adagrad", "fedadagrad"), ("adam", "fedadam"))
    ),
)
