"""APPFL 1.12.0 as a federated server, ``Aggregator(model, configs).aggregate(...)``, without agents or network.

Level server, ``aggregate({client: state_dict})``:

fedavg, uniform   ``FedAvgAggregator(model, {})``: client_weights_mode is "equal" by default
fedavg, examples  the same with client_weights_mode "sample_size" and ``set_client_sample_size``
fedavgm           ``FedAvgMAggregator``, server_momentum_param_1=beta; it has no server rate (eta is 1)
fedadagrad        ``FedAdagradAggregator``, server_learning_rate=eta, server_momentum_param_1=beta1,
                  server_adapt_param=tau
fedadam, fedyogi  the same with server_momentum_param_2=beta2

Level trace, ``aggregate(client, state_dict)``:

fedasync  ``FedAsyncAggregator``, alpha=mix, staleness_fn "constant", "polynomial" or "hinge"; mu is 0
fedbuff   ``FedBuffAggregator``, K=buffer, alpha=eta, num_clients=buffer; ``models``: clients send models, as by
          default; ``gradients``: gradient_based, clients send x_begun - x_i (send_gradient)

The docstrings name the papers (arXiv 1909.06335, 2003.00295, 1903.03934, Nguyen et al. 2022) and no formula,
hence the readings. FedBuff adds updates up with the weight alpha / num_clients; with num_clients=K that is
their mean times alpha, as in the paper. Under the variant ``agent`` of FedAsync num_clients is the number of
all clients, as APPFL's own server agent sets it (agent/server.py); elsewhere FedAsync's is at its default, 1.

APPFL's clients send models, not changes: at level server the adapter sends x + delta, with x as the aggregator
returned it last, so the rounding of that sum is the adapter's. At level trace the clients are torch.optim.SGD
on the quadratics, in the adapter. Every version of the model is kept, an update is trained from the one that
its delay names, and that version is noted in ``client_step`` as ``get_parameters(client_id=...)`` would have
noted it when the client asked for the model. Everything is in the case's dtype. v_0 is tau^2 and cannot be set.
Where a case has buffers, they are the model's and stand in every state_dict. Nothing in the package says what becomes
of them: the claim is the mean that the parameters have.
Rounds are not counted. Shown: m (m_vector), v (v_vector). ``gc.freeze`` after the imports makes APPFL's many
calls of ``gc.collect`` quick; no number depends on it.
"""
# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import gc
from importlib.metadata import version
from typing import Any

import torch
from appfl.algorithm import aggregator as appfl
from omegaconf import OmegaConf

from fedspec.contract import Answer, Arrival, Case, Event, Messages, Offer, SubjectInfo
from fedspec.errors import ContractError
from fedspec_suite.subjects.quadratic_gradients import put_gradients

UNIFORM, EXAMPLES = {"weights": "uniform"}, {"weights": "examples"}
KINDS = ("statistics", "counters")
ADAPTIVE = {**UNIFORM, "v0": "tau-squared"}

OFFERS = (
    Offer("fedavg", "server", "mcmahan-2017", options=UNIFORM, fixed={"eta": 1.0}),
    Offer("fedavg", "server", "mcmahan-2017", options=EXAMPLES, fixed={"eta": 1.0}),
    Offer(
        "fedavg", "server", "mcmahan-2017", options=UNIFORM, fixed={"eta": 1.0}, buffers=dict.fromkeys(KINDS, "uniform")
    ),
    Offer(
        "fedavg",
        "server",
        "mcmahan-2017",
        options=EXAMPLES,
        fixed={"eta": 1.0},
        buffers=dict.fromkeys(KINDS, "averaged"),
    ),
    Offer(
        "fedavgm",
        "server",
        "hsu-2019",
        options={**UNIFORM, "momentum": "heavy-ball"},
        fixed={"eta": 1.0},
        intermediates=("v",),
    ),
    *(
        Offer(algorithm, "server", "reddi-2021", options=ADAPTIVE, intermediates=("m", "v"))
        for algorithm in ("fedadagrad", "fedadam", "fedyogi")
    ),
    *(
        Offer("fedasync", "trace", reading, fixed={"mu": 0.0}, variant=variant)
        for reading, variant in (
            ("xie-2019", ""),
            ("xie-2019-polynomial", ""),
            ("xie-2019-hinge", ""),
            ("xie-2019", "agent"),
        )
    ),
    *(
        Offer("fedbuff", "trace", reading, variant=variant)
        for variant in ("models", "gradients")
        for reading in ("nguyen-2022", "nguyen-2022-discounted")
    ),
)

AGGREGATORS = {
    "fedavg": appfl.FedAvgAggregator,
    "fedavgm": appfl.FedAvgMAggregator,
    "fedadagrad": appfl.FedAdagradAggregator,
    "fedadam": appfl.FedAdamAggregator,
    "fedyogi": appfl.FedYogiAggregator,
    "fedasync": appfl.FedAsyncAggregator,
    "fedbuff": appfl.FedBuffAggregator,
}
CONFIGS = {
    "beta": "server_momentum_param_1",
    "beta1": "server_momentum_param_1",
    "beta2": "server_momentum_param_2",
    "tau": "server_adapt_param",
    "eta": "server_learning_rate",
    "mix": "alpha",
    "buffer": "K",
}


def model_of(x: Any, buffers: Any = None) -> torch.nn.Module:
    """Return a module with the blocks as parameters p0, p1, ... and the buffers under their own names."""
    module = torch.nn.Module()
    for i, array in enumerate(x.values()):
        module.register_parameter(f"p{i}", torch.nn.Parameter(torch.tensor(array)))
    for name, array in (buffers or {}).items():
        module.register_buffer(name, torch.tensor(array))
    return module


def configured(case: Case) -> dict[str, Any]:
    """Return the ``aggregator_kwargs`` for a case."""
    h = case.hyper
    configs: dict[str, Any] = {CONFIGS[name]: value for name, value in h.items() if name in CONFIGS}
    if case.options.get("weights") == "examples":
        configs["client_weights_mode"] = "sample_size"
    if case.level == "trace":
        staleness = case.options["staleness"]
        configs["staleness_fn"] = staleness
        if staleness == "polynomial":
            configs["staleness_fn_kwargs"] = {"a": h["twice_a"] / 2}
        elif staleness == "hinge":
            configs["staleness_fn_kwargs"] = {"a": h["hinge_a"], "b": h["hinge_b"]}
    if case.algorithm == "fedbuff":
        configs |= {"alpha": h["eta"], "num_clients": h["buffer"], "gradient_based": case.variant == "gradients"}
    if case.variant == "agent" and case.problem is not None:
        configs["num_clients"] = len(case.problem.examples)
    return configs


class ServerSession:
    """Session at level server: an aggregator and the current model."""

    def __init__(self, case: Case) -> None:
        self.x, self.buffers = dict(case.x0), tuple(case.buffers or ())
        model = model_of(self.x, case.buffers)
        self.aggregator = AGGREGATORS[case.algorithm](model, OmegaConf.create(configured(case)))

    def step(self, event: Event) -> Answer:
        """Aggregate one round's messages."""
        if not isinstance(event, Messages):
            raise ContractError(f"event: {type(event).__name__} at level server; send Messages")
        models = {}
        for client, message in enumerate(event.messages):
            blocks = enumerate(self.x.items())
            models[client] = {f"p{i}": torch.tensor(x + message.delta[name]) for i, (name, x) in blocks}
            models[client] |= {name: torch.tensor(array) for name, array in (message.buffers or {}).items()}
            self.aggregator.set_client_sample_size(client, message.weight)
        state = self.aggregator.aggregate(models)
        self.x = self._named(state)
        answer: dict[str, Any] = {"x": self.x}
        if self.buffers:
            answer["buffers"] = {name: state[name].numpy().copy() for name in self.buffers}
        for ours, theirs in (("m", "m_vector"), ("v", "v_vector")):
            if hasattr(self.aggregator, theirs):
                answer[ours] = self._named(getattr(self.aggregator, theirs))
        return answer

    def _named(self, state: Any) -> dict[str, Any]:
        return {name: state[f"p{i}"].numpy().copy() for i, name in enumerate(self.x)}


class TraceSession:
    """Session at level trace: an aggregator, every version of its model, and clients that run SGD."""

    def __init__(self, case: Case) -> None:
        if case.problem is None:
            raise ContractError("case: no problem at level trace")
        self.names = {f"p{i}": name for i, name in enumerate(case.x0)}
        self.rate, self.gradients = case.hyper["eta_l"], case.variant == "gradients"
        self.H, self.e = torch.tensor(case.problem.H), torch.tensor(case.problem.e)
        self.aggregator = AGGREGATORS[case.algorithm](model_of(case.x0), OmegaConf.create(configured(case)))
        self.versions = [{p: torch.tensor(case.x0[name]) for p, name in self.names.items()}]

    def step(self, event: Event) -> Answer:
        """Train one update from the version that its delay names, and let it arrive."""
        if not isinstance(event, Arrival):
            raise ContractError(f"event: {type(event).__name__} at level trace; send Arrival")
        begun = self.versions[-1 - event.delay]
        y = {p: block.clone().requires_grad_() for p, block in begun.items()}
        optimizer = torch.optim.SGD([*y.values()], lr=self.rate)
        for _ in range(event.steps):
            put_gradients([*y.values()], self.H[event.client], self.e[event.client])
            optimizer.step()
        sent = {p: begun[p] - block.detach() if self.gradients else block.detach() for p, block in y.items()}
        before = self.aggregator.global_step
        self.aggregator.client_step[event.client] = before - event.delay
        x = self.aggregator.aggregate(event.client, sent)
        if self.aggregator.global_step > before:
            self.versions.append({p: x[p].clone() for p in self.names})
        return {"x": {name: x[p].numpy() for p, name in self.names.items()}}


class Appfl:
    """APPFL as a subject."""

    info = SubjectInfo("appfl", version("appfl"), OFFERS)

    def start(self, case: Case) -> ServerSession | TraceSession:
        """Create the session with the case's aggregator."""
        if case.algorithm not in AGGREGATORS:
            raise ContractError(f"case: {case.algorithm} is not claimed")
        return ServerSession(case) if case.level == "server" else TraceSession(case)


# The first step imports more; then what is there is not looked through again.
warm = torch.zeros(1, requires_grad=True)
warm.grad = torch.zeros(1)
torch.optim.SGD([warm], lr=1.0).step()
gc.freeze()

SUBJECT = Appfl()
