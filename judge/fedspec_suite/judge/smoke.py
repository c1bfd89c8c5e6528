"""Plainest case of an offer, for a smoke test: two coordinates, two or three clients, and a few events."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from fedspec.arith import Array
from fedspec.catalogue import Program
from fedspec.contract import Arrival, ClientMessage, Event, Exchange, Gradient, Messages, Quadratics, Round
from fedspec.domains import COUNTS
from fedspec_suite.measure.case_parts import case, lengths
from fedspec_suite.measure.cases import STRATEGIES
from fedspec_suite.measure.hyper_pools import POOLS
from fedspec_suite.measure.portable_rng import PortableRng
from fedspec_suite.measure.scenario import Scenario, saying
from fedspec_suite.measure.scheduled_cases import of_rounds
from fedspec_suite.measure.seeded_cases import Draws, draw_case
from fedspec_suite.measure.setting import Setting


def plain_scenario(setting: Setting) -> Scenario:
    """Return a case with a middle value of every hyper-parameter and small whole numbers elsewhere."""
    if setting.parts or setting.micro:
        # Claimed blocks and micro-batches have shapes of their own.
        return draw_case(Draws(setting, PortableRng("smoke"), frozenset()))
    kinds = {n: int if n in COUNTS else float for n in setting.numbers}
    h = {n: kinds[n](setting.fixed.get(n, POOLS[n][1])) for n in setting.numbers if n in POOLS}
    if "eps_s" in h and "eps_s" not in setting.nonzero:
        # Nothing moves in so small a case if short steps are not taken.
        h["eps_s"] = float(setting.fixed.get("eps_s", 0.0))
    if "epoch" in h:
        # z = 2 alone, so that a step waits.
        h["epoch"] = int(setting.fixed.get("epoch", 1))
    if "v0" in setting.numbers:
        h["v0"] = float(setting.fixed.get("v0", h["tau"] ** 2 if "tau" in h else 0.25 * ("v0" in setting.nonzero)))
    d = setting.dtype
    one = (1, 2) if setting.matrices else (2,)

    def model(*numbers: float) -> dict[str, Array]:
        return {"w": np.array(numbers, dtype=d).reshape(one)}

    x0 = model(1.0, -2.0)
    events: tuple[Event, ...]
    problem, N = None, None
    if setting.level == "client":
        told = (h["eta_l"], h["eta_l"] / 2, h["eta_l"]) if setting.each_rate else (None,) * 3
        events = tuple(map(Gradient, (model(1.0, 0.5), model(-1.0, 2.0), model(0.5, -0.25)), told))
    elif setting.level == "server":
        events = _messages(setting, model)
        N = (3 if setting.everyone else 4) if setting.counts_all else None
    else:
        problem = Quadratics(
            H=np.array([[[1, 0], [0, 0.5]], [[0.5, 0], [0, 1]]], dtype=d),
            e=np.array([[1, 0], [0, 1]], dtype=d),
            examples=np.array([3.0, 1.0]),
            f=np.array([4, 2], dtype=d) if setting.losses else None,
        )
        if "peers" in setting.takes:
            x0 = {"w": np.array([[1.0, -2.0], [1.0, -2.0]], dtype=d)}
        events = _with_problem(setting, h)
    if setting.varies:
        # The last event says its numbers anew, so that whether they are read shows.
        events = (*events[:-1], saying(events[-1], {n: h[n] / 2 for n in of_rounds(setting)}))
    return Scenario(case(setting, x0, h, problem, N), events)


def _messages(setting: Setting, model: Callable[..., dict[str, Array]]) -> tuple[Event, ...]:
    """Three clients, and then two of them again, or all where everybody takes part, with other changes."""

    def message(client: int, weight: int, steps: int, norm: float, *numbers: float) -> ClientMessage:
        control = model(numbers[1], -numbers[0]) if setting.controls else None
        loss = norm / 2 if setting.losses else None
        norm = steps if setting.steps_only else norm
        return ClientMessage(client, model(*numbers), weight, steps, norm, control, loss)

    first = (
        message(0, 3, 2, 1.5, 0.5, 0.25),
        message(1, 1, 4, 5.0, -0.5, 1.0),
        message(2, 2, 3, 2.5, 0.25, -0.75),
    )
    second = (
        message(0, 3, 3, 2.5, 0.125, 0.5),
        message(2, 2, 2, 1.5, 0.25, 0.375),
        message(1, 1, 4, 5.0, -0.25, 0.25),
    )
    return Messages(first), Messages(second if setting.everyone else second[:2])


def _with_problem(setting: Setting, h: Mapping[str, float]) -> tuple[Event, ...]:
    """Two events of the kind that the algorithm takes, for two clients."""
    run, takes = setting.algorithm.run, setting.takes
    if isinstance(run, Program) and run.event == "arrival":
        # The last one is late, as far as there is a version before the present one.
        made = 3 // int(h.get("buffer", 1))
        return tuple(Arrival(client=k % 2, steps=2, delay=int(k == 3 and made > 0)) for k in range(4))
    if isinstance(run, Program) and run.event == "exchange":
        W = np.array([[0.75, 0.25], [0.25, 0.75]], dtype=setting.dtype)
        senders = () if "peers" in takes else (0, 1)
        clusters = ((0, 1),) if "clusters" in takes else ()
        return (Exchange(senders, ((0, 1), (0, 1)), W, clusters),) * 2
    strategy = STRATEGIES[:1] if "strategies" in takes else ()
    scale = (0.5,) if "scales" in takes else ()
    noise = (1.0, -0.5) if "noise" in takes else ()
    draws = ((0.75, 0.125),) if "draws" in takes else ()
    both = Round((0, 1), lengths(takes, (2, 4)), strategy * 2, scale * 2, noise, draws * 2)
    one = Round((1,), lengths(takes, (3,)), strategy, scale, noise, draws)
    return (both, both if "everyone" in takes else one)
