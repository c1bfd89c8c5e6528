"""Mutants of servers that read every change of a round: FedExP, the median, the trimmed mean."""

from __future__ import annotations

from functools import partial

from fedspec.readings import Weighting
from fedspec_suite.mutants.mutant import Mutant

_fedexp = partial(Mutant, algorithms=("fedexp",), rule="fedspec.mixing.extrapolated.extrapolated")
_median = partial(Mutant, algorithms=("median",), rule="fedspec.mixing.order.coordinate_median")
_lower = partial(Mutant, algorithms=("median",), rule="fedspec.mixing.order.lower_median", options={"middle": "lower"})
_left_out = partial(Mutant, algorithms=("trimmed-mean",), rule="fedspec.mixing.order.left_out")
_trimmed = partial(Mutant, algorithms=("trimmed-mean",), rule="fedspec.mixing.order.trimmed_mean")

MUTANTS = (
    _fedexp(id="fedexp-no-half", words="the factor 2 is forgotten", old="(2 * (total(", new="((total("),
    _fedexp(
        id="fedexp-no-maximum",
        words="the rate may be below 1",
        old="maximum(total(p @ deltas**2) / (2 * (total(delta**2) + eps)), 1)",
        new="total(p @ deltas**2) / (2 * (total(delta**2) + eps))",
    ),
    _fedexp(
        id="fedexp-norm-of-sum",
        words="the length below is that of the sum of the changes, not of their mean",
        old="total(delta**2) + eps",
        new="total((len(deltas) * delta) ** 2) + eps",
    ),
    _fedexp(
        id="fedexp-eps-for-each",
        words="eps is added once for each client",
        old="total(delta**2) + eps",
        new="total(delta**2) + len(deltas) * eps",
    ),
    _fedexp(
        id="fedexp-square-of-sum",
        words="the square of the mean length, not the mean of the squares",
        old="total(p @ deltas**2)",
        new="total(p * norm(deltas)[:, 0]) ** 2",
    ),
    _fedexp(
        id="fedexp-not-mean",
        words="the squared lengths are added up and not averaged",
        old="total(p @ deltas**2)",
        new="total(deltas.shape[0] * (p @ deltas**2))",
    ),
    _fedexp(
        id="fedexp-each-coordinate",
        words="every coordinate has a rate of its own",
        old="maximum(total(p @ deltas**2) / (2 * (total(delta**2) + eps)), 1)",
        new="maximum(p @ deltas**2 / (2 * (delta**2 + eps)), 1)",
    ),
    Mutant(
        id="fedexp-other-weights",
        words="the rate is that of unweighed changes, the step is along the mean by examples",
        algorithms=("fedexp",),
        rule="fedspec.algorithms.fedexp.server",
        old="x, rate = extrapolated(x, sent.deltas, delta, p, eps=h.eps)",
        new="rate = extrapolated(x, sent.deltas, delta, p, eps=h.eps)[1]\n"
        "    x = x + rate * weighted_mean(sent.deltas, shares(sent.examples, x, by, sent.steps))",
        given={"by": Weighting.EXAMPLES},
    ),
    _median(
        id="median-unsorted",
        words="the change in the middle of those that came, which are not in order",
        old="ordered = ascending(deltas)",
        new="ordered = deltas",
    ),
    _median(
        id="median-upper",
        words="of an even number the larger of the two in the middle",
        old="(ordered[(M - 1) // 2] + ordered[M // 2]) / 2",
        new="ordered[M // 2]",
    ),
    _median(
        id="median-before",
        words="one place before the middle",
        old="(ordered[(M - 1) // 2] + ordered[M // 2]) / 2",
        new="(ordered[max(0, (M - 1) // 2 - 1)] + ordered[max(0, M // 2 - 1)]) / 2",
    ),
    _median(
        id="median-of-odd-too",
        words="of an odd number too the mean of two",
        old="ordered[M // 2]) / 2",
        new="ordered[min(M - 1, (M - 1) // 2 + 1)]) / 2",
    ),
    _median(
        id="median-mid-range",
        words="the middle between the smallest and the largest",
        old="(ordered[(M - 1) // 2] + ordered[M // 2]) / 2",
        new="(ordered[0] + ordered[M - 1]) / 2",
    ),
    _median(
        id="median-of-clients",
        words="the change of the client whose first coordinate is the median",
        old="ordered = ascending(deltas)",
        new="ordered = deltas[np.argsort(np.array([float(v) for v in deltas[:, 0]]), kind='stable')]",
    ),
    _median(
        id="median-by-size",
        words="the changes are put in order by their size, whatever their sign",
        old="ordered = ascending(deltas)",
        new="ordered = np.array([sorted(values, key=abs) for values in deltas.T]).T",
    ),
    _lower(
        id="median-lower-too-low",
        words="of an even number the one before the two in the middle",
        old="ordered[(M - 1) // 2]",
        new="ordered[max(0, M // 2 - 1 - (1 - M % 2))]",
    ),
    _lower(
        id="median-lower-unsorted",
        words="the change in the middle of those that came, which are not in order",
        old="ordered = ascending(deltas)",
        new="ordered = deltas",
    ),
    Mutant(
        id="trimmed-mean-divisor",
        words="the sum of what is kept is divided by (1 - 2 trim) M",
        algorithms=("trimmed-mean",),
        rule="fedspec.algorithms.trimmed_mean.server",
        old="    x = average(",
        new="    M = len(sent.steps)\n    delta = delta * (M - 2 * left_out(h.trim, M)) / ((1 - 2 * h.trim) * M)\n"
        "    x = average(",
    ),
    _trimmed(
        id="trimmed-mean-by-all",
        words="the sum of what is kept is divided by M",
        old="/ (M - 2 * b)",
        new="/ M",
    ),
    _lower(
        id="median-lower-next",
        words="one place behind the middle, of an even number the larger of the two",
        old="ordered[(M - 1) // 2]",
        new="ordered[min(M - 1, (M - 1) // 2 + 1)]",
    ),
    _left_out(
        id="trimmed-mean-both-ends",
        words="trim M is what is left out at both ends together",
        old="floor(trim * clients)",
        new="floor(trim * clients / 2)",
    ),
    _left_out(
        id="trimmed-mean-rounded-up",
        words="trim M is rounded up as long as one value is kept",
        old="floor(trim * clients)",
        new="min((clients - 1) // 2, -floor(-trim * clients))",
    ),
    _trimmed(
        id="trimmed-mean-largest-only",
        words="only the largest are left out",
        old="[b : M - b]\n    delta: Vector = kept.sum(axis=0) / (M - 2 * b)",
        new="[: M - b]\n    delta: Vector = kept.sum(axis=0) / (M - b)",
    ),
    _trimmed(
        id="trimmed-mean-of-clients",
        words="the clients that come first and last are left out, not the smallest and the largest values",
        old="ascending(deltas)",
        new="deltas",
    ),
    _trimmed(
        id="trimmed-mean-by-length",
        words="the clients with the shortest and the longest changes are left out",
        old="ascending(deltas)",
        new="np.array(sorted(deltas, key=lambda delta: total(delta**2)))",
    ),
    _left_out(
        id="trimmed-mean-at-least-one",
        words="one value at least is left out at either end, whatever trim M is",
        old="floor(trim * clients)",
        new="min((clients - 1) // 2, max(1, floor(trim * clients)))",
    ),
    _trimmed(
        id="trimmed-mean-clipped",
        words="what is left out counts as the nearest value that is kept",
        old="kept.sum(axis=0) / (M - 2 * b)",
        new="(kept.sum(axis=0) + b * (kept[0] + kept[M - 2 * b - 1])) / M",
    ),
)
