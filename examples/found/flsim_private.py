"""facebookresearch/FLSim at 7311f2d: ``DPRoundReducer``, and ``WeightedDPRoundReducer`` with the biased estimator.

``SOURCE=path/to/FLSim fedspec check examples/found/flsim_private.py:Adapter``

Reducers, ``UserUpdateClipper`` and ``GaussianPrivacyEngine`` run as they stand in one process. Configurations, loggers
and the accountant are stand-ins. The clip adds 1e-10 to the norm, so the claims are about float32. The server adds the
mean change.

plain       ``reduction_type`` is ``AVERAGE``
biased      ``max_weight`` is 3, and ``mean_weight`` times the users of a round is 6
"""

from __future__ import annotations

import abc
import math
from enum import IntEnum
from itertools import chain
from types import SimpleNamespace
from typing import Any

import beside  # noqa: F401
import source
import torch
from means import Sent
from private import Draws, NextModel, Private

from fedspec.contract import Blocks, Case, Claim
from fedspec_suite.subjects.outer import Model

COMMIT = "7311f2d"


FILES = {
    "utils/fl/common": ("FLModelParamUtils",),
    "privacy/common": ("calc_norm", "calc_clip_factor"),
    "privacy/user_update_clip": ("IUserClipper", "UserUpdateClipper"),
    "privacy/privacy_engine": ("GaussianPrivacyEngine",),
    "reducers/base_round_reducer": ("ReductionType", "RoundReducer"),
    "reducers/dp_round_reducer": ("DPRoundReducer",),
    "reducers/weighted_dp_round_reducer": ("EstimatorType", "WeightedDPRoundReducer"),
}


def loaded(draws: Draws) -> SimpleNamespace:
    """Return its classes, whose noise are the case's draws."""
    log = SimpleNamespace(error=id, debug=id, info=id, isEnabledFor=bool, setLevel=id)
    normal = lambda *a, **_: torch.tensor(draws.normal(*a), dtype=torch.float32)  # noqa: E731
    its: dict[str, Any] = {
        "Logger": SimpleNamespace(get_logger=lambda _: log),
        "abc": abc,
        "math": math,
        "chain": chain,
    }
    its |= {"torch": SimpleNamespace(**vars(torch) | {"normal": normal}), "nn": torch.nn, "IntEnum": IntEnum}
    its |= {"logging": SimpleNamespace(DEBUG=0, WARNING=0), "FLModelWithPrivateModules": Draws, "__EPS__": 1e-10}
    its |= dict.fromkeys(("IPrivacyEngine", "IFLRoundReducer"), object)
    its["OperationType"] = SimpleNamespace(SUM=0, BROADCAST=0, SUM_AND_BROADCAST=0)
    its["FLDistributedUtils"] = SimpleNamespace(distributed_operation=lambda *_: None, is_master_worker=lambda: True)
    for path, names in FILES.items():
        its |= source.definitions(COMMIT, f"flsim/{path}.py", *names, given=its)
    return SimpleNamespace(**its)


def begins(case: Case, draws: Draws) -> NextModel:
    """Begin a case with a reducer."""
    its = loaded(draws)
    weighted = case.variant == "biased"
    kind = its.WeightedDPRoundReducer if weighted else its.DPRoundReducer
    engine = its.GaussianPrivacyEngine.__new__(its.GaussianPrivacyEngine)
    vars(engine).update(noise_multiplier=0.5, device="cpu", random_number_generator=0, steps=0, get_privacy_spent=dict)

    def next_model(x: Blocks, sent: Sent) -> dict[str, Any]:
        reducer = kind.__new__(kind)
        average = its.ReductionType.WEIGHTED_AVERAGE if weighted else its.ReductionType.AVERAGE
        reducer.cfg = SimpleNamespace(reduction_type=average, only_federated_params=False)
        vars(reducer).update(
            privacy_on=True, clipping_value=1.0, num_users_per_round=len(sent), reduced_module=Model(x)
        )
        vars(reducer).update(user_update_clipper=its.UserUpdateClipper(1.0), privacy_engine=engine, dtype=torch.float32)
        vars(reducer).update(min_weight=0.0, max_weight=3.0, mean_weight=6 / len(sent))
        reducer.estimator_type = its.EstimatorType.BIASED
        reducer._zero_weights()
        for m in sent:
            reducer.update_reduced_module(Model(m.delta), float(m.weight))
        mean, _ = reducer.reduce()
        moved = mean.shown(x)
        return {name: a + moved[name] for name, a in x.items()}

    return next_model


def Adapter() -> Private:
    """Adapter of both reducers."""
    fixed, chained = {"eta": 1.0}, ("clip-norm 1", "weight-cap 3", "divisor-at-least 2", "noise 0.5")
    more: dict[str, Any] = {"dtypes": ("float32",)}
    plain, by_examples = {"weights": "uniform"}, {"weights": "examples"}
    claims = (
        Claim("fedavg", "server", "mcmahan-2017", plain, fixed, variant="plain", messages=chained[::3], **more),
        Claim("fedavg", "server", "mcmahan-2017", by_examples, fixed, variant="biased", messages=chained, **more),
    )
    return Private("flsim", source.dated(COMMIT), [(claim, begins) for claim in claims])
