"""Numbers of local steps of clients: the same in every round of a client, except where they are drawn in each round."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from test_mirror.federations import quadratic
from test_mirror.kinds import Around
from test_mirror.support import resumed
from torch import nn

from fedspec.catalogue import find
from fedspec.errors import PlanError
from fedspec.plan import Plan, Setup
from fedspec_torch import Federation, arrivals, cohorts, each_round, epochs, for_clients, simulate

EXAMPLES = tuple(range(3, 43))


def taken(schedule: Any, rounds: int = 12, algorithm: str = "fedavg") -> dict[int, list[int]]:
    """By the client, the numbers of steps that it takes whenever it takes part."""
    found: dict[int, list[int]] = defaultdict(list)
    for t in range(rounds):
        for e in schedule.events(find(algorithm), None, Setup(EXAMPLES, {"w": (2,)}), torch.zeros(2), t):
            pairs = zip(e.participants, e.steps, strict=True) if hasattr(e, "participants") else [(e.client, e.steps)]
            for i, tau in pairs:
                found[i].append(tau)
    return found


@pytest.mark.parametrize("late", [False, True])
def test_what_is_drawn_once_is_a_clients_own(late: bool) -> None:
    def work(seed: int, rounds: int = 300) -> dict[int, list[int]]:
        if late:
            return taken(arrivals(steps=(2, 5), largest_delay=2, seed=seed), rounds, "cc-fedavg")
        return taken(cohorts(20, steps=(2, 5), seed=seed), rounds)

    once, other = work(1), work(2)
    assert all(len({*steps}) == 1 for steps in once.values()) and len(once) == len(EXAMPLES)
    assert {steps[0] for steps in once.values()} == {2, 3, 4, 5}
    assert any(once[i][0] != other[i][0] for i in other)


def test_what_is_drawn_in_each_round_is_not() -> None:
    found = taken(cohorts(None, steps=each_round(2, 5)), 60)
    assert all({*steps} == {2, 3, 4, 5} for steps in found.values())


@given(n=st.lists(st.integers(1, 60), min_size=1, max_size=5), tenths=st.integers(1, 40), size=st.integers(1, 25))
def test_epochs_are_the_whole_minibatches_that_there_are(n: list[int], tenths: int, size: int) -> None:
    """Counted one by one, in tenths of an example."""
    schedule, setup = cohorts(None, steps=epochs(tenths / 10, batch_size=size)), Setup(tuple(n), {"w": (1,)})
    (plan,) = schedule.events(find("fedavg"), None, setup, torch.zeros(1), 0)
    for n_i, tau in zip(n, plan.steps, strict=True):
        left, count = tenths * n_i, 0
        while left >= 10 * min(size, n_i):
            left, count = left - 10 * min(size, n_i), count + 1
        assert tau == max(count, 1)


def test_each_client_has_the_number_that_is_said() -> None:
    said = [1 + i % 7 for i in range(len(EXAMPLES))]
    asked = taken(cohorts(9, steps=1))
    assert taken(cohorts(9, steps=for_clients(said))) == {i: [said[i]] * len(ones) for i, ones in asked.items()}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: epochs(0, batch_size=2), "epochs: got 0; give a number above 0"),
        (lambda: epochs((1, 4), batch_size=2), r"epochs: got \(1, 4\); give a number above 0"),  # type: ignore[arg-type]
        (lambda: epochs([], batch_size=2), r"epochs: got \[\]; give a number above 0"),
        (lambda: epochs([1, 0.5, -1], batch_size=2), "epochs: got -1; give a number above 0"),
        (lambda: taken(cohorts(None, steps=epochs([1, 2], batch_size=2))), "epochs: got 2 numbers for 40 clients"),
        (lambda: epochs(1, batch_size=0), "batch_size"),
        (
            lambda: simulate("fedavg", quadratic(batch_size=3)[0], plan=cohorts(3, steps=epochs(2, batch_size=4))),
            r"plan: got epochs\(2, batch_size=4\), but Federation\(batch_size=3\); give both the same",
        ),
        (lambda: each_round(3, 1), r"steps: got \(3, 1\)"),
        (lambda: for_clients([1, 0]), "steps: got 0"),
        (lambda: cohorts(3, steps=[1, 2, 3]), r"or for_clients\(\[...\]\) with one for each"),
        (lambda: taken(cohorts(None, steps=for_clients([1, 2]))), "2 numbers for 40 clients"),
    ],
)
def test_what_is_no_local_work_is_refused(make: Any, words: str) -> None:
    with pytest.raises(PlanError, match=words):
        make()


def test_of_several_minibatches_a_step_as_many_passes_are_made() -> None:
    """Clients of 5 to 10 examples, minibatches of 2, three of them a step: examples that are passed are counted."""
    federation = replace(quadratic(batch_size=2)[0], accumulate=3)
    passed: Counter[int] = Counter()
    plan = cohorts(None, steps=epochs(6, batch_size=2, accumulate=3))
    (event,) = plan.events(find("fedavg"), None, federation.setup, federation.x0, 0)
    assert isinstance(event, Plan)
    for i, tau in zip(event.participants, event.steps, strict=True):
        for _ in range(tau):
            passed[i] += 3 * 2
    for i, n in enumerate(federation.setup.examples):
        assert 6 * n - 6 < passed[i] <= 6 * n
    with pytest.raises(PlanError, match=r"epochs\(2, batch_size=2\), but Federation\(batch_size=2, accumulate=3\)"):
        simulate("fedavg", federation, plan=cohorts(None, steps=epochs(2, batch_size=2)), eta_l=0.1)


EACH = epochs([1, 2, 3, 1, 2, 3], batch_size=3)


@pytest.mark.table(1)
@pytest.mark.parametrize(
    "steps", [(1, 4), [1, 4], each_round(1, 4), epochs(2, batch_size=3), EACH, for_clients([3, 1, 2, 4, 1, 2])]
)
def test_a_saved_run_goes_on_with_it(steps: Any, tmp_path: Path) -> None:
    federation, *_ = quadratic(batch_size=3)
    begun = partial(simulate, "fednova", federation, plan=cohorts(3, steps=steps), rounds=4, eta_l=0.1)
    resumed(begun, tmp_path / "run.pt", federation)


def away(algorithm: str, steps: Any) -> float:
    """Distance of the mean of the last models from the common minimum, in lengths of the minimum."""
    n, rounds = 10, 160
    centres = 3 * torch.randn(n, 6, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    h = torch.linspace(0.3, 2, n, dtype=torch.float64)
    data = [(root.expand(1, 6).clone(), (root * c)[None]) for root, c in zip(h.sqrt(), centres, strict=True)]
    scaled = Around(lambda self, root: root * self.w, w=nn.Parameter(torch.zeros(6, dtype=torch.float64)))
    federation = Federation(scaled, lambda output, target: ((output - target) ** 2).sum() / 2, data)
    run = simulate(algorithm, federation, plan=cohorts(None, steps=steps), rounds=rounds, eta_l=0.05)
    last = torch.stack([run.x.clone() for r in run if r.round >= 60]).mean(0)
    best = (h[:, None] * centres).sum(0) / h.sum()
    return float((last - best).norm() / best.norm())


@pytest.mark.slow
@pytest.mark.long
def test_unequal_work_is_felt_where_it_is_a_clients_own() -> None:
    """Figure 2 of FedNova's paper has such quadratics."""
    assert away("fedavg", (1, 16)) > 0.9 > 0.2 > away("fednova", (1, 16))
    assert away("fedavg", each_round(1, 16)) < 0.3
