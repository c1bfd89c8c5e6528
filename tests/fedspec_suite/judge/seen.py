"""What can be seen in the numbers themselves: how many digits agree, where they stand, when they begin to differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from fedspec.arith import Array
from fedspec_suite.measure.bench import Shown
from fedspec_suite.measure.scenario import Scenario, describe

SINGLE = 3e-6
"""Up to which relative error float32 somewhere inside explains a float64 subject."""

COARSE = 2e-2
"""Up to which a rounding to few digits explains one that shows everywhere and goes either way."""

INSIDE = "as if it computed in {} somewhere inside"
ROUNDED = "as if something were rounded to {} digits inside"
AT_ONCE = "from the first event on"


def seen(samples: Sequence[Scenario], given: Mapping[int, list[Shown]], wanted: Mapping[int, list[Array]]) -> str:
    """A sentence on how the subject's models and the wanted ones differ."""
    pairs = [
        (k, j, np.asarray(got["x"], dtype=float), want)
        for k, answers in given.items()
        for j, (got, want) in enumerate(zip(answers, wanted[k], strict=True))
    ]
    dtype = samples[0].case.dtype
    for k, j, got, _ in pairs:
        if not np.isfinite(got).all():
            at = int(np.argmin(np.isfinite(got)))
            return f"x[{at}] is {got[at]} after {describe(samples[k].events[j])} {j + 1} of a sample"
    relative = [np.abs(got - want).max() / max(np.abs(want).max(), 1e-300) for _, _, got, want in pairs]
    if dtype == "float64" and max(relative) <= SINGLE and _either_way(pairs):
        return f"the numbers agree to {max(relative):.0e}, {INSIDE.format('float32')}"
    if max(relative) <= COARSE and _rounded(pairs, dtype):
        return f"the numbers agree to {max(relative):.0e}, {ROUNDED.format(int(-np.log10(max(relative))))}"
    least = SINGLE if dtype == "float64" else COARSE
    off = [(k, j, got, want) for (k, j, got, want), r in zip(pairs, relative, strict=True) if r > least]
    if len(off) > 2 and all(np.allclose(np.sort(got), np.sort(want), rtol=1e-5) for _, _, got, want in off):
        return "the numbers are those wanted, at other places: blocks or axes are in another order"
    return _coordinates(off) or _blocks(samples, off) or _begins(samples, off, pairs)


def _either_way(pairs: Sequence[tuple[int, int, Array, Array]]) -> bool:
    """Whether numbers deviate either way, as roundings do: one that is added somewhere pushes all of them one way."""
    got = np.concatenate([got.ravel() for _, _, got, _ in pairs])
    want = np.concatenate([want.ravel() for *_, want in pairs])
    error = (got - want) * np.sign(want)
    deviates = np.abs(error) > 1e3 * np.finfo(float).eps * np.abs(want)
    up = float((error[deviates] > 0).mean()) if deviates.any() else 0.0
    return deviates.sum() >= 8 and 0.1 < up < 0.9


def _rounded(pairs: Sequence[tuple[int, int, Array, Array]], dtype: str) -> bool:
    """Whether deviations look like roundings: most numbers that have many digits deviate, and they do so either way.

    A rule that differs a little is off from some event on, or beside some hyper-parameter, or always too high.
    """
    got = np.concatenate([got.ravel() for _, _, got, _ in pairs])
    want = np.concatenate([want.ravel() for *_, want in pairs])
    with np.errstate(over="ignore"):
        long = np.isfinite(want) & (want.astype(np.float16) != want)
    error = (got - want)[long] * np.sign(want[long])
    deviates = np.abs(error) > 1e3 * np.finfo(dtype).eps * np.abs(want[long])
    if deviates.sum() < 8 or deviates.mean() < 2 / 3:
        return False
    up = float((error[deviates] > 0).mean())
    return 0.2 < up < 0.8


def _coordinates(off: Sequence[tuple[int, int, Array, Array]]) -> str:
    """Whether the first or the last coordinate of the model alone deviates, in models of several sizes."""
    if len({got.size for _, _, got, _ in off}) < 2 or min(got.size for _, _, got, _ in off) < 2:
        return ""
    wrong = [~np.isclose(got, want, rtol=1e-5, atol=0) for _, _, got, want in off]
    if all(w[-1] and not w[:-1].any() for w in wrong):
        return "only the last coordinate of the model deviates"
    if all(w[0] and not w[1:].any() for w in wrong):
        return "only the first coordinate of the model deviates"
    return ""


def _blocks(samples: Sequence[Scenario], off: Sequence[tuple[int, int, Array, Array]]) -> str:
    """Which blocks alone deviate, where some never do although there are several."""
    deviating: set[str] = set()
    several: set[str] = set()
    for k, _, got, want in off:
        x0 = samples[k].case.x0
        if len(x0) < 2:
            continue
        ends = np.cumsum([a.size for a in x0.values()])[:-1]
        there = zip(x0, np.split(got, ends), np.split(want, ends), strict=True)
        several |= set(x0)
        deviating |= {n for n, a, b in there if not np.allclose(a, b, rtol=1e-5)}
    spared = several - deviating
    if not spared:
        return ""
    verb = "deviates" if len(deviating) == 1 else "deviate"
    return f"only block {', '.join(sorted(deviating))} {verb}, never {', '.join(sorted(spared))}"


def _begins(
    samples: Sequence[Scenario],
    off: Sequence[tuple[int, int, Array, Array]],
    pairs: Sequence[tuple[int, int, Array, Array]],
) -> str:
    """After how many events it begins to deviate, if never at once."""
    if not off:
        return ""
    first = min(j for _, j, _, _ in off)
    played = len({k for k, *_ in pairs})
    broken = len({k for k, *_ in off})
    what = describe(samples[off[0][0]].events[first])
    when = f"from {what} {first + 1} on" if first else AT_ONCE
    return when + ("" if broken == played else f", in {broken} of {played} samples")
