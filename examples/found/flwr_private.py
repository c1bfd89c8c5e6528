"""flwr 1.41.0: strategies of ``flwr.serverapp`` in ``DifferentialPrivacyServerSideFixedClipping``.

``pip install flwr==1.41.0``, then ``fedspec check examples/found/flwr_private.py:Adapter``

Clients send models. ``num_sampled_clients`` is the number of a round's messages.

fedavg      as it stands
guarded     FedAvg, FedAvgM and FedAdagrad; norms of zero become a tiny number, and numbers arrays of one entry
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import beside
import numpy as np
from means import Sent
from private import Draws, NextModel, Private

from fedspec.contract import Blocks, Case, Claim


def Adapter() -> Private:
    """Adapter of its FedAvg, FedAvgM and FedAdagrad with noise."""
    version = beside.published("flwr", "1.41.0")
    from flwr.serverapp.strategy import DifferentialPrivacyServerSideFixedClipping
    from flwr.supercore import differential_privacy

    from fedspec_suite.subjects.flwr.adapter import EXAMPLES, NewSession

    norm = differential_privacy.get_norm

    def begins(case: Case, draws: Draws) -> NextModel:
        session = NewSession(case)
        inner, its = session.strategy, vars(differential_privacy)

        def next_model(x: Blocks, sent: Sent) -> dict[str, Any]:
            its["np"] = SimpleNamespace(**vars(np) | {"random": draws})
            its["get_norm"] = (lambda arrays: norm(arrays) or 1e-300) if case.variant else norm
            session.strategy = DifferentialPrivacyServerSideFixedClipping(inner, 0.5, 1.0, len(sent))
            session.round += 1
            shape = np.atleast_1d if case.variant else np.asarray
            session.x = {name: shape(a) for name, a in x.items()}
            models = [{name: shape(a + m.delta[name]) for name, a in x.items()} for m in sent]
            return dict(session.aggregate(models, [int(m.weight) for m in sent]))

        return next_model

    chain = ("clip-norm 1", "noise 0.5")
    plain = Claim("fedavg", "server", "mcmahan-2017", EXAMPLES, {"eta": 1.0}, messages=chain)
    heavy, zeros = {**EXAMPLES, "momentum": "heavy-ball"}, {"beta1": 0.0, "v0": 0.0}
    claims = (
        plain,
        replace(plain, variant="guarded"),
        Claim("fedavgm", "server", "hsu-2019", heavy, messages=chain, variant="guarded"),
        Claim("fedadagrad", "server", "reddi-2021", EXAMPLES, zeros, messages=chain, variant="guarded"),
    )
    return Private("flwr", version, [(claim, begins) for claim in claims])


Subject = Adapter
"""Earlier name of the adapter."""
