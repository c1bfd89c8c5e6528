"""Distance of a subject's answers from a variant's answers: in floating point first, then in running numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from fedspec.arith import Array
from fedspec.contract import Begin, Offer, Round, Subject
from fedspec.params import flatten
from fedspec_suite.diagnosis.cases.samples import samples_of
from fedspec_suite.diagnosis.known import Known
from fedspec_suite.diagnosis.steady import models, steady
from fedspec_suite.diagnosis.variants import CANNOT, Variant
from fedspec_suite.measure.bench import HOPELESS, THRESHOLD, Shown, bench_of, reference
from fedspec_suite.measure.in_process import InProcess
from fedspec_suite.measure.running_error import bounds_of
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import setting_of

LOOSE = {"float64": 1e-9, "float32": 1e-3}
"""Relative error in plain floating point up to which a variant is compared precisely."""

SURE = 2 / 3
"""Share of all components, and of the components deviating from the claim, that must be decided for a name."""

ENOUGH = 3
"""Number of deviating components that a variant must explain; all of them if there are fewer."""

FAR = 1e8
"""Distance, in units of the rounding bound, of numbers that are others even where the bound decides nothing."""

Given = Mapping[int, list[Shown]]
"""Subject's answers on the samples that it answered, by sample number."""


@dataclass(frozen=True)
class Evidence:
    """Samples, events and components in which a subject clearly deviates from its claim.

    Attributes:
        where: for every sample and event, which components of the model do.
        heads: samples that deviate, the soonest and cheapest first: which, the event in which it does and the answers
            so far.
    """

    where: Mapping[int, list[Array]]
    heads: tuple[tuple[int, int, list[Shown]], ...]

    @property
    def head(self) -> tuple[int, int, list[Shown]] | None:
        """First of ``heads``; None if no sample deviates clearly."""
        return self.heads[0] if self.heads else None


@dataclass(frozen=True)
class Agreement:
    """Agreement of a variant with the subject's answers.

    Attributes:
        ratio: the largest distance of the models, in units of the rounding bound; infinite if too little is decided.
        decided: the share of all components that were decided.
        unlike: other shown quantities that differ from the variant's, in the order in which they begin to differ.
    """

    ratio: float
    decided: float
    unlike: tuple[str, ...] = ()

    @property
    def near(self) -> bool:
        """True if the models agree."""
        return self.ratio <= THRESHOLD


NOWHERE = Agreement(float("inf"), 0.0)


def evidence(known: Known, given: Given, samples: Sequence[Scenario] = ()) -> Evidence:
    """Find the events where the answers clearly deviate from the claimed reading, on its samples or other cases."""
    samples = samples or known.samples
    where: dict[int, list[Array]] = {}
    heads = []
    for k, answers in given.items():
        s, plain = samples[k], known.claimed.quick(samples[k], known.claimed.editions()())
        try:
            masks = [off(got["x"], want["x"], s) for got, want in zip(answers, plain, strict=True)]
        except CANNOT:
            masks = [np.zeros(got["x"].shape, bool) for got in answers]
        where[k] = masks
        first = next((j for j, mask in enumerate(masks) if mask.any()), None)
        if first is not None:
            heads.append((first, _cost(s, first), k))
    return Evidence(where, tuple((k, first, given[k][: first + 1]) for first, _, k in sorted(heads)))


def _cost(s: Scenario, last: int) -> int:
    """Number of local steps that a case takes up to an event."""
    return sum(sum(e.steps) for e in s.events[: last + 1] if isinstance(e, Round))


def off(got: Array, want: object, s: Scenario, loose: float = 0.0) -> Array:
    """Return a mask of the components that differ by more than floating point allows; NaN equals NaN."""
    wanted = np.asarray(want, dtype=float).reshape(-1)
    if wanted.shape != got.shape:
        return np.ones(got.shape, bool)
    largest = np.abs(flatten(s.case.x0).astype(float)).max() + 1
    with np.errstate(invalid="ignore"):
        size = largest + np.abs(wanted[np.isfinite(wanted)]).max(initial=0.0)
        near = np.abs(got - wanted) <= (loose or LOOSE[s.case.dtype]) * size
    out: Array = ~(near | (got == wanted) | (np.isnan(got) & np.isnan(wanted)))
    return out


def close(known: Known, v: Variant, given: Given, told: Evidence, names: tuple[str, ...] = ("x",)) -> bool:
    """True if a variant agrees with all answers in floating point, up to accumulated rounding.

    The comparison ends at the first event that differs.
    """
    # Where a subject deviates soonest shows most variants to be others.
    samples = []
    if told.head:
        k, event, answers = told.head
        s = known.samples[k]
        samples.append((replace(s, events=s.events[: event + 1]), answers))
    samples += [(known.samples[k], answers) for k, answers in given.items()]
    return all(agrees(v, s, answers, names) for s, answers in samples)


def agrees(
    v: Variant, s: Scenario, answers: Sequence[Shown], names: tuple[str, ...] = ("x",), share: float = SURE
) -> bool:
    """True if a variant agrees in floating point on one case, in at least a share of the numbers after each event."""
    return agreed(v, s, answers, names, share) == len(answers)


def agreed(
    v: Variant, s: Scenario, answers: Sequence[Shown], names: tuple[str, ...] = ("x",), share: float = SURE
) -> int:
    """Number of events of a case in which a variant agrees in floating point before the first disagreement."""
    count = 0

    def same(k: int, want: Shown) -> bool:
        nonlocal count
        shown = [n for n in names if n in answers[k]]
        # Where rounding decides, a coordinate may be anything.
        agrees = all(n in want and off(answers[k][n], want[n], s).mean() <= 1 - share for n in shown)
        count += agrees
        return agrees

    with suppress(*CANNOT):
        v.followed(s, v.editions()(), same)
    return count


def apart(v: Variant, s: Scenario, answers: list[Shown]) -> bool:
    """True if the models of a case differ from a variant's by more than rounding explains."""
    if agrees(v, s, answers):
        return False
    return not all((ratios[sure] <= THRESHOLD).all() for ratios, sure in _events(v, s, answers))


def decided(v: Variant, s: Scenario, answers: list[Shown]) -> bool:
    """True if rounding errors are small enough to decide most components of a variant's models in a case."""
    sure = [sure for _, sure in _events(v, s, answers)]
    return not sure or bool(np.concatenate(sure).mean() >= SURE)


def _events(v: Variant, s: Scenario, answers: list[Shown]) -> Iterator[tuple[Array, Array]]:
    """Yield :func:`ratios_of` of the model after each event; nothing if the variant cannot run."""
    for got, want in zip(answers, v.bounded(s), strict=False):
        yield ratios_of(got["x"], want["x"], np.finfo(s.case.dtype))


def standing(known: Known, told: Evidence, variants: Sequence[Variant]) -> dict[Variant, str]:
    """Compare each variant with the claim and with the subject at the event in which the subject deviates soonest.

    ``still``: the variant's model equals the claimed one after this event, and differs after another event of the case;
    ``idle``: it equals the claimed one after all events; ``fits``: it equals the subject's model; ``off``: it equals
    neither. Of several variants with the same models, only the first one and catalogued mutants are kept.
    """
    if told.head is None:
        return dict.fromkeys(variants, "off")
    k, event, answers = told.head
    s = known.samples[k]
    plain = models(known.claimed, s)
    out: dict[Variant, str] = {}
    seen: set[bytes] = set()
    for v in variants:
        its = models(v, s)
        if not its or not plain:
            continue
        all_events = b"".join(x.tobytes() for x in its)
        moved = any(off(x, y, s).any() for x, y in zip(its, plain, strict=True))
        # In other cases two may part: what is catalogued is not left out for what does the same in this one.
        if moved and all_events in seen and v.kind != "mutant":
            continue
        seen.add(all_events)
        if not off(plain[event], its[event], s).any():
            out[v] = "still" if moved else "idle"
        else:
            out[v] = "fits" if not off(answers[event]["x"], its[event], s).any() else "off"
    return out


def measured(known: Known, v: Variant, given: Given, told: Evidence | None = None) -> Agreement:
    """Measure a variant against the answers: largest ratio, share of decided components, other deviating quantities.

    The first sample that tells the two apart ends it: no later one is run.
    """
    worst, decided, total = 0.0, 0, 0
    explained, deviating = 0, 0
    unlike: dict[str, None] = {}
    edition = v.editions()
    for k, answers in given.items():
        info = np.finfo(known.samples[k].case.dtype)
        wanted = known.exact(v, k)
        if wanted is None:
            return NOWHERE
        plain = v.quick(known.samples[k], edition())
        still: list[Array] = []
        for j, (got, want, x) in enumerate(zip(answers, wanted, plain, strict=True)):
            ratios, sure = ratios_of(got["x"], want["x"], info)
            # Outside the domain of a root both say so.
            nowhere = ~sure & np.isnan(got["x"]) & np.isnan(np.asarray(x["x"], dtype=float))
            if told is not None and not (sure | nowhere).all():
                still = still or steady(v, known.samples[k], [a["x"] for a in answers])
                nowhere |= ~sure & still[j]
            decided, total = decided + int((sure | nowhere).sum()), total + sure.size
            if told is not None:
                mask = told.where[k][j]
                explained += int((mask & (sure | nowhere)).sum())
                deviating += int(mask.sum())
            if not np.isfinite(ratios[sure]).all():
                return Agreement(float("inf"), decided / total)
            worst = max(worst, float(ratios[sure].max(initial=0.0)))
            if worst > THRESHOLD:
                return Agreement(worst, decided / total)
            if not isinstance(known.samples[k].events[j], Begin):
                unlike |= dict.fromkeys(_unlike(got, want, info))
    enough = decided >= SURE * total and explained >= max(SURE * deviating, min(deviating, ENOUGH))
    return Agreement(worst if enough else float("inf"), decided / total, tuple(unlike))


def ratios_of(got: Array, want: Array, info: np.finfo) -> tuple[Array, Array]:
    """Return each component's distance in units of its rounding bound, and a mask of the decided components."""
    bounds, values = bounds_of(want), np.array([float(x) for x in want])
    size = max(float(np.abs(values).max()), float(info.eps))
    sure = THRESHOLD * float(info.eps) * bounds <= HOPELESS * size
    with np.errstate(invalid="ignore"):
        return np.abs(got - values) / (float(info.eps) * bounds + float(info.tiny)), sure


def _unlike(got: Shown, want: Shown, info: np.finfo) -> list[str]:
    """Names of the other shown quantities that decidedly differ from the wanted ones."""
    out = []
    for name in got.keys() & want.keys() - {"x"}:
        if got[name].shape != want[name].shape:
            out.append(name)
            continue
        ratios, sure = ratios_of(got[name], want[name], info)
        if sure.any() and not (ratios[sure] <= THRESHOLD).all():
            out.append(name)
        elif not sure.any() and (ratios > FAR).any():
            # Of zeros no bound is small, but other numbers are far from them.
            out.append(name)
    return sorted(out)


def farthest(subject: Subject, offer: Offer, dtype: str) -> float:
    """Return the largest ratio over the decided components of the models of some sample cases."""
    setting = setting_of(offer, dtype)
    bench, found = bench_of(InProcess(subject), offer, setting), 0.0
    for s in samples_of(setting):
        for got, want in zip(bench.play(s), reference(s), strict=True):
            ratios, sure = ratios_of(got["x"], want["x"], np.finfo(dtype))
            found = max(found, float(ratios[sure].max(initial=0.0)))
    return found
