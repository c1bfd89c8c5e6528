"""Laws of servers that remember what all clients ever sent, whoever took part: over N, never over the participants."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from fedspec.arith import Array
from fedspec.contract import ClientMessage, Level, Messages
from fedspec.params import flatten
from fedspec_suite.laws.asked import both, counts_clients, rule
from fedspec_suite.laws.law import Check, Law
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.cases import scenarios
from fedspec_suite.measure.running import bounds_of
from fedspec_suite.measure.scenario import Scenario


def _control(m: ClientMessage) -> Array:
    assert m.control is not None
    return flatten(m.control)


def _sums(name: str, sent: Any, per_client: Any) -> Check:
    """What the server keeps is a multiple of the sum of everything that was sent up to now."""

    def check(bench: Bench, s: Scenario) -> None:
        total, want = np.array([Fraction(0)] * flatten(s.case.x0).size, dtype=object), []
        for e in s.events:
            assert isinstance(e, Messages)
            for m in e.messages:
                total = total + [Fraction(float(v)) for v in sent(m)]
            want.append(total * per_client(s) / s.case.population)
        scale = bench.expect(s)
        for k, got in enumerate(bench.play(s)):
            bench.compare(name, got[name], want[k], f"round {k + 1}", bounds_of(scale[k][name]))

    return check


SERVER: tuple[Level, ...] = ("server",)
LAWS = (
    Law(
        id="server-control-sums",
        words="c is one N-th of all changes of control variates that were ever sent, N the number of all clients",
        levels=SERVER,
        source="external: Karimireddy et al. (2020), Algorithm 1, line 17",
        cases=scenarios,
        check=_sums("c", _control, lambda s: 1),
        applies=both(counts_clients, rule("server_control")),
        shows="c",
    ),
)
