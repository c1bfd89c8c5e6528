"""lgcollins/FedRep at d82e629: rounds of ``main_fedrep.py`` with ``--alg fedper``, and the last layer local.

``SOURCE=path/to/FedRep fedspec check examples/found/fedrep_parts.py:Adapter``

The program runs as it stands, from its first round to the present one, for each round. Data, tests, draws and local
steps are stand-ins.
"""

from __future__ import annotations

import copy
import itertools
import time
from collections.abc import Sequence
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import beside  # noqa: F401
import numpy as np
import source
import torch
from personal import Model, Personal, Rounds, Tensors, Train, offer

COMMIT = "d82e629"


class Over(Exception):
    """End of the rounds that were sent."""


def Adapter() -> Personal:
    """Adapter of the program."""
    program = source.below(COMMIT, "main_fedrep.py", "__name__ == '__main__'")

    def begins(models: list[Model], _: Any, train: Train) -> Rounds:
        first, sent = models[0], list[dict[int, int]]()
        shared, users = [n for n, p in first.named_parameters() if n.startswith("w")], range(len(models))
        args = SimpleNamespace(alg="fedper", dataset="mnist", num_users=len(models), frac=1, epochs=10**9, gpu=-1)
        vars(args).update(load_fed="n", m_tr=1, lr=0, local_bs=0, test_freq=10**9, save_every=10**9)

        def runs(participants: Sequence[int], steps: Sequence[int]) -> Tensors:
            sent.append(dict(zip(participants, steps, strict=True)))
            coming, now = iter(sent), dict[int, int]()

            def choice(*_: Any, **__: Any) -> list[int]:
                now.clear()
                now.update(next(coming, {}))
                if not now:
                    raise Over
                return list(now)

            def trained(net: Model, idx: int, **_: Any) -> tuple[Any, float, None]:
                train(net, idx, now[idx])
                return net.state_dict(), 0.0, None

            model = copy.deepcopy(first)
            model.weight_keys = [shared, [], []]  # type: ignore[assignment]
            draws = SimpleNamespace(choice=choice, shuffle=len)
            given: dict[str, Any] = {
                "args_parser": lambda: args,
                "get_model": lambda _: model,
                "print": lambda *_: None,
            }
            given |= {"get_data": lambda _: (None, None, {i: [i] for i in users}, None), "itertools": itertools}
            given |= {"LocalUpdate": lambda **_: SimpleNamespace(train=trained), "torch": torch, "copy": copy}
            given |= {"np": SimpleNamespace(**vars(np) | {"random": draws}), "time": time}
            with suppress(Over):
                exec(program, given)
            return dict(given["net_glob"].named_parameters())

        return runs

    return Personal("fedrep", source.dated(COMMIT), [(offer("head", "uniform"), begins)])
