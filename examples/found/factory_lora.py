"""boyi-liu/FedLLM-Factory at 6a06799: a round of ``Server.run`` in ``alg``, for five of its methods.

``SOURCE=path/to/FedLLM-Factory fedspec lora examples/found/factory_lora.py:fedit --rule fedit``

Its clients train one model in turn. A stand-in for its trainer adds to what a client finds there the change that the
round asks for, in the factors that are not frozen. So a client sends what it should where it begins as it should.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import cache
from types import SimpleNamespace
from typing import Any

import beside  # noqa: F401
import clients
import source
import torch

from fedspec.mixing.adapters import Adapter
from fedspec_suite.lora.rounds import Round

COMMIT = "6a06799"


@cache
def _module(name: str) -> Any:
    # Models, data sets and clocks play no part.
    for package, things in {
        "alg": (),
        "peft": ("get_peft_model",),
        "utils": (),
        "utils.data_utils": ("load_data",),
        "utils.sys_utils": ("device_config",),
        "utils.train_utils": ("Trainer",),
        "utils.eval_utils": ("Evaluator",),
        "utils.model_utils": ("load_model", "load_tokenizer", "load_lora_config"),
    }.items():
        source.absent(package, **dict.fromkeys(things))
    source.absent("utils.time_utils", time_record=lambda function: function)
    source.module(COMMIT, "alg/base.py", "alg.base")
    source.module(COMMIT, "alg/ftbase.py", "alg.ftbase")
    return source.module(COMMIT, f"alg/{name}.py", f"alg.{name}")


def _trainer(start: Adapter, sent: Adapter) -> Callable[[Any], None]:
    @torch.no_grad()
    def train(model: Any) -> None:
        for key, change in {"lora_A": sent.A - start.A, "lora_B": sent.B - start.B}.items():
            for name, p in model.named_parameters():
                if key in name and p.requires_grad:
                    p += clients.tensor(change)

    return train


def _round(s: Round, name: str, start: Adapter) -> tuple[Any, Any, Any]:
    made = _module(name)
    model = clients.model(s)
    model.load_state_dict({"q.lora_A.default.weight": clients.tensor(start.A)}, strict=False)
    model.load_state_dict({"q.lora_B.default.weight": clients.tensor(start.B)}, strict=False)
    server = object.__new__(made.Server)
    server.round, server.sample_rate, server.wall_clock_time, server.model = s.number - 1, 1.0, 0, model
    server.clients = []
    for i, (a, n) in enumerate(zip(s.sent, s.examples, strict=True)):
        client = object.__new__(made.Client)
        vars(client).update(id=i, server=server, dataset={"train": range(n)}, training_time=0, lora={})
        client.trainer = SimpleNamespace(train=_trainer(start, a))
        server.clients.append(client)
    # The factors that its Server of this method begins a round with.
    kept = {"ffalora": "lora_B", "rolora": "lora_B" if s.number % 2 and s.number > 1 else "lora_A"}.get(name, "lora_")
    server.global_lora = {key: v.clone() for key, v in model.state_dict().items() if kept in key}
    model.requires_grad_(True)
    with redirect_stdout(io.StringIO()):
        server.run()
    return clients.shown(model)


def _as_sent(s: Round) -> Adapter:
    return Adapter(s.layer.B, s.layer.A)


def fedit(s: Round) -> tuple[Any, Any, Any]:
    """Run the round of ``alg/fedit.py``."""
    return _round(s, "fedit", _as_sent(s))


def ffa(s: Round) -> tuple[Any, Any, Any]:
    """Run the round of ``alg/ffalora.py``."""
    return _round(s, "ffalora", _as_sent(s))


def rolora(s: Round) -> tuple[Any, Any, Any]:
    """Run the round of ``alg/rolora.py``, whose first round is number 0 and trains A."""
    return _round(s, "rolora", _as_sent(s))


def flora(s: Round) -> tuple[Any, Any, Any]:
    """Run the round of ``alg/flora.py``; its server never writes an adapter: rounds begin with initial A, B = 0."""
    return _round(s, "flora", Adapter(s.layer.B * 0, s.fresh))


def fedex(s: Round) -> tuple[Any, Any, Any]:
    """Run the round of ``alg/fedexlora.py``."""
    return _round(s, "fedexlora", _as_sent(s))
