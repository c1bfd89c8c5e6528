"""torch.optim.Muon as a local solver: unchanged, and with its iteration in the parameters' dtype.

What is made orthogonal goes to bfloat16 first, which keeps two to three digits; the momentum does not.
"""

from unittest.mock import patch

import torch

from fedspec.contract import Begin, Claim, Info

FACTOR = {"original": "original", "match-rms-adamw": "match_rms_adamw"}


class Session:
    """Session of a case; each round begins with a new optimiser."""

    def __init__(self, case):
        self.h, self.options = case.hyper, case.options
        self.begin(case.x0)

    def begin(self, x0):
        """Make parameters with these values, and a new optimiser."""
        h = self.h
        self.x = {name: torch.tensor(x, requires_grad=True) for name, x in x0.items()}
        self.muon = torch.optim.Muon(
            self.x.values(),
            lr=h["eta_l"],
            weight_decay=h["wd"],
            momentum=h["rho"],
            nesterov=self.options["ahead"] == "nesterov",
            eps=h["eps"],
            ns_steps=int(h["ns_steps"]),
            adjust_lr_fn=FACTOR[self.options["scale"]],
        )

    def step(self, event):
        """Begin a round, or take a step."""
        if isinstance(event, Begin):
            self.begin(event.x)
        else:
            for name, x in self.x.items():
                x.grad = torch.tensor(event.g[name])
            self.take()
        return {"x": {name: x.detach().numpy().copy() for name, x in self.x.items()}}

    def take(self):
        """Step along the gradients."""
        self.muon.step()


class InFull(Session):
    """Session in which Muon converts nothing to bfloat16."""

    def take(self):
        """Step while ``Tensor.bfloat16`` returns the tensor unchanged."""
        with patch.object(torch.Tensor, "bfloat16", lambda self: self):
            self.muon.step()


class Adapter:
    """Adapter of Muon unchanged."""

    info = Info("torch_muon", torch.__version__.partition("+")[0], (Claim("muon", "client", "torch"),))
    start = Session


class Unrounded:
    """Adapter of Muon without the conversion to bfloat16."""

    info = Info("torch_muon_in_full", Adapter.info.version, Adapter.info.claims)
    start = InFull
