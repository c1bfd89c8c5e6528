"""Reductions among the algorithms that adapt on both sides, and of those whose clients are bounded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from fedspec.arith import Array
from fedspec.contract import Begin, Event, Gradient, Round
from fedspec_suite.laws.reductions.edge import Edge, fixing, told
from fedspec_suite.measure.scenario import Scenario, change_events, with_hyper
from fedspec_suite.measure.setting import Setting

FAR = 2.0**20
UNDELAYED = {"z": 1, "eps_s": 0.0, "v0_l": 0.0}

Carry = Callable[[Scenario], Scenario]
Narrow = Callable[[st.DrawFn, Setting, Scenario], Scenario]


def _plans(s: Scenario, **columns: Any) -> Scenario:
    """Every round with other columns: each a function of the round."""
    events = (replace(e, **{n: of(e) for n, of in columns.items()}) if isinstance(e, Round) else e for e in s.events)
    return replace(s, events=tuple(events))


def _unweighted(s: Scenario) -> Scenario:
    return _plans(s, scales=lambda e: (1.0,) * len(e.steps))


def _distinct(s: Scenario) -> Scenario:
    """Nobody is drawn twice, which other algorithms refuse."""

    def once(column: tuple[Any, ...], e: Round) -> tuple[Any, ...]:
        first = [e.participants.index(i) for i in dict.fromkeys(e.participants)]
        return tuple(column[p] for p in first) if column else ()

    return _plans(
        s,
        participants=lambda e: once(e.participants, e),
        steps=lambda e: once(e.steps, e),
        strategies=lambda e: once(e.strategies, e),
        scales=lambda e: once(e.scales, e),
    )


def _all_use(strategy: str) -> Carry:
    return lambda s: _plans(s, strategies=lambda e: (strategy,) * len(e.steps))


def _narrowed(*changes: Carry, **values: Any) -> Narrow:
    """The restriction that changes the plans and sets hyper-parameters."""

    def narrow(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
        for change in changes:
            s = change(s)
        return with_hyper(s, **values)

    return narrow


def _to(
    target: str, options: dict[str, str] | None = None, keep: tuple[str, ...] = ()
) -> Callable[[Scenario], Scenario]:
    """The same run in the target's words; what its plans do not carry is dropped."""
    dropped = {n: (lambda e: ()) for n in ("strategies", "scales", "noise") if n not in keep}
    return lambda s: told(_plans(s, **dropped), target, options=options)


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


def _from_the_server(target: str) -> Carry:
    """The same run, where the target's clients start at the v_0 of the server."""
    return lambda s: told(s, target, hyper={"v0_l": s.case.hyper["v0"]})


def _adaptive(*, cited: str, **edge: Any) -> Edge:
    """An edge of FedAda2's algorithms, whose servers take roots."""
    return Edge(**edge, cited=f"FedAda2, {cited}", level="round", roots=True)


def _blended(
    *, strategy: str, target: str, when: str, cited: str, carry: Carry, changes: tuple[Carry, ...] = (), **values: Any
) -> Edge:
    return _adaptive(
        id=f"fedblended-of-{strategy}-is-{target}",
        source="fedblended",
        target=target,
        when=f"all clients use {strategy}{when}",
        cited=cited,
        carry=carry,
        narrow=_narrowed(_all_use(strategy), *changes, **values),
        needs=tuple(values),
        zeroes=tuple(n for n, v in values.items() if v == 0.0),
    )


def _private_joint(*, slug: str, target: str, options: dict[str, str], why: str, cited: str) -> Edge:
    return _adaptive(
        id=f"dp-joint-{slug}",
        source="dp-joint",
        target=target,
        when=f"{why}, no change is long enough to be clipped and sigma = 0",
        cited=cited,
        carry=_to(target),
        narrow=_narrowed(clip_norm=FAR, sigma=0.0),
        options={"clipped": "change", **options},
        needs=("clip_norm", "sigma"),
        zeroes=("sigma",),
        undecided=True,
    )


def _private(*, server: str, target: str) -> Edge:
    return _adaptive(
        id=f"dp-fedavg-under-{server}-is-{target}",
        source="dp-fedavg",
        target=target,
        when=f"the server's rule is {server}, no change is long enough to be clipped, sigma = 0, "
        "and nobody is drawn twice",
        cited="L206 and L1639, without privacy",
        carry=_to(target, {"weights": "uniform"}),
        narrow=_narrowed(_distinct, clip_norm=FAR, sigma=0.0),
        options={"server": server, "clipped": "change"},
        needs=("clip_norm", "sigma"),
        zeroes=("sigma",),
        undecided=True,
    )


JOINT = (
    _adaptive(
        id="fedada2-is-joint-local",
        source="fedada2",
        target="joint-local",
        when="every set of the cover is one coordinate, z = 1, eps_s = 0, and the clients' v_0 = 0",
        cited="L192: without compression it is joint adaptivity without communication",
        carry=_to("joint-local"),
        narrow=fixing(**UNDELAYED),
        options={"cover": "singletons"},
        needs=tuple(UNDELAYED),
        zeroes=("eps_s", "v0_l"),
    ),
    _adaptive(
        id="fedada2-is-fedadaadagrad",
        source="fedada2",
        target="fedadaadagrad",
        when="every set of the cover is one coordinate, clients and server use AdaGrad, and warm_up = 1",
        cited="Algs. 2 and 10 (L667, L1513)",
        carry=_to("fedadaadagrad"),
        narrow=_narrowed(warm_up=1),
        needs=("warm_up",),
        options={"cover": "singletons", "client": "adagrad", "server": "adagrad", "idle": "carried"},
    ),
    _adaptive(
        id="fedada2-is-fedadaadam",
        source="fedada2",
        target="fedadaadam",
        when="every set of the cover is one coordinate, clients use Adam and the server AdaGrad, and warm_up = 1",
        cited="Algs. 4, 7 and 8 (L717, L1357, L1397)",
        carry=_to("fedadaadam"),
        narrow=_narrowed(warm_up=1),
        needs=("warm_up",),
        options={"cover": "singletons", "client": "adam", "server": "adagrad", "idle": "carried"},
    ),
    _adaptive(
        id="joint-direct-is-joint-local",
        source="joint-direct",
        target="joint-local",
        when="v_0 = 0, in the first round",
        cited="L1623: nothing but the initial second moment of the clients differs",
        carry=_to("joint-local"),
        narrow=_narrowed(lambda s: replace(s, events=s.events[:1]), v0=0.0),
        options={"received": "corrected"},
        needs=("v0",),
        zeroes=("v0",),
    ),
    _adaptive(
        id="joint-direct-without-start-is-joint-local",
        source="joint-direct",
        target="joint-local",
        when="a client's Adam takes out of its second moment what it began with",
        cited="L1390-1393: the unbiased v_hat does not depend on v_0",
        carry=_to("joint-local"),
        narrow=_narrowed(),
        options={"client": "adam", "received": "without-start"},
    ),
    *(
        _adaptive(
            id=f"joint-direct-of-{client}-is-{target}",
            source="joint-direct",
            target=target,
            when=f"clients use {words} and the server AdaGrad, in the first round, and warm_up = 1",
            cited=f"L1621 and {cited}: the clients' v_0 is the server's",
            carry=_from_the_server(target),
            narrow=_narrowed(lambda s: replace(s, events=s.events[:1]), warm_up=1),
            needs=("warm_up",),
            options={"client": client, "server": "adagrad", "received": "corrected"},
        )
        for client, words, target, cited in (
            ("adagrad", "AdaGrad", "fedadaadagrad", "Alg. 10 (L1513)"),
            ("adam", "Adam", "fedadaadam", "Alg. 8 (L1397)"),
        )
    ),
    *(
        _adaptive(
            id=f"{source}-is-joint-local",
            source=source,
            target="joint-local",
            when=f"z = 1, eps_s = 0, Xi = 1, and the clients' {' = '.join(zeroes)} = 0",
            cited=cited,
            carry=_to("joint-local", {"server": "adagrad", "client": client}),
            narrow=_narrowed(_unweighted, **UNDELAYED, **more),
            needs=(*UNDELAYED, *more),
            zeroes=("eps_s", "v0_l", *more),
        )
        for source, client, cited, zeroes, more in (
            ("fedadaadagrad", "adagrad", "Alg. 10 (L1513)", ("v_0",), {}),
            ("fedadaadam", "adam", "Alg. 8 (L1397)", ("m_0", "v_0"), {"m0_l": 0.0}),
        )
    ),
    _blended(
        strategy="adagrad",
        target="fedadaadagrad",
        when="",
        cited="Algs. 5 and 10 (L1167, L1513)",
        carry=_to("fedadaadagrad", keep=("scales",)),
    ),
    _blended(
        strategy="adam",
        target="fedadaadam",
        when="",
        cited="Algs. 5 and 8 (L1167, L1397)",
        carry=_to("fedadaadam", keep=("scales",)),
    ),
    _blended(
        strategy="sm3-adagrad",
        target="fedada2",
        when=", and Xi = 1",
        cited="Algs. 2 and 5 (L667, L1167)",
        carry=_to("fedada2"),
        changes=(_unweighted,),
    ),
    _blended(
        strategy="sm3-adam",
        target="fedada2",
        when=", and Xi = 1",
        cited="Alg. 5 (L1167)",
        carry=_to("fedada2", {"client": "adam"}),
        changes=(_unweighted,),
    ),
    _blended(
        strategy="sgd",
        target="fedadagrad",
        when=", eps_s = 0, Xi = 1, and nobody is drawn twice",
        cited="Alg. 5 (L1167) and L192",
        carry=_to("fedadagrad", {"weights": "uniform"}),
        changes=(_unweighted, _distinct),
        eps_s=0.0,
    ),
)

BOUNDED = (
    Edge(
        id="normalised-sgd-is-adagrad",
        source="normalised-sgd",
        target="adagrad",
        when="there is one coordinate, and a round has one step; v_0 = 0",
        cited="FedAda2, App. A, eq. (2) (L377): what the name says holds there",
        level="client",
        carry=lambda s: told(s, "adagrad", hyper={"v0": 0}),
        narrow=_narrowed(_one_coordinate),
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

EDGES = (*JOINT, *BOUNDED)
