"""Choice of a way: what sizes decide isn't measured, what is measured is measured once, and no round's time has it."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import patch

import pytest
import torch
from test_mirror.federations import hyper
from test_mirror.kinds import Around
from test_mirror.support import ended
from torch import nn

from fedspec.catalogue import find
from fedspec.errors import UnknownNameError
from fedspec_torch import Federation, Run, cohorts, setup_time, simulate
from fedspec_torch.federation import autotune, dispatch
from fedspec_torch.gradients.methods import METHODS, looped
from fedspec_torch.refusals import Reason
from fedspec_torch.ways import loops
from fedspec_torch.ways.table import WAYS, methods


def opaque() -> Any:
    """A module that nobody can look into."""
    return Around(lambda self, x: self.two(self.one(x).tanh()), one=nn.Linear(5, 6), two=nn.Linear(6, 3))


def federation(module: nn.Module, clients: int = 4) -> Federation:
    """With eight examples for each client, whose minibatches have four."""
    data = [(torch.randn(8, 5), torch.randint(3, (8,))) for _ in range(clients)]
    return Federation(module, nn.functional.cross_entropy, data, batch_size=4)


def chosen(module: nn.Module, clients: int = 4) -> autotune.Choice:
    """Choice of a run of one round in which all clients are one block."""
    fed = federation(module, clients)
    list(simulate("fedavg", fed, plan=cohorts(None, steps=2), rounds=1, eta_l=0.1))
    (choice,) = fed.choices.values()
    return choice


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counter of how often each way is timed, in a process that has measured nothing yet; vmapped is the slowest."""
    found: Counter[str] = Counter()
    names = {method: name for name, method in methods().items()}

    def seconds(work: Any, x: Any) -> float:
        name = names[work.args[0]]
        found[name] += 1
        return 1.0 if name in ("vmapped", "stacked") else 1e-4

    monkeypatch.setattr(autotune, "_seconds", seconds)
    monkeypatch.setattr(autotune, "MEASURED", {})
    return found


def chain() -> nn.Module:
    """Layers that are written out."""
    return nn.Sequential(nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 3))


def test_layers_are_measured_beside_loops_alone(measured: Counter[str]) -> None:
    choice = chosen(chain())
    assert set(measured) == {"compiled", "layered"} and (choice.name, choice.run) == ("compiled", "compiled")
    measured.clear()
    assert chosen(chain()) == choice and not measured


def test_a_run_is_taken_in_the_loops_if_its_gradients_are(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {method: name for name, method in methods().items()}
    monkeypatch.setattr(autotune, "_seconds", lambda work, x: {"layered": 1.0}.get(names[work.args[0]], 1.2))
    monkeypatch.setattr(autotune, "MEASURED", {})
    choice = chosen(chain())
    assert (choice.name, choice.run) == ("layered", autotune.IN_PLACE)


@pytest.mark.parametrize("algorithm", ["fedavg", "scaffold", "fedada2"])
def test_without_optional_ways_a_federation_trains_by_those_for_any_module(
    monkeypatch: pytest.MonkeyPatch, algorithm: str
) -> None:
    torch.manual_seed(4)
    module, data = chain().double(), [(torch.randn(n, 5).double(), torch.randint(3, (n,))) for n in (7, 4, 9)]
    monkeypatch.setattr(autotune, "MEASURED", {})

    def trained() -> tuple[Federation, Run]:
        fed = Federation(module, nn.functional.cross_entropy, data, batch_size=4)
        plan = cohorts(None, steps=(1, 4), seed=1)
        return fed, ended(algorithm, fed, plan=plan, rounds=3, **hyper(find(algorithm)))

    _, want = trained()
    with patch.dict(WAYS, clear=True):
        fed, got = trained()
        with pytest.raises(UnknownNameError, match=r"known: stacked, vmapped, looped, channels_last$"):
            replace(fed, way="layered")
    assert {choice.name for choice in fed.choices.values()} <= METHODS.keys() and fed.choices
    assert torch.allclose(got.x, want.x, rtol=1e-11, atol=1e-13) and not torch.equal(want.x, fed.x0)
    assert [r.loss for r in got.history] == pytest.approx([r.loss for r in want.history], rel=1e-11)


def test_layers_without_loops_are_not_measured(monkeypatch: pytest.MonkeyPatch, measured: Counter[str]) -> None:
    monkeypatch.setattr(loops, "missing_packages", lambda: ("numba",))
    choice = chosen(chain())
    assert not measured and (choice.name, choice.run) == ("layered", "in place")


def test_a_second_federation_of_the_same_kind_measures_nothing(measured: Counter[str]) -> None:
    first = chosen(opaque())
    assert measured == {"looped": 2, "vmapped": 1} and first.name == "looped"
    measured.clear()
    assert chosen(opaque()) == first and not measured
    chosen(opaque().double().float(), clients=8)
    assert measured, "a block of another size"
    measured.clear()
    other = opaque()
    other.two = nn.Linear(6, 3, bias=False)
    chosen(other)
    assert measured, "a module of another text"


def test_a_choice_of_another_federation_is_still_looked_at(
    monkeypatch: pytest.MonkeyPatch, measured: Counter[str]
) -> None:
    monkeypatch.setattr(autotune, "_seconds", lambda work, x: 1e-6 if work.args[0] is METHODS["vmapped"] else 1e-3)
    assert chosen(opaque()).name == "vmapped"
    hooked = opaque()
    hooked.one.register_forward_hook(lambda part, inputs, output: None)
    choice = chosen(hooked)
    assert choice.name == "looped" and f"vmapped refused (one (Linear) {Reason.HOOKED}" in choice.why


@pytest.mark.parametrize("name", ["SMALL", "HEAVY"])
def test_clients_who_gain_nothing_at_once_are_not_tried_so(
    monkeypatch: pytest.MonkeyPatch, measured: Counter[str], name: str
) -> None:
    monkeypatch.setattr(autotune, name, 0)
    choice = chosen(opaque())
    assert choice.name == "looped" and set(measured) == {"looped"} and "vmapped and stacked not tried" in choice.why


@pytest.mark.parametrize("taken", [False, True])
def test_a_way_that_is_only_tried_prints_no_warning(
    monkeypatch: pytest.MonkeyPatch, measured: Counter[str], taken: bool
) -> None:
    def warning(network: Any, x: Any, batch: Any) -> Any:
        warnings.warn("There is a performance drop", UserWarning, stacklevel=1)
        return looped(network, x, batch)

    monkeypatch.setitem(METHODS, "vmapped", warning)
    seconds = {warning: 1e-6 if taken else 1.0}
    monkeypatch.setattr(autotune, "_seconds", lambda work, x: seconds.get(work.args[0], 1e-3))
    with warnings.catch_warnings(record=True) as printed:
        warnings.simplefilter("always")
        assert chosen(opaque()).name == ("vmapped" if taken else "looped")
    assert bool(printed) == taken


def test_times_of_rounds_leave_out_choosing(monkeypatch: pytest.MonkeyPatch, measured: Counter[str]) -> None:
    clock = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: clock[0])

    def slow(choose: Any, *given: Any, **more: Any) -> Any:
        clock[0] += 1000
        return choose(*given, **more)

    def forward(part: Any, inputs: Any) -> None:
        clock[0] += 1

    monkeypatch.setattr(dispatch, "choose", partial(slow, dispatch.choose))
    module = opaque()
    module.one.register_forward_pre_hook(forward)
    run = simulate("fedavg", federation(module), plan=cohorts(None, steps=2), rounds=2, eta_l=0.1)
    list(run)
    # Four clients take two steps; after the last round two of them are looked at, and the first one again.
    assert run.times == pytest.approx([8.0, 8.0 + 3.0], rel=1e-9) and clock[0] > 1000


def test_compiling_inside_of_choosing_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(100))
    monkeypatch.setattr("time.perf_counter", lambda: next(clock))
    before = setup_time.seconds()
    with setup_time.setting_up():
        with setup_time.setting_up():
            pass
        with setup_time.setting_up():
            pass
    assert setup_time.seconds() - before == 1


def test_what_numba_compiles_is_counted() -> None:
    double = setup_time.numba().njit(lambda x: 2 * x)
    before = setup_time.seconds()
    assert double(2) == 4 and setup_time.seconds() > before
    after = setup_time.seconds()
    assert double(3) == 6 and setup_time.seconds() == after
