"""Who is kept where scores tie is rounding's affair, and no reason to leave a subject without its name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedspec.contract import Answer, Case, Event, Messages, Offer, Session, SubjectInfo
from fedspec.params import flatten, unflatten
from fedspec_suite.diagnosis.identify import identify, in_words
from fedspec_suite.measure.bench import bench_of
from fedspec_suite.measure.inside import Inside
from fedspec_suite.measure.setting import setting_of

pytestmark = [pytest.mark.slow, pytest.mark.table(1)]

OFFER = Offer("multi-krum", "server", "blanchard-2017", fixed={"eta": 1.0}, nonzero=("weight",), dtypes=("float64",))


class Products:
    """Multi-Krum by examples on models, whose distances are ||a||^2 + ||b||^2 - 2 ab: of a tie either may win.

    Attributes:
        cut: whether the list is cut from its end, which is another place where fewer come than are kept.
    """

    def __init__(self, cut: bool) -> None:
        self.cut, self.info = cut, SubjectInfo("mine", "1", (OFFER,))

    def start(self, case: Case) -> Session:
        return _Session(self.cut, case)


class _Session:
    def __init__(self, cut: bool, case: Case) -> None:
        self.cut, self.x, self.h = cut, dict(case.x0), case.hyper

    def step(self, event: Event) -> Answer:
        assert isinstance(event, Messages)
        f, keep = int(self.h["f"]), int(self.h["keep"])
        w = np.stack([flatten(self.x) + flatten(m.delta) for m in event.messages])
        squares = np.square(w).sum(axis=1)
        apart = squares[:, None] + squares[None, :] - 2 * w @ w.T
        near = max(1, len(w) - f - 2)
        scores = [row[np.argsort(row)[1 : near + 1]].sum() for row in apart]
        best = np.argsort(scores)
        best = best[::-1][len(w) - keep :] if self.cut else best[:keep]
        sizes: Any = np.array([float(event.messages[i].weight) for i in best])
        self.x = unflatten(sizes @ w[best] / sizes.sum(), self.x)
        return {"x": self.x}


@pytest.mark.parametrize(
    ("cut", "said"),
    [
        (False, "reading weighted at multi-krum.delta"),
        (True, "reading weighted, and of n < m clients not all are kept but the first m - n at multi-krum.delta"),
    ],
)
def test_it_has_its_name(cut: bool, said: str) -> None:
    subject, setting = Products(cut), setting_of(OFFER)
    words = in_words(identify(bench_of(Inside(subject), OFFER, setting), setting), True)
    assert words.startswith(said), words
