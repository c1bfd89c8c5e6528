"""burlachenkok/flpytorch at 23a201b: its ``EF21``, its QSGD and its dithering.

``SOURCE=path/to/flpytorch fedspec check examples/found/flpytorch_compression.py:Adapter``

ef21     ``EF21.clientState``, ``localGradientEvaluation`` and ``serverGradient`` with ``topk:k``. Gradients are the
         case's; a client's model is the server's minus what it returns, and the server goes eta along the gradient
fedpaq   ``Compressor.makeQSGD_FP32(d, s)``, and ``makeStandardDitheringFP32(d, s)`` with its largest entry. They go
         down where their draw is below the share of the lower level: their draw is 1 - u, or just below
"""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import compressing
import numpy as np
import source
import torch
from compressing import Array, Compressors

from fedspec.contract import Answer, Case, Claim, Event, Round
from fedspec.params import flatten, unflatten

COMMIT = "23a201b"


def modules() -> tuple[Any, Any]:
    """Return its modules of algorithms and of compressors, with a stand-in for its measurements of gradients."""
    buffer = SimpleNamespace(Buffer=object)
    source.absent("utils", execution_context=None, model_funcs=None, buffer=buffer)
    source.absent("utils.logger", Logger=None)
    source.absent("models", mutils=SimpleNamespace(get_gradient=lambda model: model.gradient))
    its = source.module(COMMIT, "fl_pytorch/utils/compressors.py", "utils.compressors")
    vars(__import__("utils"))["compressors"] = its
    algorithms = source.module(COMMIT, "fl_pytorch/utils/algorithms.py", "utils.algorithms")
    vars(algorithms)["evaluateSgd"] = lambda *_, **__: 0.0
    return algorithms, its


class Replies(list[Any]):
    """Stand-in for the buffer of the clients' answers."""

    def waitForItem(self) -> None:
        """Return at once, since all answers are in the buffer."""

    def get(self, i: int) -> Any:
        """Return answer i."""
        return self[i]


class EF21:
    """Session of EF21: a model, and the server's state of each client."""

    def __init__(self, case: Case, its: Any, compressors: Any) -> None:
        assert case.problem is not None
        self.case, self.its, self.x = case, its.EF21, torch.tensor(flatten(case.x0))
        self.H, self.e = (torch.tensor(np.asarray(a), dtype=self.x.dtype) for a in (case.problem.H, case.problem.e))
        identity = compressors.Compressor()
        identity.makeIdenticalCompressor()
        self.server: dict[str, Any] = {
            "client_compressor": f"topk:{min(int(case.hyper['kept']), len(self.x))}",
            "D": len(self.x),
            "fl_dtype": self.x.dtype,
            "history": {},
            "compressor_master": identity,
            "execution_context": SimpleNamespace(np_random=np.random.RandomState(0)),
        }

    def step(self, event: Event) -> Answer:
        """Run one round."""
        assert isinstance(event, Round)
        replies, states = Replies(), {}
        for i in sorted(event.participants):
            state = {**self.its.clientState(self.server, i, 1, "cpu"), "weight": 1.0}
            state["stats"] = {"send_scalars_to_master": 0}
            model = SimpleNamespace(gradient=self.H[i] @ self.x - self.e[i])
            _, g = self.its.localGradientEvaluation(state, model, None, None, False, (0, 1))
            replies.append({"client_state": state, "model": self.x - g})
            states[i] = {"client_state": state}
        self.server["history"][len(self.server["history"])] = {"client_states": states}
        g = self.its.serverGradient(replies, len(replies), None, self.x, self.server)
        self.x = self.x - self.case.hyper["eta"] * g
        return {
            "x": unflatten(self.x.numpy(), self.case.x0),
            "g": unflatten(g.numpy(), self.case.x0),
            "g_i": np.stack([states[i]["client_state"]["g_prev"].numpy() for i in sorted(states)]),
        }


class Both(Compressors):
    """Adapter of EF21 and of the quantisers."""

    def start(self, case: Case) -> Any:
        """Begin a case."""
        return EF21(case, *modules()) if case.algorithm == "ef21" else super().start(case)


def Adapter() -> Both:
    """Make the adapter of all three."""
    version = source.dated(COMMIT)
    _, its = modules()

    def dithering(name: str) -> compressing.Make:
        def make(h: Mapping[str, Any], d: int) -> compressing.Send:
            def sent(change: Array, u: Array) -> Array:
                made = its.Compressor()
                getattr(made, name)(d, int(h["levels"]))
                made.testp = torch.tensor(np.nextafter(1 - u.astype(np.float64), 0))
                return made.compressVector(torch.tensor(change)).numpy()  # type: ignore[no-any-return]

            return lambda changes, draws: [sent(changes[i], draws[i]) for i in changes]

        return make

    ef21 = Claim("ef21", "round", "richtarik-2021-code", options={"compressor": "top-k"}, intermediates=("g", "g_i"))
    made = {"qsgd": "makeQSGD_FP32", "largest-entry": "makeStandardDitheringFP32"}
    quantisers = [
        (compressing.make_offer("fedpaq", r, dtypes=("float32",)), dithering(name)) for r, name in made.items()
    ]
    return Both("flpytorch", version, [(ef21, quantisers[0][1]), *quantisers])
