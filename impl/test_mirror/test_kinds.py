"""Every kind of module, loss and data is trained as a plain loop trains it, or refused by name; there is no third.

In every way under FedAvg, and some by four other algorithms in the default way; ``outside`` has the whole product.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import pytest
import torch
from test_mirror.batch_kinds import BATCHES
from test_mirror.kinds import LAYERS, LOSSES, TRAPS
from test_mirror.loops import RATE, ROUNDS, STEPS, Plain, fedavg, specified
from torch import Tensor

from fedspec.catalogue import find
from fedspec.errors import FedspecError, ParameterError
from fedspec.plan import Arrival, Exchange, Plan
from fedspec_torch import Federation, simulate
from fedspec_torch.refusals import Reason
from fedspec_torch.ways.table import methods

pytestmark = pytest.mark.table(1)

KINDS = LAYERS | LOSSES | TRAPS | BATCHES
SERVED: dict[str, Any] = {"eta_l": RATE, "eta": 0.5}
UPHILL: dict[str, Any] = {**SERVED, "radius": 0.5, "eps": 0.125}
NUMBERS: dict[str, dict[str, Any]] = {
    "fedavg": {"eta_l": RATE},
    "scaffold": SERVED,
    "fedada2": {**SERVED, "eps": 0.1, "tau": 0.1, "v0": 0.1, "beta1": 0.5},
    "dsgd": {"eta_l": RATE},
    "fedasync": {"eta_l": RATE, "mu": 0.5, "mix": 0.25},
    "mime": {**SERVED, "beta": 0.5},
    "mime-lite": {**SERVED, "beta": 0.5},
    "fedpd": {"eta_l": RATE, "mu": 0.5},
    "fedsam": UPHILL,
    "mofedsam": {**UPHILL, "rho": 0.25},
}
MIXING = torch.tensor([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]], dtype=torch.float64)
ARRIVALS = ((0, 2, 0), (2, 1, 1), (1, 2, 0))
"""Client, steps, and how many versions ago it began, of each late update."""
EQUAL = (STEPS,) * 3
"""Numbers of steps of the three clients."""
EVERY_WAY = (*methods(), "fused")
SAID = tuple(reason.value for reason in Reason)


@dataclass(frozen=True)
class Events:
    """Everybody takes part in every round, or one update arrives."""

    steps: tuple[int, ...] = EQUAL
    largest_delay: int = 1

    def events(self, row: Any, h: Any, setup: Any, x: Any, number: int) -> tuple[Any, ...]:
        """Events of a round."""
        match row.event:
            case "exchange":
                return (Exchange((), ((0, 1, 2),) * STEPS, cast(Any, MIXING)),)
            case "arrival":
                return (Arrival(*ARRIVALS[number]),)
        return (Plan((0, 1, 2), self.steps, setup.examples),)


def rounds_of(algorithm: str) -> int:
    return len(ARRIVALS) if algorithm == "fedasync" else ROUNDS


def ended(name: str, algorithm: str, way: str | None, steps: tuple[int, ...] = EQUAL) -> tuple[Tensor, Tensor] | str:
    """First and last model of a run; or the message of a refusal."""
    module, loss, data = KINDS[name].made()
    before = [p.detach().clone() for p in module.parameters()]
    try:
        fed = Federation(module, loss, data, batch_size=2, shuffled=False, way=way, statistics="kept")
        run = simulate(algorithm, fed, plan=Events(steps), rounds=rounds_of(algorithm), **NUMBERS[algorithm])
        list(run)
    except FedspecError as error:
        return str(error)
    assert all(torch.equal(p, was) for p, was in zip(module.parameters(), before, strict=True))
    return fed.x0, run.x


@cache
def wanted(name: str, algorithm: str, steps: tuple[int, ...] = EQUAL) -> Tensor:
    """Model after the plain loop, or after the specification on its gradients."""
    plain, row = Plain(KINDS[name], steps), find(algorithm)
    if algorithm == "fedavg":
        return fedavg(plain)
    h = cast(Any, row.run).hyper(**NUMBERS[algorithm])
    return specified(plain, row, h, Events(steps), rounds_of(algorithm))


def check(name: str, algorithm: str, way: str | None, steps: tuple[int, ...] = EQUAL) -> bool:
    """True if it trains, and then as the plain loop does; else the refusal has one of few reasons."""
    found, kind = ended(name, algorithm, way, steps), KINDS[name]
    if isinstance(found, str):
        assert any(reason in found for reason in SAID), found
        # What is refused where no way is named is refused for what it is.
        assert way not in (None, "looped") or (kind.refused and kind.refused in found), found
        return False
    assert not kind.refused, f"{name} is trained, though it {kind.refused}"
    begun, x = found
    want = wanted(name, algorithm, steps)
    apart = float((x - want).norm() / (want - begun).norm())
    assert apart < 1e-9, f"{name}, {algorithm}, {way}: {apart:.2g} of what the model moved away from the plain loop"
    return True


BATCHES_OF_CHAINS = {"a tensor alone", "a chain of layers, of a dict", "a chain of layers, of a list"}
"""Batches whose layers are written out, with one input and one target."""


@pytest.mark.table(6)
@pytest.mark.parametrize("name", KINDS)
def test_every_way_trains_what_it_was_given_or_says_why_not(name: str) -> None:
    trains = {way: check(name, "fedavg", way) for way in (None, *EVERY_WAY)}
    assert trains[None] == trains["looped"] == (not KINDS[name].refused)
    if name in BATCHES:
        assert trains["layered"] == trains["compiled"] == (name in BATCHES_OF_CHAINS)


@pytest.mark.table(3)
@pytest.mark.parametrize("name", KINDS)
def test_every_algorithm_trains_what_it_was_given(name: str) -> None:
    for algorithm in ("scaffold", "fedada2", "dsgd", "fedasync"):
        check(name, algorithm, None)


@pytest.mark.outside
@pytest.mark.parametrize("algorithm", ["scaffold", "fedada2", "dsgd", "fedasync"])
@pytest.mark.parametrize("name", KINDS)
def test_every_algorithm_in_every_way(name: str, algorithm: str) -> None:
    for way in EVERY_WAY:
        check(name, algorithm, way)


@pytest.mark.table(5)
@pytest.mark.parametrize("steps", [EQUAL, (1, 3, 2)], ids=["equal", "unequal"])
@pytest.mark.parametrize("algorithm", [name for name in NUMBERS if name not in ("dsgd", "fedasync")])
@pytest.mark.parametrize("way", [None, "stacked", "looped", "layered", "vmapped", "compiled"])
def test_every_pattern_of_gradients_in_every_way(way: str | None, algorithm: str, steps: tuple[int, ...]) -> None:
    """Order of the batches, where two gradients are asked for at a step, or all of them before the first."""
    assert check("three linear layers", algorithm, way, steps)


def test_rates_of_each_client_are_refused_in_shards_where_gradients_are_asked_for_first() -> None:
    module, loss, data = KINDS["Linear"].made()
    given: dict[str, Any] = {
        "plan": Events(),
        "rounds": 1,
        "beta": 0.5,
        "rates": {"eta_l": lambda r, i: RATE / (1 + i)},
    }
    list(simulate("mime", Federation(module, loss, data), **given))
    with pytest.raises(ParameterError, match="computes gradients before its clients begin"):
        list(simulate("mime", Federation(module, loss, data), shards=2, **given))
    list(simulate("mime-lite", Federation(module, loss, data), shards=2, **given))


def test_nine_of_ten_train() -> None:
    trained = [name for name, kind in KINDS.items() if not kind.refused]
    assert len(KINDS) >= 100 and len(trained) >= 0.9 * len(KINDS)
    assert {kind.refused for kind in KINDS.values() if kind.refused} == {
        Reason.DRAWS, Reason.KEEPS, Reason.WRITES, Reason.BLIND
    }  # fmt: skip
