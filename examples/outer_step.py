import copy

import torch

from fedspec.contract import Claim, Info


class DiLoCo:
    def __init__(self, model, workers, inner, outer):
        self.model, self.outer = model, torch.optim.SGD(model.parameters(), nesterov=True, **outer)
        self.workers = [copy.deepcopy(model) for _ in range(workers)]
        self.inner = [torch.optim.AdamW(worker.parameters(), **inner) for worker in self.workers]

    def round(self, losses, steps):
        for worker, inner, loss, some in zip(self.workers, self.inner, losses, steps, strict=True):
            worker.load_state_dict(self.model.state_dict())
            for _ in range(some):
                inner.zero_grad()
                loss(worker).backward()
                inner.step()
        self.outer_step()

    def outer_step(self):
        every = zip(*(worker.parameters() for worker in self.workers), strict=True)
        for p, local in zip(self.model.parameters(), every, strict=True):
            old, new = p.detach(), torch.stack(local).detach().mean(0)
            p.grad = old - new
        self.outer.step()


# The adapter: what fedspec asks for, in the words of the loop.
class Session:
    def __init__(self, case):
        h, self.names, self.problem, self.loop = case.hyper, list(case.x0), case.problem, None
        self.model = torch.nn.ParameterList(torch.nn.Parameter(torch.tensor(x)) for x in case.x0.values())
        self.outer, self.inner = {"lr": h["eta"], "momentum": h["beta"]}, {}
        if case.level == "round":
            self.inner = {"lr": h["eta_l"], "betas": (h["beta1"], h["beta2"]), "eps": h["eps"], "weight_decay": h["wd"]}

    def loss(self, i):
        H, e = torch.tensor(self.problem.H[i]), torch.tensor(self.problem.e[i])

        def of(model):
            x = torch.cat([p.reshape(-1) for p in model])
            return x @ H @ x / 2 - e @ x

        return of

    def step(self, event):
        server = self.problem is None
        clients = [m.client for m in event.messages] if server else list(event.participants)
        if self.loop is None:
            self.numbers, self.loop = sorted(clients), DiLoCo(self.model, len(clients), self.inner, self.outer)
        if server:
            for message in event.messages:
                worker = self.loop.workers[self.numbers.index(message.client)]
                for p, old, change in zip(worker, self.model, message.delta.values(), strict=True):
                    p.data = old.detach() + torch.tensor(change)
            self.loop.outer_step()
        else:
            steps = dict(zip(clients, event.steps, strict=True))
            self.loop.round([self.loss(i) for i in self.numbers], [steps[i] for i in self.numbers])
        return {"x": {name: p.detach().numpy().copy() for name, p in zip(self.names, self.model, strict=True)}}


class Adapter:
    claims = (
        Claim("diloco", "server", "diloco", nonzero=("beta",), participation="all"),
        Claim("diloco", "round", "diloco", nonzero=("beta",), participation="all"),
    )
    info = Info("mine", "0.1", claims)
    start = Session


# ruff: noqa: D100, D101, D102
