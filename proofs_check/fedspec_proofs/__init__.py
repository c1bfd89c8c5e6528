"""Machine-checked algebra behind the claims of fedspec.

Every proof runs the specification's own functions on z3 reals, sympy symbols or fractions; none types a formula of a
rule a second time, except the closed forms that are the thing to be shown. ``python -m fedspec_proofs`` runs them all
and prints a table.

    PROOFS            statements that hold: each call proves or checks one and returns its :class:`Record`
    COUNTER_CHECKS    false statements and mutated rules: each call must come back refuted, by an exact instance

A proof is imported when it is called, so that importing this package needs neither z3 nor sympy.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

from fedspec_proofs.record import Finding, Record, Source, Verdict

__all__ = ["COUNTER_CHECKS", "PROOFS", "Finding", "Record", "Source", "Verdict"]


def _lazy(module: str, function: str, *arguments: str) -> Callable[[], Record]:
    def run() -> Record:
        found = getattr(importlib.import_module(f"fedspec_proofs.{module}"), function)
        record: Record = found(*arguments)() if arguments else found()
        return record

    return run


PROOFS: dict[str, Callable[[], Record]] = {
    id: _lazy(module, function)
    for id, module, function in (
        ("fedada2.sm3-squares", "sm3", "squares"),
        ("fedada2.sm3-upper-bound", "sm3", "upper_bound"),
        ("fedada2.sm3-order", "sm3", "order"),
        ("fedada2.sm3-monotone", "sm3", "monotone"),
        ("fedada2.sm3-ceiling", "sm3", "ceiling"),
        ("fedada2.sm3-lemma17", "sm3", "lemma17"),
        ("fedada2.sm3-singletons", "sm3", "singletons"),
        ("fedada2.sm3-one-set", "sm3", "one_set"),
        ("fedada2.sm3-refinement", "sm3", "refinement"),
        ("fedada2.sm3-comparison", "sm3", "comparison"),
        ("afga.amsgrad-order", "amsgrad", "amsgrad_order"),
        ("afga.fedams-order", "amsgrad", "fedams_order"),
        ("afga.fedams-option-two", "amsgrad", "option_two"),
        ("fednova.accumulation", "accumulation", "accumulation_vectors"),
        ("fednova.accumulation-every-tau", "accumulation", "accumulation_every_tau"),
        ("fednova.a-norm", "accumulation", "a_norms"),
        ("fednova.general-rule", "nova", "general_rule"),
        ("fednova.implied-weights-are-fedavg", "nova", "implied_weights"),
        ("fednova.equal-norms-are-fedavg", "nova", "equal_norms"),
        ("fednova.coefficients", "nova", "coefficients"),
        ("fednova.local-scale", "nova", "local_scale"),
        ("fednova.limit-instances", "limits", "instances"),
        ("fednova.limit-symbolic", "limits", "symbolic_limits"),
        ("fednova.limit-small-rate", "limits", "small_rate"),
        ("fednova.limit-contraction", "limits", "contraction"),
        ("fednova.limit-proximal-alpha-one", "limits", "alpha_one"),
        ("fednova.limit-proximal-finite-rate", "limit_numbers", "proximal_numbers"),
        ("fednova.limit-numbers", "limit_numbers", "known_numbers"),
        ("fednova.default-tau-eff-diverges", "limit_numbers", "divergence"),
    )
}
"""Every statement that holds, by id."""

COUNTER_CHECKS: dict[str, Callable[[], Record]] = {
    **{
        id: _lazy("sm3_refutations", "counter_check", id)
        for id in (
            "fedada2.sm3-i-is-not-adagrad",
            "fedada2.sm3-ii-is-not-adagrad",
            "fedada2.sm3-i-least-of-set",
            "fedada2.sm3-ii-least-of-set",
            "fedada2.sm3-ii-greatest-accumulator",
            "fedada2.sm3-i-forgetful",
            "fedada2.sm3-ii-forgetful",
        )
    },
    **{
        id: _lazy(module, function)
        for id, module, function in (
            ("fednova.is-not-fedavg", "nova", "is_not_fedavg"),
            ("fednova.scale-with-default-tau-eff", "nova", "scale_with_default"),
            ("fednova.dampened-vector", "accumulation", "dampened_vector"),
            ("fednova.fedavg-is-consistent", "limit_numbers", "fedavg_consistent"),
            ("fednova.consistent-at-any-rate", "limit_numbers", "nova_consistent"),
        )
    },
}
"""Every statement that must be refuted, by id."""
