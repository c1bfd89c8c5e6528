"""The plainest case of an offer, for a first look: two coordinates, two clients, two events."""

from __future__ import annotations

import numpy as np

from fedspec.contract import ClientMessage, Event, Gradient, Messages, Quadratics, Round
from fedspec_suite.judge.scenario import Scenario
from fedspec_suite.laws.cases import POOLS, Setting, case


def plain_scenario(setting: Setting) -> Scenario:
    """A case with the middle value of every hyper-parameter and small whole numbers everywhere else."""
    h = {n: float(setting.fixed.get(n, POOLS[n][1])) for n in setting.numbers if n in POOLS}
    if "v0" in setting.numbers:
        h["v0"] = float(setting.fixed.get("v0", h["tau"] ** 2 if "tau" in h else 0.0))
    d = setting.dtype
    x0 = {"w": np.array([1.0, -2.0], dtype=d)}
    events: tuple[Event, ...]
    problem = None
    if setting.level == "client":
        events = (Gradient({"w": np.array([1.0, 0.5], dtype=d)}), Gradient({"w": np.array([-1.0, 2.0], dtype=d)}))
    elif setting.level == "server":
        message = Messages(
            (
                ClientMessage(0, {"w": np.array([0.5, 0.25], dtype=d)}, 3, 2, 2),
                ClientMessage(1, {"w": np.array([-0.5, 1.0], dtype=d)}, 1, 4, 4),
            )
        )
        events = (message, message)
    else:
        problem = Quadratics(
            H=np.array([[[1, 0], [0, 0.5]], [[0.5, 0], [0, 1]]], dtype=d),
            e=np.array([[1, 0], [0, 1]], dtype=d),
            examples=np.array([3.0, 1.0]),
        )
        events = (Round((0, 1), (2, 4)), Round((1,), (3,)))
    return Scenario(case(setting, x0, h, problem), events)
