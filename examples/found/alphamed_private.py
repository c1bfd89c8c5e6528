"""alphamed-federated 0.4.9: ``_per_layer_clip`` and ``_process_aggregation`` of ``DPFedAvgScheduler``.

``pip install --no-deps alphamed-federated==0.4.9``
``fedspec check examples/found/alphamed_private.py:Adapter``

The clip is for each layer, so the model has one. q is 1/2, and the weights of all clients that checked in add up to 64:
a client that doesn't take part is a stand-in. So are the network and the channel.
"""

from __future__ import annotations

import copy
from importlib.metadata import distribution
from types import SimpleNamespace
from typing import Any, final

import beside
import source
import torch
from means import Sent
from private import Draws, NextModel, Private

from fedspec.contract import Blocks, Case, Claim
from fedspec_suite.subjects.outer import Model


def Adapter() -> Private:
    """Adapter of the scheduler."""
    version = beside.published("alphamed-federated", "0.4.9")
    path = distribution("alphamed-federated").locate_file("alphafed/fed_avg/dp_fed_avg.py")
    given: dict[str, Any] = {
        "FedAvgScheduler": object,
        "ABCMeta": type,
        "DPCheckinEvent": None,
        "final": final,
        "Dict": dict,
    }
    given |= {"abstractmethod": lambda f: f, "deepcopy": copy.deepcopy, "sqrt": lambda m: m**0.5}

    def begins(case: Case, draws: Draws) -> NextModel:
        normal = lambda mean, std, size: torch.tensor(draws.normal(mean, std, size), dtype=torch.float32)  # noqa: E731
        theirs: dict[str, Any] = {**given, "torch": SimpleNamespace(**vars(torch) | {"normal": normal})}
        its = source.compiled(path.read_text(), str(path), "DPFedAvgScheduler", given=theirs)["DPFedAvgScheduler"]

        def next_model(x: Blocks, sent: Sent) -> dict[str, Any]:
            server, results = its.__new__(its), {}
            vars(server).update(
                w_cap=3, q=0.5, S=1.0, z=16.0, model=Model(x), build_model=lambda: Model(x), gethered=[]
            )
            vars(server).update(_WAIT_FOR_AGGR=0, _AGGREGATING=0, _switch_status=id, push_log=id, current_round=1)
            server.contractor = SimpleNamespace(notify_ready_for_aggregation=lambda **_: None)
            server._w_ks = {m.client: server._calc_w_k(m.weight) for m in sent}
            server._w_ks["absent"] = 64 - server.W
            server._theta_0 = tuple(server.model.parameters())
            for m in sent:
                client = its.__new__(its)
                local = Model({name: a + m.delta[name] for name, a in x.items()})
                vars(client).update(S=1.0, model=local, _theta_0=server._theta_0)
                client._per_layer_clip()
                results[m.client] = local.state_dict()
            server._wait_for_calculation = lambda: results
            server._process_aggregation()
            return dict(server.model.shown(x))

        return next_model

    chain = ("clip-norm 1", "weight-cap 3", "divisor 32", "noise 16")
    more: dict[str, Any] = {"messages": chain, "dtypes": ("float32",), "blocks": "one"}
    claim = Claim("fedavg", "server", "mcmahan-2017", {"weights": "examples"}, {"eta": 1.0}, **more)
    return Private("alphamed-federated", version, [(claim, begins)])
