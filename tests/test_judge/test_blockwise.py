"""A rule that reads the whole model, applied to each block by itself, has a name; who steps layers is right."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from test_judge.test_remembered import names

from fedspec.contract import Case, Event, Messages, Offer, SubjectInfo
from fedspec.reference import SUBJECT as REFERENCE
from fedspec_suite.diagnosis.defects.blockwise import of
from fedspec_suite.diagnosis.identify import identify
from fedspec_suite.measure.bench import bench_of
from fedspec_suite.measure.inside import Inside
from fedspec_suite.measure.setting import setting_of


class FedExp:
    """A rate for each block."""

    offer = Offer("fedexp", "server", "jhunjhunwala-2023", dtypes=("float64",))

    def __init__(self, case: Case) -> None:
        self.x, self.eps = dict(case.x0), case.hyper["eps"]

    def step(self, event: Event) -> Mapping[str, Any]:
        assert isinstance(event, Messages)
        for b in self.x:
            sent = np.stack([m.delta[b] for m in event.messages])
            delta = sent.mean(0)
            rate = (sent**2).sum() / (2 * len(sent) * ((delta**2).sum() + self.eps))
            self.x[b] = self.x[b] + max(1, rate) * delta
        return {"x": self.x}


class Subject:
    info = SubjectInfo("by blocks", "1", (FedExp.offer,))
    start = FedExp


@pytest.mark.slow
def test_it_is_named() -> None:
    setting = setting_of(FedExp.offer)
    said = names(identify(bench_of(Inside(Subject()), FedExp.offer, setting), setting))
    assert said[0].startswith("every block is stepped by itself: a length, a sum or a largest number")


def test_it_is_looked_for_where_a_rule_reads_the_whole_model() -> None:
    asked = {o.algorithm for o in REFERENCE.info.offers if list(of(setting_of(o)))}
    assert {"fedexp", "normalised-sgd", "agdu"} <= asked and not {"fedavg", "fedadam", "adam", "median"} & asked


def test_of_a_rule_that_is_of_layers_nothing_is_said_to_go_block_by_block() -> None:
    for name, level in (("lamb", "client"), ("fed-lamb", "round"), ("muon", "client")):
        offer = next(o for o in REFERENCE.info.offers if (o.algorithm, o.level) == (name, level))
        assert not [*of(setting_of(offer))]
