"""Observations on the numbers: how many digits agree, which coordinates deviate, and from which event on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fedspec.arith import Array
from fedspec.contract import Begin
from fedspec.params import flatten
from fedspec_suite.diagnosis.comparing import ratios_of
from fedspec_suite.diagnosis.diagnosis import AT_ONCE, INSIDE
from fedspec_suite.diagnosis.steady import ROUNDINGS
from fedspec_suite.measure.bench import THRESHOLD
from fedspec_suite.measure.scenario import Scenario, describe
from fedspec_suite.measure.verdict import counted

SINGLE = 3e-6
"""Largest relative error of a float64 subject that float32 arithmetic inside it explains."""

COARSE = 1e-3
"""Largest relative error that rounding to few digits explains, if all numbers deviate, in both directions, from the
first event on."""

NARROW = {"bfloat16": 8, "float16": 11, "float32": 24}
"""Bits of the numbers of types that a model may be kept in instead of its own."""

FEW = 8
"""Roundings that a model of a narrower type may be away from the claimed one, relative to its largest number."""

LONG = 8
"""Least count of numbers that show roundings."""

GROWTH = 2
"""Factor between the errors of the first and the last event up to which roundings explain both: they partly cancel."""


@dataclass(frozen=True)
class Model:
    """Subject's model beside the expected one.

    Attributes:
        sample: the number of the case.
        event: after which event.
        got: the subject's numbers.
        want: the wanted ones.
        equal: True where the judge's tolerance accepts the number.
        apart: True where the judge rejects the number; also False where rounding decides.
    """

    sample: int
    event: int
    got: Array
    want: Array
    equal: Array
    apart: Array


def compared(sample: int, event: int, got: Array, want: Array, dtype: str) -> Model:
    """Compare a model with the expected one, which is in running numbers."""
    got = np.asarray(got, dtype=float)
    ratios, sure = ratios_of(got, want, np.finfo(dtype))
    values = np.array([float(x) for x in want])
    near = ratios <= THRESHOLD
    return Model(sample, event, got, values, sure & near, sure & ~near)


def relative(got: Array, want: Array) -> float:
    """Return the largest deviation, relative to the largest expected number."""
    return float(np.abs(got - want).max() / max(np.abs(want).max(), 1e-300))


def seen(samples: Sequence[Scenario], models: Sequence[Model], most: float = 0.0) -> str:
    """Return a sentence on how the subject's models differ from the expected ones.

    Args:
        samples: the cases.
        models: the subject's models beside the wanted ones.
        most: by how much, relative to the largest number, what else it shows deviates: roundings spare nothing.
    """
    dtype = samples[0].case.dtype
    for m in models:
        if not np.isfinite(m.got).all():
            at = int(np.argmin(np.isfinite(m.got)))
            event = describe(samples[m.sample].events[m.event])
            return f"x[{at}] is {m.got[at]} after {event} {m.event + 1} of a case"
    pairs = [(m.got, m.want) for m in models]
    furthest = max(relative(got, want) for got, want in pairs)
    if dtype == "float64" and max(furthest, most) <= SINGLE and _either_way(pairs):
        return f"the numbers agree to {furthest:.0e}, {INSIDE.format('float32')}"
    if max(furthest, most) <= COARSE and _rounded(pairs, dtype) and _keeps_its_size(samples, models):
        digits = counted(int(-np.log10(furthest)), "digit")
        return f"the numbers agree to {furthest:.0e}, as if something were rounded to {digits} inside"
    off = [m for m in models if m.apart.any()]
    if len(off) > 2 and all(_elsewhere(m, dtype) for m in off):
        return ELSEWHERE.format("numbers")
    if len(off) > 2 and all(_elsewhere(m, dtype) for m in _steps(samples, models)):
        return ELSEWHERE.format("steps")
    where = _axes(samples, models) or _coordinates(models) or _blocks(samples, models) or _begins(samples, off, models)
    name = narrower(models, dtype)
    return f"{EACH.format(name)}; {where}" if name not in {"", "float32"} else where


def kept_in(models: Sequence[Model], dtype: str) -> str:
    """Name the narrower type that holds all of a subject's numbers, if its roundings explain what deviates.

    Roundings deviate either way, from the first event on.
    """
    pairs = [(m.got, m.want) for m in models]
    if not (name := narrower(models, dtype)):
        return ""
    furthest = max(relative(got, want) for got, want in pairs)
    if furthest > FEW * 2.0 ** -NARROW[name] or not _either_way(pairs):
        return ""
    inside = f"the numbers agree to {furthest:.0e}, {INSIDE.format(name)}"
    return inside if name == "float32" else f"{EACH.format(name)}; {inside}"


EACH = "every number of x is one of {}"


def kept_beside(shown: Mapping[str, Sequence[Model]], dtype: str) -> str:
    """Name the narrower type that holds all numbers of some intermediates, whose roundings it explains.

    Args:
        shown: by name, the subject's intermediates and the wanted numbers.
        dtype: the type of the case.
    """
    names: dict[str, list[str]] = {}
    for name, models in shown.items():
        kind = narrower(models, dtype)
        if kind and max(relative(m.got, m.want) for m in models) <= FEW * 2.0 ** -NARROW[kind]:
            names.setdefault(kind, []).append(name)
    return "; ".join(
        f"every number of {' and '.join(some)} is one of {kind}, {INSIDE.format(kind)}" for kind, some in names.items()
    )


def narrower(models: Sequence[Model], dtype: str) -> str:
    """Name the narrowest type that holds all of a subject's numbers, or none.

    Many of them need nearly all of its bits, and the wanted ones more: a model that stays at a short x0 has no type.
    """

    def longer(bits: int, numbers: Iterable[Array]) -> bool:
        return sum(int((~_holds(bits, a)).sum()) for a in numbers) >= LONG

    got, want = ([getattr(m, name) for m in models] for name in ("got", "want"))
    for name, bits in NARROW.items():
        fit = bits <= np.finfo(dtype).nmant and all(_holds(bits, a).all() for a in got)
        if fit and longer(bits - 2, got) and longer(bits, want):
            return name
    return ""


def _holds(bits: int, numbers: Array) -> Array:
    """Mask of the numbers that need at most so many bits."""
    with np.errstate(invalid="ignore"):
        mantissas = np.frexp(numbers)[0] * 2.0**bits
        held: Array = mantissas == np.rint(mantissas)
    return held


ELSEWHERE = "the {} are those wanted, at other places: blocks or axes are in another order than in x0"


def _steps(samples: Sequence[Scenario], models: Sequence[Model]) -> Iterator[Model]:
    """Yield the models less those of the event before; the order of a block may be lost in what is added."""
    before: Model | None = None
    for m in models:
        if m.event == 0:
            x0 = flatten(samples[m.sample].case.x0).astype(float)
            yield replace(m, got=m.got - x0, want=m.want - x0)
        elif before is not None and (before.sample, before.event + 1) == (m.sample, m.event):
            yield replace(m, got=m.got - before.got, want=m.want - before.want)
        before = m


def _elsewhere(m: Model, dtype: str) -> bool:
    """True if the numbers agree in another order, up to the roundings that a sum in another order may take."""
    size = float(np.abs(m.want).max())
    return bool(np.abs(np.sort(m.got) - np.sort(m.want)).max() <= ROUNDINGS * float(np.finfo(dtype).eps) * size)


def _either_way(pairs: Sequence[tuple[Array, Array]]) -> bool:
    """True if numbers deviate either way, as roundings do; a constant added somewhere pushes all numbers one way."""
    got = np.concatenate([got.ravel() for got, _ in pairs])
    want = np.concatenate([want.ravel() for _, want in pairs])
    error = (got - want) * np.sign(want)
    deviates = np.abs(error) > 1e3 * np.finfo(float).eps * np.abs(want)
    up = float((error[deviates] > 0).mean()) if deviates.any() else 0.0
    return deviates.sum() >= LONG and 0.1 < up < 0.9


def _rounded(pairs: Sequence[tuple[Array, Array]], dtype: str) -> bool:
    """True if deviations look like roundings: most numbers with many digits deviate, and they deviate either way.

    A rule that differs a little deviates from some event on, or for some hyper-parameter, or always upwards.
    """
    got = np.concatenate([got.ravel() for got, _ in pairs])
    want = np.concatenate([want.ravel() for _, want in pairs])
    long = _long(want)
    error = (got - want)[long] * np.sign(want[long])
    deviates = np.abs(error) > 1e3 * np.finfo(dtype).eps * np.abs(want[long])
    if deviates.sum() < LONG or deviates.mean() < 2 / 3:
        return False
    up = float((error[deviates] > 0).mean())
    return 0.2 < up < 0.8


def _keeps_its_size(samples: Sequence[Scenario], models: Sequence[Model]) -> bool:
    """True if the numbers deviate in the first event and not by much more in the last, on average over the samples.

    The deviation of a rate that decays a little begins later, or grows from event to event.
    """
    by_sample: dict[int, list[float]] = {}
    for m in models:
        long = _long(m.want)
        if long.any() and not isinstance(samples[m.sample].events[m.event], Begin):
            error = np.abs(m.got - m.want)[long].mean() / np.abs(m.want).max()
            by_sample.setdefault(m.sample, []).append(float(error))
    first, last = (sum(errors[k] for errors in by_sample.values()) for k in (0, -1))
    return last <= GROWTH * first


def _long(want: Array) -> Array:
    """Mask of the numbers that have more digits than half precision keeps."""
    with np.errstate(over="ignore"):
        long: Array = np.isfinite(want) & (want.astype(np.float16) != want)
    return long


def _coordinates(models: Sequence[Model]) -> str:
    """Words for the first or the last coordinate if it alone deviates, in models of several sizes; else empty."""
    off = [m for m in models if m.apart.any()]
    if len({m.got.size for m in off}) < 2 or min(m.got.size for m in off) < 2:
        return ""
    for which, one, rest in (("last", -1, slice(None, -1)), ("first", 0, slice(1, None))):
        if all(m.apart[one] and m.equal[rest].all() for m in off):
            return f"in {_cases(models)} only the {which} coordinate of the model deviates"
    return ""


def _blocks(samples: Sequence[Scenario], models: Sequence[Model]) -> str:
    """Words for the blocks that alone deviate, if other blocks of the same models don't; else empty."""
    deviating: set[str] = set()
    several: Counter[str] = Counter()
    unequal: set[str] = set()
    for m in models:
        x0 = samples[m.sample].case.x0
        if len(x0) < 2:
            continue
        ends = np.cumsum([a.size for a in x0.values()])[:-1]
        if m.apart.any():
            several.update(x0.keys())
        deviating |= {n for n, apart in zip(x0, np.split(m.apart, ends), strict=True) if apart.any()}
        unequal |= {n for n, equal in zip(x0, np.split(m.equal, ends), strict=True) if not equal.all()}
    # A block that few cases have may be spared by chance.
    spared = {n for n, times in several.items() if 2 * times >= max(several.values())} - unequal
    if not spared or not deviating:
        return ""
    alone = f"only block {', '.join(sorted(deviating))} deviate{'s' * (len(deviating) == 1)}"
    return f"in {_cases(models)} {alone}, not {', '.join(sorted(spared))}"


def _axes(samples: Sequence[Scenario], models: Sequence[Model]) -> str:
    """Words for blocks of few or of more axes that alone deviate, nearly all of them, beside others; else empty."""
    both, spared = 0, Counter[bool]()
    apart, unequal = Counter[bool](), set[bool]()
    for m in models:
        blocks = samples[m.sample].case.x0.values()
        ends = np.cumsum([a.size for a in blocks])[:-1]
        kinds = [a.ndim < MATRIX for a in blocks]
        unequal |= {few for few, same in zip(kinds, np.split(m.equal, ends), strict=True) if not same.all()}
        if m.apart.any():
            both += len({*kinds}) > 1
            off = [bool(part.any()) for part in np.split(m.apart, ends)]
            apart.update(few for few, one in zip(kinds, off, strict=True) if one)
            spared.update(few for few, one in zip(kinds, off, strict=True) if not one)
    if len(unequal) != 1 or both < BESIDE or any(4 * spared[few] > apart[few] for few in unequal):
        return ""
    which = "fewer than two axes" if unequal == {True} else "two axes or more"
    return f"in {_cases(models)} only blocks with {which} deviate"


BESIDE = 2
"""Least number of models in which blocks of both kinds stand beside each other."""

MATRIX = 2
"""Number of axes of a matrix, as a weight has them; a bias has fewer."""


def _cases(models: Sequence[Model]) -> str:
    return f"the {len({m.sample for m in models})} cases played"


def _begins(samples: Sequence[Scenario], off: Sequence[Model], models: Sequence[Model]) -> str:
    """Words for the event from which the subject deviates, and for how many samples; empty if none deviates."""
    if not off:
        return ""
    first = min(m.event for m in off)
    played = len({m.sample for m in models})
    broken = len({m.sample for m in off})
    what = describe(samples[off[0].sample].events[first])
    when = f"from {what} {first + 1} on" if first else AT_ONCE
    return when + ("" if broken == played else f", in {broken} of {played} cases")
