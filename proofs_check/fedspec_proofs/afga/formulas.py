"""Formulas that may be z3's or plain truth values, and hyper-parameters of any arithmetic."""

from __future__ import annotations

from typing import Any

import z3

from fedspec.algorithms.cafga import Cafga


def both(*formulas: Any) -> Any:
    """Several formulas or truth values as one."""
    return z3.And(*formulas) if any(isinstance(f, z3.ExprRef) for f in formulas) else all(formulas)


def either(*formulas: Any) -> Any:
    """At least one of several formulas or truth values."""
    return z3.Or(*formulas) if any(isinstance(f, z3.ExprRef) for f in formulas) else any(formulas)


def hyper(eta_l: Any, **more: Any) -> Cafga:
    """Hyper-parameters of AFGA and CAFGA with this learning rate; the server has no decay and a stabiliser of 1."""
    return Cafga(eta_l=eta_l, **{"eta": 1, "beta1": 0, "beta2": 0, "eps": 1, **more})
