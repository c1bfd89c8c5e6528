"""Servers in closed form: the model after each round as a sum over all rounds so far.

Those that read every change move as is found in another way than by sorting or by sums of squares. The k-th smallest of
some values is the least that a subset of k of them has for its largest. The mean of squared lengths is the squared
length of the mean and what the vectors are apart, two by two: the sum over i < j of p_i p_j ||Delta_i - Delta_j||^2. Of
some numbers the sum of the k smallest is the least that k of them have.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache, reduce
from itertools import combinations
from math import floor
from typing import Any

from fedspec.arith import Array, maximum, minimum, sqrt
from fedspec.contract import Messages
from fedspec.discovered import said
from fedspec.params import flatten
from fedspec_properties.closed_forms import fedatt, plugin_tables
from fedspec_properties.closed_forms.adaptive import Numbers, Options, direction
from fedspec_properties.closed_forms.sums import average, counts, decayed, largest, total
from fedspec_suite.measure.scenario import Scenario

Move = Callable[[Sequence[Any], Sequence[Array], Numbers, Options], Array]
"""Function for the server's move, from the shares p_i and the changes of one round."""


def smallest_but(k: int, rows: Sequence[Array]) -> Array:
    """Return the k-th smallest value in every coordinate."""
    found: Array = reduce(minimum, (largest(some) for some in combinations(rows, k)))
    return found


def middle(rows: Sequence[Array], o: Options) -> Array:
    """Return the median in every coordinate."""
    M = len(rows)
    lower = smallest_but((M + 1) // 2, rows)
    if M % 2 or o["middle"] == "lower":
        return lower
    halved: Array = (lower + smallest_but(M // 2 + 1, rows)) * Fraction(1, 2)
    return halved


def trimmed_mean(rows: Sequence[Array], h: Numbers) -> Array:
    """Return the mean in every coordinate without the smallest and largest ``trim`` share of the values."""
    M = len(rows)
    b = floor(h["trim"] * M)
    mean: Array = total(smallest_but(k, rows) for k in range(b + 1, M - b + 1)) / (M - 2 * b)
    return mean


def squared(x: Array) -> Any:
    """Return the squared Euclidean length."""
    return total(a * a for a in x)


def further(p: Sequence[Any], rows: Sequence[Array], h: Numbers) -> Array:
    """Return FedExP's move: the mean times its extrapolation factor, which is at least 1."""
    mean = total(p_i * row for p_i, row in zip(p, rows, strict=True))
    pairs = combinations(zip(p, rows, strict=True), 2)
    size = squared(mean)
    apart = total([0 * size, *(p_i * p_j * squared(a - b) for (p_i, a), (p_j, b) in pairs)])
    move: Array = maximum((size + apart) / (2 * size + 2 * h["eps"]), 1) * mean
    return move


def winners(m: int, rows: Sequence[Array], h: Numbers, o: Options) -> tuple[int, ...]:
    """Return the indices of the m changes with the least Krum scores; of several such sets, the first."""
    n = len(rows)
    several = max(1, n - h["f"] - (1 if o["neighbours"] == "n-f-1" else 2))

    def apart(i: int, j: int) -> Any:
        length = squared(rows[i] - rows[j])
        return sqrt(length) if o["distance"] == "plain" else length

    def alone(i: int) -> Any:
        others = [apart(i, j) for j in range(n) if j != i]
        return min(total([0 * squared(rows[i]), *some]) for some in combinations(others, min(several, len(others))))

    scores = [alone(i) for i in range(n)]
    return min(combinations(range(n), min(m, n)), key=lambda some: total(scores[i] for i in some))


def krum_mean(p: Sequence[Any], rows: Sequence[Array], h: Numbers, o: Options) -> Array:
    """Return the weighted mean of the changes that Multi-Krum keeps."""
    kept = winners(int(h["keep"]), rows, h, o)
    mean: Array = total(p[i] * rows[i] for i in kept) / total(p[i] for i in kept)
    return mean


def incremental_average(p: Sequence[Any], rows: Sequence[Array], h: Numbers, o: Options) -> Array:
    """Return the smoothed Weiszfeld iterate after ``passes`` passes, each an incremental average."""

    def taken(z: Array, weights: Sequence[Any]) -> Array:
        held, mean = weights[0], rows[0]
        for weight, row in zip(weights[1:], rows[1:], strict=True):
            held = held + weight
            mean = mean + (row - mean) * (weight / held)
        return mean

    there = rows[0] * 0 if o["origin"] == "zero" else total(p_i * row for p_i, row in zip(p, rows, strict=True))
    for _ in range(int(h["passes"])):
        # The z of this pass stays what it is while its weights are made.
        apart = [maximum(sqrt(squared(there - row)), h["smooth"]) for row in rows]
        there = taken(there, [p_i / length for p_i, length in zip(p, apart, strict=True)])
    return there


def centred(rounds: Sequence[Sequence[Array]], h: Numbers) -> Array:
    """Return the centre after these rounds of centred clipping, with clipping as the removal of the excess."""
    c, v = h["clip_norm"], rounds[0][0] * 0
    for rows in rounds:
        for _ in range(int(h["passes"])):
            beyond = [row * 0 for row in rows]
            for i, row in enumerate(rows):
                length = sqrt(squared(row - v))
                beyond[i] = (row - v) * (1 - c / length) if length > c else row * 0
            v = total(row - more for row, more in zip(rows, beyond, strict=True)) / len(rows)
    return v


MOVES: dict[str, Move] = {
    "fedexp": lambda p, rows, h, o: further(p, rows, h),
    "geometric-median": lambda p, rows, h, o: h["eta"] * incremental_average(p, rows, h, o),
    "krum": lambda p, rows, h, o: h["eta"] * rows[winners(1, rows, h, o)[0]],
    "median": lambda p, rows, h, o: h["eta"] * middle(rows, o),
    "multi-krum": lambda p, rows, h, o: h["eta"] * krum_mean(p, rows, h, o),
    "trimmed-mean": lambda p, rows, h, o: h["eta"] * trimmed_mean(rows, h),
}
"""Last moves of servers that read every change of a round, by algorithm."""


ADAPTIVE = {"fedadagrad": "adagrad", "fedadam": "adam", "fedyogi": "yogi", "fedamsgrad": "amsgrad"}
"""Kind of second moment of each adaptive server; FedAMS chooses its kind by an option."""


def _shares(e: Messages, o: Options) -> list[Any]:
    n = counts(o, [m.weight for m in e.messages], [m.steps for m in e.messages])
    return [n_i / total(n) for n_i in n]


def mean_change(e: Messages, o: Options) -> Array:
    """Return the weighted mean of a round's changes."""
    mean: Array = total(p * flatten(m.delta) for p, m in zip(_shares(e, o), e.messages, strict=True))
    return mean


def normalised_change(e: Messages, h: Numbers, o: Options) -> Array:
    """Return tau_eff sum_i w_i Delta_i / ||a_i||_1."""
    p, a = _shares(e, o), [m.a_norm for m in e.messages]
    A = total(p_i * a_i for p_i, a_i in zip(p, a, strict=True))
    tau = total(p_i * m.steps for p_i, m in zip(p, e.messages, strict=True))
    steps = o.get("tau_eff_choice", "weighted-norm")
    tau_eff: Any = {"weighted-norm": A, "weighted-steps": tau, "fixed": h.get("tau_eff")}[steps]
    w = p if o.get("nova_weights", "nova") == "nova" else [p_i * a_i / A for p_i, a_i in zip(p, a, strict=True)]
    step: Array = total(tau_eff * w_i / a_i * flatten(m.delta) for w_i, a_i, m in zip(w, a, e.messages, strict=True))
    return step


def _heavy_ball(past: Sequence[Array], h: Numbers, o: Options) -> Array:
    v = decayed(h["beta"], past)
    if o["momentum_sum"] == "average":
        mean: Array = h["eta"] * (1 - h["beta"]) * v
        return mean
    step: Array = h["eta"] * (past[-1] + h["beta"] * v if o["momentum"] == "nesterov" else v)
    return step


def _ams_of_the_authors(past: Sequence[Array], h: Numbers, o: Options) -> Array:
    """FedAMS as its authors run it: the largest average so far, or what it began with."""
    T, squares = len(past), [row * row for row in past]
    averages = [average(h["beta2"], squares[:s]) for s in range(1, T + 1)]
    v_hat = largest([past[0] * 0 + h["v_hat0"], *averages])
    below = sqrt(v_hat / (1 - h["beta2"] ** T)) + h["eps"]
    step: Array = h["eta"] * average(h["beta1"], past) / (1 - h["beta1"] ** T) / below
    return step


Step = Callable[[Sequence[Array], Numbers, Options], Array]

STEPS: dict[str, Step] = {
    "fedavg": lambda past, h, o: h["eta"] * past[-1],
    "fedprox": lambda past, h, o: h["eta"] * past[-1],
    "scaffold": lambda past, h, o: h["eta"] * past[-1],
    "fedavgm": _heavy_ball,
    "fedams-code": _ams_of_the_authors,
    # A change in units of the rate that leaves the buffer in this rate: while it stays, powers of beta times changes.
    "slowmo": lambda past, h, o: h["eta"] * decayed(h["beta"], past),
}
"""Last move of servers without a second moment, from the mean changes of all rounds so far."""


NOVA: dict[str, Step] = {
    "fednova": lambda past, h, o: past[-1],
    "fednova-momentum": lambda past, h, o: decayed(h["beta"], past),
    "fednova-adaptive": lambda past, h, o: h["eta"] * direction(o["server"], past, h, o, h["tau"]),
}
"""Last moves from FedNova's normalised changes of all rounds so far."""


@cache
def _steps() -> dict[str, Step]:
    """Steps of every closed form's file, and of plugins."""
    tables = (*said(__package__, "STEPS"), plugin_tables.table("STEPS"))
    return {name: step for table in tables for name, step in table.items()}


@cache
def _moves() -> dict[str, Move]:
    """Moves of servers that read every change, and of plugins."""
    return {**MOVES, **plugin_tables.table("MOVES")}


def known() -> frozenset[str]:
    """Return the algorithms whose server has a closed form here."""
    return frozenset({*NOVA, *_moves(), *_steps(), *ADAPTIVE, "centred-clipping", "fedatt", "feddyn", "fedams"})


def last_move(s: Scenario, rounds: Sequence[Messages]) -> Array:
    """Return the server's move in the last of these rounds."""
    h, o, name = s.case.hyper, s.case.options, s.case.algorithm
    move: Array
    if name in NOVA:
        return NOVA[name]([normalised_change(e, h, o) for e in rounds], h, o)
    if name in _moves():
        e = rounds[-1]
        return _moves()[name](_shares(e, o), [flatten(m.delta) for m in e.messages], h, o)
    if name == "fedatt":
        return fedatt.moved(s.case, rounds[-1], o)
    if name == "centred-clipping":
        move = h["eta"] * centred([[flatten(m.delta) for m in e.messages] for e in rounds], h)
        return move
    if name == "feddyn":
        # mu cancels: h / mu is the sum of all changes that were ever sent, over all clients.
        sums = [total(flatten(m.delta) for m in e.messages) for e in rounds]
        move = sums[-1] / len(rounds[-1].messages) + total(sums) / s.case.population
        return move
    past = [mean_change(e, o) for e in rounds]
    if name in _steps():
        return _steps()[name](past, h, o)
    kind = f"ams-option-{o['option']}" if name == "fedams" else ADAPTIVE[name]
    move = h["eta"] * direction(kind, past, h, o, h["tau"] if "tau" in h else h["eps"])
    return move


def models(s: Scenario) -> list[Array]:
    """Return the model after each round, from the whole history."""
    rounds = [e for e in s.events if isinstance(e, Messages)]
    x, out = flatten(s.case.x0), []
    for T in range(1, len(rounds) + 1):
        x = x + last_move(s, rounds[:T])
        out.append(x)
    return out
