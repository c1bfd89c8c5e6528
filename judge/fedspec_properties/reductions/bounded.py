"""Reductions of the algorithms of FedAda2 whose clients are bounded: privacy, steps of one length."""

from __future__ import annotations

from dataclasses import replace

from fedspec.arith import Array
from fedspec.contract import Begin, Event, Gradient
from fedspec_properties.reductions.edge import Edge, told
from fedspec_properties.reductions.joint import distinct, narrowed, of_fedada2, onto
from fedspec_suite.measure.scenario import Scenario, change_events

FAR = 2.0**20


def _one_coordinate(s: Scenario) -> Scenario:
    """The first coordinate of the first block, alone."""

    def cut(a: Array) -> Array:
        return a.reshape(-1)[:1]

    def first(e: Event) -> Event:
        match e:
            case Gradient(g=g):
                return Gradient(dict([next(iter(g.items()))]))
            case Begin(x=x):
                return Begin(dict([next(iter(x.items()))]))
        return e

    x0 = dict([next(iter(s.case.x0.items()))])
    s = replace(s, case=replace(s.case, x0=x0), events=tuple(map(first, s.events)))
    return change_events(s, cut, cut)


def _private_joint(*, slug: str, target: str, options: dict[str, str], why: str, cited: str) -> Edge:
    return of_fedada2(
        id=f"dp-joint-{slug}",
        source="dp-joint",
        target=target,
        when=f"{why}, no change is long enough to be clipped and sigma = 0",
        cited=cited,
        carry=onto(target),
        narrow=narrowed(clip_norm=FAR, sigma=0.0),
        options={"clipped": "change", **options},
        needs=("clip_norm", "sigma"),
        zeroes=("sigma",),
        undecided=True,
    )


def _private(*, server: str, target: str) -> Edge:
    return of_fedada2(
        id=f"dp-fedavg-under-{server}-is-{target}",
        source="dp-fedavg",
        target=target,
        when=f"the server's rule is {server}, no change is long enough to be clipped, sigma = 0, "
        "and nobody is drawn twice",
        cited="L206 and L1639, without privacy",
        carry=onto(target, {"weights": "uniform"}),
        narrow=narrowed(distinct, clip_norm=FAR, sigma=0.0),
        options={"server": server, "clipped": "change"},
        needs=("clip_norm", "sigma"),
        zeroes=("sigma",),
        undecided=True,
    )


EDGES = (
    Edge(
        id="normalised-sgd-is-adagrad",
        source="normalised-sgd",
        target="adagrad",
        when="there is one coordinate, and a round has one step; v_0 = 0",
        cited="FedAda2, App. A, eq. (2) (L377): what the name says holds there",
        level="client",
        carry=lambda s: told(s, "adagrad", hyper={"v0": 0}),
        narrow=narrowed(_one_coordinate),
        draw={"steps": (1, 1)},
    ),
    _private_joint(
        slug="is-fedada2",
        target="fedada2",
        options={"preconditioner": "compressed"},
        why="preconditioners are compressed, with neither delay nor dead zone",
        cited="L206 and Alg. 2 (L667), without privacy",
    ),
    _private_joint(
        slug="is-joint-local",
        target="joint-local",
        options={"preconditioner": "compressed", "cover": "singletons"},
        why="every set of the cover is one coordinate",
        cited="L206 and L1623, without privacy",
    ),
    _private_joint(
        slug="is-joint-direct",
        target="joint-direct",
        options={"preconditioner": "sent"},
        why="the server sends its second moment",
        cited="L206 and L1621, without privacy",
    ),
    _private(server="average", target="fedavg"),
    _private(server="adagrad", target="fedadagrad"),
    _private(server="adam", target="fedadam"),
)
