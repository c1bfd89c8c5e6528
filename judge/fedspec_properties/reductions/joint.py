"""Reductions among the algorithms that adapt on both sides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from fedspec.contract import Round
from fedspec_properties.reductions.edge import Edge, fixing, told
from fedspec_properties.reductions.rounds import plans
from fedspec_suite.measure.scenario import Scenario, with_hyper
from fedspec_suite.measure.setting import Setting

UNDELAYED = {"z": 1, "eps_s": 0.0, "v0_l": 0.0}

Carry = Callable[[Scenario], Scenario]
Narrow = Callable[[st.DrawFn, Setting, Scenario], Scenario]


def _unweighted(s: Scenario) -> Scenario:
    return plans(s, scales=lambda e: (1.0,) * len(e.steps))


def distinct(s: Scenario) -> Scenario:
    """Nobody is drawn twice, which other algorithms refuse."""

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


def _all_use(strategy: str) -> Carry:
    return lambda s: plans(s, strategies=lambda e: (strategy,) * len(e.steps))


def narrowed(*changes: Carry, **values: Any) -> Narrow:
    """The restriction that changes the plans and sets hyper-parameters."""

    def narrow(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
        for change in changes:
            s = change(s)
        return with_hyper(s, **values)

    return narrow


def onto(
    target: str, options: dict[str, str] | None = None, keep: tuple[str, ...] = ()
) -> Callable[[Scenario], Scenario]:
    """The same run in the target's words; what its plans do not carry is dropped."""
    dropped = {n: (lambda e: ()) for n in ("strategies", "scales", "noise") if n not in keep}
    return lambda s: told(plans(s, **dropped), target, options=options)


def _from_the_server(target: str) -> Carry:
    """The same run, where the target's clients start at the v_0 of the server."""
    return lambda s: told(s, target, hyper={"v0_l": s.case.hyper["v0"]})


def of_fedada2(*, cited: str, **edge: Any) -> Edge:
    """An edge of FedAda2's algorithms, whose servers take roots."""
    return Edge(**edge, cited=f"FedAda2, {cited}", level="round", roots=True)


def _blended(
    *,
    strategy: str,
    target: str,
    when: str,
    cited: str,
    carry: Carry,
    changes: tuple[Carry, ...] = (),
    options: Mapping[str, str] | None = None,
    **values: Any,
) -> Edge:
    return of_fedada2(
        id=f"fedblended-of-{strategy}-is-{target}",
        source="fedblended",
        target=target,
        when=f"all clients use {strategy}{when}",
        cited=cited,
        carry=carry,
        narrow=narrowed(_all_use(strategy), *changes, **values),
        options=options or {},
        needs=tuple(values),
        zeroes=tuple(n for n, v in values.items() if v == 0.0),
    )


EDGES = (
    of_fedada2(
        id="fedada2-is-joint-local",
        source="fedada2",
        target="joint-local",
        when="every set of the cover is one coordinate, z = 1, eps_s = 0, and the clients' v_0 = 0",
        cited="L192: without compression it is joint adaptivity without communication",
        carry=onto("joint-local"),
        narrow=fixing(**UNDELAYED),
        options={"cover": "singletons"},
        needs=tuple(UNDELAYED),
        zeroes=("eps_s", "v0_l"),
    ),
    of_fedada2(
        id="fedada2-is-fedadaadagrad",
        source="fedada2",
        target="fedadaadagrad",
        when="every set of the cover is one coordinate, and clients and server use AdaGrad",
        cited="Algs. 2 and 10 (L667, L1513)",
        carry=onto("fedadaadagrad"),
        options={"cover": "singletons", "client": "adagrad", "server": "adagrad", "idle": "carried"},
    ),
    of_fedada2(
        id="fedada2-is-fedadaadam",
        source="fedada2",
        target="fedadaadam",
        when="every set of the cover is one coordinate, clients use Adam and the server AdaGrad",
        cited="Algs. 4, 7 and 8 (L717, L1357, L1397)",
        carry=onto("fedadaadam"),
        options={"cover": "singletons", "client": "adam", "server": "adagrad", "idle": "carried"},
    ),
    of_fedada2(
        id="joint-direct-is-joint-local",
        source="joint-direct",
        target="joint-local",
        when="v_0 = 0, in the first round",
        cited="L1623: nothing but the initial second moment of the clients differs",
        carry=onto("joint-local"),
        narrow=narrowed(lambda s: replace(s, events=s.events[:1]), v0=0.0),
        options={"received": "corrected"},
        needs=("v0",),
        zeroes=("v0",),
    ),
    of_fedada2(
        id="joint-direct-without-start-is-joint-local",
        source="joint-direct",
        target="joint-local",
        when="a client's Adam takes out of its second moment what it began with",
        cited="L1390-1393: the unbiased v_hat does not depend on v_0",
        carry=onto("joint-local"),
        narrow=narrowed(),
        options={"client": "adam", "received": "without-start"},
    ),
    *(
        of_fedada2(
            id=f"joint-direct-of-{client}-is-{target}",
            source="joint-direct",
            target=target,
            when=f"clients use {words} and the server AdaGrad, in the first round",
            cited=f"L1621 and {cited}: the clients' v_0 is the server's",
            carry=_from_the_server(target),
            narrow=narrowed(lambda s: replace(s, events=s.events[:1])),
            options={"client": client, "server": "adagrad", "received": "corrected"},
        )
        for client, words, target, cited in (
            ("adagrad", "AdaGrad", "fedadaadagrad", "Alg. 10 (L1513)"),
            ("adam", "Adam", "fedadaadam", "Alg. 8 (L1397)"),
        )
    ),
    *(
        of_fedada2(
            id=f"{source}-is-joint-local",
            source=source,
            target="joint-local",
            when=f"z = 1, eps_s = 0, Xi = 1, and the clients' {' = '.join(zeroes)} = 0",
            cited=cited,
            carry=onto("joint-local", {"server": "adagrad", "client": client}),
            narrow=narrowed(_unweighted, **UNDELAYED, **more),
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
        carry=onto("fedadaadagrad", keep=("scales",)),
    ),
    _blended(
        strategy="adam",
        target="fedadaadam",
        when="",
        cited="Algs. 5 and 8 (L1167, L1397)",
        carry=onto("fedadaadam", keep=("scales",)),
    ),
    _blended(
        strategy="sm3-adagrad",
        target="fedada2",
        when=", and Xi = 1",
        cited="Algs. 2 and 5 (L667, L1167)",
        carry=onto("fedada2"),
        changes=(_unweighted,),
    ),
    _blended(
        strategy="sm3-adam",
        target="fedada2",
        when=", and Xi = 1",
        cited="Alg. 5 (L1167)",
        carry=onto("fedada2", {"client": "adam"}),
        changes=(_unweighted,),
    ),
    _blended(
        strategy="sgd",
        target="fedadagrad",
        when=", eps_s = 0, warm_up = 1, Xi = 1, and nobody is drawn twice",
        cited="Alg. 5 (L1167) and L192",
        carry=onto("fedadagrad", {"weights": "uniform"}),
        changes=(_unweighted, distinct),
        options={"warm_up_from": "first-step"},
        eps_s=0.0,
        warm_up=1,
    ),
)
