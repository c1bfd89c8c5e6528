import torch

from fedspec.contract import Claim, Info


class Session:
    def __init__(self, case):
        h = case.hyper
        self.x = {name: torch.tensor(x, requires_grad=True) for name, x in case.x0.items()}
        self.adam = torch.optim.Adam(self.x.values(), lr=h["eta"], betas=(h["beta1"], h["beta2"]), eps=h["tau"])

    def step(self, event):
        total = sum(m.weight for m in event.messages)
        for name, x in self.x.items():
            x.grad = -sum(m.weight / total * torch.tensor(m.delta[name]) for m in event.messages)
        self.adam.step()
        return {"x": {name: x.detach().numpy() for name, x in self.x.items()}}


class Adapter:
    info = Info("mine", "0.1", (Claim("fedadam", "server", "reddi-2021", {"weights": "examples"}),))
    start = Session


# ruff: noqa: D100, D101, D102
