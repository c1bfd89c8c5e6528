"""FedCM: a round on quadratics as one matrix, and what it is under restrictions."""

from __future__ import annotations

from dataclasses import replace

from fedspec.contract import Round
from fedspec_properties.closed_forms.affine_rounds import Forms, Place
from fedspec_properties.closed_forms.sums import total
from fedspec_properties.reductions.edge import pinned, told
from fedspec_properties.reductions.rounds import FIRST, of_rounds, single_steps
from fedspec_suite.measure.scenario import Scenario

XU = "external: Xu, Wang, Wang and Yao (2021)"


def _mixed(z: Place, e: Round) -> Forms:
    """Block 1 is D; steps at the rate eta_l (1 - rho), under a constant force of the rest."""
    rho, averages = z.h["rho"], z.o["direction"] == "gradient"
    slower = replace(z, h={**z.h, "eta_l": z.h["eta_l"] * (1 - rho)})
    p = z.shares(e.participants, z.o["weights"] == "uniform")
    taken, pull = list(zip(p, e.participants, e.steps, strict=True)), rho / (1 - rho) * z.block(1)
    down = total(
        p_i * slower.reach(i, tau) @ (z.gradient(i) + (pull if averages else pull / (z.h["eta_l"] * tau)))
        for p_i, i, tau in taken
    )
    D = down / (z.h["eta_l"] * total(p_i * tau for p_i, _, tau in taken)) if averages else down
    return [z.block(0) - z.h["eta"] * down, D, *(z.block(1 + i) for i in z.all[1:])]


MAPS = {"fedcm": _mixed}


def _slowed(s: Scenario) -> Scenario:
    """FedAvg at the share of the rate by which a gradient enters."""
    return told(s, "fedavg", hyper={"eta_l": s.case.hyper["eta_l"] * (1 - s.case.hyper["rho"])})


def _averaging(s: Scenario) -> Scenario:
    """FedAvgM whose buffer averages."""
    return told(s, "fedavgm", options={"momentum_sum": "average"}, hyper={"beta": s.case.hyper["rho"]})


EDGES = (
    pinned(source="fedcm", target="fedavg", cited=f"{XU}: nothing of D is taken", level="round", values={"rho": 0.0}),
    of_rounds(
        id="fedcm-begins-as-fedavg",
        source="fedcm",
        target="fedavg",
        when="it is the first round; eta_l is eta_l (1 - rho)",
        cited=f"{XU}: D = 0",
        carry=_slowed,
        draw=FIRST,
    ),
    of_rounds(
        id="fedcm-of-single-steps-is-fedavgm",
        source="fedcm",
        target="fedavgm",
        when="everybody takes one step; the buffer averages, and beta is rho",
        cited=f"{XU}: then D is an average of mean gradients",
        carry=_averaging,
        narrow=single_steps,
    ),
)
