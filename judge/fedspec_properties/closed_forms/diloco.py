"""DiLoCo in closed form: moments as sums over gradients, the outer step as a sum over mean changes.

m_i = (1 - beta1) sum of w beta1^age g,    v_i = (1 - beta2) sum of w beta2^age g^2
x_i = b^k x - eta_l sum over j = 1 .. k of b^(k-j) r_j,    b = 1 - eta_l wd
x_T = x_(T-1) + eta_T Delta_T + beta sum over s of beta^(T-s) eta_T Delta_s

Of streaming DiLoCo each block l of the model is a sum over its own rounds: x_l = x_l0 + eta sum over these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fedspec.arith import Array, sqrt
from fedspec.contract import Messages, Round
from fedspec.params import flatten, layers, shapes
from fedspec.readings import InnerState, MomentumForm, MomentumSum, Rated
from fedspec_properties.closed_forms.adaptive import Numbers, Options
from fedspec_properties.closed_forms.sums import counts, decayed, events_of, total
from fedspec_suite.measure.scenario import Scenario, problem_of, said_by

Log = list[tuple[Any, int, Array]]
"""Gradients in a client's moments, each with its weight and its age in steps."""

KNOWN = ("diloco",)
"""Algorithms whose rounds this module computes."""


def outer(past: Sequence[Array], rates: Sequence[Any], h: Numbers, o: Options) -> Array:
    """Return the last outer move, from the mean changes and outer rates of all rounds so far."""
    reached = rates if o["rated"] == Rated.BUFFER else [rates[-1]] * len(rates)
    moved = [eta * delta for eta, delta in zip(reached, past, strict=True)]
    v = decayed(h["beta"], moved)
    if o["momentum_sum"] == MomentumSum.AVERAGE:
        v = v - h["beta"] * v
    move: Array = v if o["momentum"] == MomentumForm.HEAVY_BALL else moved[-1] + h["beta"] * v
    return move


STEPS = {"diloco": lambda past, h, o: outer(past, [h["eta"]] * len(past), h, o)}


def _shares(o: Options, examples: Sequence[Any], steps: Sequence[int]) -> list[Any]:
    n = counts(o, examples, steps)
    return [n_i / total(n) for n_i in n]


def servers(s: Scenario) -> Iterator[Array]:
    """Yield the model after each outer step; events may change the rate."""
    h, o, x = s.case.hyper, s.case.options, flatten(s.case.x0)
    past: list[Array] = []
    rates: list[Any] = []
    for e in events_of(Messages, s):
        p = _shares(o, [m.weight for m in e.messages], [m.steps for m in e.messages])
        past.append(total(p_i * flatten(m.delta) for p_i, m in zip(p, e.messages, strict=True)))
        rates.append(said_by(e).get("eta", h["eta"]))
        x = x + outer(past, rates, h, o)
        yield x


def _ratio(log: Log, T: int, h: Numbers) -> Array:
    """Direction of AdamW's step T, with moments as sums over these gradients."""
    m = total((1 - h["beta1"]) * w * h["beta1"] ** age * g for w, age, g in log) / (1 - h["beta1"] ** T)
    v = total((1 - h["beta2"]) * w * h["beta2"] ** age * g * g for w, age, g in log) / (1 - h["beta2"] ** T)
    ratio: Array = m / (sqrt(v) + h["eps"])
    return ratio


def local(s: Scenario, i: int, x: Array, steps: int, log: Log, seen: int) -> tuple[Array, Log]:
    """Return client i's final model, given its earlier number of gradients, and the gradients in its moments."""
    h, problem = s.case.hyper, problem_of(s)
    b, ratios, end = 1 - h["eta_l"] * h["wd"], list[Array](), x
    for k in range(1, steps + 1):
        g = problem.H[i] @ end - problem.e[i]
        log = [(w, age + 1, old) for w, age, old in log] + [(1, 0, g)]
        ratios.append(_ratio(log, seen + k, h))
        end = b**k * x - h["eta_l"] * decayed(b, ratios)
    return end, log


def rounds(s: Scenario) -> Iterator[Array]:
    """Yield the model after each round."""
    h, o, x = s.case.hyper, s.case.options, flatten(s.case.x0)
    logs: dict[int, Log] = {}
    seen: dict[int, int] = {}
    past: list[Array] = []
    for e in events_of(Round, s):
        if o["inner"] == InnerState.RESET:
            logs, seen = {}, {}
        p = _shares(o, [problem_of(s).examples[i] for i in e.participants], e.steps)
        took_part = list(zip(e.participants, e.steps, strict=True))
        run = [local(s, i, x, tau, logs.get(i, []), seen.get(i, 0)) for i, tau in took_part]
        past.append(total(p_i * (end - x) for p_i, (end, _) in zip(p, run, strict=True)))
        kept = [log for _, log in run]
        if o["inner"] == InnerState.AVERAGED:
            kept = [[(p_i * w, age, g) for p_i, log in zip(p, kept, strict=True) for w, age, g in log]] * len(kept)
        logs |= dict(zip(e.participants, kept, strict=True))
        seen |= {i: seen.get(i, 0) + tau for i, tau in took_part}
        x = x + outer(past, [h["eta"]] * len(past), h, o)
        yield x


STREAMING = ("streaming-diloco",)
"""Algorithms whose exchanges this module computes."""

OUTER = {"momentum": "nesterov", "momentum_sum": "sum", "rated": "step"}
"""Options of DiLoCo's outer step in the canonical reading."""


def exchanges(s: Scenario) -> Iterator[Array]:
    """Yield the shared model after each exchange; if each client has its own copy, the mean of the copies received."""
    h, x, blocks = s.case.hyper, flatten(s.case.x0), layers(shapes(s.case.x0))
    P, late, n = int(h["P"]), int(h["overlap"]), len(problem_of(s).H)
    own, seen, apart = [x] * n, [0] * n, s.case.options["against"] == "own"
    logs: list[Log] = [[]] * n
    past: list[list[Array]] = [[] for _ in blocks]
    last = [x.copy() for _ in range(n)]
    for r, e in enumerate(s.events):
        assert isinstance(e, Round)
        sent = [x] * n
        for i, K in zip(e.participants, e.steps, strict=True):
            sent[i], log = local(s, i, own[i], K - late, logs[i], seen[i])
            own[i], logs[i] = local(s, i, sent[i], late, log, seen[i] + K - late)
            seen[i] += K
        x, own = x.copy(), [x_i.copy() for x_i in own]
        for l, block in enumerate(blocks):
            if l % P == r % P:
                past[l].append(total(x_i[block] - old[block] for x_i, old in zip(sent, last, strict=True)) / n)
                move = outer(past[l], [h["eta"]] * len(past[l]), h, OUTER)
                for i, x_i in enumerate(own):
                    arriving = last[i][block] + move
                    x_i[block] = arriving + h["own"] * (x_i[block] - arriving)
                x[block] = total(old[block] for old in last) / n + move
                for i in range(n):
                    last[i][block] = (sent[i] if late else own[i])[block] if apart else x[block]
        yield x
