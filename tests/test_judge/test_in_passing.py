"""What implementations that nobody at hand had seen did wrong, each by a loop of its own and by its generic words."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from test_judge.test_other_ways import called, known_at

from fedspec.contract import Arrival, Gradient, Messages
from fedspec.params import flatten
from fedspec_suite.judge.changes import as_given
from fedspec_suite.judge.steady import models
from fedspec_suite.measure.scenario import Scenario, with_hyper

pytestmark = pytest.mark.slow


def up_to_it(changes: Sequence[np.ndarray], sizes: Sequence[int]) -> np.ndarray:
    mean, seen = 0 * changes[0], 0
    for change, n in zip(changes, sizes, strict=True):
        seen += n
        mean = mean + (n / seen * change if seen else 0)
    return mean


def one_after_another(changes: Sequence[np.ndarray], sizes: Sequence[int]) -> np.ndarray:
    mean = changes[0]
    for change in changes[1:]:
        mean = (mean + change) / 2
    return mean


MEANS: dict[str, Callable[[Sequence[np.ndarray], Sequence[int]], np.ndarray]] = {
    "a client's share is of the examples up to it, not of all": up_to_it,
    "the mean so far and the next change are averaged, one after another": one_after_another,
}


@pytest.mark.parametrize("words", MEANS)
def test_a_mean_taken_in_passing(words: str) -> None:
    known = known_at("fedavg/server/mcmahan-2017")
    sizes = {len(e.messages) for s in known.samples for e in s.events if isinstance(e, Messages)}
    assert max(sizes) > 2
    for s in known.samples:
        x, ends = flatten(s.case.x0).astype(float), []
        for e in s.events:
            assert isinstance(e, Messages)
            mean = MEANS[words]([flatten(m.delta) for m in e.messages], [m.weight for m in e.messages])
            x = x + s.case.hyper["eta"] * mean
            ends.append(x)
        assert np.allclose(models(called(known, words), s), ends)
    assert any(not np.allclose(models(called(known, words), s), models(known.claimed, s)) for s in known.samples)


def one_at_a_time(s: Scenario, room: int) -> list[np.ndarray]:
    """FedBuff with plain clients, a list that is emptied when it holds ``room`` updates."""
    h, problem = s.case.hyper, s.case.problem
    assert problem
    versions, waiting, out = [flatten(s.case.x0).astype(float)], [], []
    for e in s.events:
        assert isinstance(e, Arrival)
        y = start = versions[max(0, len(versions) - 1 - e.delay)]
        for _ in range(e.steps):
            y = y - h["eta_l"] * (problem.H[e.client] @ y - problem.e[e.client])
        waiting.append(y - start)
        if len(waiting) >= room:
            versions.append(versions[-1] + h["eta"] * sum(waiting) / len(waiting))
            waiting = []
        out.append(versions[-1])
    return out


def test_a_server_that_waits_for_one_more() -> None:
    known = known_at("fedbuff/trace/nguyen-2022")
    more = called(known, "the server waits for one update more than buffer")
    for s in known.samples:
        assert np.allclose(models(known.claimed, s), one_at_a_time(s, s.case.hyper["buffer"]))
        assert np.allclose(models(more, s), one_at_a_time(s, s.case.hyper["buffer"] + 1))


def test_what_a_server_keeps_of_its_model_does_not_fall_with_the_delay() -> None:
    known = known_at("fedasync/trace/xie-2019-polynomial")
    kept = called(known, "mix as it is set stands for mix in (1 - mix) * x + mix * x_i, the first time")
    late = 0
    for s in known.samples:
        h, problem = s.case.hyper, s.case.problem
        assert problem
        versions = [flatten(s.case.x0).astype(float)]
        for e in s.events:
            assert isinstance(e, Arrival)
            late += e.delay > 0
            y = start = versions[-1 - e.delay]
            for _ in range(e.steps):
                y = y - h["eta_l"] * (problem.H[e.client] @ y - problem.e[e.client] + h["mu"] * (y - start))
            share = h["mix"] / (1 + e.delay) ** (h["twice_a"] / 2)
            versions.append((1 - h["mix"]) * versions[-1] + share * y)
        assert np.allclose(models(kept, s), versions[1:])
    assert late


def test_what_is_given_is_only_doubted_where_the_setting_is_out_of_sight() -> None:
    node = ast.Name("mix", ast.Load())
    inside = [c.new for c in as_given(node, {"mix": "number"}, ["mix", "mu"], "")]
    assert inside == ["as_set('mix')", "as_set('mu')"]
    assert not [*as_given(node, {"mix": "number", "h.mix": "number"}, ["mix"], "")]


def test_a_gradient_and_a_buffer_change_places() -> None:
    known = known_at("nesterov/client/textbook")
    turned = called(known, "g and u change places in x - eta_l * (g + rho * u)")
    s = with_hyper(known.samples[0], rho=0.25)
    x = flatten(s.case.x0).astype(float)
    u, ends = 0 * x, []
    for e in s.events:
        if isinstance(e, Gradient):
            g = flatten(e.g).astype(float)
            u = 0.25 * u + g
            x = x - s.case.hyper["eta_l"] * (u + 0.25 * g)
        else:
            x = flatten(e.x).astype(float)  # type: ignore[union-attr]
            u = 0 * x
        ends.append(x)
    assert np.allclose(models(turned, s), ends) and not np.allclose(models(known.claimed, s), ends)
