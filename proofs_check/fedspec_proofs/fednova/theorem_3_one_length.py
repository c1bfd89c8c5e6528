"""Theorem 3 as its proof has it: local steps that change from round to round, and one tau_eff for all rounds."""

from __future__ import annotations

from dataclasses import replace

from fedspec.algorithms.fednova import FedNova
from fedspec.readings import TauEff
from fedspec_proofs.claim import FEDNOVA, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.engines.choose import Choose
from fedspec_proofs.engines.search import Inequality, searched
from fedspec_proofs.fednova.bounds import tau_eff
from fedspec_proofs.fednova.runs import ASSUMPTIONS, by_hand, with_dropped
from fedspec_proofs.fednova.theorem_3 import TRIES, Phases, bound, built_by_hand, example, phases, unweighted


def _alike(choose: Choose) -> Phases:
    """The same instances, most of them with one tau_eff for both stretches."""
    x = phases(choose)
    if not choose.of(True, True, False):
        return x
    h, then = x.first.s.h, x.then.h
    assert isinstance(h, FedNova) and isinstance(then, FedNova)
    h = replace(h, tau_eff_choice=TauEff.FIXED)
    then = replace(then, tau_eff_choice=TauEff.FIXED, tau_eff=h.tau_eff)
    return Phases(replace(x.first, s=replace(x.first.s, h=h)), replace(x.then, h=then), x.T)


@claim(
    "fednova.theorem-3-one-tau-eff",
    statement="With one tau_eff for all rounds, tau_i(t) and a_i(t) of SGD, decayed rates and momentum that change: "
    "(1/T) sum E|grad F|^2 <= 4 gap / (eta tau_eff T) + the averages over all rounds of the other three terms of (97)",
    source=Source(FEDNOVA, "Theorem 3 (L208), eq. (147) (L817), with (151) (L829), tau_eff being one as it is printed"),
    engine=Engine.MOMENTS,
    verdict=Verdict.NOT_CONTRADICTED,
    assumptions={**ASSUMPTIONS, "one": "tau_eff does not change from round to round"},
)
def holds_for_one_length() -> Finding:
    """The search of ``fednova.theorem-3-repaired``, with (147) as printed; without one tau_eff the example of
    ``fednova.theorem-3``. For proximal steps see ``fednova.theorem-1-fedprox``."""
    plain = bound(unweighted)
    claimed = Inequality(
        _alike, {**plain.assumptions, "one": lambda x: tau_eff(x.first.s) == tau_eff(x.then)}, plain.sides
    )
    other = by_hand(claimed, "one", example(), "tau = 1 for 64 rounds, then 15, tau_eff^(t) = tau(t)")
    return with_dropped(searched(claimed, TRIES, drop=20), **built_by_hand(claimed), one=other)
