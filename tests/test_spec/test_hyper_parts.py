"""What plays no part is refused, and what plays one is asked for."""

from __future__ import annotations

from typing import Any

import pytest

from fedspec.algorithms.fedada2 import FedAda2
from fedspec.algorithms.fedadaadam import FedAdaAdam
from fedspec.algorithms.fedamsgrad import FedAMSGrad
from fedspec.algorithms.fedbuff import FedBuff
from fedspec.algorithms.joint_direct import JointDirect
from fedspec.algorithms.private import DpFedAvg
from fedspec.catalogue import CATALOGUE
from fedspec.errors import ParameterError

JOINT: dict[str, Any] = {"eta_l": 1, "eps": 1, "eta": 1, "beta1": 0, "tau": 1, "v0": 1}
ADAM = {"client": "adam", "beta1_l": 0.5, "beta2_l": 0.5}
SERVER: dict[str, Any] = {"eta_l": 1, "eta": 1, "beta1": 0, "beta2": 0, "eps": 1}
BUFFER: dict[str, Any] = {"buffer": 1, "eta_l": 1, "eta": 1}
PRIVATE: dict[str, Any] = {"eta_l": 1, "eta": 1, "clip_norm": 1, "sigma": 1}


@pytest.mark.parametrize(
    ("kind", "given", "says"),
    [
        (FedAda2, {**JOINT, **ADAM, "idle": "reset"}, "idle: got reset, which plays no part under client=adam"),
        (FedAda2, {**JOINT, "beta2": 0.5}, "beta2: got 0.5, which plays no part under server=adagrad"),
        (FedAda2, {**JOINT, "beta2_l": 0.5}, "beta2_l: got 0.5, which plays no part under client=adagrad"),
        (FedAda2, {**JOINT, "server": "adam"}, "beta2: not given; FedAda2 needs it under server=adam"),
        (FedAMSGrad, {**SERVER, "maximum_of": "after-correction"}, "maximum_of: .* no part under bias_correction=none"),
        (FedAdaAdam, JOINT, "beta1_l: not given; FedAdaAdam needs it"),
        (JointDirect, {**JOINT, "received": "uncorrected"}, "received: got uncorrected, which plays no part"),
        (FedBuff, {**BUFFER, "hinge_a": 2}, "hinge_a: got 2, .* under staleness=constant; .* staleness=hinge"),
        (FedBuff, {**BUFFER, "staleness": "polynomial"}, "twice_a: not given; FedBuff needs it"),
        (DpFedAvg, {**PRIVATE, "tau": 1}, "tau: got 1, which plays no part under server=average"),
        (DpFedAvg, {**PRIVATE, "server": "adagrad", "beta1": 0, "v0": 0}, "tau: not given"),
    ],
)
def test_a_record(kind: Any, given: dict[str, Any], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        kind(**given)


def test_a_claim() -> None:
    """An offer of such a pair of options is refused as well, and cases hold what plays a part."""
    row = CATALOGUE["fedada2"]
    with pytest.raises(ParameterError, match="idle: 'reset' plays no part in fedada2 with these options"):
        row.resolve("fedada2", {"client": "adam", "idle": "reset"})
    assert "beta2_l" not in row.numbers_under("round", row.resolve("fedada2", {}))
    assert {"beta1_l", "beta2_l"} <= set(row.numbers_under("round", row.resolve("fedada2", {"client": "adam"})))
    with pytest.raises(ParameterError, match=r"client: declared .adagrad., but reading"):
        CATALOGUE["joint-direct"].resolve("uncorrected", {"client": "adagrad"})
