"""How far a subject is off at most, in units of the judge's bound."""

from __future__ import annotations

import numpy as np

from fedspec.contract import Offer, Subject
from fedspec_suite.diagnosis.cases.samples import samples_of
from fedspec_suite.diagnosis.comparing import ratios_of
from fedspec_suite.measure.bench import bench_of, reference
from fedspec_suite.measure.inside import Inside
from fedspec_suite.measure.setting import setting_of


def farthest(subject: Subject, offer: Offer, dtype: str) -> float:
    """The largest ratio over the decided coordinates of all models of some rich cases."""
    setting = setting_of(offer, dtype)
    bench, found = bench_of(Inside(subject), offer, setting), 0.0
    for s in samples_of(setting):
        for got, want in zip(bench.play(s), reference(s), strict=True):
            ratios, sure = ratios_of(got["x"], want["x"], np.finfo(dtype))
            found = max(found, float(ratios[sure].max(initial=0.0)))
    return found
