"""Reductions of algorithms without a server, whose clients mix their models with their neighbours'."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array
from fedspec.contract import Exchange, Round
from fedspec.params import flatten
from fedspec_properties.reductions.edge import reduces, rooted
from fedspec_properties.reductions.rounds import ALONE, FOUR, alone, complete, each, exchanges, size, unmixed
from fedspec_suite.measure.scenario import Scenario, with_hyper
from fedspec_suite.measure.setting import Setting


def _for_everyone(s: Scenario, x: Array) -> Array:
    return np.tile(x, size(s))


def _steps(s: Scenario) -> list[int]:
    return [len(e.computing) for e in s.events if isinstance(e, Exchange)]


def _after_steps(s: Scenario, k: int) -> int:
    """The number, from 0, of the local step that event k ends with."""
    return sum(_steps(s)[: k + 1]) - 1


def _rounds(s: Scenario, steps: list[int]) -> Scenario:
    """Rounds of everybody with these numbers of steps, from the first client's model."""
    everyone, x0 = tuple(range(size(s))), flatten(s.case.x0)
    events = tuple(Round(everyone, (tau,) * len(everyone)) for tau in steps)
    return Scenario(replace(s.case, x0={"w": x0[: x0.size // size(s)]}), events)


def _in_rounds(s: Scenario) -> Scenario:
    return _rounds(s, _steps(s))


def _in_single_steps(s: Scenario) -> Scenario:
    return _rounds(s, [1] * sum(_steps(s)))


def _complete_and_alike(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    tau = draw(st.integers(1, 3))
    return exchanges(s, lambda e: replace(complete(e), computing=(tuple(range(size(s))),) * tau))


def _all_told(s: Scenario) -> Scenario:
    return with_hyper(s, kept=flatten(s.case.x0).size // size(s))


_single = each(lambda e: replace(e, computing=e.computing[:1]))
ADAPT: dict[str, Any] = {"order": "adapt-then-combine"}
COMBINE: dict[str, Any] = {"order": "combine-then-adapt"}
GRADIENT: dict[str, Any] = {"start": "gradient"}
ALL_SENT: dict[str, Any] = {"compressor": "top-k", "consensus": 1.0, "needs": ("kept",)}
BY_ROUND: dict[str, Any] = {"back": _for_everyone}
BY_STEP: dict[str, Any] = {"back": _for_everyone, "at": _after_steps}
FIRST: dict[str, Any] = {"rounds": (1, 1)}
COMPLETE = "W = J: rounds of one local step of everybody"

ALGHUNAIM = "external: Alghunaim (2024)"
KOLOSKOVA = "external: Koloskova, Stich and Jaggi (2019)"
LIU = "external: Liu, Lin, Koloskova and Stich (2024)"
NEDIC = "external: Nedic, Olshevsky and Shi (2017)"
PGA = "Chen, Yuan et al. (2021), Gossip-PGA"
SCAFFOLD = "beside Karimireddy et al. (2020)"
TANG = "external: Tang et al. (2018)"

EDGES = (
    reduces("dsgd", "fedavg", "Lian et al. (2017), Algorithm 1")
    .under(COMPLETE, each(complete), **ADAPT, **FOUR)
    .told(_in_single_steps, **BY_STEP),
    reduces("gossip-pga", "fedavg", f"{PGA}: local SGD is its W = I")
    .under("nobody mixes (W = I) but at the end of a period", each(unmixed))
    .told(_in_rounds, **BY_ROUND),
    reduces("gossip-pga", "dsgd", PGA).under("W = J", each(complete), **FOUR).told(**ADAPT),
    reduces("diging", "dsgd", f"{NEDIC}: Y = G(X) at first")
    .named("diging-begins-as-dsgd")
    .under("it is the first local step", _single, tracking="diging", **GRADIENT, **FIRST)
    .told(**COMBINE),
    alone("diging", "dsgd", f"{NEDIC}: Y = G(X)", **GRADIENT).told(**COMBINE),
    *(
        reduces("diging", "fedavg", f"{NEDIC}: J Y is the mean gradient")
        .named(f"{atc.lower()}-diging-is-fedavg")
        .under(f"W = J ({atc}): rounds of one local step of everybody", each(complete), tracking=atc.lower())
        .under(**GRADIENT, **FOUR)
        .told(_in_single_steps, **BY_STEP)
        for atc in ("semi-ATC", "ATC")
    ),
    reduces("k-gt", "diging", f"{LIU}: C = 0 at first")
    .named("k-gt-of-single-steps-is-diging")
    .under("a round has one local step and eta = 1: semi-ATC tracking, Y = G + C", _single, eta=1.0)
    .told(tracking="semi-atc", **GRADIENT),
    reduces("k-gt", "scaffold", f"{LIU} {SCAFFOLD}")
    .under("W = J: option II of everybody, C = c - c_i", each(complete), **FOUR)
    .told(_in_rounds, control="mean-gradient", **BY_ROUND),
    alone("k-gt", "fedavg", f"{LIU}: C stays 0").told(_in_rounds, **BY_ROUND),
    reduces("led", "d2", f"{ALGHUNAIM} beside Tang et al. (2018)")
    .named("led-of-single-steps-is-d2")
    .under("a round has one local step", _single)
    .told(matrix="whole"),
    reduces("led", "scaffold", f"{ALGHUNAIM} {SCAFFOLD}: c_i - c = -dual / (eta_l tau)")
    .under("W = J and all rounds have equally many local steps: option II of everybody at eta = 1")
    .under(narrow=_complete_and_alike, **FOUR)
    .told(_in_rounds, control="mean-gradient", **BY_ROUND),
    reduces("d2", "dsgd", f"{TANG}: X = W (X - eta_l G) at first")
    .named("d2-begins-as-dsgd")
    .under("it is the first local step: first adapted, then combined", _single, matrix="whole", **FIRST)
    .told(**ADAPT),
    reduces("d2", "fedavg", f"{TANG}: the mean model moves by the mean gradient")
    .under(COMPLETE, each(complete), matrix="whole", **FOUR)
    .told(_in_single_steps, **BY_STEP),
    alone("d2", "dsgd", "external: Yuan et al. (2018): nothing is mixed", matrix="half")
    .named("exact-diffusion-alone-is-dsgd")
    .told(**ADAPT),
    reduces("choco", "dsgd", f"{KOLOSKOVA}: then X_hat is X")
    .named("choco-told-is-dsgd")
    .under(
        "all entries are sent and consensus = 1: first adapted, then combined", _all_told, exchanged="told", **ALL_SENT
    )
    .told(**ADAPT),
    reduces("choco", "dsgd", f"{KOLOSKOVA}: then X_hat is X")
    .named("choco-mixed-is-dsgd")
    .under("all entries are sent and consensus = 1: first combined", _all_told, exchanged="mixed", known="models")
    .under(**ALL_SENT)
    .told(**COMBINE),
    # With rate 1 the change is minus the gradient.
    rooted("dadam", "fedamsgrad", "Nazari et al. (2019), Algorithm 1")
    .under("there is one client and beta3 = 0: rounds of one local step with rate 1", denominators="local", beta3=0.0)
    .under(**ALONE)
    .told(_in_single_steps, epsilon="outside", eta=lambda h, o: h["eta_l"], eta_l=1.0, **BY_STEP),
)
