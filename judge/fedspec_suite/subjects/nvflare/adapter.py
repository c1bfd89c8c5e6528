"""NVIDIA FLARE 2.9.0 without its runtime: its controllers' rounds, its SCAFFOLD helper and its FedProx loss.

Level client:

proximal-sgd      ``PTFedProxLoss(mu)(model, copy of the model that the round began with)`` beside the linear
                  loss <g, x>, ``backward()``, torch.optim.SGD

Level server, the controllers of ``nvflare.app_common.workflows`` and ``nvflare.app_opt.pt.fedopt_ctl``:

fedavg            ``BaseFedAvg.aggregate`` and ``update_model``; eta is 1
fedavgm           ``FedOpt`` with torch.optim.SGD(lr=eta, momentum=beta)
fedadam           ``FedOpt`` with torch.optim.Adam(lr=eta, betas=(beta1, beta2), eps=tau)
scaffold          one round of ``Scaffold``; it has no server rate (eta is 1)

Level round:

scaffold          the same, and ``PTScaffoldHelper`` in each client, driven as NVFlare's examples do:
                  ``load_global_controls``, ``get_params``; for each step torch.optim.SGD(lr=eta_l) and
                  ``model_update``; then ``terms_update``

The controllers run with stand-ins for what needs NVFlare's runtime: events, logs, saving, and the messages that
they would send and wait for. What clients send is of type DIFF, NumPy arrays, with NUM_STEPS_CURRENT_ROUND: by
these steps all of them weigh (a count of examples is not asked for). FedOpt's schedule of the rate, which it
makes by default, is left out.

FedOpt's docstring names arXiv 2003.00295 and takes any PyTorch optimizer: fedadam is claimed as PyTorch
documents its Adam (kingma-ba, v_0 = 0). ``Scaffold`` and the helper name the paper, hence karimireddy-2020.
Everything has the dtype of the case. Shown: c (the controller's controls), c_i (each helper's); of FedOpt v
(momentum_buffer, which accumulates minus the change, with the sign turned), m (exp_avg, the same) and v
(exp_avg_sq). Rounds count from 0.
"""
# mypy: disable-error-code="import-not-found,misc"

from __future__ import annotations

import copy
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
import torch
from nvflare.apis.fl_constant import FLMetaKey
from nvflare.apis.fl_context import FLContext
from nvflare.app_common.abstract.fl_model import FLModel, ParamsType
from nvflare.app_common.app_constant import AlgorithmConstants
from nvflare.app_common.workflows.fedavg import FedAvg
from nvflare.app_common.workflows.scaffold import Scaffold
from nvflare.app_opt.pt.fedopt_ctl import FedOpt
from nvflare.app_opt.pt.fedproxloss import PTFedProxLoss
from nvflare.app_opt.pt.scaffold import PTScaffoldHelper

from fedspec.contract import Answer, Begin, Blocks, Case, Event, Gradient, Messages, Offer, Round, SubjectInfo
from fedspec.errors import ContractError
from fedspec_suite.subjects.quadratic_gradients import put_gradients

STEPS = {"weights": "steps"}
ONE = {"eta": 1.0}

OFFERS = (
    Offer("proximal-sgd", "client", "fednova"),
    Offer("fedavg", "server", "mcmahan-2017", options=STEPS, fixed=ONE),
    Offer("fedavgm", "server", "hsu-2019", options={**STEPS, "momentum": "heavy-ball"}, intermediates=("v",)),
    Offer("fedadam", "server", "kingma-ba", options=STEPS, fixed={"v0": 0.0}, intermediates=("m", "v")),
    Offer("scaffold", "server", "karimireddy-2020", fixed=ONE, intermediates=("c",)),
    Offer("scaffold", "round", "karimireddy-2020", fixed=ONE, intermediates=("c_i", "c")),
)


def module_of(x: Blocks) -> torch.nn.Module:
    """Return a module with the blocks as parameters p0, p1, ..."""
    module = torch.nn.Module()
    for i, array in enumerate(x.values()):
        module.register_parameter(f"p{i}", torch.nn.Parameter(torch.tensor(array)))
    return module


class ProximalSession:
    """Session at level client: a model, its copy from the round's beginning, and NVFlare's loss."""

    def __init__(self, case: Case) -> None:
        self.rate, self.names = case.hyper["eta_l"], list(case.x0)
        self.loss = PTFedProxLoss(case.hyper["mu"])
        self.begin(case.x0)

    def begin(self, x: Blocks) -> None:
        """Begin a round at a model."""
        self.model = module_of(x)
        self.anchor = copy.deepcopy(self.model).requires_grad_(False)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=self.rate)

    def step(self, event: Event) -> Answer:
        """Take a gradient, or begin a round."""
        match event:
            case Begin(x):
                self.begin(x)
            case Gradient(g):
                self.optimizer.zero_grad()
                parameters = dict(zip(self.names, self.model.parameters(), strict=True))
                linear = sum((torch.tensor(g[name]) * p).sum() for name, p in parameters.items())
                (linear + self.loss(self.model, self.anchor)).backward()
                self.optimizer.step()
            case _:
                raise ContractError(f"event: {type(event).__name__} at level client; send Gradient or Begin")
        arrays = [p.detach().numpy().copy() for p in self.model.parameters()]
        return {"x": dict(zip(self.names, arrays, strict=True))}


class StandIns:
    """Stand-ins for the methods of NVFlare's runtime that a controller calls; a function replaces the clients."""

    clients: Callable[[FLModel], list[FLModel]]
    start: dict[str, Any]

    def load_model(self) -> FLModel:
        """Return the initial model."""
        return FLModel(params=self.start, params_type=ParamsType.FULL)

    def sample_clients(self, num_clients: int | None = None) -> list[str]:
        """Return no clients: the function ``clients`` answers for all of them."""
        return []

    def send_model_and_wait(self, *, targets: list[str], data: FLModel) -> list[FLModel]:
        """Return the clients' answers to a model."""
        return self.clients(data)

    def save_model(self, model: FLModel) -> None:
        """Save nothing."""

    def nothing(self, *arguments: object, **more: object) -> None:
        """Ignore events and log messages."""

    event = fire_event_with_data = info = debug = nothing


class StandInFedAvg(StandIns, FedAvg):
    """Controller ``FedAvg`` without NVFlare's runtime."""


class StandInFedOpt(StandIns, FedOpt):
    """Controller ``FedOpt`` without NVFlare's runtime."""


class StandInScaffold(StandIns, Scaffold):
    """Controller ``Scaffold`` without NVFlare's runtime."""


def message(delta: Any, steps: int, control: Any = None) -> FLModel:
    """Return a client's message as an ``FLModel``."""
    meta: dict[str, Any] = {FLMetaKey.NUM_STEPS_CURRENT_ROUND: steps}
    if control is not None:
        meta[AlgorithmConstants.SCAFFOLD_CTRL_DIFF] = control
    return FLModel(params=delta, params_type=ParamsType.DIFF, meta=meta)


class ServerSession:
    """Session at level server: a controller and its state."""

    def __init__(self, case: Case) -> None:
        self.case, self.names = case, list(case.x0)
        h, start = case.hyper, {f"p{i}": array.copy() for i, array in enumerate(case.x0.values())}
        match case.algorithm:
            case "scaffold":
                self.controller: Any = StandInScaffold()
            case "fedavg":
                self.controller = StandInFedAvg()
            case _:
                module = module_of(case.x0)
                self.controller = StandInFedOpt(source_model=module, device="cpu")
                self.controller.torch_model = module
                self.controller.optimizer = (
                    torch.optim.SGD(module.parameters(), lr=h["eta"], momentum=h["beta"])
                    if case.algorithm == "fedavgm"
                    else torch.optim.Adam(
                        module.parameters(), lr=h["eta"], betas=(h["beta1"], h["beta2"]), eps=h["tau"]
                    )
                )
        self.controller.start, self.controller.fl_ctx = start, FLContext()
        self.controller.num_rounds, self.controller.start_round = 1, 0
        if case.algorithm == "scaffold":
            self.controller.initialize(self.controller.fl_ctx)
        else:
            self.controller.model = self.controller.load_model()

    def round(self, clients: Callable[[FLModel], list[FLModel]]) -> Answer:
        """Run one round of the controller with these clients."""
        c = self.controller
        c.clients = clients
        if self.case.algorithm == "scaffold":
            c._run_rounds()
            c.start_round += 1
        else:
            c.current_round = c.start_round
            c.model = c.update_model(c.model, c.aggregate(clients(c.model), aggregate_fn=c.aggregate_fn))
            c.start_round += 1
        answer: dict[str, Any] = {"x": self.named(c.model.params)}
        if self.case.algorithm == "scaffold":
            answer["c"] = self.named(c._global_ctrl_weights)
        else:
            answer |= self.moments()
        return answer

    def moments(self) -> dict[str, Any]:
        """Return the moments in the state of FedOpt's optimizer, by the catalogue's names."""
        shown: dict[str, Any] = {}
        optimizer = getattr(self.controller, "optimizer", None)
        if optimizer is None:
            return shown
        for ours, theirs, sign in (("v", "momentum_buffer", -1), ("m", "exp_avg", -1), ("v", "exp_avg_sq", 1)):
            held = [optimizer.state[p].get(theirs) for p in self.controller.torch_model.parameters()]
            if all(value is not None for value in held):
                shown[ours] = {name: sign * value.numpy() for name, value in zip(self.names, held, strict=True)}
        return shown

    def named(self, params: Any) -> dict[str, Any]:
        """Rename parameters p0, p1, ... to the blocks of the case."""
        return {name: np.array(params[f"p{i}"]) for i, name in enumerate(self.names)}

    def step(self, event: Event) -> Answer:
        """Aggregate one round's messages."""
        if not isinstance(event, Messages):
            raise ContractError(f"event: {type(event).__name__} at level server; send Messages")

        def numbered(blocks: Any) -> Any:
            return None if blocks is None else {f"p{i}": blocks[name] for i, name in enumerate(self.names)}

        sent = [message(numbered(m.delta), m.steps, numbered(m.control)) for m in event.messages]
        return self.round(lambda model: sent)


class RoundSession(ServerSession):
    """Session at level round: the controller, and a SCAFFOLD helper for each client."""

    def __init__(self, case: Case) -> None:
        super().__init__(case)
        if case.problem is None:
            raise ContractError("case: no problem at level round")
        self.rate = case.hyper["eta_l"]
        self.H, self.e = torch.tensor(case.problem.H), torch.tensor(case.problem.e)
        self.models = [module_of(case.x0) for _ in self.e]
        self.helpers = [PTScaffoldHelper() for _ in self.e]
        for model, helper in zip(self.models, self.helpers, strict=True):
            helper.init(model)

    def train(self, client: int, steps: int, received: FLModel) -> FLModel:
        """Train a client for one round as NVFlare's example does."""
        net, helper = self.models[client], self.helpers[client]
        net.load_state_dict({name: torch.as_tensor(array) for name, array in received.params.items()})
        began = copy.deepcopy(net)
        helper.load_global_controls(weights=received.meta[AlgorithmConstants.SCAFFOLD_CTRL_GLOBAL])
        c_global, c_local = helper.get_params()
        optimizer = torch.optim.SGD(net.parameters(), lr=self.rate)
        for _ in range(steps):
            put_gradients([*net.parameters()], self.H[client], self.e[client])
            optimizer.step()
            helper.model_update(net, self.rate, c_global, c_local)
        helper.terms_update(net, self.rate, c_global, c_local, began)
        before = dict(began.named_parameters())
        change = {name: (x - before[name]).detach().numpy() for name, x in net.named_parameters()}
        return message(change, steps, helper.get_delta_controls())

    def step(self, event: Event) -> Answer:
        """Run one round."""
        if not isinstance(event, Round):
            raise ContractError(f"event: {type(event).__name__} at level round; send Round")
        chosen = list(zip(event.participants, event.steps, strict=True))
        answer = self.round(lambda model: [self.train(i, steps, model) for i, steps in chosen])
        kept = [helper.c_local.state_dict().values() for helper in self.helpers]
        return {**answer, "c_i": np.stack([np.concatenate([np.ravel(c) for c in blocks]) for blocks in kept])}


class NVFlare:
    """NVIDIA FLARE as a subject."""

    info = SubjectInfo("nvflare", version("nvflare"), OFFERS)

    def start(self, case: Case) -> ProximalSession | ServerSession:
        """Create the session for the case's level."""
        kinds: dict[str, type[ProximalSession] | type[ServerSession]]
        kinds = {"client": ProximalSession, "server": ServerSession, "round": RoundSession}
        if (case.algorithm, case.level) not in {(o.algorithm, o.level) for o in OFFERS}:
            raise ContractError(f"case: {case.algorithm} at level {case.level} is not claimed")
        return kinds[case.level](case)


SUBJECT = NVFlare()
