"""Texts that are recorded: whatever a client does, its block comes to what the specification comes to, one by one."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from test_mirror.federations import hyper, quadratic, schedule, specified
from test_mirror.ranked import apart, own
from test_mirror.recorded_texts import (
    TEXTS,
    D,
    N,
    Some,
    adagrad_like,
    both,
    by_own_steps,
    clipped,
    drawn,
    elsewhere,
    in_lengths,
    look_ahead,
    looking,
    proximal,
    same,
    scaffold_like,
    twice,
    with_its_length,
)
from test_mirror.support import HYPER, dyadic
from test_mirror.test_runs import ROUNDS
from torch.utils._pytree import tree_leaves

from fedspec.catalogue import CATALOGUE, find
from fedspec.plan import Arrival, Plan
from fedspec.population import each, each_arrival
from fedspec.usual import needed
from fedspec_torch import population, simulate
from fedspec_torch.fast_paths.text_parts import TENSORS, parts
from fedspec_torch.population import Batched
from fedspec_torch.tracing import clients as recorded
from fedspec_torch.tracing import passes

pytestmark = pytest.mark.table(1)

EQUAL, UNEQUAL = (3, 3, 3, 3, 3), (3, 1, 4, 2, 2)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Recorded texts, also of small blocks."""
    found: list[Any] = []
    record = recorded.trace_client

    def noted(*args: Any) -> Any:
        found.append(record(*args))
        return found[-1]

    monkeypatch.setattr(population, "LEAST", 0)
    monkeypatch.setattr(population, "UNEQUAL", 0)
    monkeypatch.setattr(passes, "LEAST", 0)
    monkeypatch.setattr(recorded, "trace_client", noted)
    monkeypatch.setattr(recorded, "_seen", {})
    return found


@pytest.mark.parametrize("steps", [EQUAL, UNEQUAL])
@pytest.mark.parametrize("seed", range(40))
def test_texts_that_are_drawn_are_what_they_are_one_by_one(
    seed: int, steps: Any, made: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    if seed % 13:
        # A loop takes a second to compile.
        monkeypatch.setattr(passes, "is_compiled", lambda x: False)
    got, want, _ = both(drawn(seed), steps)
    same(got, want)
    assert any(made)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("steps", [EQUAL, UNEQUAL])
@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_what_it_is_one_by_one(
    text: Any, steps: Any, compiled: bool, made: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    if not compiled:
        monkeypatch.setattr(passes, "is_compiled", lambda x: False)
    got, want, clients = both(text, steps)
    if text is look_ahead:
        got, want = (got.x, got.u), (want.x, want.u)
    same(got, want)
    assert any(made)
    if steps == EQUAL or text is not by_own_steps:
        # Nobody computes a gradient twice, and those with steps left are together.
        assert len(clients.asked) == sum(max(sorted(steps)[::-1][at : at + 3]) for at in (0, 3))


@pytest.mark.parametrize(
    ("text", "plain"), [(scaffold_like, True), (proximal, True), (clipped, True), (in_lengths, False)]
)
def test_clients_that_begin_elsewhere_each_are_recorded_too(text: Any, plain: bool, made: list[Any]) -> None:
    c, c_i, x = dyadic(3, D), dyadic(4, N, D), [dyadic(seed, D) for seed in (5, 6, 7)]
    come = [Arrival(client, steps, delay) for client, steps, delay in ((4, 3, 0), (0, 3, 2), (1, 2, 1), (0, 3, 0))]
    batched = Batched(Some(torch_=True), 2)
    got = each_arrival(text(torch.tensor(c), torch.tensor(c_i)), batched, come, [*map(torch.tensor, x)])
    client, alone = text(c, c_i), Some(torch_=False)
    for row, arrival in enumerate(come):
        want = client(arrival.client, x[-1 - arrival.delay], alone[arrival.client], arrival.steps)
        same(tuple(part[row] for part in got) if isinstance(got, tuple) else got[row], want)
    # Where they begin stays in memory, and is not written to each step.
    assert made and all(one and bool(one.stages.rates) == plain for one in made)


@pytest.mark.parametrize("steps", [EQUAL, UNEQUAL])
@pytest.mark.parametrize("text", [looking, twice, elsewhere, with_its_length])
def test_what_is_not_recorded_runs_on_tensors(text: Any, steps: Any, made: list[Any]) -> None:
    got, want, _ = both(text, steps)
    # A length that is returned is a column, as it is on tensors.
    same((got[0], got[1][:, 0]) if text is with_its_length else got, want)
    # In one step there are no two gradients.
    assert made and not any(one for one in made if one and ([*one.texts] != [1] or text is not twice))


@pytest.mark.parametrize("steps", [EQUAL, UNEQUAL])
@pytest.mark.parametrize("text", [scaffold_like, proximal, look_ahead, by_own_steps])
def test_all_is_computed_on_the_device_of_the_model(text: Any, steps: Any, made: list[Any]) -> None:
    """A tensor without numbers refuses to meet one of another device."""
    c, c_i, x = torch.zeros(D, device="meta"), torch.zeros(N, D, device="meta"), torch.zeros(D, device="meta")

    class Somewhere:
        def __len__(self) -> int:
            return N

        def oracle(self, who: Any) -> Any:
            return lambda k, x: x + 1

    got = each(text(c, c_i), Batched(Somewhere(), 3), Plan((4, 0, 1, 5, 2), steps, (1,) * 5), x)  # type: ignore[arg-type]
    assert any(made) and {part.device.type for part in tree_leaves(got) if isinstance(part, torch.Tensor)} == {"meta"}


def halved(g: Any) -> Any:
    return g / 2


def by_a_helper(c: Any, c_i: Any) -> Any:
    def client(i: Any, x: Any, gradient: Any, tau: int) -> Any:
        for k in range(tau):
            x = x - halved(gradient(k, x))
        return x

    return client


def test_a_helper_that_is_written_anew_counts_from_then_on(made: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a notebook: the client's own text and all that it closes over are as before."""
    before, _, _ = both(by_a_helper, EQUAL)
    monkeypatch.setattr(sys.modules[__name__], "halved", lambda g: g / 4)
    got, want, _ = both(by_a_helper, EQUAL)
    same(got, want)
    assert all(made) and not torch.equal(got, before)


def test_a_text_of_the_catalogue_is_run_in_the_first_round_alone(texts: list[Any]) -> None:
    run, H, e = begun("feddyn", {})
    many = [run.step() and len(texts) for _ in range(ROUNDS)]
    assert many == [many[0]] * ROUNDS
    np.testing.assert_allclose(run.x.numpy(), specified(find("feddyn"), run, H, e), rtol=1e-12, atol=1e-12)


def test_a_text_that_writes_over_its_vectors_is_refused_as_ever(made: list[Any]) -> None:
    def text(c: Any, c_i: Any) -> Any:
        def client(i: Any, x: Any, gradient: Any, tau: int) -> Any:
            x += gradient(0, x)
            return x

        return client

    with pytest.raises(RuntimeError, match="single memory location"):
        both(text, EQUAL)
    assert made == [None]


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("steps", [(3,) * 7, (3, 1, 4, 2, 2, 4, 1)])
def test_threads_change_no_bit(
    steps: tuple[int, ...], compiled: bool, made: list[Any], threads: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Use vectors that torch shares out; a piece of a block is one client alone."""
    if not compiled:
        monkeypatch.setattr(passes, "is_compiled", lambda x: False)
    n, d = len(steps), 50_021
    c, c_i, x, a = (torch.tensor(dyadic(seed, *shape)) for seed, *shape in ((1, d), (2, n, d), (3, d), (4, n, d)))

    class Wide(Some):
        def __len__(self) -> int:
            return n

        def oracle(self, who: Sequence[int]) -> Any:
            return lambda k, y: (a[list(who)[: len(y)]] / 4 + 0.75) * y - c

    ends = []
    for count in (1, 2, 3):
        threads(count)
        clients = Batched(Wide(torch_=True), 6)
        ends.append(each(adagrad_like(c, c_i), clients, Plan(tuple(range(n)), steps, (1,) * n), x))
    assert all(made) and all(torch.equal(y, z) for end in ends[1:] for y, z in zip(end, ends[0], strict=True))


RUN = [
    ("fedavg", {}),
    ("fedprox", {}),
    ("fednova", {"solver": "momentum-proximal-inside"}),
    ("joint-local", {}),
    ("joint-local", {"client": "adam"}),
    ("scaffold", {}),
    ("scaffold", {"reading": "option-1"}),
    ("feddyn", {}),
    ("vrl-sgd", {}),
    ("fednova-vr", {"solver": "nesterov"}),
    ("fednova-alg2", {}),
    ("fednova-sampled", {}),
    ("fednova-solvers", {}),
    ("fedavg-normalised", {}),
    ("fed-sgd", {}),
    ("fedprox", {}),
    ("dp-fedavg", {}),
    *((f"cc-{name}", {}) for name in ("fedavg", "fedavgm", "fedsgd", "fedadagrad", "fedadam", "fedams")),
    ("fedbuff", {}),
    ("fedasync", {}),
    ("delayed-nesterov", {}),
    ("fadas", {}),
    ("diloco", {}),
    ("streaming-diloco", {}),
    ("scaffnew", {}),
    ("fedpaq", {}),
    ("fedpaq", {"reading": "largest-entry"}),
    ("fedcams", {}),
    ("fedcams", {"compressor": "scaled-sign"}),
    ("mifa", {}),
    ("mime-lite", {}),
    ("mime", {}),
    ("fedcm", {}),
    ("fedcm", {"reading": "ghbm"}),
    ("fedsam", {}),
    ("mofedsam", {}),
    ("fedpd", {}),
    ("fedpd", {"reading": "matlab"}),
    ("ef21", {"reading": "richtarik-2021-code"}),
    ("ef21", {"reading": "richtarik-2021-code", "compressor": "scaled-sign"}),
]
"""Rows without the forms that they may have in the place of their text."""

ON_TENSORS = ("streaming-diloco", "fedpaq", "fedcams", "fedsam", "mofedsam", "fedpd")
"""Algorithms whose texts are not recorded: draws of each client, entries told apart by size, a length in a step
and another gradient there, clients that begin elsewhere than at the model that they are sent."""

FIRST_ALONE = ("ef21",)
"""Algorithms that are recorded in their first round alone, in which nothing is compressed, if their reading has it so.
"""

SINGLE_ALONE = ("mime",)
"""Algorithms that ask for two gradients at one step, which are one and recorded if clients take no other step."""


@pytest.fixture
def texts(made: list[Any], monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Recorded texts, without other forms of a client's text."""
    monkeypatch.setattr("fedspec_torch.fast_paths.registry.CLIENTS", {})
    monkeypatch.setattr("fedspec_torch.run.rounds.RATES", {})
    monkeypatch.setattr(passes, "LEAST", 2**16)
    return made


def begun(name: str, options: dict[str, Any], way: str | None = None, **more: Any) -> tuple[Any, Any, Any]:
    """A run of a row, and the matrices of its clients' objectives."""
    row = find(name)
    chosen = {n: value for n, value in options.items() if n != "reading"}
    numbers = {n: HYPER[n] for n in needed(row, {**row.defaults(), **chosen}) if n not in more.get("rates", {})}
    federation, H, e = quadratic(way=way)
    return simulate(row, federation, plan=schedule(row), rounds=ROUNDS, **numbers, **options, **more), H, e


@pytest.mark.parametrize(("name", "options"), RUN)
def test_a_run_of_a_text_is_the_specification(name: str, options: dict[str, Any], texts: list[Any]) -> None:
    run, H, e = begun(name, options)
    assert all(np.isfinite(r.loss) for r in run)
    are_recorded = [*map(bool, texts)]
    if name in FIRST_ALONE and "compressor" not in options:
        assert are_recorded == [True] + [False] * (ROUNDS - 1)
    elif name in SINGLE_ALONE:
        # All together, then those of one, of two and of three steps.
        assert are_recorded == [False, True, False, False] * ROUNDS
    elif "ghbm" in options.values():
        # What is divided by a client's steps counts them: it is recorded where all take equally many.
        assert are_recorded == [False, True, True, True] * ROUNDS
    else:
        # Scaled signs tell no entries apart.
        on_tensors = name in ON_TENSORS and options.get("compressor") != "scaled-sign"
        assert not any(are_recorded) if on_tensors else texts and all(are_recorded)
    np.testing.assert_allclose(run.x.numpy(), specified(find(name), run, H, e), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", sorted({name for name, _ in RUN}))
def test_it_is_said_whose_texts_are_never_recorded(name: str) -> None:
    """Text parts of FedCAMS are recorded under some options."""
    said = any(part.how.startswith(TENSORS) for part in parts(find(name)))
    assert said == (name in {*ON_TENSORS, *FIRST_ALONE, *SINGLE_ALONE} - {"fedcams"})


@pytest.mark.parametrize("kind", ["clients", "server", "late"])
def test_an_own_algorithm_is_recorded(kind: str, made: list[Any], tmp_path: Path) -> None:
    """Record the file that ``fedspec new`` writes, as it stands."""
    with apart():
        row = own(kind, tmp_path)
        federation, H, e = quadratic()
        run = simulate(row, federation, plan=schedule(row), rounds=ROUNDS, **hyper(row))
        list(run)
        # Its server is new, and its clients are those of FedAvg, which have a form.
        assert (kind == "server") == (not made) and all(made)
        np.testing.assert_allclose(run.x.numpy(), specified(row, run, H, e), rtol=1e-12, atol=1e-12)
    assert row.id not in CATALOGUE
