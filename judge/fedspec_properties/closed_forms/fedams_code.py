"""FedAMS as its authors run it, as sums over all rounds: the largest average so far, or what it began with."""

from __future__ import annotations

from collections.abc import Sequence

from fedspec.arith import Array, sqrt
from fedspec_properties.closed_forms.adaptive import Numbers, Options
from fedspec_properties.closed_forms.sums import average, largest


def _step(past: Sequence[Array], h: Numbers, o: Options) -> Array:
    T, squares = len(past), [row * row for row in past]
    averages = [average(h["beta2"], squares[:s]) for s in range(1, T + 1)]
    v_hat = largest([past[0] * 0 + h["v_hat0"], *averages])
    below = sqrt(v_hat / (1 - h["beta2"] ** T)) + h["eps"]
    step: Array = h["eta"] * average(h["beta1"], past) / (1 - h["beta1"] ** T) / below
    return step


STEPS = {"fedams-code": _step}
