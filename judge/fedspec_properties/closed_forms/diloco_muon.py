"""DiLoCo with Muon from its whole history, without a product of matrices: every singular value on its own.

m_i = sum of rho^age g over all gradients that client i has seen;  its step turns each singular value of m_i by itself
x_i = b^H x - eta_l sum over k = 1 .. H of b^(H-k) longer O_k,    b = 1 - eta_l wd
x_T = x_(T-1) + eta Delta_T + beta eta sum over s of beta^(T-s) Delta_s
"""

from __future__ import annotations

from collections.abc import Iterator

from fedspec.arith import Array
from fedspec.contract import Round
from fedspec.params import flatten, layers, shapes
from fedspec_properties.closed_forms.diloco import outer
from fedspec_properties.closed_forms.muon import by_singular_values, longer, looked_at
from fedspec_properties.closed_forms.sums import decayed, total
from fedspec_properties.weighing import counts
from fedspec_suite.measure.scenario import Scenario, problem_of

KNOWN = ("diloco-muon",)
"""Whose rounds are written here."""


def turned(u: Array, s: Scenario) -> Array:
    """What a step makes of a whole model, one block after another."""
    h, o, out = s.case.hyper, s.case.options, u * 0
    for (r, c), at in zip(shapes(s.case.x0).values(), layers(shapes(s.case.x0)), strict=True):
        out[at] = longer(r, c, o) * by_singular_values(u[at].reshape(r, c), h, o).reshape(-1)
    return out


def local(s: Scenario, i: int, x: Array, steps: int, past: list[Array]) -> Array:
    """Where client i ends that has seen these gradients, to which those of the round are added."""
    h, problem, end = s.case.hyper, problem_of(s), x
    b, taken = 1 - h["eta_l"] * h["wd"], list[Array]()
    for k in range(1, steps + 1):
        past.append(problem.H[i] @ end - problem.e[i])
        taken.append(turned(looked_at(past, h, s.case.options), s))
        end = b**k * x - h["eta_l"] * decayed(b, taken)
    return end


def rounds(s: Scenario) -> Iterator[Array]:
    """The model after each round, in double precision."""
    h, o, x = s.case.hyper, s.case.options, flatten(s.case.x0)
    seen: dict[int, list[Array]] = {}
    past: list[Array] = []
    for e in s.events:
        assert isinstance(e, Round)
        n = [*map(float, counts(o, [problem_of(s).examples[i] for i in e.participants], e.steps))]
        ends = [local(s, i, x, K, seen.setdefault(i, [])) for i, K in zip(e.participants, e.steps, strict=True)]
        past.append(total(n_i * (end - x) for n_i, end in zip(n, ends, strict=True)) / total(n))
        form = {"momentum": "nesterov", "momentum_sum": "sum", "rated": o["rated"]}
        x = x + outer(past, [h["eta"]] * len(past), h, form)
        yield x
