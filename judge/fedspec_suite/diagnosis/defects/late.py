"""Defects of late updates: discounts, the divisor of a full buffer, and decays in the meantime."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass, replace
from typing import Any

from fedspec import population
from fedspec.contract import Arrival, Event
from fedspec.mixing import arrivals
from fedspec.mixing.weighted import weighted_mean
from fedspec_suite.diagnosis.defects.defect import Defect, Running, behind, calling, stepping
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting

DECAYS = {"m": "beta1", "v": "beta2"}
"""Decay of each vector that a server stores, unless the decay is called beta."""


def _resent(
    change: Callable[[Any, Arrival, Sequence[Any]], Any], begun: Callable[[Arrival], Arrival] = lambda a: a
) -> Callable[[Running, Scenario], Running]:
    """The updates of late clients are replaced.

    Args:
        change: the new update, from the update, the arrival and the versions of the model.
        begun: the arrival as the client gets it.
    """

    def each(there: Callable[..., Any], client: Any, clients: Any, came: Any, versions: Any) -> Any:
        changes = there(client, clients, [begun(a) for a in came], versions)
        for k, a in enumerate(came):
            changes[k] = change(changes[k], a, versions)
        return changes

    return behind({population.each_arrival: calling(each)})  # type: ignore[dict-item]


def _discounted(factor: Callable[[int], float]) -> Callable[[Running, Scenario], Running]:
    """Every update is multiplied by a function of its delay."""
    return _resent(lambda delta, a, versions: delta * factor(a.delay))


_DISCOUNTS: Mapping[str, Callable[[int], float]] = {
    "1/(1 + delay)": lambda delay: 1 / (1 + delay),
    "1/sqrt(1 + delay)": lambda delay: (1 + delay) ** -0.5,
}
"""Factors of late changes, by their words."""


def _meanwhile(setting: Setting, a: Arrival, versions: Sequence[Any]) -> Any:
    """Move of the model since the update was begun; divided by the steps if the changes are."""
    moved = versions[-1] - versions[-1 - a.delay]
    return moved / a.steps if setting.options.get("normalise") == "per-step" else moved


def _downloaded(which: Callable[[int, int], int], there: Any, versions: Any, delay: int) -> Any:
    """A late client downloads another version: ``which`` gives its index from the delay and the number of versions."""
    return versions[which(delay, len(versions))]


_VERSIONS: Mapping[str, Callable[[int, int], int]] = {
    "the delay is counted from the first version of the model": lambda delay, n: delay,
    "an update begins one version later, and that without delay at the first": lambda delay, n: -delay,
    "an update begins one version back at most": lambda delay, n: -1 - min(delay, n - 1, 1),
    "every update begins one version earlier": lambda delay, n: max(-2 - delay, -n),
}
"""Index of the version that a late client may begin from by mistake, by the words of the defect."""


def _over_all(inner: Running, s: Scenario) -> Running:
    def each(there: Callable[..., Any], client: Any, clients: Any, came: Any, versions: Any) -> Any:
        return there(client, clients, came, versions) * (inner.h.buffer / len(clients))

    return behind({population.each_arrival: calling(each)})(inner, s)  # type: ignore[dict-item]


def _by_discounts(inner: Running, s: Scenario) -> Running:
    """A full buffer is divided by the sum of its updates' discounts, not by the number of updates."""
    counts: list[Any] = []

    def discount(there: Callable[..., Any], *given: Any, **named: Any) -> Any:
        counts.append(there(*given, **named))
        return counts[-1]

    def mean(there: Callable[..., Any], deltas: Any, p: Any) -> Any:
        delta = there(deltas, p) * len(counts) / sum(counts)
        counts.clear()
        return delta

    return behind({arrivals.discount: calling(discount), weighted_mean: calling(mean)})(inner, s)  # type: ignore[dict-item]


def _decays_meanwhile(inner: Running, event: Event, k: int) -> Any:
    """The vectors that the server keeps decay also at an arrival that only waits."""
    answer = inner.step(event)
    state = inner.state
    if state.pending and is_dataclass(state.server) and not isinstance(state.server, type):
        decays = {n: b for n, b in DECAYS.items() if hasattr(state.server, n) and hasattr(inner.h, b)}
        decays |= {"v": "beta"} if hasattr(inner.h, "beta") and hasattr(state.server, "v") else {}
        faded = {n: getattr(inner.h, b) * getattr(state.server, n) for n, b in decays.items()}
        inner.state = replace(state, server=replace(state.server, **faded))
    return answer


def of(setting: Setting) -> Iterator[Defect]:
    """Yield defects of late and of waiting updates, if updates arrive one by one."""
    if setting.algorithm.event != "arrival":
        return
    downloaded: Any = population.downloaded
    for words, which in _VERSIONS.items():
        yield Defect(words=words, session=behind({downloaded: calling(_downloaded, which)}))
    if "buffer" not in setting.numbers:
        words = "the change of a late client's model is added to the present one, which counts in its place"
        yield Defect(words=words, session=_resent(lambda x, a, xs: x + _meanwhile(setting, a, xs)))
        return
    words = "a late client trains from the present model; its change is taken from the one that it downloaded"
    at_present = _resent(lambda delta, a, xs: delta + _meanwhile(setting, a, xs), lambda a: replace(a, delay=0))
    yield Defect(words=words, session=at_present)
    words = "a late client trains from the model that it downloaded; its change is taken from the present one"
    yield Defect(words=words, session=_resent(lambda delta, a, xs: delta - _meanwhile(setting, a, xs)))
    words = "the buffer's sum is divided by the number of clients, not of updates"
    yield Defect(words=words, tail="delta", session=_over_all)
    for said, factor in _DISCOUNTS.items():
        yield Defect(words=f"late changes are multiplied by {said}", tail="delta_i", session=_discounted(factor))
    if "staleness" in setting.algorithm.options:
        words = "divided by the sum of the discounts, not by the number of updates"
        yield Defect(words=words, tail="delta", session=_by_discounts)
    yield stepping("what the server keeps decays at every arrival, not only when the server steps", _decays_meanwhile)
