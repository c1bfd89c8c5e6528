"""Defects of FedNova's effective number of steps: another mean of ||a_i||_1 or tau_i, or another weight in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import FunctionType
from typing import Any, TypeAlias, cast

from fedspec.arith import sqrt
from fedspec.contract import Event, Round
from fedspec.mixing.accumulation import a_norm, accumulation
from fedspec.mixing.nova import effective_steps
from fedspec_suite.diagnosis.defects.defect import Defect, Running, Stepping, behind, calling
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting

Weigh: TypeAlias = Callable[[Any, Any], Any]
"""Function from the clients' shares, and the share of all examples that they have, to their weights."""

WEIGHTS: Mapping[str, Weigh] = {
    "sum_i p_i {}": lambda p, there: p,
    "sum_i {} / M": lambda p, there: (0 * p + 1) / len(p),
    "sum_i {}": lambda p, there: 0 * p + 1,
    "sum_i n_i {} / n, n of all clients": lambda p, there: p * there,
}

MEANS: Mapping[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "{}": (lambda a: a, lambda a: a),
    "sqrt({}^2)": (lambda a: a * a, sqrt),
    "1 / ({}^-1)": (lambda a: 1 / a, lambda a: 1 / a),
}
"""Generalised means: what is averaged, and what is made of the average."""


NORMS: Mapping[str, Callable[[Sequence[Any]], Any]] = {
    "||a_i||_1 is the largest entry of a_i, not the sum": max,
    "||a_i||_1 is the last entry of a_i, not the sum": lambda a: a[-1],
    "||a_i||_1 is the mean of the entries of a_i": lambda a: sum(a) / len(a),
    "||a_i||_1 is the length of a_i, the root of the sum of squares": lambda a: sqrt(sum(e * e for e in a)),
}
"""Numbers that may stand for the sum of a client's accumulation vector, by their words."""


def _said(mean: str, weights: str, symbol: str) -> str:
    """Formula of a mean, such as ``sqrt(sum_i p_i tau_i^2)``."""
    start, _, end = mean.partition("{}")
    power, close = (end[:-1], ")") if start else ("", "")
    return f"{start}{weights.format(f'{symbol}{power}')}{close}"


def _other(of: Callable[[Any, Any, Any], Any], inner: Running, s: Scenario) -> Running:
    """A session whose tau_eff is a function of the shares, of norms and steps, and of the share that takes part."""
    sizes: Any = s.case.problem.examples if s.case.problem else ()
    there: list[Any] = [1]

    def around(usual: Callable[..., Any]) -> Callable[..., Any]:
        return lambda p, a, steps, *more, **named: of(p, (a, 0 * a + [*steps]), there[0])

    def take(inner: Running, event: Event, k: int) -> Any:
        if isinstance(event, Round) and len(sizes):
            there[0] = sizes[[*event.participants]].sum() / sizes.sum()
        return inner.step(event)

    return Stepping(behind({cast(FunctionType, effective_steps): around})(inner, s), take)


def of(setting: Setting) -> Iterator[Defect]:
    """Yield the defects, if the algorithm has an effective number of steps."""
    if "tau_eff" not in setting.algorithm.shows or setting.options.get("tau_eff_choice") == "fixed":
        return
    for which, symbol in enumerate(("||a_i||_1", "tau_i")):
        for mean, (each, whole) in MEANS.items():
            for said, weigh in WEIGHTS.items():

                def value(p: Any, a: Any, there: Any, w: Any = weigh, k: int = which, f: Any = (each, whole)) -> Any:
                    return f[1](sum((w(p, there) * f[0](a[k])).tolist()))

                words = f"tau_eff = {_said(mean, said, symbol)}"
                yield Defect(words=words, tail="tau_eff", session=partial(_other, value))
    if setting.level == "round":
        for words, norm in NORMS.items():
            of_entries = calling(lambda there, *given, norm=norm, **named: norm(accumulation(*given, **named)))
            yield Defect(words=words, tail="a", session=behind({cast(FunctionType, a_norm): of_entries}))
