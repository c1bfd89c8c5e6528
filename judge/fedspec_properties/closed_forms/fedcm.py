"""FedCM: the matrix of a round on quadratics, and its reductions to other algorithms."""

from __future__ import annotations

from dataclasses import replace

from fedspec.contract import Round
from fedspec_properties.closed_forms.round_matrices import Forms, Place
from fedspec_properties.closed_forms.sums import total
from fedspec_properties.reductions.edge import reduces
from fedspec_properties.reductions.rounds import begins, single_steps

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


EDGES = (
    reduces("fedcm", "fedavg", f"{XU}: nothing of D is taken", levels=("round",)).under(rho=0.0),
    begins("fedcm", "fedavg", f"{XU}: D = 0", "; eta_l is eta_l (1 - rho)").told(
        eta_l=lambda h, o: h["eta_l"] * (1 - h["rho"])
    ),
    reduces("fedcm", "fedavgm", f"{XU}: then D is an average of mean gradients")
    .named("fedcm-of-single-steps-is-fedavgm")
    .under("everybody takes one step; the buffer averages, and beta is rho", single_steps)
    .told(momentum_sum="average", beta=lambda h, o: h["rho"]),
)
