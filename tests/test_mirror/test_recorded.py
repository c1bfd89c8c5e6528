"""Texts that are recorded: whatever a client does, its block comes to what the specification comes to, one by one."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from test_mirror.federations import NUMBERS, hyper, quadratic, schedule
from test_mirror.ranked import own
from test_mirror.support import dyadic
from test_mirror.test_runs import ROUNDS, specified
from torch import Tensor

from fedspec.arith import maximum, minimum, norm, sqrt, where_shorter, zeros
from fedspec.catalogue import find
from fedspec.client.momentum import begin, nesterov
from fedspec.plan import Arrival, Plan
from fedspec.population import each, each_arrival
from fedspec_torch import passes, population, recorded, resume, simulate
from fedspec_torch.asked import needed
from fedspec_torch.population import Batched
from fedspec_torch.stages import Stages

N, D = 6, 7
EQUAL, UNEQUAL = (3, 3, 3, 3, 3), (3, 1, 4, 2, 2)


class Some:
    """Clients whose gradients are no more than vectors times the model, in NumPy or torch."""

    def __init__(self, torch_: bool) -> None:
        a, b = dyadic(1, N, D) / 4 + 0.75, dyadic(2, N, D)
        self.a: Any = torch.tensor(a) if torch_ else a
        self.b: Any = torch.tensor(b) if torch_ else b
        self.asked: list[int] = []

    def __len__(self) -> int:
        return N

    def __getitem__(self, i: int) -> Any:
        return lambda k, x: self.a[i] * x * (1 + k / 8) - self.b[i]

    def oracle(self, who: Sequence[int]) -> Any:
        def gradient(k: int, x: Tensor) -> Tensor:
            self.asked.append(k)
            # The same memory at every call, as the federation's.
            return room[: len(x)].copy_(self.a[list(who)[: len(x)]] * x * (1 + k / 8) - self.b[list(who)[: len(x)]])

        room = torch.empty(len(who), D, dtype=torch.float64)
        return gradient


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What was recorded, also of small blocks."""
    found: list[Any] = []
    record = recorded.recorded

    def noted(*args: Any) -> Any:
        found.append(record(*args))
        return found[-1]

    monkeypatch.setattr(population, "LEAST", 0)
    monkeypatch.setattr(population, "UNEQUAL", 0)
    monkeypatch.setattr(passes, "LEAST", 0)
    monkeypatch.setattr(recorded, "recorded", noted)
    monkeypatch.setattr(recorded, "_seen", {})
    return found


@pytest.fixture
def threads() -> Iterator[Any]:
    """Sets how many torch has."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def both(text: Callable[[Any, Any], Any], steps: tuple[int, ...], block: int = 3) -> tuple[Any, Any, Some]:
    """What a text gives for all participants on blocks, and one by one in NumPy; it is made of c and of c_i."""
    plan = Plan((4, 0, 1, 5, 2)[: len(steps)], steps, (1,) * len(steps))
    c, c_i, x = dyadic(3, D), dyadic(4, N, D), dyadic(5, D)
    clients = Some(torch_=True)
    at_once = Batched(clients, block, whole=True)
    got = each(text(torch.tensor(c), torch.tensor(c_i)), at_once, plan, torch.tensor(x))
    return got, each(text(c, c_i), Some(torch_=False), plan, x), clients


def same(got: Any, want: Any) -> None:
    """Both agree to the last bits."""
    if isinstance(want, tuple) and not isinstance(got, Tensor):
        assert len(got) == len(want)
        for one, other in zip(got, want, strict=True):
            same(one, other)
    else:
        np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-12, atol=1e-12)


def drawn(seed: int) -> Callable[[Any, Any], Any]:
    """A text drawn at random: vectors that change from step to step, and whichever of them are returned."""
    rng = random.Random(seed)
    pool = ["y", "g", "x", "c", "c_i", "u", "v", "last"]
    # Operators that no number of their arguments breaks; a second operand may be a number.
    operators = ["+", "-", "*", "max", "min", "half", "root", "square", "neg"]
    lines = [
        (rng.choice(operators), rng.choice(pool), rng.choice([*pool, 0.5, -0.25])) for _ in range(rng.randint(1, 6))
    ]
    targets = [rng.choice(["u", "v", "t"]) for _ in lines]
    out = [rng.choice(["y", "u", "v", "x", "c_i", "last", "g"]) for _ in range(rng.randint(1, 3))]

    def value(kind: str, a: Any, b: Any) -> Any:
        match kind:
            case "+":
                return a + b
            case "-":
                return a - b
            case "*":
                return a * b / 4
            case "max":
                return maximum(a, b)
            case "min":
                return minimum(a, b)
            case "half":
                return a / 2
            case "root":
                return sqrt(a**2 + 1)
            case "square":
                return a**2 / 8
        return -a

    def text(c: Any, c_i: Any) -> Any:
        def client(i: Any, x: Any, gradient: Any, tau: int) -> Any:
            now: dict[str, Any] = {"y": x, "x": x, "c": 1 * x + c - x, "c_i": c_i[i], "u": zeros(x), "v": zeros(x) + 1}
            now |= {"last": x, "t": x, "g": x}
            for k in range(tau):
                now["g"] = 1.0 * gradient(k, now["y"])
                for (kind, a, b), target in zip(lines, targets, strict=True):
                    now[target] = value(kind, now[a], now[b] if isinstance(b, str) else b)
                now["last"], now["y"] = now["y"], now["y"] - 0.125 * (now["g"] + now["u"] / (k + 2)) + now["t"] / 16
            return tuple(now[name] + 0 for name in out) if len(out) > 1 else now[out[0]] - x

        return client

    return text


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


def scaffold_like(c: Any, c_i: Any) -> Any:
    """A plain step with a correction, and two results that have much in common."""

    def client(i: Any, x: Any, gradient: Any, tau: int) -> Any:
        y = x
        for k in range(tau):
            y = y - 0.125 * (gradient(k, y) - c_i[i] + c)
        return y - x, c_i[i] - c - (y - x) / (0.125 * tau)

    return client


def proximal(c: Any, c_i: Any) -> Any:
    """A pull to where the client begins."""

    def client(i: Any, x: Any, gradient: Any, tau: int) -> Any:
        y = x
        for k in range(tau):
            y = y - 0.125 * (gradient(k, y) + 0.5 * (y - x))
        return y

    return client


def look_ahead(c: Any, c_i: Any) -> Any:
    """A rule of the specification, on a record."""

    def client(i: Any, x: Any, gradient: Any, tau: int) -> Any:
        state = begin(x)
        for k in range(tau):
            state = nesterov(state, gradient(k, state.x) + c_i[i], eta_l=0.125, rho=0.5)
        return state

    return client


def first_gradient(c: Any, c_i: Any) -> Any:
    """What the first gradient was is needed at the end, and a number is returned beside it."""

    def client(i: Any, x: Any, gradient: Any, tau: int) -> Any:
        y = x
        for k in range(tau):
            y = y - 0.125 * gradient(k, y)
        return gradient(0, x), y - x, tau

    return client


def by_own_steps(c: Any, c_i: Any) -> Any:
    """The rate depends on how many steps there are: those who take two do not begin as those who take four."""

    def client(i: Any, x: Any, gradient: Any, tau: int) -> Any:
        y = x
        for k in range(tau):
            y = y - 0.125 / tau * gradient(k, y)
        return (y - x) * c

    return client


def clipped(c: Any, c_i: Any) -> Any:
    """The length of the whole change is taken once the steps are done."""

    def client(i: Any, x: Any, gradient: Any, tau: int) -> Any:
        y = x
        for k in range(tau):
            y = y - 0.125 * gradient(k, y)
        return (y - x) / maximum(norm(y - x), 1.0)

    return client


def in_lengths(c: Any, c_i: Any) -> Any:
    """Lengths that are known before the first step: a number for each client, and one that all have in common."""

    def client(i: Any, x: Any, gradient: Any, tau: int) -> Any:
        y, s = x, norm(c_i[i])
        for k in range(tau):
            y = y - 0.125 * gradient(k, y) / (s + norm(x))
        return y, s * y, norm(x) * c

    return client


TEXTS = [scaffold_like, proximal, look_ahead, first_gradient, by_own_steps, clipped, in_lengths]


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
    batched = Batched(Some(torch_=True), 2, whole=True)
    got = each_arrival(text(torch.tensor(c), torch.tensor(c_i)), batched, come, [*map(torch.tensor, x)])
    client, alone = text(c, c_i), Some(torch_=False)
    for row, arrival in enumerate(come):
        want = client(arrival.client, x[-1 - arrival.delay], alone[arrival.client], arrival.steps)
        same(tuple(part[row] for part in got) if isinstance(got, tuple) else got[row], want)
    # Where they begin stays in memory, and is not written to each step.
    assert made and all(one and bool(one.stages.rates) == plain for one in made)


@pytest.mark.parametrize(("text", "plain"), [(scaffold_like, True), (proximal, True), (look_ahead, False)])
def test_steps_of_one_structure_are_one_program(text: Any, plain: bool, made: list[Any]) -> None:
    both(text, (4,) * 5)
    stages: Stages = made[0].stages
    # The anchor is the model at the first step.
    assert len({stage.program for stage in stages.stages[1:] if stage}) == 1 and bool(stages.rates) == plain


def looking(c: Any, c_i: Any) -> Any:
    """Whether a number is positive decides."""

    def client(i: Any, x: Any, gradient: Any, tau: int) -> Any:
        y = x
        for k in range(tau):
            g = gradient(k, y)
            y = y - (0.125 if float(g.sum()) < 1e9 else 1) * g
        return y

    return client


def by_length(c: Any, c_i: Any) -> Any:
    """A step is not taken where it is short."""

    def client(i: Any, x: Any, gradient: Any, tau: int) -> Any:
        y = x
        for k in range(tau):
            g = gradient(k, y)
            y = y - 0.125 * where_shorter(g, 0.5, 0 * g, g)
        return y

    return client


def twice(c: Any, c_i: Any) -> Any:
    """Two gradients at each step."""

    def client(i: Any, x: Any, gradient: Any, tau: int) -> Any:
        y = x
        for k in range(tau):
            g = 1 * gradient(k, y)
            y = y - 0.125 * (g - gradient(k, x) + c)
        return y

    return client


@pytest.mark.parametrize("steps", [EQUAL, UNEQUAL])
def test_a_length_that_is_returned_is_no_vector(steps: Any, made: list[Any]) -> None:
    """As it is on tensors: a column."""

    def text(c: Any, c_i: Any) -> Any:
        def client(i: Any, x: Any, gradient: Any, tau: int) -> Any:
            y = x
            for k in range(tau):
                y = y - 0.125 * gradient(k, y)
            return y, norm(y)

        return client

    (y, lengths), want, _ = both(text, steps)
    assert not any(made)
    same((y, lengths[:, 0]), want)


@pytest.mark.parametrize("steps", [EQUAL, UNEQUAL])
@pytest.mark.parametrize("text", [looking, by_length, twice])
def test_what_is_not_recorded_runs_on_tensors(text: Any, steps: Any, made: list[Any]) -> None:
    got, want, _ = both(text, steps)
    same(got, want)
    # In one step there are no two gradients.
    assert made and not any(one for one in made if one and ([*one.texts] != [1] or text is not twice))


def test_a_text_that_writes_over_its_vectors_is_refused_as_ever(made: list[Any]) -> None:
    def text(c: Any, c_i: Any) -> Any:
        def client(i: Any, x: Any, gradient: Any, tau: int) -> Any:
            x += gradient(0, x)
            return x

        return client

    with pytest.raises(RuntimeError, match="single memory location"):
        both(text, EQUAL)
    assert made == [None]


@pytest.mark.parametrize("text", [look_ahead, drawn(3)])
def test_loops_torch_and_tensors_agree_bit_for_bit(text: Any, made: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no root is taken, which torch does not round as the processor does."""

    def run() -> list[Tensor]:
        got, *_ = both(text, UNEQUAL)
        return [got.x, got.u] if text is look_ahead else [got] if isinstance(got, Tensor) else list(got)

    in_loops = run()
    monkeypatch.setattr(passes, "is_compiled", lambda x: False)
    by_torch = run()
    assert all(made)
    monkeypatch.setattr(population, "recorder", lambda *given: None)
    for one, other, plain in zip(in_loops, by_torch, run(), strict=True):
        assert torch.equal(one, plain) and torch.equal(other, plain)


def adagrad_like(c: Any, c_i: Any) -> Any:
    """Roots in every step, and a length in the end."""

    def client(i: Any, x: Any, gradient: Any, tau: int) -> Any:
        y, v = x, zeros(x)
        for k in range(tau):
            g = gradient(k, y) + c - c_i[i]
            v = v + g**2
            y = y - 0.125 * g / sqrt(v + 0.25)
        return y, (y - x) / maximum(norm(y - x), 1.0)

    return client


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("steps", [(3,) * 7, (3, 1, 4, 2, 2, 4, 1)])
def test_threads_change_no_bit(
    steps: tuple[int, ...], compiled: bool, made: list[Any], threads: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of vectors that torch shares out; a piece of a block is one client alone."""
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
        clients = Batched(Wide(torch_=True), 6, whole=True)
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
    ("fednova-sampled", {}),
    ("dp-fedavg", {}),
    ("fedbuff", {}),
    ("fedasync", {}),
]
"""Rows without the forms that they may have in the place of their text."""


@pytest.fixture
def texts(made: list[Any], monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The same, where no text of a client has another form."""
    monkeypatch.setattr("fedspec_torch.fast.CLIENTS", {})
    monkeypatch.setattr("fedspec_torch.rounds.FAST", {})
    monkeypatch.setattr(passes, "LEAST", 2**16)
    return made


def begun(name: str, options: dict[str, Any], way: str | None = None, **more: Any) -> tuple[Any, Any, Any]:
    """A run of a row, and the matrices of its clients' objectives."""
    row = find(name)
    chosen = {n: value for n, value in options.items() if n != "reading"}
    numbers = {n: NUMBERS[n] for n in needed(row, {**row.defaults(), **chosen}) if n not in more.get("rates", {})}
    federation, H, e = quadratic(way=way)
    return simulate(row, federation, plan=schedule(row), rounds=ROUNDS, **numbers, **options, **more), H, e


@pytest.mark.parametrize(("name", "options"), RUN)
def test_a_run_of_a_text_is_the_specification(name: str, options: dict[str, Any], texts: list[Any]) -> None:
    run, H, e = begun(name, options)
    assert all(np.isfinite(r.loss) for r in run) and all(texts)
    np.testing.assert_allclose(run.x.numpy(), specified(find(name), run, H, e), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("way", ["looped", "vmapped"])
@pytest.mark.parametrize("name", ["joint-local", "scaffold"])
def test_a_run_of_a_text_goes_on_bit_for_bit(name: str, way: str, texts: list[Any], tmp_path: Path) -> None:
    whole, *_ = begun(name, {}, way)
    list(whole)
    run, *_ = begun(name, {}, way)
    for _ in range(2):
        run.step()
    run.save(tmp_path / "run.pt")
    run = resume(tmp_path / "run.pt", quadratic(way=way)[0])
    list(run)
    assert torch.equal(run.x, whole.x) and all(texts)


@pytest.mark.parametrize("name", ["joint-local", "scaffold", "fedprox"])
def test_clients_with_rates_of_their_own_are_recorded_too(
    name: str, texts: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the text on tensors comes to, which other tests hold to the specification."""
    rates = {"eta_l": lambda round, client: 0.0625 * (1 + client % 2)}
    ends = []
    for record in (recorded.recorder, lambda *given: None):
        monkeypatch.setattr(population, "recorder", record)
        run, *_ = begun(name, {}, rates=rates)
        list(run)
        ends.append(run.x.numpy())
        assert all(texts) and texts
    np.testing.assert_allclose(*ends, rtol=1e-12, atol=1e-12)


def test_runs_in_two_threads_at_once_are_those_one_after_the_other(
    texts: list[Any], threads: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few recordings are kept, so that each run drops what the other has seen."""
    monkeypatch.setattr(recorded, "KEPT", 2)
    monkeypatch.setattr(passes, "LEAST", 0)
    names = ["scaffold", "joint-local"]

    def trained(name: str) -> Tensor:
        # Torch has as many for each of Python's threads as it has at first.
        torch.set_num_threads(1)
        run, *_ = begun(name, {}, "looped")
        list(run)
        return run.x  # type: ignore[no-any-return]

    with ThreadPoolExecutor(1) as one:
        alone = [*one.map(trained, names)]
    with ThreadPoolExecutor(2) as two:
        for _ in range(3):
            recorded._seen.clear()
            passes.loop_of.cache_clear()
            assert all(map(torch.equal, two.map(trained, names), alone))
    assert all(texts)


@pytest.mark.parametrize("kind", ["clients", "server", "late"])
def test_an_own_algorithm_is_recorded(
    kind: str, made: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What ``fedspec new`` writes, as it stands."""
    row = own(kind, tmp_path)
    federation, H, e = quadratic()
    run = simulate(row, federation, plan=schedule(row), rounds=ROUNDS, **hyper(row))
    list(run)
    # Its server is new, and its clients are those of FedAvg, which have a form.
    assert (kind == "server") == (not made) and all(made)
    np.testing.assert_allclose(run.x.numpy(), specified(row, run, H, e), rtol=1e-12, atol=1e-12)
