"""Fast forms are held to the text that they run in place of, under every option; and they spoil nothing of others'."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from test_mirror.federations import hyper, quadratic
from test_mirror.support import DTYPES, HYPER, SHAPES, D, assert_close, begun, choices, dyadic, tensors
from torch import Tensor

from fedspec.catalogue import Method, Program, find
from fedspec.errors import ParameterError, ShapeError
from fedspec.mixing.topology import clustered, metropolis, ring
from fedspec.plan import Exchange, Messages, Plan, Setup
from fedspec_torch import cohorts, simulate
from fedspec_torch.fast_paths import gossip as fast_gossip
from fedspec_torch.fast_paths import peers as fast_peers
from fedspec_torch.fast_paths import servers as fast_servers
from fedspec_torch.fast_paths.gossip import links
from fedspec_torch.fast_paths.lamb import is_plain
from fedspec_torch.fast_paths.registry import UNDIVIDED
from fedspec_torch.fast_paths.servers import IN_PLACE
from fedspec_torch.population import Batched
from fedspec_torch.problems import QuadraticClients
from fedspec_torch.run.rounds import run_round, run_step

pytestmark = pytest.mark.table(10)

N = 5


def population(dtype: torch.dtype) -> Batched:
    A = torch.tensor(dyadic(3, N, D, D) / 8, dtype=dtype)
    return Batched(QuadraticClients(A @ A.mT, torch.tensor(dyadic(4, N, D), dtype=dtype)), block=2)


def offers(*names: str) -> list[Any]:
    """Every record of options that a fast form takes."""
    found = []
    for name in names:
        row: Any = find(name)
        for options in choices(row):
            try:
                h = row.run.hyper(**{n: HYPER[n] for n in row.numbers_under("round", options)}, **options)
            except ParameterError:
                # Some options contradict each other.
                continue
            if name not in ("fed-lamb", "fed-ams") or is_plain(h):
                found.append(pytest.param(name, h, id=f"{name} {' '.join(options.values())}"))
    return found


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("name", "h"), offers("fedadagrad", "fedadam", "fedamsgrad"))
def test_servers_in_place_are_the_text(name: str, h: Any, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast_servers, "CHUNK", 7)
    run: Any = find(name).run
    x = torch.tensor(dyadic(0, D), dtype=dtype)
    fast = text = run.init(h, x)
    for seed in range(4):
        sent = Messages(torch.tensor(dyadic(seed, 2, D), dtype=dtype), (1, 3), (2, 2), (2, 2))
        fast, shown = (IN_PLACE[run.server] if seed else run.server)(h, fast, sent)
        text, said = run.server(h, text, sent)
        assert fast.t == text.t and torch.equal(shown["delta"], said["delta"])
        for n, value in tensors(text).items():
            assert_close(getattr(fast, n), value.numpy(), float(value.abs().max()), n, ulps=64)
    assert torch.equal(x, torch.tensor(dyadic(0, D), dtype=dtype))


@pytest.mark.parametrize("name", ["fedadagrad", "fedadam", "fedyogi", "fedamsgrad", "fedams"])
def test_a_run_hands_out_models_of_their_own(name: str) -> None:
    row = find(name)
    run = simulate(name, quadratic()[0], plan=cohorts(3), rounds=4, **hyper(row))
    seen = [(run.x, run.x.clone()) for _ in run]
    assert all(torch.equal(x, then) for x, then in seen)
    assert not torch.equal(seen[1][0], seen[2][0])


def turned(n: int) -> Any:
    order = np.random.default_rng(5).permutation(n)
    return ring(n)[np.ix_(order, order)]


GRAPHS: dict[str, Callable[[int], Any]] = {
    "ring": ring,
    "ring in another order": turned,
    "star": lambda n: metropolis(n, [(0, i) for i in range(1, n)]),
    "alone": np.eye,
    "complete": lambda n: np.full((n, n), 1 / n),
    "two rings": lambda n: clustered([ring(n // 2), ring(n - n // 2)]),
    "one way": lambda n: 0.75 * np.eye(n) + 0.25 * np.roll(np.eye(n), 1, axis=1),
    "without oneself": lambda n: 0.25 * np.roll(np.eye(n), 2, axis=1) + 0.75 * np.roll(np.eye(n), -1, axis=1),
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("n", [3, 16, 29])
def test_links_are_the_product(name: str, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast_gossip, "COLUMNS", 4)
    monkeypatch.setattr(fast_gossip, "CACHED", 4 * 8 * n)
    W = torch.tensor(GRAPHS[name](n))
    X = torch.tensor(dyadic(1, n, 11))
    found = links(Exchange((), ((),), W), n)  # type: ignore[arg-type]
    before, product = X.clone(), (W @ X).numpy()
    assert_close(found.times(X, torch.full_like(X, torch.nan)), product, 2.0)
    assert torch.equal(X, before)
    if n > 3:
        assert (found.lines is not None) == (name in LINED)
    if n == 29:
        assert (found.runs is None) == (name not in ("star", "alone"))
    mixed, spare = found.mixed(X, None)
    assert_close(mixed, product, 2.0)
    assert (mixed is X and spare is None) if found.lines else (mixed is not X and spare is X)


LINED = ("ring", "two rings", "one way", "without oneself")


@pytest.mark.parametrize("senders", [(0, 1, 2, 3, 4), (4, 1)])
def test_afga_in_two_stacks_is_the_text(senders: tuple[int, ...]) -> None:
    run = find("afga").run
    assert isinstance(run, Program)
    h = run.hyper(**{n: HYPER[n] for n in ("eta_l", "eta", "beta1", "beta2", "eps")})
    x = torch.tensor(dyadic(0, D))
    W: Any = torch.tensor(ring(N))
    plan = Exchange(senders, ((0, 1, 2, 3, 4), (3, 0, 4), (1,), ()), W)
    state = run.init(h, x, Setup((1,) * N, SHAPES))
    fast, _ = UNDIVIDED[run.step](h, state, population(torch.float64), plan)
    text, _ = run.step(h, state, population(torch.float64), plan)
    for n, value in tensors(text).items():
        assert_close(getattr(fast, n), value.numpy(), 2.0, n)
    assert torch.equal(x, torch.tensor(dyadic(0, D)))


@pytest.mark.parametrize("name", ["afga", "afga-a", "dsgd"])
def test_a_matrix_with_other_rows_than_clients_is_refused(name: str) -> None:
    row: Any = find(name)
    run, everyone = row.run, tuple(range(N))
    h = run.hyper(**{n: HYPER[n] for n in row.numbers})
    plan = Exchange(() if name == "dsgd" else everyone, (everyone,), torch.eye(N + 1, dtype=torch.float64))
    x = torch.tensor(dyadic(0, N, D).ravel() if name == "dsgd" else dyadic(0, D))
    with pytest.raises(ShapeError, match=r"mixing: .* W \(6, 6\) for 5 clients that mix; W must be \(5, 5\)"):
        run_step(run, h, run.init(h, x, Setup((1,) * N, SHAPES)), population(torch.float64).clients, plan)


def gossiping(name: str) -> list[Any]:
    row: Any = find(name)
    numbers = {n: HYPER[n] for n in row.numbers}
    return [pytest.param(name, row.run.hyper(**numbers, **options), id=f"{name} {options}") for options in choices(row)]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("name", "h"), [h for n in ("dsgd", "gossip-pga", "dadam", "afga-a") for h in gossiping(n)])
def test_gossip_in_two_stacks_is_the_text(
    name: str, h: Any, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks of two; two rounds of three exchanges; where some alone mix, they come in no order."""
    for module in (fast_gossip, fast_peers):
        monkeypatch.setattr(module, "default_block", lambda x: 2)
    run: Any = find(name).run
    everyone = tuple(range(N))
    x = torch.tensor(dyadic(0, D) if name == "afga-a" else dyadic(0, N, D).ravel(), dtype=dtype)
    sets = (everyone, everyone, everyone)
    plans = [Exchange((), sets, torch.tensor(ring(N), dtype=dtype))] * 2
    if name == "afga-a":
        others = ((3, 0, 4), (1, 0, 2), (3, 0, 4)) if str(h.sampling) == "step" else ((3, 0, 4),) * 3
        drawn = ((everyone, sets), ((3, 0, 4), others))
        plans = [Exchange(who, some, torch.tensor(ring(len(who)), dtype=dtype)) for who, some in drawn]
    fast = text = run.init(h, x, Setup((1,) * N, SHAPES))
    for plan in plans:
        before = {n: value.clone() for n, value in stacks(fast).items()}
        start = fast
        fast, shown = run_step(run, h, fast, population(dtype).clients, plan)
        text, said = run.step(h, text, population(dtype), plan)
        assert all(torch.equal(stacks(start)[n], value) for n, value in before.items())
        for n, value in {**stacks(text), **said}.items():
            assert_close({**stacks(fast), **shown}[n], value.numpy(), float(value.abs().max()), n, ulps=64)
    assert not torch.allclose(fast.x, x, rtol=1e-2)


def stacks(state: Any) -> dict[str, Tensor]:
    return {**tensors(state), **tensors(getattr(state, "moments", ()))}


@pytest.mark.parametrize("name", ["fedavg", "fednova", "fedprox", "fed-lamb", "fed-ams", "scaffold", "joint-local"])
def test_clients_train_together_and_compute_what_they_take(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Order of five clients: all first, then those who have steps left; small blocks are recorded too."""
    monkeypatch.setattr("fedspec_torch.population.UNEQUAL", 0)
    run: Any = find(name).run
    h, taken = offers(name)[0].values[1], list[int]()
    x, setup = torch.tensor(dyadic(0, D)), Setup((1,) * N, SHAPES)

    class Counted(QuadraticClients):
        def oracle(self, who: Any) -> Any:
            inner = super().oracle(who)
            return lambda k, x: (taken.append(len(x)), inner(k, x))[1]

    plain: Any = population(torch.float64).clients
    clients = Counted(plain.H, plain.e)
    plan = Plan((3, 0, 4, 1, 2), (2, 5, 1, 5, 3), (1,) * 5)
    (run_round if isinstance(run, Method) else run_step)(run, h, begun(run, h, x, setup), clients, plan, block=5)
    assert taken[0] == 5 and sum(taken) == sum(plan.steps)
