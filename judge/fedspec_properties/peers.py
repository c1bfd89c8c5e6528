"""Laws of algorithms without a server: explicit matrices, conservation, closed forms over the whole history."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from fedspec.arith import Array
from fedspec.contract import Exchange
from fedspec.facts import Fact
from fedspec.params import flatten
from fedspec_properties.closed_forms import peers
from fedspec_properties.closed_forms.sums import events_of, exactly
from fedspec_properties.gossip import TRACE, exchanged, unit
from fedspec_properties.reductions.rounds import size
from fedspec_properties.unrolled import follows
from fedspec_suite.laws.applicability import entry, fact
from fedspec_suite.laws.law import Law
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.running_error import bounds_of
from fedspec_suite.measure.scenario import Scenario, lift, linear, running
from fedspec_suite.measure.trace_cases import exchange_scenarios


def _by_matrices(bench: Bench, s: Scenario) -> None:
    """Check all exchanges as an affine map of the initial models."""
    exact = lift(s, Fraction)
    x0 = flatten(exact.case.x0)
    A, b, want = unit(len(x0)), x0 * 0, []
    for e in events_of(Exchange, exact):
        M, c = exchanged(exact, e, unit(len(x0)))
        A, b = M @ A, M @ b + c
        want.append(A @ x0 + b)
    bench.follows(s, want)


def _sums_up(bench: Bench, s: Scenario) -> None:
    """The mean model is the sum over all steps, whatever W."""
    scale, n = bench.expect(s), size(s)
    for k, (want, got) in enumerate(zip(peers.means(s), bench.play(s), strict=True)):
        bench.finite("x", got["x"], f"round {k + 1}")
        mean = (exactly(got["x"]).reshape(n, -1).sum(axis=0) / n).astype(float)
        bench.compare("x", mean, want, f"round {k + 1}", bounds_of(scale[k]["x"]).reshape(n, -1).max(axis=0))


def _remembers_nothing(bench: Bench, s: Scenario) -> None:
    """The models follow from one another."""
    bench.follows(s, peers.PATHS[s.case.algorithm](s))


def _weighed(matrices: Sequence[Array], rows: Sequence[Array]) -> Array:
    """Every row mixed by all matrices that came with it and after it, summed."""
    total = rows[0] * 0
    for t, row in enumerate(rows):
        for W in matrices[t:]:
            row = W @ row
        total = total + row
    return total


def adaptive_models(s: Scenario) -> list[Array]:
    """Return decentralised Adam's models in closed form: moments as sums, mixing as matrix products."""
    lifted, n = running(s), size(s)
    problem, h = lifted.case.problem, lifted.case.hyper
    assert problem is not None
    tracked = s.case.options["denominators"] == "tracked"
    eps, X0 = h["eps"], flatten(lifted.case.x0).reshape(n, -1)
    X, v_hat = X0, X0 * 0 + (eps if tracked else 0)
    W: list[Array] = []
    gradients: list[Array] = []
    steps: list[Array] = []
    rises, out = [v_hat], []
    for e in events_of(Exchange, lifted):
        for _ in e.computing:
            W.append(e.mixing)
            gradients.append(np.stack([H_i @ x_i - e_i for H_i, x_i, e_i in zip(problem.H, X, problem.e, strict=True)]))
            T = len(gradients)
            m = sum((1 - h["beta1"]) * h["beta1"] ** (T - t) * g for t, g in enumerate(gradients, 1))
            v = sum((1 - h["beta2"]) * h["beta2"] ** (T - t) * g * g for t, g in enumerate(gradients, 1))
            agreed = _weighed(W, rises)
            rises.append((1 - h["beta3"]) * _each(lambda a, b: b - a if b > a else a * 0, v_hat, v))
            v_hat = v_hat + rises[-1]
            if tracked:
                divisor = _each(lambda u: (u if u > eps else eps).sqrt(), agreed)
            else:
                divisor = _each(lambda u: u.sqrt() + eps, v_hat)
            steps.append(-h["eta_l"] * m / divisor)
            # The last step is not mixed.
            X = _weighed(W, [X0])
            if T > 1:
                X = X + _weighed(W[1:], steps[:-1])
            X = X + steps[-1]
        out.append(X.reshape(-1))
    return out


def _each(f: Any, *xs: Any) -> Array:
    return np.asarray(np.frompyfunc(f, len(xs), 1)(*xs))


LAWS = (
    Law(
        id="peers-matrices",
        words="on quadratics all exchanges are one affine map of the initial models",
        levels=TRACE,
        source="AFGA, eq. (10); Lian et al. (2017): X = W X - eta_l (H X - e)",
        cases=exchange_scenarios,
        check=_by_matrices,
        applies=fact(Fact.PEERS, Fact.AFFINE),
    ),
    Law(
        id="peers-unrolled",
        words="with constant gradients the mean of all models is the sum over all steps, whatever W",
        levels=TRACE,
        source="1' W = 1' (AFGA, eq. (10)), and the closed form of the steps",
        cases=lambda setting: exchange_scenarios(setting).map(linear),
        check=_sums_up,
        applies=entry(peers.steps, "closed form of its steps (STEPS in its file)"),
    ),
    Law(
        id="peers-recursion",
        words="on quadratics the models by another recursion, without what is kept or with another thing",
        levels=TRACE,
        source="ours: what is kept, put in terms of models, or of sums over all exchanges",
        cases=exchange_scenarios,
        check=_remembers_nothing,
        applies=entry(peers.PATHS, "recursion of its models (PATHS)"),
    ),
    Law(
        id="peers-history",
        words="decentralised Adam from its whole history: moments as sums, mixing as products of matrices",
        levels=TRACE,
        source="Nazari et al. (2019), Algorithm 1; Chen, Karimi, Zhao and Li (2021), Algorithm 2",
        cases=exchange_scenarios,
        check=follows(adaptive_models, lifted=False),
        applies=fact(Fact.PEERS, Fact.ADAPTIVE),
    ),
)
