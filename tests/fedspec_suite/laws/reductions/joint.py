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


def _adaptive(
    slug: str,
    source: str,
    target: str,
    when: str,
    cited: str,
    carry: Carry,
    narrow: Narrow,
    options: dict[str, str] | None = None,
    needs: tuple[str, ...] = (),
    zeroes: tuple[str, ...] = (),
    **more: Any,
) -> Edge:
    return Edge(
        slug, source, target, when, f"FedAda2, {cited}", "round", carry, narrow, options or {}, needs, zeroes, **more
    )


def _blended(strategy: str, target: str, when: str, cited: str, carry: Carry, *changes: Carry, **values: Any) -> Edge:
    return _adaptive(
        f"fedblended-of-{strategy}-is-{target}",
        "fedblended",
        target,
        f"all clients use {strategy}{when}",
        cited,
        carry,
        _narrowed(_all_use(strategy), *changes, **values),
        needs=tuple(values),
        zeroes=tuple(n for n, v in values.items() if v == 0.0),
        roots=True,
    )


def _private_joint(slug: str, target: str, options: dict[str, str], why: str, cited: str) -> Edge:
    return _adaptive(
        f"dp-joint-{slug}",
        "dp-joint",
        target,
        f"{why}, no change is long enough to be clipped and sigma = 0",
        cited,
        _to(target),
        _narrowed(clip_norm=FAR, sigma=0.0),
        {"clipped": "change", **options},
        needs=("clip_norm", "sigma"),
        zeroes=("sigma",),
        roots=True,
        undecided=True,
    )


def _private(server: str, target: str) -> Edge:
    return _adaptive(
        f"dp-fedavg-under-{server}-is-{target}",
        "dp-fedavg",
        target,
        f"the server's rule is {server}, no change is long enough to be clipped, sigma = 0, and nobody is drawn twice",
        "L206 and L1639, without privacy",
        _to(target, {"weights": "uniform"}),
        _narrowed(_distinct, clip_norm=FAR, sigma=0.0),
        {"server": server, "clipped": "change"},
        needs=("clip_norm", "sigma"),
        zeroes=("sigma",),
        roots=True,
        undecided=True,
    )


JOINT = (
    _adaptive(
        "fedada2-is-joint-local",
        "fedada2",
        "joint-local",
        "every set of the cover is one coordinate, z = 1, eps_s = 0, and the clients' v_0 = 0",
        "L192: without compression it is joint adaptivity without communication",
        _to("joint-local"),
        fixing(**UNDELAYED),
        {"cover": "singletons"},
        tuple(UNDELAYED),
        ("eps_s", "v0_l"),
        roots=True,
    ),
    _adaptive(
        "fedada2-is-fedadaadagrad",
        "fedada2",
        "fedadaadagrad",
        "every set of the cover is one coordinate, and clients and server use AdaGrad",
        "Algs. 2 and 10 (L667, L1513)",
        _to("fedadaadagrad"),
        _narrowed(),
        {"cover": "singletons", "client": "adagrad", "server": "adagrad", "idle": "carried"},
        roots=True,
    ),
    _adaptive(
        "fedada2-is-fedadaadam",
        "fedada2",
        "fedadaadam",
        "every set of the cover is one coordinate, clients use Adam and the server AdaGrad",
        "Algs. 4, 7 and 8 (L717, L1357, L1397)",
        _to("fedadaadam"),
        _narrowed(),
        {"cover": "singletons", "client": "adam", "server": "adagrad", "idle": "carried"},
        roots=True,
    ),
    _adaptive(
        "joint-direct-is-joint-local",
        "joint-direct",
        "joint-local",
        "v_0 = 0, in the first round",
        "L1623: nothing but the initial second moment of the clients differs",
        _to("joint-local"),
        _narrowed(lambda s: replace(s, events=s.events[:1]), v0=0.0),
        {"received": "corrected"},
        ("v0",),
        ("v0",),
        roots=True,
    ),
    _adaptive(
        "joint-direct-without-start-is-joint-local",
        "joint-direct",
        "joint-local",
        "a client's Adam takes out of its second moment what it began with",
        "L1390-1393: the unbiased v_hat does not depend on v_0",
        _to("joint-local"),
        _narrowed(),
        {"client": "adam", "received": "without-start"},
        roots=True,
    ),
    *(
        _adaptive(
            f"joint-direct-of-{client}-is-{target}",
            "joint-direct",
            target,
            f"clients use {words} and the server AdaGrad, in the first round",
            f"L1621 and {cited}: the clients' v_0 is the server's",
            _from_the_server(target),
            _narrowed(lambda s: replace(s, events=s.events[:1])),
            {"client": client, "server": "adagrad", "received": "corrected"},
            roots=True,
        )
        for client, words, target, cited in (
            ("adagrad", "AdaGrad", "fedadaadagrad", "Alg. 10 (L1513)"),
            ("adam", "Adam", "fedadaadam", "Alg. 8 (L1397)"),
        )
    ),
    *(
        _adaptive(
            f"{source}-is-joint-local",
            source,
            "joint-local",
            f"z = 1, eps_s = 0, Xi = 1, and the clients' {' = '.join(zeroes)} = 0",
            cited,
            _to("joint-local", {"server": "adagrad", "client": client}),
            _narrowed(_unweighted, **UNDELAYED, **more),
            needs=(*UNDELAYED, *more),
            zeroes=("eps_s", "v0_l", *more),
            roots=True,
        )
        for source, client, cited, zeroes, more in (
            ("fedadaadagrad", "adagrad", "Alg. 10 (L1513)", ("v_0",), {}),
            ("fedadaadam", "adam", "Alg. 8 (L1397)", ("m_0", "v_0"), {"m0_l": 0.0}),
        )
    ),
    _blended("adagrad", "fedadaadagrad", "", "Algs. 5 and 10 (L1167, L1513)", _to("fedadaadagrad", keep=("scales",))),
    _blended("adam", "fedadaadam", "", "Algs. 5 and 8 (L1167, L1397)", _to("fedadaadam", keep=("scales",))),
    _blended("sm3-adagrad", "fedada2", ", and Xi = 1", "Algs. 2 and 5 (L667, L1167)", _to("fedada2"), _unweighted),
    _blended(
        "sm3-adam",
        "fedada2",
        ", and Xi = 1",
        "Alg. 5 (L1167)",
        _to("fedada2", {"client": "adam"}),
        _unweighted,
    ),
    _blended(
        "sgd",
        "fedadagrad",
        ", eps_s = 0, Xi = 1, and nobody is drawn twice",
        "Alg. 5 (L1167) and L192",
        _to("fedadagrad", {"weights": "uniform"}),
        _unweighted,
        _distinct,
        eps_s=0.0,
    ),
)

BOUNDED = (
    Edge(
        "normalised-sgd-is-adagrad",
        "normalised-sgd",
        "adagrad",
        "there is one coordinate, and a round has one step; v_0 = 0",
        "FedAda2, App. A, eq. (2) (L377): what the name says holds there",
        "client",
        lambda s: told(s, "adagrad", hyper={"v0": 0}),
        _narrowed(_one_coordinate),
        draw={"steps": (1, 1)},
    ),
    _private_joint(
        "is-fedada2",
        "fedada2",
        {"preconditioner": "compressed"},
        "preconditioners are compressed, with neither delay nor dead zone",
        "L206 and Alg. 2 (L667), without privacy",
    ),
    _private_joint(
        "is-joint-local",
        "joint-local",
        {"preconditioner": "compressed", "cover": "singletons"},
        "every set of the cover is one coordinate",
        "L206 and L1623, without privacy",
    ),
    _private_joint(
        "is-joint-direct",
        "joint-direct",
        {"preconditioner": "sent"},
        "the server sends its second moment",
        "L206 and L1621, without privacy",
    ),
    _private("average", "fedavg"),
    _private("adagrad", "fedadagrad"),
    _private("adam", "fedadam"),
)

EDGES = (*JOINT, *BOUNDED)
