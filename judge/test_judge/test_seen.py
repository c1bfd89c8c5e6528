"""Descriptions by the look of the numbers fit exactly the numbers that look so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from test_judge.diagnosing import benched, offer_of, written
from test_judge.subjects.behind import Behind, moved

from fedspec.contract import Messages
from fedspec.reference import SUBJECT
from fedspec_suite.diagnosis import identify as diagnosis
from fedspec_suite.diagnosis.cases.samples import samples_of
from fedspec_suite.diagnosis.identify import identify
from fedspec_suite.diagnosis.known import known_of
from fedspec_suite.diagnosis.seen.course import GROWS, ONCE, STAYS, course
from fedspec_suite.diagnosis.seen.digits import Model, _blocks, _coordinates, compared
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.running_error import from_floats
from fedspec_suite.measure.setting import Setting, setting_of

pytestmark = [pytest.mark.slow, pytest.mark.table(1)]

OFFER = offer_of("fedamsgrad", "server")


@pytest.fixture(autouse=True)
def what_has_a_name_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the known variants alone as candidates: edits of every rule, and pairs, would take most of the time."""
    monkeypatch.setattr(diagnosis, "stages", lambda search, known, *rest: [known.variants])
    monkeypatch.setattr(diagnosis, "two_at_once", lambda *given: ())


def behind(where: tuple[str, str], otherwise: Callable[[int, Any], Any]) -> tuple[Bench, Setting]:
    return benched(Behind(*where, take=moved(otherwise)))


def said(otherwise: Callable[[int, Any], Any]) -> str:
    return identify(*behind(("fedamsgrad", "server"), otherwise)).seen


def of_digits(x: Any, digits: int) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = 10.0 ** np.floor(np.log10(np.abs(x)))
        return np.where(x == 0, 0.0, np.round(x / scale, digits - 1) * scale)


def test_what_is_rounded_everywhere_is_called_rounded() -> None:
    half = "every number of x is one of float16; the numbers agree to 4e-04, as if it computed in float16"
    assert half in said(lambda k, x: x.astype(np.float16).astype(x.dtype))
    assert "one of float16; from the" in said(lambda k, x: (1.1 * x).astype(np.float16).astype(x.dtype))
    assert "as if something were rounded to 3 digits inside" in said(lambda k, x: of_digits(x, 4))
    assert "as if something were rounded to 4 digits inside" in said(lambda k, x: of_digits(x, 5))
    assert "as if it computed in float32 somewhere inside" in said(lambda k, x: x.astype(np.float32).astype(x.dtype))


def test_intermediates_of_a_narrow_type_are_named() -> None:
    """The model has all its bits, and what it is made of has few."""

    def start(case: Any) -> Any:
        inner: Any = SUBJECT.start(case)

        def step(e: Messages) -> Any:
            answer = inner.step(e)
            halves = {n: np.asarray(answer[n], np.float16).astype(float) for n in ("m", "v")}
            return {**answer, **halves, "x": answer["x"] * (1 + 1e-4)}

        return SimpleNamespace(step=step)

    subject = written(replace(OFFER, intermediates=("m", "v")), start)
    assert identify(*benched(subject)).seen.startswith("every number of m and v is one of float16, as if it")


def test_a_model_that_moves_by_little_is_not_called_narrow() -> None:
    """Numbers of few bits fit every type: eighths near the wanted ones are no numbers of bfloat16."""
    assert "bfloat16" not in said(lambda k, x: np.round(8 * x) / 8)


@pytest.mark.parametrize(
    "otherwise",
    [
        lambda k, x: x * (1 + 3e-3 * (k >= 2)),
        lambda k, x: x * (1 + 3e-3),
        lambda k, x: np.where(x > np.median(x), x * (1 + 3e-3), x),
    ],
    ids=["late", "always too far", "some coordinates"],
)
def test_a_rule_that_differs_a_little_is_not_called_rounded(otherwise: Callable[[int, Any], Any]) -> None:
    assert "rounded" not in said(otherwise) and "computed in" not in said(otherwise)


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("rate", [0.999, 0.9999])
def test_a_decaying_rate_is_not_called_rounded(rate: float, first: int) -> None:
    def decayed(k: int, e: Messages) -> Messages:
        scale = rate ** (k + first)
        return Messages(
            tuple(replace(m, delta={n: a * a.dtype.type(scale) for n, a in m.delta.items()}) for m in e.messages)
        )

    found = identify(*benched(Behind("fedavg", "server", event=decayed))).seen
    assert found and "rounded" not in found and "computed in" not in found


def model(sample: int, want: list[float], factors: list[float]) -> Model:
    """A model off by some factors, in two blocks: a of the first number alone, b of the rest."""
    return compared(sample, 0, np.array(want) * factors, from_floats(want, "float64"), "float64")


def cases(sizes: list[int]) -> list[Any]:
    x0s = [{"a": np.zeros(1), "b": np.zeros(n - 1)} for n in sizes]
    base = known_of(setting_of(OFFER)).samples[0]
    return [replace(base, case=replace(base.case, x0=x0)) for x0 in x0s]


@pytest.mark.parametrize("little", [0.0, 1e-7, 1e-5, 1e-12])
def test_what_is_off_by_little_is_not_called_equal(little: float) -> None:
    """The judge's tolerance is some roundings: 1e-12 is far above it."""
    near = 1 + little
    first = [model(0, [1.0, 2.0], [1.5, near]), model(1, [1.0, 2.0, 3.0], [1.5, near, near])]
    last = [model(0, [1.0, 2.0], [near, 1.5]), model(1, [1.0, 2.0, 3.0], [near, near, 1.5])]
    said = [_coordinates(first), _coordinates(last), _blocks(cases([2, 3]), first)]
    if little:
        assert said == ["", "", ""]
    else:
        in_all = "in the 2 cases played only"
        assert said[0] == f"{in_all} the first coordinate of the model deviates"
        assert said[1] == f"{in_all} the last coordinate of the model deviates"
        assert said[2] == f"{in_all} block a deviates, not b"


WHERE = [("fedavgm", "server"), ("fedavg", "round"), ("momentum", "client"), ("fedasync", "trace")]


KINDS: dict[str, tuple[Callable[[int], float], str]] = {
    "right": (lambda k: 0.0, ""),
    "one event": (lambda k: float(k == 2), ONCE),
    "from the third on": (lambda k: float(k >= 2), STAYS),
    "at once": (lambda k: -0.5, STAYS),
    "drifts": (lambda k: 0.25 * k, GROWS),
    "doubles": (lambda k: 2.0 ** (k - 4), GROWS),
    "to and fro": (lambda k: 1.0 + k % 2, ""),
    "fades": (lambda k: 2.0**-k, ""),
    "now and then": (lambda k: float(k % 2), ""),
    "too late to tell": (lambda k: float(k >= 8), ""),
}


@pytest.mark.parametrize(("by", "words"), KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("where", WHERE, ids=lambda where: where[1])
def test_its_course_is_told(where: tuple[str, str], by: Callable[[int], float], words: str) -> None:
    bench, setting = behind(where, lambda k, x: x + by(k))
    assert course(bench, samples_of(setting)) == words


def test_it_is_part_of_what_is_seen() -> None:
    bench, setting = behind(WHERE[0], lambda k, x: x + 0.3 * (k + 1) ** 1.5)
    assert GROWS in identify(bench, setting).seen.split("; ")
