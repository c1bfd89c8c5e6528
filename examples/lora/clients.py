"""Driver of other people's servers: a round's factors as files, state dictionaries and modules of torch.

A round's clients are numbered from 0. Keys are those of PEFT: ``q.lora_A.default.weight`` and its like.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.append(str(Path(__file__).parents[1] / "diloco"))

from fedspec.mixing.adapters import Adapter
from fedspec_suite.lora.rounds import Round

UP, DOWN = "q.lora_B.weight", "q.lora_A.weight"


def tensor(M: Any) -> torch.Tensor:
    """Tensor of torch's usual type; the sent numbers have few digits."""
    return torch.tensor(np.asarray(M, dtype=np.float32))


def factors(a: Adapter) -> dict[str, torch.Tensor]:
    """Factors of a client's adapter, by PEFT's names."""
    return {DOWN: tensor(a.A), UP: tensor(a.B)}


def beside(W: Any, made: Mapping[str, torch.Tensor]) -> tuple[Any, Any, Any]:
    """W, B and A of a weight and of factors that are named so."""
    return W, made[UP].numpy(), made[DOWN].numpy()


@contextmanager
def files(s: Round) -> Iterator[str]:
    """A folder in which each client has left its factors, as Shepherd has them."""
    with tempfile.TemporaryDirectory() as folder:
        for i, a in enumerate(s.sent):
            place = Path(folder) / "0" / f"local_output_{i}"
            place.mkdir(parents=True)
            torch.save(factors(a), place / "pytorch_model.bin")
        yield folder


class Base(torch.nn.Module):
    """A weight, kept as [outputs, inputs] as in ``torch.nn.Linear``, or with its axes turned over, as in ``Conv1D``."""

    def __init__(self, W: Any, turned: bool) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(tensor(W.T if turned else W), requires_grad=False)


class Adapted(torch.nn.Module):
    """A layer with an adapter, named as PEFT names its parts."""

    def __init__(self, s: Round, turned: bool) -> None:
        super().__init__()
        self.base_layer = Base(s.layer.W, turned)
        self.lora_A = torch.nn.ModuleDict({"default": Base(s.layer.A, False)})
        self.lora_B = torch.nn.ModuleDict({"default": Base(s.layer.B, False)})


def model(s: Round, turned: bool = False) -> torch.nn.Module:
    """A model of that one layer."""
    return torch.nn.ModuleDict({"q": Adapted(s, turned)})


def states(s: Round, turned: bool = False) -> list[dict[str, torch.Tensor]]:
    """State dictionaries that the clients send: all of the model, with their own factors."""
    same = model(s, turned).state_dict()
    sent = [{"q.lora_A.default.weight": tensor(a.A), "q.lora_B.default.weight": tensor(a.B)} for a in s.sent]
    return [{**same, **factors} for factors in sent]


def shown(made: torch.nn.Module, turned: bool = False) -> tuple[Any, Any, Any]:
    """W, B and A of the model."""
    state = made.state_dict()
    W = state["q.base_layer.weight"].numpy()
    B, A = (state[f"q.lora_{n}.default.weight"].numpy() for n in "BA")
    return (W.T if turned else W), B, A
