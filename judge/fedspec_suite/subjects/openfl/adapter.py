"""OpenFL 1.9: its NumPy optimizers as client solvers, and its adaptive aggregations as federated servers.

Level client, ``openfl.utilities.optimizers.numpy``, ``.step({name: gradient})``:

adam        ``NumPyAdam(params=, learning_rate=eta_l, betas=, epsilon=eps)``
adagrad     ``NumPyAdagrad(params=, learning_rate=eta_l, initial_accumulator_value=v0, epsilon=eps)``
yogi        ``NumPyYogi(params=, learning_rate=eta_l, betas=, epsilon=eps)``

Level server, ``openfl.interface.aggregation_functions``, ``.call(local_tensors, db_iterator, name, round,
tags)``:

fedavg      ``WeightedAverage()``
fedadagrad  ``AdagradAdaptiveAggregation(params=, learning_rate=eta, initial_accumulator_value=v0, epsilon=tau)``
fedadam     ``AdamAdaptiveAggregation(params=, learning_rate=eta, betas=, epsilon=tau)``
fedyogi     ``YogiAdaptiveAggregation(params=, learning_rate=eta, betas=, epsilon=tau)``

The base class of the aggregations says "According to https://arxiv.org/abs/2003.00295", hence reddi-2021;
Adam's and Adagrad's optimizers name their own papers, hence kingma-ba as a second claim for the same server.
NumPyYogi is "a variant of Adam" and inherits its step, hence the reading with both corrections.
``initial_accumulator_value`` of Adam and Yogi is documented as the start "for gradients and squared gradients";
it stays at its default, 0, so v_0 is 0 here (fixed). epsilon must not be 0. FedAdagrad has no beta1 (it is 0).

OpenFL's collaborators send models, not changes: the adapter sends x + delta, with x as the aggregation returned
it last, so the rounding of that sum is the adapter's, in the wider of both dtypes. OpenFL's aggregator hands
each tensor over with its share of the examples; here the adapter divides. The database of tensors is a list
with the model of the round. Where a case has buffers, they are tensors like others, as sent; nothing in the package
says what becomes of them, and the claim is the mean by examples.
Rounds count from 0. An aggregation is a singleton: a second one in the same
process is the first, with its model, moments and arguments. The register of these is emptied at each start, as
if each case had a process of its own. Shown: m (grads_first_moment; a server's is that of x - x_i, so its sign
is turned), v (grads_second_moment, grads_squared).
"""
# mypy: disable-error-code="import-not-found"

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from openfl.interface.aggregation_functions import (
    AdagradAdaptiveAggregation,
    AdamAdaptiveAggregation,
    WeightedAverage,
    YogiAdaptiveAggregation,
)
from openfl.utilities.optimizers.numpy import NumPyAdagrad, NumPyAdam, NumPyYogi
from openfl.utilities.types import LocalTensor, SingletonABCMeta

from fedspec.contract import Answer, Begin, Blocks, Case, Event, Gradient, Messages, Offer, SubjectInfo
from fedspec.errors import ContractError

EXAMPLES = {"weights": "examples"}
AVERAGED = {"statistics": "averaged", "counters": "averaged"}
ZERO: Mapping[str, float] = {"v0": 0.0}

OFFERS = (
    Offer("adam", "client", "kingma-2015", nonzero=("eps",), intermediates=("m", "v")),
    Offer("adagrad", "client", "fedada2", nonzero=("eps",), intermediates=("v",)),
    Offer("yogi", "client", "zaheer-2018-corrected", fixed=ZERO, nonzero=("eps",), intermediates=("m", "v")),
    Offer("fedavg", "server", "mcmahan-2017", options=EXAMPLES, fixed={"eta": 1.0}),
    Offer("fedavg", "server", "mcmahan-2017", options=EXAMPLES, fixed={"eta": 1.0}, buffers=AVERAGED),
    Offer(
        "fedadagrad",
        "server",
        "reddi-2021",
        options=EXAMPLES,
        fixed={"beta1": 0.0},
        nonzero=("tau",),
        intermediates=("v",),
    ),
    *(
        Offer(algorithm, "server", reading, options=EXAMPLES, fixed=ZERO, nonzero=("tau",), intermediates=("m", "v"))
        for algorithm, reading in (("fedadam", "reddi-2021"), ("fedadam", "kingma-ba"), ("fedyogi", "reddi-2021"))
    ),
)

CLIENTS = {"adam": NumPyAdam, "adagrad": NumPyAdagrad, "yogi": NumPyYogi}
SERVERS = {
    "fedadagrad": AdagradAdaptiveAggregation,
    "fedadam": AdamAdaptiveAggregation,
    "fedyogi": YogiAdaptiveAggregation,
}
SHOWN = {"m": ("grads_first_moment",), "v": ("grads_second_moment", "grads_squared")}


def make(kind: Any, x: Blocks, case: Case) -> Any:
    """Construct an optimizer, or an aggregation that has one, on copies of the model."""
    h, client = case.hyper, case.level == "client"
    arguments: dict[str, Any] = {"learning_rate": h["eta_l" if client else "eta"]}
    arguments["epsilon"] = h["eps" if client else "tau"]
    if "beta2" in h:
        arguments["betas"] = (h["beta1"], h["beta2"])
    else:
        arguments["initial_accumulator_value"] = h["v0"]
    return kind(params={name: array.copy() for name, array in x.items()}, **arguments)


def moments(optimizer: Any, sign: int = 1) -> dict[str, Any]:
    """Return the state of an optimizer by the catalogue's names; ``sign`` is the sign of m."""
    return {
        ours: {name: (sign if ours == "m" else 1) * array for name, array in getattr(optimizer, theirs).items()}
        for ours, names in SHOWN.items()
        for theirs in names
        if hasattr(optimizer, theirs)
    }


class ClientSession:
    """Session at level client: a model and its optimizer."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.begin(case.x0)

    def begin(self, x: Blocks) -> None:
        """Construct a fresh optimizer at a model."""
        self.optimizer = make(CLIENTS[self.case.algorithm], x, self.case)

    def step(self, event: Event) -> Answer:
        """Take a gradient, or begin a round."""
        match event:
            case Begin(x):
                self.begin(x)
            case Gradient(g):
                self.optimizer.step(dict(g))
            case _:
                raise ContractError(f"event: {type(event).__name__} at level client; send Gradient or Begin")
        x = {name: array.copy() for name, array in self.optimizer.params.items()}
        return {"x": x, **moments(self.optimizer)}


class ServerSession:
    """Session at level server: an aggregation, the current model and the round number."""

    def __init__(self, case: Case) -> None:
        self.x, self.buffers = dict(case.x0), dict(case.buffers or {})
        self.round = 0
        adaptive = case.algorithm in SERVERS
        SingletonABCMeta._instances.clear()
        self.aggregation = make(SERVERS[case.algorithm], case.x0, case) if adaptive else WeightedAverage()

    def step(self, event: Event) -> Answer:
        """Aggregate one round's messages, tensor by tensor."""
        if not isinstance(event, Messages):
            raise ContractError(f"event: {type(event).__name__} at level server; send Messages")
        total = sum(m.weight for m in event.messages)
        tags = ("aggregated" if self.round else "model",)
        new = {}
        for name, x in {**self.x, **self.buffers}.items():
            tensors = [
                LocalTensor(
                    col_name=str(i),
                    tensor=x + m.delta[name] if name in self.x else (m.buffers or {})[name],
                    weight=float(m.weight / total),
                )
                for i, m in enumerate(event.messages)
            ]
            database = iter([{"round": self.round, "tensor_name": name, "tags": tags, "nparray": x}])
            new[name] = self.aggregation.call(tensors, database, name, self.round, ("trained",)).copy()
        self.x, self.round = {name: new[name] for name in self.x}, self.round + 1
        self.buffers = {name: new[name] for name in self.buffers}
        carried = {"buffers": self.buffers} if self.buffers else {}
        return {"x": self.x, **carried, **moments(getattr(self.aggregation, "optimizer", None), -1)}


class OpenFL:
    """OpenFL as a subject."""

    info = SubjectInfo("openfl", version("openfl"), OFFERS)

    def start(self, case: Case) -> ClientSession | ServerSession:
        """Create the session for the case's level."""
        if (case.algorithm, case.level) not in {(o.algorithm, o.level) for o in OFFERS}:
            raise ContractError(f"case: {case.algorithm} at level {case.level} is not claimed")
        return ClientSession(case) if case.level == "client" else ServerSession(case)


SUBJECT = OpenFL()
