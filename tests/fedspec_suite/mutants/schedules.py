"""Mutants of what the clients of FedAda2's methods start from, of when they update, and of their rates' warm-up."""

from __future__ import annotations

from fedspec_suite.mutants.mutant import Mutant

_A = "fedspec.algorithms."
_WARMED = ("joint-local", "joint-direct", "fedada2", "dp-joint", "fedadaadagrad", "fedadaadam", "fedblended")

MUTANTS = (
    tuple(
        Mutant(
            id=f"{algorithm}-{slug}",
            words=words,
            algorithms=(algorithm,),
            rule=f"{_A}{algorithm}.{function}",
            old=old,
            new=new,
        )
        for algorithm, function, slug, words, old, new in (
            ("fedadaadagrad", "step", "start-dropped", "the clients' v_0 is taken for 0", ", v0=h.v0_l", ""),
            ("fedadaadagrad", "step", "start-of-the-server", "the clients start at the server's v_0", "h.v0_l", "h.v0"),
            ("fedadaadagrad", "step", "epoch-lost", "the delay counts steps", "epoch=h.epoch, ", ""),
            ("fedadaadam", "step", "start-dropped", "the clients' v_0 is taken for 0", "v0=h.v0_l, ", ""),
            ("fedadaadam", "step", "momentum-dropped", "the clients' m_0 is taken for 0", ", m0=h.m0_l", ""),
            (
                "fedadaadam",
                "step",
                "starts-exchanged",
                "m_0 and v_0 are exchanged",
                "v0=h.v0_l, m0=h.m0_l",
                "v0=h.m0_l, m0=h.v0_l",
            ),
            ("fedadaadam", "step", "epoch-lost", "the delay counts steps", "epoch=h.epoch, ", ""),
            ("fedada2", "step", "start-dropped", "the clients' v_0 is taken for 0", ", v0=h.v0_l", ""),
            (
                "fedblended",
                "optimize",
                "start-dropped",
                "SM3 starts at 0",
                "begin_sm3(x, cover, v0=v0)",
                "begin_sm3(x, cover)",
            ),
            ("fedblended", "optimize", "epoch-lost", "the delay counts steps", '"epoch": epoch, ', ""),
        )
    )
    + tuple(
        Mutant(
            id=f"warm-up-{slug}",
            words=words,
            algorithms=_WARMED,
            rule="fedspec.client.delay.warmed",
            old=old,
            new=new,
        )
        for slug, words, old, new in (
            ("lost", "the client rate does not warm up", "eta_l if k >= warm_up else eta_l * k / warm_up", "eta_l"),
            (
                "early",
                "step k is taken at the rate of step k + 1",
                "eta_l if k >= warm_up else eta_l * k / warm_up",
                "eta_l if k + 1 >= warm_up else eta_l * (k + 1) / warm_up",
            ),
            (
                "late",
                "the whole rate is reached a step late",
                "eta_l if k >= warm_up else eta_l * k / warm_up",
                "eta_l if k > warm_up else eta_l * k / (warm_up + 1)",
            ),
            ("endless", "the rate goes on rising past eta_l", "eta_l if k >= warm_up else ", ""),
            ("held", "the whole rate follows the first step at once", "k >= warm_up", "k > 1"),
        )
    )
    + (
        Mutant(
            id="warm-up-zero-unseen",
            words="a step at the rate 0 is not made at all: the optimiser does not see its gradient",
            algorithms=_WARMED,
            rule="fedspec.client.delay.held",
            old="replace(after, x=before.x) if",
            new="before if",
            options={"warm_up_from": "zero"},
        ),
    )
)
