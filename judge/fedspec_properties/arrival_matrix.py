"""Linear asynchronous algorithms as one explicit matrix for each full buffer, in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from fedspec.arith import Array
from fedspec.contract import Arrival
from fedspec.facts import Fact
from fedspec.linear import eye
from fedspec.params import flatten
from fedspec_properties.closed_forms.asynchronous import buffer_of, local_run
from fedspec_suite.laws.asked import both, fact, if_option
from fedspec_suite.laws.law import Law
from fedspec_suite.measure.scenario import Scenario, lift
from fedspec_suite.measure.traces import arrival_scenarios


def companion(s: Scenario) -> list[Array]:
    """The models of a linear algorithm, exactly: (x_t, x_(t-1), ..., 1) is multiplied by one matrix a buffer."""
    s = lift(s, Fraction)
    h, problem = s.case.hyper, s.case.problem
    assert problem is not None
    x0 = flatten(s.case.x0)
    d, m = len(x0), buffer_of(s)
    arrivals = [e for e in s.events if isinstance(e, Arrival)]
    back = 1 + max(e.delay for e in arrivals)
    size = back * d + 1
    path, out = eye(np.full((size, size), Fraction(0), dtype=object)), []
    start = np.concatenate([*[x0] * back, [Fraction(1)]])
    for k, e in enumerate(arrivals):
        if k % m == 0:
            M = np.full((size, size), Fraction(0), dtype=object)
            M[:d, :d] = eye(M[:d, :d])
            for j in range(d, back * d):
                M[j, j - d] = Fraction(1)
            M[-1, -1] = Fraction(1)
        SH, Se = local_run(problem.H[e.client], problem.e[e.client], e.steps, h)
        share = h.get("eta", Fraction(1)) / m
        if s.case.options.get("normalise") == "per-step":
            share = share / e.steps
        here = slice(e.delay * d, (e.delay + 1) * d)
        M[:d, here] -= share * SH
        M[:d, -1] += share * Se
        if k % m == m - 1:
            path = M @ path
        out.append((path @ start)[:d])
    return out


LAWS = (
    Law(
        id="arrivals-companion",
        words="the last versions, stacked, are multiplied by one explicit matrix for each full buffer, exactly",
        levels=("trace",),
        source="Client-Centric, Alg. 3 (L149-181), on quadratic clients",
        cases=lambda setting: arrival_scenarios(setting, rounds=(2, 6)),
        check=lambda bench, s: bench.follows(s, companion(s)),
        applies=both(fact(Fact.BUFFERED, Fact.AFFINE), if_option("staleness", "constant")),
    ),
)
